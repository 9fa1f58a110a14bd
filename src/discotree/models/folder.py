"""The folder of a model: write it, read it, and check that its weights fit its settings.

A folder holds JSON and safetensors; reading it runs nothing.
"""

import json
import os
import re
import shutil
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path, PurePath, PureWindowsPath
from typing import Any

from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from discotree.config.schema import HF, Config, DataSource, NetworkSettings
from discotree.decoding.trees import Calibration
from discotree.encoding.head_rules import MAX_BYTES, HeadRules, parse
from discotree.errors import DiscotreeError, HeadRuleError, ModelError, first_line, requires_extra
from discotree.files.reading import check_regular_file, read_regular_file
from discotree.files.writing import write_bytes
from discotree.models import (
    CALIBRATION,
    CONFIG,
    ENCODER,
    HEAD_RULES,
    MAX_CONFIG_BYTES,
    MAX_VOCAB_BYTES,
    RESULTS,
    VOCAB,
    WEIGHTS,
)
from discotree.models.card import CARD, LANGUAGES, README, UNMEASURED, Card, Metrics, Source, SplitMetrics, page
from discotree.network.arrays import Array
from discotree.network.subwords import Subwords
from discotree.network.transformer import Pretrained
from discotree.network.vocab import Vocab
from discotree.network.weights import (
    FLOATS,
    Shape,
    Weights,
    from_file,
    is_finite,
    linear_shapes,
    numbers_of,
    rounded,
    to_file,
)
from discotree.validation import updated


@dataclass(frozen=True, eq=False)
class Model:
    """The content of a model's folder."""

    config: Config
    vocab: Vocab
    weights: Weights  # by their names in the network
    subwords: Subwords | Pretrained | None  # pretrained sub-word vectors, or a Transformer
    folder: Path | None = None  # where it was read from
    own_head_rules: str = ""  # the text of its head rules, if they are not built in
    calibration: Calibration | None = None  # without one, confidences are raw probabilities

    @classmethod
    def new(cls, settings: Config, vocab: Vocab, subwords: Subwords | Pretrained | None = None) -> "Model":
        """Make an untrained model; ``subwords`` are read from disk unless they are given."""
        with requires_extra("train"):
            from discotree.network.pytorch.engine import weights_of
            from discotree.network.pytorch.model import PointerNetwork, pretrained_pieces
        subwords = pretrained_pieces(settings.network) if subwords is None else subwords
        network = PointerNetwork(settings.network, vocab, settings.data.tags != "none", subwords)
        return cls(settings, vocab, weights_of(network), subwords)

    @property
    def has_tags(self) -> bool:
        """Whether the network looks at the tags of the words."""
        return self.config.data.tags != "none"

    @property
    def head_rules(self) -> HeadRules:
        """The head rules that it learned with; where they got lost, children marked as heads are heads.

        They are ours or come with the model: no other file is read, whatever the settings name.
        """
        data = self.config.data
        if data.heads in HeadRules.names():
            return HeadRules.load(data.heads, marked_first=data.marked_heads)
        if self.own_head_rules:
            return HeadRules(parse(self.own_head_rules, data.heads), marked_first=data.marked_heads)
        return HeadRules.marked()

    @property
    def size(self) -> int:
        """The number of weights."""
        return sum(prod(weight.shape) for weight in self.weights.values())


UNNAMED = "encoder"  # stands for a Transformer whose path says nothing but where it is


def public(settings: Config) -> Config:
    """Return the settings of a model that is shared: every path is relative and stays inside its folder."""
    data, network = settings.data, settings.network
    encoder = HF + (bare(network.transformer) or UNNAMED) if network.transformer else network.encoder
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
        network=replace(network, encoder=encoder),
        training=replace(settings.training, base_model=bare(settings.training.base_model)),
    )


def bare(path: str) -> str:
    """Return a relative path as it is, and only the last part of one that is absolute or leads outside."""
    found = PureWindowsPath(path)  # it understands the paths of every system
    if not found.anchor and ".." not in found.parts and not path.startswith("~"):
        return path
    return "" if found.name == ".." or found.name.startswith("~") else found.name


def _public_sources(sources: tuple[DataSource, ...]) -> tuple[DataSource, ...]:
    return tuple(
        replace(source, file=bare(source.file), splits=bare(source.splits), lemmas=bare(source.lemmas))
        for source in sources
    )


