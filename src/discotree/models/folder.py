"""The folder of a model: write it, read it, and check that its weights fit its settings.

A folder holds JSON and safetensors; reading it runs nothing.
"""

import json
import os
import re
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from discotree.config import Config
from discotree.encoding.head_rules import MAX_BYTES, HeadRules, parse
from discotree.encoding.plain_files import check_plain, read_plain
from discotree.errors import HeadRuleError, ModelError, first_line
from discotree.files.writing import writable
from discotree.models import (
    CALIBRATION,
    CONFIG,
    ENCODER,
    HEAD_RULES,
    MAX_CONFIG_BYTES,
    MAX_VOCAB_BYTES,
    VOCAB,
    WEIGHTS,
)
from discotree.models.card import CARD, README, Card
from discotree.models.card_page import page
from discotree.models.description import describe
from discotree.models.model import Model
from discotree.models.private_paths import public
from discotree.network.calibration import Calibration
from discotree.network.shapes import shapes
from discotree.network.subwords import Subwords
from discotree.network.transformer import Pretrained
from discotree.network.vocab import Vocab
from discotree.network.weights import FLOATS, Array, from_file, is_finite, numbers_of, rounded, to_file
from discotree.validation import updated

KINDS = ("F16", "F32", "F64", "I8")  # number types that a file of weights may have
FORMAT = 2  # version of the folder format, since settings have prices of gaps; a reader refuses a newer one
AUXILIARY, STORED_AUXILIARY = "auxiliary", "small"  # the module of the auxiliary heads: in the network, in files


def write_model(model: Model, folder: str | Path, texts: Mapping[str, str] | None = None) -> None:
    """Write a model, and further ``texts`` beside it by their file names.

    The folder appears when it is complete, and takes the place of an older model.
    """
    folder = Path(folder).resolve()
    temporary = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}")
    temporary.mkdir(parents=True)
    try:
        (temporary / CONFIG).write_text(_config_text(model.config), "utf-8")
        (temporary / VOCAB).write_text(model.vocab.to_json() + "\n", "utf-8")
        if isinstance(model.subwords, Pretrained):
            model.subwords.save(temporary / ENCODER)
        own = {HEAD_RULES: model.own_head_rules} if model.own_head_rules else {}
        if model.calibration:
            own[CALIBRATION] = model.calibration.to_json()
        for name, content in (own | dict(texts or {})).items():
            (temporary / name).write_text(content, "utf-8")
        weights = rounded(model.weights, model.config.training.weight_bits)
        check_weights(replace(model, weights=weights), str(folder / WEIGHTS))
        save_file(to_file({stored_name(name): value for name, value in weights.items()}), temporary / WEIGHTS)
        os.chmod(temporary / WEIGHTS, (temporary / VOCAB).stat().st_mode)  # save_file lets only the owner read it
        _replace(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_fitted(model: Model, folder: Path) -> None:
    """Put what is fitted on held-out trees into the folder of a model: its settings, then its calibration.

    Each file changes whole or not at all. The weights stay.
    """
    texts = {CONFIG: _config_text(model.config)}
    if model.calibration:
        texts[CALIBRATION] = model.calibration.to_json()
    for name, text in texts.items():
        with writable(str(folder / name)) as stream:
            stream.write(text.encode())


def _config_text(settings: Config) -> str:
    about = {"format": FORMAT, "config": json.loads(settings.to_json())}
    return json.dumps(about, indent=2, ensure_ascii=False) + "\n"


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
    """Read a model from its folder."""
    folder = Path(folder)
    vocab_text = _text(folder, VOCAB, MAX_VOCAB_BYTES)  # the folder of something else may have a config.json, too
    settings = read_config(folder)
    vocab = Vocab.from_json(vocab_text, str(folder / VOCAB))
    path = folder / WEIGHTS
    weights = {network_name(name): value for name, value in from_file(_arrays(path), str(path)).items()}
    rules, calibration = _own_head_rules(folder, settings), _calibration(folder)
    model = Model(settings, vocab, weights, _pieces(folder, settings), folder, rules, calibration)
    check_weights(model, str(path))
    return model


def _arrays(path: Path) -> dict[str, Array]:
    """Read the arrays of a file; numpy knows no bfloat16, and nothing smaller."""
    try:
        check_plain(path)
        with safe_open(path, "numpy") as file:
            names = list(file.keys())
            for name in names:
                if (kind := file.get_slice(name).get_dtype()) not in KINDS:
                    raise ModelError(f"{path}: {name} has {kind} numbers, expected one of {', '.join(KINDS)}")
            return {name: file.get_tensor(name) for name in names}
    except ModelError:
        raise
    except Exception as error:  # also KeyError and OverflowError: it depends on the version of safetensors
        raise ModelError(f"{path}: the weights cannot be read, the file may be cut off: {first_line(error)}") from None


def _pieces(folder: Path, settings: Config) -> Subwords | Pretrained | None:
    if settings.network.transformer:
        return Pretrained.open(folder / ENCODER)
    return Subwords.load(settings.network.subwords) if settings.network.subwords else None


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


def check_weights(model: Model, where: str) -> None:
    """Refuse weights that belong to another network, and values that are not finite numbers."""
    expected = _expected_shapes(model, where)
    weights = model.weights
    for name in sorted(expected.keys() ^ weights.keys()):
        problem = "is missing" if name in expected else "does not belong there"
        raise ModelError(f"{where}: {stored_name(name)} {problem}: the weights belong to another network")
    for name, needed in expected.items():
        weight = weights[name]
        dtype = numbers_of(weight).dtype
        if weight.shape != needed:
            raise ModelError(
                f"{where}: {stored_name(name)} has the shape {weight.shape}, its settings and vocabulary need {needed}"
            )
        if dtype not in FLOATS:
            named = ", ".join(map(str, FLOATS))
            raise ModelError(f"{where}: {stored_name(name)} has {dtype} numbers, expected one of {named}")
        if not is_finite(weight):
            raise ModelError(f"{where}: {stored_name(name)} holds what is no number, or none that fits half precision")


def _expected_shapes(model: Model, where: str) -> dict[str, tuple[int, ...]]:
    try:
        return shapes(model.config.network, model.vocab, model.has_tags, model.subwords)
    except KeyError as error:  # an auxiliary head without classes
        raise ModelError(f"{where}: its configuration and vocabulary make no network: {error!r:.200}") from None


def stored_name(name: str) -> str:
    """Return the name that a weight of the network has in files."""
    return re.sub(rf"^{AUXILIARY}\.", f"{STORED_AUXILIARY}.", name)


def network_name(name: str) -> str:
    """Return the name that a weight has in the network, given its name in files: the inverse of ``stored_name``."""
    return re.sub(rf"^{STORED_AUXILIARY}\.", f"{AUXILIARY}.", name)


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


def _calibration(folder: Path) -> Calibration | None:
    """Return the calibration in the folder, if there is one."""
    if not os.path.lexists(folder / CALIBRATION):
        return None
    return Calibration.from_json(_text(folder, CALIBRATION, MAX_CONFIG_BYTES), str(folder / CALIBRATION))


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
