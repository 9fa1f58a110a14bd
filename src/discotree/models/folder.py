"""The folder of a model: write it, read it, and check that its weights fit its settings.

A folder holds JSON and safetensors; reading it runs nothing.
"""

import json
import os
import re
import shutil
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from discotree.config import Config
from discotree.encoding.head_rules import MAX_BYTES, HeadRules, parse
from discotree.encoding.plain_files import check_plain, read_plain
from discotree.errors import HeadRuleError, ModelError, first_line
from discotree.models import CONFIG, ENCODER, HEAD_RULES, MAX_CONFIG_BYTES, MAX_VOCAB_BYTES, VOCAB, WEIGHTS
from discotree.models.card import CARD, README, Card
from discotree.models.card_page import page
from discotree.models.description import describe
from discotree.models.model import Model
from discotree.models.private_paths import public
from discotree.network.quantization import FLOATS, packed, unpacked
from discotree.network.transformer import Pretrained
from discotree.network.vocab import Vocab
from discotree.validation import updated

FORMAT = 1  # version of the folder format; a reader refuses a newer one
AUXILIARY, STORED_AUXILIARY = "auxiliary", "small"  # the module of the auxiliary heads: in the network, in files


def write_model(model: Model, folder: str | Path, texts: Mapping[str, str] | None = None) -> None:
    """Write a model, and further ``texts`` beside it by their file names.

    The folder appears when it is complete, and takes the place of an older model.
    """
    folder = Path(folder).resolve()
    temporary = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}")
    temporary.mkdir(parents=True)
    try:
        about = {"format": FORMAT, "config": json.loads(model.config.to_json())}
        (temporary / CONFIG).write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", "utf-8")
        (temporary / VOCAB).write_text(model.vocab.to_json() + "\n", "utf-8")
        if isinstance(model.subwords, Pretrained):
            model.subwords.save(temporary / ENCODER)
        own_rules = {HEAD_RULES: model.own_head_rules} if model.own_head_rules else {}
        for name, content in (own_rules | dict(texts or {})).items():
            (temporary / name).write_text(content, "utf-8")
        tensors = packed(_stored_weights(model), model.config.training.weight_bits)
        check_weights(model, unpacked(tensors, str(folder / WEIGHTS)), str(folder / WEIGHTS))
        save_file(tensors, temporary / WEIGHTS)
        os.chmod(temporary / WEIGHTS, (temporary / VOCAB).stat().st_mode)  # save_file lets only the owner read it
        _replace(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_with_card(model: Model, folder: str | Path, card: Card | None = None, name: str = "") -> None:
    """Write a model to share: with its card and page, and without the paths of this machine.

    ``name`` is the one that ``load`` will know the model by.
    """
    folder = Path(folder)
    if not folder.resolve().name:
        raise ModelError(f"{folder}: a model needs a folder of its own")
    card = card or describe(model.folder, model.config)
    texts = {README: page(card, name or folder.resolve().name), CARD: card.to_json()}
    try:
        write_model(replace(model, config=public(model.config)), folder, texts)
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{folder}: cannot be written: {error}") from None


def read_model(folder: str | Path) -> Model:
    """Read a model from its folder, into main memory."""
    folder = Path(folder)
    vocab_text = _text(folder, VOCAB, MAX_VOCAB_BYTES)  # the folder of something else may have a config.json, too
    settings = read_config(folder)
    vocab = Vocab.from_json(vocab_text, str(folder / VOCAB))
    path = folder / WEIGHTS
    try:
        check_plain(path)
        tensors = load_file(path)
    except Exception as error:  # also KeyError and OverflowError: it depends on the version of safetensors
        raise ModelError(f"{path}: the weights cannot be read, the file may be cut off: {first_line(error)}") from None
    weights = unpacked(tensors, str(path))
    try:
        transformer = Pretrained.open(folder / ENCODER) if settings.network.transformer else None
        # A network without numbers: absurd sizes in a file must not fill the memory.
        model = Model.new(settings, vocab, transformer, "meta")
    except (RuntimeError, TypeError, KeyError) as error:  # sizes beyond all numbers, an auxiliary head without classes
        raise ModelError(f"{folder}: its configuration and vocabulary make no network: {error!r:.200}") from None
    check_weights(model, weights, str(path))
    model.network.load_state_dict({network_name(name): value.float() for name, value in weights.items()}, assign=True)
    return replace(model, folder=folder, own_head_rules=_own_head_rules(folder, settings))


def read_config(folder: Path) -> Config:
    """Read the settings of a model from its folder."""
    path = folder / CONFIG
    try:
        about = json.loads(_text(folder, CONFIG, MAX_CONFIG_BYTES))
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{folder}: not a model: {error}") from None
    if not isinstance(about, dict) or not isinstance(about.get("format"), int):
        raise ModelError(f"{path}: not the configuration of a discotree model")
    if about["format"] > FORMAT:
        raise ModelError(
            f"{folder}: made by a newer discotree (format {about['format']}, this one knows {FORMAT}): upgrade it"
        )
    return updated(Config(), about.get("config"), str(path), ModelError)


def check_weights(model: Model, weights: dict[str, Tensor], where: str) -> None:
    """Refuse weights that belong to another network, and values that are not finite numbers."""
    expected = _stored_weights(model)
    for name in sorted(expected.keys() ^ weights.keys()):
        problem = "is missing" if name in expected else "does not belong there"
        raise ModelError(f"{where}: {name} {problem}: the weights belong to another network")
    for name, value in expected.items():
        if value.shape != weights[name].shape:
            found, needed = tuple(weights[name].shape), tuple(value.shape)
            raise ModelError(f"{where}: {name} has the shape {found}, its settings and vocabulary need {needed}")
        if weights[name].dtype not in FLOATS:
            raise ModelError(f"{where}: {name} has {weights[name].dtype} numbers, expected one of {_named(FLOATS)}")
        if not weights[name].float().isfinite().all():
            raise ModelError(f"{where}: {name} holds what is no number, or none that fits half precision")


def round_weights(model: Model) -> None:
    """Round the weights to the precision that they are saved in."""
    tensors = packed(model.network.state_dict(), model.config.training.weight_bits)
    model.network.load_state_dict(unpacked(tensors, "the network"))


def stored_name(name: str) -> str:
    """Return the name that a weight of the network has in files."""
    return re.sub(rf"^{AUXILIARY}\.", f"{STORED_AUXILIARY}.", name)


def network_name(name: str) -> str:
    """Return the name that a weight has in the network, given its name in files: the inverse of ``stored_name``."""
    return re.sub(rf"^{STORED_AUXILIARY}\.", f"{AUXILIARY}.", name)


def _stored_weights(model: Model) -> dict[str, Tensor]:
    return {stored_name(name): value for name, value in model.network.state_dict().items()}


def _named(dtypes: Iterable[torch.dtype]) -> str:
    return ", ".join(str(dtype).removeprefix("torch.") for dtype in dtypes)


def _own_head_rules(folder: Path, settings: Config) -> str:
    """Return the text of the head rules in the folder; "" where the model uses ours, or none came with it."""
    if settings.data.heads in HeadRules.names() or not os.path.lexists(folder / HEAD_RULES):
        return ""
    text = _text(folder, HEAD_RULES, MAX_BYTES)
    try:
        parse(text, str(folder / HEAD_RULES))
    except HeadRuleError as error:
        raise ModelError(str(error)) from None
    return text


def _text(folder: Path, name: str, max_bytes: int) -> str:
    try:
        return read_plain(folder / name, max_bytes).decode("utf-8")
    except (OSError, ValueError) as error:
        raise ModelError(f"{folder}: not a model: {name}: {error}") from None


def _replace(new: Path, folder: Path) -> None:
    """Move a complete folder to its place, and only then remove an older model."""
    if folder.exists() and any(folder.iterdir()):
        if not (folder / CONFIG).exists():
            raise ModelError(f"{folder}: there is something in it, and it is no model: nothing was written")
        old = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}.old")
        os.rename(folder, old)
        os.rename(new, folder)
        shutil.rmtree(old, ignore_errors=True)
    else:
        os.rename(new, folder)  # an empty folder may be there
