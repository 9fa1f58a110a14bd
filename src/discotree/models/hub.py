"""Models on the Hugging Face hub: push a folder, fetch a folder.

    parser.save_pretrained("dutch")                         the model and its card, in a folder
    parser.push_to_hub("me/dutch", private=True)            the same on the hub, in one commit
    parser = discotree.load("hub:me/dutch", revision="v1")

Only JSON, text, word pieces and safetensors are fetched: nothing in a repository is run, and no pickle is read.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

from discotree.errors import DiscotreeError, ModelError, first_line, requires_extra
from discotree.models import CALIBRATION, CONFIG, ENCODER, HEAD_RULES, HUB, VOCAB, WEIGHTS
from discotree.models.card import CARD, README
from discotree.version import __version__

FILES = (  # the files of a model; whatever else a repository holds stays there
    *(CONFIG, VOCAB, WEIGHTS, HEAD_RULES, CALIBRATION, CARD, README),
    *(f"{ENCODER}/*{suffix}" for suffix in (".json", ".txt", ".model", ".safetensors")),
)
REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
REVISION = re.compile(r"\w[\w+-]*([./][\w+-]+)*")  # it becomes a path in the cache: no ..
LIBRARY = "discotree"


def push(
    folder: Path,
    repository: str,
    private: bool | None = None,
    revision: str | None = None,
    commit_message: str | None = None,
    token: str | None = None,
) -> str:
    """Put the files of a folder on the hub in one commit, and return the address of that commit.

    ``revision`` is a branch; a new one is made where it does not exist.
    """
    check_names(repository, revision)
    with requires_extra("hub"):
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
    api = HfApi(token=token, library_name=LIBRARY, library_version=__version__)
    with _one_sentence(f"{repository}: cannot be pushed to {api.endpoint}"):
        api.create_repo(repository, private=private, exist_ok=True)
        if private and not api.repo_info(repository).private:
            raise ModelError(f"{repository}: it is there already, and everybody can see it: nothing was pushed")
        if revision:
            api.create_branch(repository, branch=revision, exist_ok=True)
        new = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
        old = api.list_repo_files(repository, revision=revision)
        outdated = [path for path in old if path not in new and any(fnmatch(path, pattern) for pattern in FILES)]
        done = api.create_commit(  # upload_folder may make several commits
            repository,
            [
                *(CommitOperationAdd(path_in_repo=path, path_or_fileobj=file) for path, file in new.items()),
                *(CommitOperationDelete(path_in_repo=path) for path in outdated),
            ],
            commit_message=commit_message or f"A model of discotree {__version__}",
            revision=revision,
        )
    return str(done.commit_url)


def fetch(name: str, revision: str | None = None) -> Path:
    """Return the folder of a model on the hub, ``hub:ORG/NAME`` or ``hub:ORG/NAME@REVISION``; a cache keeps it."""
    repository, _, named = name.removeprefix(HUB).partition("@")
    if revision and named not in ("", revision):
        raise ModelError(f"{name}: this names another revision than {revision!r}")
    revision = revision or named or None
    check_names(repository, revision)
    with requires_extra("hub"):
        from huggingface_hub import constants, snapshot_download
    with _one_sentence(f"{name}: cannot be fetched from {constants.ENDPOINT}"):
        found = snapshot_download(
            repository,
            revision=revision,
            allow_patterns=list(FILES),
            library_name=LIBRARY,
            library_version=__version__,
        )
    folder = Path(found)
    if not (folder / CONFIG).exists():
        raise ModelError(f"{name}: there is no discotree model in this repository")
    return folder


def check_names(repository: str, revision: str | None) -> None:
    """Raise ModelError for an invalid name of a repository or a revision."""
    if not REPOSITORY.fullmatch(repository):
        raise ModelError(f"{repository!r} is not the name of a repository on the hub: expected ORG/NAME")
    if revision is not None and not REVISION.fullmatch(revision):
        raise ModelError(f"{revision!r} is not a revision: expected a branch, a tag or a commit")


@contextmanager
def _one_sentence(what: str) -> Iterator[None]:
    """Turn all that the libraries raise (it depends on their version) into a ModelError of one sentence."""
    try:
        yield
    except DiscotreeError:
        raise
    except Exception as error:
        raise ModelError(f"{what}: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    from huggingface_hub.utils import (  # type: ignore[attr-defined]  # all versions have them here
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
    message = first_line(error)
    cause = first_line(error.__cause__) if error.__cause__ and status is None else message
    if isinstance(error, LocalEntryNotFoundError):
        return f"the model is not in the cache, or not all of it, and the hub cannot be reached: {cause}"
    return message if message == cause else f"{message} ({cause})"