def describe(folder: Path | None, settings: Config) -> Card:
    """Return the card of a model's folder; without one, a card made from its settings and training results.

    Unknown fields are empty: fill them in with ``dataclasses.replace``.
    """
    if folder and (folder / CARD).exists():
        return Card.read(folder / CARD)
    sentences, scores = _training_results(folder, settings)
    banks = dict.fromkeys(map(treebank_name, (*settings.data.test, *settings.data.train)))
    return Card(
        name=settings.name,
        language=LANGUAGES.get(settings.language, (settings.language, ""))[0],
        code=settings.language,
        treebanks=tuple(Source(name, "", "") for name in banks if name),
        licence="",
        commercial=False,
        sentences=sentences,
        scores=scores,
        commit="",
        weaknesses="",
    )


def metrics_of(scores: Mapping[str, Any]) -> Metrics:
    """Return a card's metrics from all that training measured on one split."""
    found = (
        scores["all"]["f1"],
        scores["discontinuous"]["f1"],
        scores["all"]["exact_match"],
        scores["attachment"].get("tag"),
        scores["attachment"].get("function"),
        scores["attachment"].get("lemma"),
    )
    return Metrics(*(None if value is None else round(float(value), 2) for value in found))


def _training_results(folder: Path | None, settings: Config) -> tuple[int, SplitMetrics]:
    """Read training sentences and metrics from the results beside a model.

    Results of other settings, or results that make no sense, count as none.
    """
    nothing = 0, SplitMetrics(UNMEASURED, UNMEASURED)
    if not folder:
        return nothing
    path = folder.resolve().parent / RESULTS
    try:
        results = json.loads(read_regular_file(path, MAX_CONFIG_BYTES))
        if updated(Config(), results["config"], str(path)) != settings:
            return nothing
        found = {split: metrics_of(scores) for split, scores in results["scores"].items()}
        metrics = SplitMetrics(found.get("dev", UNMEASURED), found.get("test", UNMEASURED))
        return int(results["data"]["sentences"]["train"]), metrics
    except (OSError, ValueError, RecursionError, LookupError, TypeError, AttributeError, DiscotreeError):
        return nothing


def treebank_name(source: DataSource) -> str:
    """Return the folder of a treebank among all treebanks, or else its file's name; "" where the path has none."""
    parts = PurePath(bare(source.file)).parts
    return PurePath(parts[0]).stem if parts else ""


GATES = 4  # in an LSTM
FORMAT = 2  # version of the folder format; a reader refuses a newer one
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
    """Write the settings and the calibration that were fitted on held-out trees to the folder of a model.

    Each file changes whole or not at all. The weights stay.
    """
    texts = {CONFIG: _config_text(model.config)}
    if model.calibration:
        texts[CALIBRATION] = model.calibration.to_json()
    for name, text in texts.items():
        write_bytes(folder / name, text.encode())


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
    vocab_text = _text(folder, VOCAB, MAX_VOCAB_BYTES)  # other folders may also have a config.json
    settings = read_config(folder)
    vocab = Vocab.from_json(vocab_text, str(folder / VOCAB))
    path = folder / WEIGHTS
    weights = {network_name(name): value for name, value in from_file(_arrays(path), str(path)).items()}
    rules, calibration = _own_head_rules(folder, settings), None
    if os.path.lexists(folder / CALIBRATION):
        text = _text(folder, CALIBRATION, MAX_CONFIG_BYTES)
        calibration = Calibration.from_json(text, str(folder / CALIBRATION))
    subwords: Subwords | Pretrained | None = None
    if settings.network.transformer:
        subwords = Pretrained.open(folder / ENCODER)
    elif settings.network.subwords:
        subwords = Subwords.load(settings.network.subwords)
    model = Model(settings, vocab, weights, subwords, folder, rules, calibration)
    check_weights(model, str(path))
    return model


def _arrays(path: Path) -> dict[str, Array]:
    try:
        check_regular_file(path)
        return load_file(path)
    except Exception as error:  # also KeyError and OverflowError: it depends on the version of safetensors
        raise ModelError(f"{path}: the weights cannot be read, the file may be cut off: {first_line(error)}") from None


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
    """Raise ModelError for weights that belong to another network, and values that are not finite numbers."""
    weights = model.weights
    try:
        expected = dict(shapes(model.config.network, model.vocab, model.has_tags, model.subwords))
    except KeyError as error:  # an auxiliary head without classes
        raise ModelError(f"{where}: its configuration and vocabulary make no network: {error!r:.200}") from None
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
            raise ModelError(
                f"{where}: {stored_name(name)} contains NaN, infinity, or values outside the half-precision range"
            )


