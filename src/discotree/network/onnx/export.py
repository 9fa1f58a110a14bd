"""Export a network as one ONNX file with its weights, for other runtimes.

The file takes a batch (network/batch.py) and gives its scores (network/scores.py), and the labels of arcs: input
``chosen`` (B, N) names the heads to label, as columns 0..N, or -1 for the most probable one. Its metadata hold the
vocabulary and the settings as JSON. In float32 it uses standard operations only; int8 needs those of ONNX Runtime.
"""

import dataclasses
import json
import os
from pathlib import Path

import numpy as np

from discotree.config import NetworkSettings
from discotree.errors import ModelError
from discotree.network.onnx import graphs
from discotree.network.onnx.engine import Precision
from discotree.network.onnx.graph import Graph
from discotree.network.onnx.network import WORDS, Network
from discotree.network.subwords import Subwords
from discotree.network.transformer import Pretrained
from discotree.network.vocab import Vocab
from discotree.network.weights import Weights

MAX_BYTES = (1 << 31) - (1 << 20)  # a message of the file format holds no more than 2 GB


def export(
    settings: NetworkSettings,
    vocab: Vocab,
    has_tags: bool,
    pieces: Subwords | Pretrained | None,
    weights: Weights,
    path: str | os.PathLike[str],
    precision: Precision = "float32",
) -> None:
    """Write the file."""
    network = Network.of(settings, vocab, has_tags, pieces, weights, precision == "int8")
    graph = whole(network)
    size = sum(array.nbytes for array in graph.arrays.values())
    if size > MAX_BYTES:
        raise ModelError(f"{path}: {size:,} bytes of weights: an ONNX file holds at most {MAX_BYTES:,}")
    metadata = {
        "vocabulary": json.dumps(json.loads(vocab.to_json()), ensure_ascii=False),
        "settings": json.dumps(dataclasses.asdict(settings)),
        "precision": precision,
    }
    try:
        Path(path).write_bytes(graph.model(inside=True, metadata=metadata))
    except OSError as error:
        raise ModelError(f"{path}: cannot be written: {error}") from None


def whole(network: Network) -> Graph:
    """Return the graph of everything."""
    graph = Graph("discotree")
    characters = vectors = ""
    if network.settings.char_filters:
        characters = network.characters(graph, graph.input("chars", np.int64, ("forms", "characters")))
    if network.encoder is not None:
        pieces = graph.input("pieces", np.int64, ("sentences", "pieces"))
        last = graph.add("ReduceMax", "last", axes=(1,), keepdims=0)  # an input that the network adds
        vectors = network.encoder.vectors(graph, pieces, graph.add("Add", last, graph.constant(1)), network.int8)
    scores = network.scores(graph, characters, vectors)
    graphs.outputs(graph, network, scores)
    chosen = graph.input("chosen", np.int64, WORDS)
    best = graph.add("ArgMax", scores["arcs"], axis=2, keepdims=0)
    chosen = graph.add("Where", graph.add("Less", chosen, graph.constant(0)), best, chosen)
    size = network.settings.label_size + 1
    wide = graph.add("Expand", graph.unsqueeze(chosen, -1), graph.constant([1, 1, size]))
    heads = graph.reshape(graph.add("GatherElements", scores["heads"], wide, axis=1), -1, size)  # (B · N, K)
    dependents = graph.reshape(scores["dependents"], -1, 1, size)
    labels = network.labels(graph, dependents, heads)  # (B · N, 1, L)
    count = network.weights["label_bilinear"].shape[0]
    shape = (graph.shape(chosen, 0), graph.shape(chosen, 1), count)
    graph.output("labels", graph.reshape(labels, *shape), np.float32, (*WORDS, count))
    return graph
