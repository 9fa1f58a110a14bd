"""Models on the Hugging Face hub: the folder that is shared, pushing it, and fetching it.

    parser.save_pretrained("dutch")                         the model and its card, in a folder
    parser.push_to_hub("me/dutch", private=True)            the same on the hub, in one commit
    parser = discotree.load("hub:me/dutch", revision="v1")

Only JSON, text, word pieces and safetensors are fetched: nothing in a repository is run, and no pickle is read.
"""

import copy
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from discotree.config import HF, Config, DataSource, NetworkSettings
from discotree.errors import DiscotreeError, ModelError, first_line, requires_extra
from discotree.models.card import bare, card_of, page, written
from discotree.models.finding import CARD, HUB, README, Card
from discotree.version import __version__

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser

FILES = (  # that a model may have; whatever else a repository holds stays there
    *("config.json", "vocab.json", "weights.safetensors", CARD, README),
    *("encoder/*.json", "encoder/*.txt", "encoder/*.model", "encoder/*.safetensors"),
)
REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
REVISION = re.compile(r"\w[\w+-]*([./][\w+-]+)*")  # it becomes a path in the cache: no way up
LIBRARY = "discotree"
UNNAMED = "encoder"  # what a Transformer is called whose path says nothing but where it is


def save(parser: "Parser", folder: str | Path, card: Card | None = None, name: str = "") -> None:
    """Write a model with its card; the folder appears when it is complete. ``name``: what ``load`` will know it by."""
    from safetensors import SafetensorError

    folder = Path(folder)
    if not folder.resolve().name:
        raise ModelError(f"{folder}: a model needs a folder of its own")
    card = card or card_of(parser)
    texts = {README: page(card, name or folder.resolve().name), CARD: written(card)}
    shared = copy.copy(parser)
    shared.config = _public(parser.config)
    try:
        shared.save(folder, texts)
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{folder}: cannot be written: {error}") from None


def push(
    parser: "Parser",
    repository: str,
    card: Card | None = None,
    private: bool | None = None,
    revision: str = "",
    commit_message: str = "",
    token: str | None = None,
) -> str:
    """Put a model on the hub, all of it in one commit; gives the address of that commit.

    ``revision`` is a branch, which is made if it is not there.
    """
    _check(repository, revision)
    with requires_extra("hub"):
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
    api = HfApi(token=token, library_name=LIBRARY, library_version=__version__)
    with tempfile.TemporaryDirectory() as temporary, _plainly(f"{repository}: cannot be pushed to {api.endpoint}"):
        folder = Path(temporary, "model")
        save(parser, folder, card, HUB + repository)
        api.create_repo(repository, private=private, exist_ok=True)
        if private and not api.repo_info(repository).private:
            raise ModelError(f"{repository}: it is there already, and everybody can see it: nothing was pushed")
        if revision:
            api.create_branch(repository, branch=revision, exist_ok=True)
        new = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
        old = api.list_repo_files(repository, revision=revision or None)
        outdated = [path for path in old if path not in new and any(fnmatch(path, wanted) for wanted in FILES)]
        done = api.create_commit(  # upload_folder may make several
            repository,
            [
                *(CommitOperationAdd(path_in_repo=path, path_or_fileobj=file) for path, file in new.items()),
                *(CommitOperationDelete(path_in_repo=path) for path in outdated),
            ],
            commit_message=commit_message or f"A model of discotree {__version__}",
            revision=revision or None,
        )
    return str(done.commit_url)


def fetch(name: str, revision: str = "") -> Path:
    """The folder of a model on the hub, ``hub:ORG/NAME`` or ``hub:ORG/NAME@REVISION``, from the cache where it is."""
    repository, _, named = name.removeprefix(HUB).partition("@")
    if revision and named not in ("", revision):
        raise ModelError(f"{name}: this names another revision than {revision!r}")
    revision = revision or named
    _check(repository, revision)
    with requires_extra("hub"):
        from huggingface_hub import constants, snapshot_download
    with _plainly(f"{name}: cannot be fetched from {constants.ENDPOINT}"):
        found = snapshot_download(
            repository,
            revision=revision or None,
            allow_patterns=list(FILES),
            library_name=LIBRARY,
            library_version=__version__,
        )
    folder = Path(found)
    if not (folder / "config.json").exists():
        raise ModelError(f"{name}: there is no discotree model in this repository")
    return folder


def _check(repository: str, revision: str) -> None:
    if not REPOSITORY.fullmatch(repository):
        raise ModelError(f"{repository!r} is not the name of a repository on the hub: expected ORG/NAME")
    if revision and not REVISION.fullmatch(revision):
        raise ModelError(f"{revision!r} is not a revision: expected a branch, a tag or a commit")


def _public(settings: Config) -> Config:
    """The settings without the places of this machine."""
    data = settings.data
    return replace(
        settings,
        data=replace(
            data,
            folder="",
            splits=bare(data.splits),
            heads=bare(data.heads),
            predicted_tags=bare(data.predicted_tags),
            vectors=bare(data.vectors),
            train=_public_sources(data.train),
            dev=_public_sources(data.dev),
            test=_public_sources(data.test),
        ),
        network=replace(settings.network, encoder=_bare_encoder(settings.network)),
    )


def _public_sources(sources: tuple[DataSource, ...]) -> tuple[DataSource, ...]:
    return tuple(replace(source, file=bare(source.file), splits=bare(source.splits)) for source in sources)


def _bare_encoder(network: NetworkSettings) -> str:
    return HF + (bare(network.transformer) or UNNAMED) if network.transformer else network.encoder


@contextmanager
def _plainly(what: str) -> Iterator[None]:
    """Whatever the libraries below raise (they differ by version), said in a sentence."""
    try:
        yield
    except DiscotreeError:
        raise
    except Exception as error:
        raise ModelError(f"{what}: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    from huggingface_hub.utils import (  # type: ignore[attr-defined]  # where every version has them
        GatedRepoError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    status = getattr(getattr(error, "response", None), "status_code", None)
    login = "log in with `hf auth login`, or set HF_TOKEN"
    if isinstance(error, GatedRepoError):
        return "its owners want to be asked first, on its page"
    if isinstance(error, RepositoryNotFoundError):
        return f"there is no such repository, or it is private and not yours to see: {login}"
    if isinstance(error, RevisionNotFoundError):
        return "there is no such revision"
    if status == 401:
        return f"the hub wants a token that it knows: {login}"
    if status == 403:
        return "your token does not allow that"
    said = first_line(error)
    cause = first_line(error.__cause__) if error.__cause__ and status is None else said
    if isinstance(error, LocalEntryNotFoundError):
        return f"the model is not in the cache, or not all of it, and the hub cannot be reached: {cause}"
    return said if said == cause else f"{said} ({cause})"
