"""Export a network as one ONNX file with its weights, for other runtimes.

The file takes a batch (network/batch.py) and gives its scores (network/scores.py), and the labels of arcs: input
``chosen`` (B, N) has the heads to label, as columns 0..N, or -1 for the most probable one. Its metadata contain the
vocabulary and the rules that turn words into ids. In float32 it uses standard operations only; int8 needs those of ONNX
Runtime. docs/export.md is the documentation for users.
"""

import dataclasses
import json
import os
from collections.abc import Mapping

import numpy as np

from discotree.config.schema import NetworkSettings
from discotree.errors import ModelError, TreebankError
from discotree.files.writing import write_bytes
from discotree.network.onnx.engine import Precision, Session
from discotree.network.onnx.graph import Graph
from discotree.network.onnx.network import WORDS, Network, add_outputs, labeler_graph, transformer_graph
from discotree.network.subwords import Subwords
from discotree.network.transformer import KINDS, Pretrained
from discotree.network.vocab import Vocab
from discotree.network.weights import Weights

MAX_BYTES = (1 << 31) - (1 << 20)  # the file format is limited to 2 GB
NO_GRAPH = f"this Transformer cannot be exported; supported types: {', '.join(sorted(KINDS))}"


def export(
    settings: NetworkSettings,
    vocab: Vocab,
    has_tags: bool,
    pieces: Subwords | Pretrained | None,
    weights: Weights,
    path: str | os.PathLike[str],
    precision: Precision = "float32",
    metadata: Mapping[str, str] | None = None,
) -> int:
    """Write the file atomically, with additional ``metadata``; return its size in bytes."""
    if isinstance(pieces, Pretrained) and pieces.config is None:
        raise ModelError(f"{pieces.where}: {NO_GRAPH}")
    network = Network.from_weights(settings, vocab, has_tags, pieces, weights, precision == "int8")
    if network.encoder is not None and network.int8:
        run = Session(transformer_graph(network), 1).run
        network = dataclasses.replace(network, encoder_ranges=network.encoder.ranges(run))
    graph = full_graph(network)
    size = sum(array.nbytes for array in graph.arrays.values())
    if size > MAX_BYTES:
        raise ModelError(f"{path}: {size:,} bytes of weights, but an ONNX file holds at most {MAX_BYTES:,}")
    described = {
        "vocabulary": json.dumps(json.loads(vocab.to_json()), ensure_ascii=False),
        "settings": json.dumps(dataclasses.asdict(settings)),
        "precision": precision,
        **_pieces(network, pieces),
        **(metadata or {}),
    }
    content = graph.model(inside=True, metadata=described)
    try:
        write_bytes(path, content)
    except TreebankError as error:
        raise ModelError(str(error)) from None
    return len(content)


def _pieces(network: Network, pieces: Subwords | Pretrained | None) -> dict[str, str]:
    """Return the metadata that say how words are split into pieces."""
    if isinstance(pieces, Subwords):
        return {"pieces": pieces.to_json()}
    if pieces is None or network.encoder is None:
        return {}
    rules = {
        "space": pieces.space,
        "unknown": pieces.unknown,
        "special": sorted(piece for piece in pieces.special if piece is not None),
        "at_most": network.encoder.width,
    }
    return {"pieces": json.dumps(rules), "tokenizer": pieces.tokenizer.to_str()}


def web_graphs(
    settings: NetworkSettings, vocab: Vocab, subwords: Subwords | None, weights: Weights
) -> dict[str, bytes]:
    """Return the files that the JavaScript package runs: the network, and the labeler for the arcs that matter.

    Weights have the bits that the model stores them in and are computed with in float32. Sub-word vectors are looked up
    outside, because models share them: input ``subwords`` (B, N, ·) has the features of each word.
    """
    network = Network.from_weights(settings, vocab, False, None, weights, int8=False)
    network = dataclasses.replace(network, subword_size=subwords.size if subwords else 0)
    graph, characters = Graph("network", compact=True), ""
    if settings.char_filters:
        characters = network.characters(graph, graph.input("chars", np.int64, ("forms", "characters")))
    add_outputs(graph, network, network.scores(graph, characters, ""))
    graphs = (graph, labeler_graph(network, compact=True))
    return {f"{graph.name}.onnx": graph.model(inside=True) for graph in graphs}


def full_graph(network: Network) -> Graph:
    """Return one graph from a batch to all scores and labels."""
    graph = Graph("discotree")
    characters = vectors = ""
    if network.settings.char_filters:
        characters = network.characters(graph, graph.input("chars", np.int64, ("forms", "characters")))
    if network.encoder is not None:
        pieces = graph.input("pieces", np.int64, ("sentences", "pieces"))
        last = graph.add("ReduceMax", "last", axes=(1,), keepdims=0)  # an input that the network adds
        vectors = network.encoder.vectors(graph, pieces, graph.add("Add", last, graph.constant(1)))
    scores = network.scores(graph, characters, vectors)
    add_outputs(graph, network, scores)
    chosen = graph.input("chosen", np.int64, WORDS)
    best = graph.add("ArgMax", scores["arcs"], axis=2, keepdims=0)
    chosen = graph.add("Where", graph.add("Less", chosen, graph.constant(0)), best, chosen)
    size, count = network.labels.size, network.labels.count
    wide = graph.add("Expand", graph.unsqueeze(chosen, -1), graph.constant([1, 1, size]))
    heads = graph.reshape(graph.add("GatherElements", scores["heads"], wide, axis=1), -1, size)  # (B · N, K)
    dependents = graph.reshape(scores["dependents"], -1, 1, size)
    labels = network.labels.scores(graph, dependents, heads)  # (B · N, 1, L)
    shape = (graph.shape(chosen, 0), graph.shape(chosen, 1), count)
    graph.output("labels", graph.reshape(labels, *shape), np.float32, (*WORDS, count))
    return graph
