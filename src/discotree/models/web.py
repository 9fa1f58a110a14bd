"""Write a model for the JavaScript package, which parses in browsers and Node.

    model.json            settings, vocabulary, calibration, and the sizes and digests of the files below
    network.onnx.gz       the network (network/onnx/export.py)
    labeler.onnx.gz       the part of it that scores the labels of some arcs
    subwords.safetensors.gz   sub-word pieces, and the vectors of those that the language uses
    rare-subwords.safetensors.gz   the other vectors, which are loaded when a text needs one of them
    card.json, LICENSE, NOTICE

The files are compressed because most static hosts do not compress them.
"""

import gzip
import hashlib
import json
import shutil
import uuid
from collections.abc import Sequence
from importlib import resources
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from discotree.errors import ModelError
from discotree.evaluation.params import PROPER
from discotree.models.card import CARD, Card
from discotree.models.finding import GROUP, ModelPackage
from discotree.models.folder import Model
from discotree.network.arrays import Array
from discotree.network.onnx.export import web_graphs
from discotree.network.subwords import UNKNOWN_PIECE, Subwords
from discotree.network.transformer import Pretrained
from discotree.version import __version__

FORMAT = 1  # version of the folder; js/src/model.js refuses others
INDEX = "model.json"
SUBWORDS, RARE_SUBWORDS = "subwords.safetensors", "rare-subwords.safetensors"
FIRST_LOAD = 14_500_000  # bytes that the first visit of a page should load at most
PIECE_BYTES, NAMES_BYTES = 95, 600_000  # compressed: the vector of a sub-word, and the names and scores of all
LICENCES = ("LICENSE", "NOTICE")
TRAINING_ONLY = ("singletons", "tags")  # parts of the vocabulary


def write_web_model(model: Model, folder: Path) -> int:
    """Write a model to a folder, which appears when it is complete; return the size of all its files in bytes."""
    if isinstance(model.subwords, Pretrained):
        raise ModelError(
            f"{model.folder}: a model with a Transformer cannot be exported for the web; choose a small one, such as nl"
        )
    if model.has_tags:
        raise ModelError(f"{model.folder}: a model that reads tags cannot be exported for the web")
    if model.config.decoding.method != "exact":
        raise ModelError(
            f"{model.folder}: its decoding method is {model.config.decoding.method!r}, the web supports 'exact' only"
        )
    contents = web_graphs(model.config.network, model.vocab, model.subwords, model.weights)
    files = _compress(contents)
    if model.subwords is not None:
        room = FIRST_LOAD - NAMES_BYTES - sum(map(len, files.values()))
        files |= _compress(_subwords(model.subwords, model.vocab.words.symbols, room // PIECE_BYTES))
    card = Card.read(model.folder / CARD) if model.folder and (model.folder / CARD).exists() else None
    index = json.dumps(_index(model, card, files), ensure_ascii=False, separators=(",", ":"))
    files[INDEX] = index.encode() + b"\n"
    if card:
        files[CARD] = card.to_json().encode()
    files |= _licences(model)
    folder = folder.resolve()
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / INDEX).exists())):
        raise ModelError(f"{folder}: exists and is not a model for the web; not overwritten")
    temporary = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}")
    try:
        temporary.mkdir(parents=True)
        for name, content in files.items():
            (temporary / name).write_bytes(content)
        if folder.exists():
            shutil.rmtree(folder)
        temporary.rename(folder)
    except OSError as error:
        raise ModelError(f"{folder}: cannot be written: {error}") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return sum(map(len, files.values()))


def _compress(contents: dict[str, bytes]) -> dict[str, bytes]:
    """Compress files. The same model gives the same bytes: their digests are the keys of the browser's cache."""
    return {f"{name}.gz": gzip.compress(content, mtime=0) for name, content in contents.items()}


def _index(model: Model, card: Card | None, files: dict[str, bytes]) -> dict[str, Any]:
    """Return the content of model.json."""
    config, vocab = model.config, model.vocab
    table = json.loads(vocab.to_json())
    heads = vocab.class_counts(config.network.auxiliary_heads)
    tags = table["outputs"].get("tag", [])
    return {
        "format": FORMAT,
        "made_by": f"discotree {__version__}",
        "name": card.name if card else config.name,
        "language": config.language,
        "inventory": vocab.inventory(),
        "max_chars": config.network.max_chars,
        "characters": bool(config.network.char_filters),
        "word_vectors": bool(config.network.word_size),
        "label_size": config.network.label_size,
        **{key: value for key, value in table.items() if key not in TRAINING_ONLY},
        "outputs": {head: table["outputs"][head] for head in heads},
        "consistent": config.decoding.consistent,
        "gap_penalties": config.decoding.gap_penalties,
        "calibration": json.loads(model.calibration.to_json()) if model.calibration else None,
        "uncounted_tags": [tag for tag in tags if PROPER.eq_label.get(tag, tag) in PROPER.delete_label],
        "uncounted_words": sorted(PROPER.delete_word),
        "files": {
            name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in files.items()
        },
    }


def _subwords(subwords: Subwords, words: Sequence[str], least: int) -> dict[str, bytes]:
    """Return the table of sub-words in two files: common pieces, and the vectors of the others.

    At least this number of pieces are common: those of known words, and the shortest others. Scales are in single
    precision: JavaScript has no half precision.
    """
    names, scores = subwords.table()
    used = {piece for word in words for form in {word, word.capitalize()} for piece in subwords.pieces(form)}
    used.add(UNKNOWN_PIECE)  # its name is empty, so it stays the first
    order = sorted(range(len(names)), key=lambda number: (number not in used, len(names[number]), number))
    values, scale = subwords.vectors.values[order], subwords.vectors.scale[order]
    pieces = np.frombuffer("\n".join([names[number] for number in order]).encode(), np.uint8)
    count = max(len(used), least)
    common: dict[str, Array] = {
        "pieces": pieces,
        "scores": scores[order],
        "values": values[:count],
        "scale": scale[:count],
    }
    rare: dict[str, Array] = {"values": values[count:], "scale": scale[count:]}
    return {SUBWORDS: save(common), RARE_SUBWORDS: save(rare)}


def _licences(model: Model) -> dict[str, bytes]:
    """Return the licence texts of the model, if it came in a package, and of the sub-word vectors."""
    texts = {}
    for distribution in distributions():
        for entry in distribution.entry_points.select(group=GROUP):
            package = ModelPackage(distribution.metadata["Name"], entry.value)
            if model.folder is not None and package.folder() == model.folder.absolute():
                texts = {name: distribution.read_text(f"licenses/{name}") or "" for name in LICENCES}
    for name in LICENCES:
        if not texts.get(name) and model.folder is not None and (model.folder / name).is_file():
            texts[name] = (model.folder / name).read_text("utf-8")
    files = {name: text.encode() for name, text in texts.items() if text}
    if model.subwords is not None:
        pieces = resources.files("discotree.network") / "pieces"
        files |= {f"{name}.subwords": (pieces / name).read_bytes() for name in LICENCES}
    return files