def shapes(
    settings: NetworkSettings, vocab: Vocab, has_tags: bool, pieces: Subwords | Pretrained | None
) -> Iterator[tuple[str, Shape]]:
    """Yield the name and the shape of every weight that a model's file holds; shapes are those of PyTorch."""
    if settings.word_size:
        yield "encoder.words.weight", (len(vocab.words), settings.word_size)
    if settings.char_filters:
        yield "encoder.chars.table.weight", (len(vocab.chars), settings.char_size)
        window = (settings.char_filters, settings.char_size, settings.char_window)
        yield "encoder.chars.convolution.weight", window
        yield "encoder.chars.convolution.bias", (settings.char_filters,)
    if has_tags:
        yield "encoder.tags.weight", (len(vocab.tags), settings.tag_size)
    if isinstance(pieces, Pretrained):
        yield "encoder.pieces.mixture", (min(settings.encoder_layers, pieces.layers + 1),)
        yield "encoder.pieces.scale", (1,)
        for name, shape in _transformer_shapes(pieces).items():
            yield f"encoder.pieces.model.{name}", shape
    width = settings.word_size + settings.char_filters + (settings.tag_size if has_tags else 0)
    width += pieces.size if pieces is not None else 0
    yield "encoder.root", (width,)
    for layer in range(settings.lstm_layers):
        for direction in ("", "_reverse"):
            yield from _lstm(f"encoder.lstm.layers.{layer}", width, settings.lstm_size, direction)
        width = 2 * settings.lstm_size
    state = settings.decoder_size
    yield from linear_shapes("decoder.start", state, width)
    yield from _lstm("decoder.lstm", width, state)
    for name, inputs, size in (
        ("arc_dependent", state, settings.arc_size),
        ("arc_head", width, settings.arc_size),
        ("label_dependent", state, settings.label_size),
        ("label_head", width, settings.label_size),
    ):
        yield from linear_shapes(name, size, inputs)
    yield "arc_bilinear", (settings.arc_size + 1, settings.arc_size + 1)
    yield "label_bilinear", (len(vocab.labels), settings.label_size + 1, settings.label_size + 1)
    for head, classes in vocab.class_counts(settings.auxiliary_heads).items():
        yield from linear_shapes(f"auxiliary.{head}", classes, width + state)


def _transformer_shapes(pieces: Pretrained) -> dict[str, Shape]:
    if pieces.config is not None:
        return pieces.config.shapes()
    from discotree.network.pytorch.transformer import build  # the library knows the others

    return {name: tuple(value.shape) for name, value in build(pieces).state_dict().items()}


def _lstm(name: str, inputs: int, size: int, direction: str = "") -> Iterator[tuple[str, Shape]]:
    yield f"{name}.weight_ih_l0{direction}", (GATES * size, inputs)
    yield f"{name}.weight_hh_l0{direction}", (GATES * size, size)
    yield f"{name}.bias_ih_l0{direction}", (GATES * size,)
    yield f"{name}.bias_hh_l0{direction}", (GATES * size,)


def stored_name(name: str) -> str:
    """Return the name that a weight of the network has in files."""
    return re.sub(rf"^{AUXILIARY}\.", f"{STORED_AUXILIARY}.", name)


def network_name(name: str) -> str:
    """Return the name that a weight has in the network, given its name in files: the inverse of ``stored_name``."""
    return re.sub(rf"^{STORED_AUXILIARY}\.", f"{AUXILIARY}.", name)


def _own_head_rules(folder: Path, settings: Config) -> str:
    """Return the text of the head rules in the folder; "" if the model uses built-in ones, or none came with it."""
    if not os.path.lexists(folder / HEAD_RULES) or settings.data.heads in HeadRules.names():
        return ""
    text = _text(folder, HEAD_RULES, MAX_BYTES)
    try:
        parse(text, str(folder / HEAD_RULES))
    except HeadRuleError as error:
        raise ModelError(str(error)) from None
    return text


def _text(folder: Path, name: str, max_bytes: int) -> str:
    try:
        return read_regular_file(folder / name, max_bytes).decode("utf-8")
    except (OSError, ValueError) as error:
        raise ModelError(f"{folder}: not a model: {name}: {error}") from None


def _replace(new: Path, folder: Path) -> None:
    """Move a complete folder to its place, and only then remove an older model."""
    if folder.exists() and any(folder.iterdir()):
        if not (folder / CONFIG).exists():
            raise ModelError(f"{folder}: the folder exists and is not a discotree model; not overwritten")
        old = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}.old")
        os.rename(folder, old)
        os.rename(new, folder)
        shutil.rmtree(old, ignore_errors=True)
    else:
        os.rename(new, folder)  # an empty folder may be there
