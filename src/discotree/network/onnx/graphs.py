"""The graphs that an engine runs: characters, the Transformer, the network and the labeler, with inputs and outputs.

Characters and pieces have graphs of their own, which take some words or windows at a time.
"""

import numpy as np

from discotree.network.onnx.graph import Graph
from discotree.network.onnx.network import WORDS, Dimensions, Network

CLASSES = ".classes"


def characters(network: Network) -> Graph:
    """Characters of distinct words → their vectors."""
    graph = Graph("characters")
    chars = graph.input("chars", np.int64, ("forms", "characters"))
    graph.output("characters", network.characters(graph, chars), np.float32, ("forms", network.settings.char_filters))
    return graph


def transformer(network: Network) -> Graph:
    """Pieces and their numbers → vectors of pieces."""
    assert network.encoder is not None
    graph = Graph("Transformer")
    pieces = graph.input("pieces", np.int64, ("sentences", "pieces"))
    counts = graph.input("counts", np.int64, ("sentences",))
    vectors = network.encoder.vectors(graph, pieces, counts, network.int8)
    graph.output("vectors", vectors, np.float32, ("sentences", "pieces", network.encoder.config.hidden))
    return graph


def network(network: Network) -> Graph:
    """Sentences, with the vectors of characters and pieces → scores."""
    graph = Graph("network")
    settings, vectors, characters = network.settings, "", ""
    if settings.char_filters:
        characters = graph.input("characters", np.float32, ("forms", settings.char_filters))
    if network.encoder is not None:
        vectors = graph.input("vectors", np.float32, ("sentences", "pieces", network.encoder.config.hidden))
    outputs(graph, network, network.scores(graph, characters, vectors))
    return graph


def outputs(graph: Graph, network: Network, scores: dict[str, str]) -> None:
    size = network.settings.label_size + 1
    shapes: dict[str, Dimensions] = {
        "arcs": ("sentences", "words", "positions"),
        "dependents": ("sentences", "words", size),
        "heads": ("sentences", "positions", size),
    }
    for name, value in scores.items():
        dtype = np.int64 if name.endswith(CLASSES) else np.float32
        graph.output(name, value, dtype, shapes.get(name, WORDS))


def labeler(network: Network) -> Graph:
    """Label features of heads → the weights that labels give the features of a dependent.

    In int8 the features are between -1 and 1, and ``label_constants`` has what is the same for all heads.
    """
    graph, labels = Graph("labeler"), network.labels
    heads = graph.input("heads", np.float32, ("heads", labels.size))
    weights = labels.products(graph, heads) if labels.int8 else labels.weights(graph, heads)
    graph.output("weights", weights, np.float32, ("heads", labels.count * labels.size))
    return graph


def label_constants(network: Network) -> Graph:
    """Label features of dependents → the part of their scores that is the same for all heads."""
    graph, labels = Graph("label_constants"), network.labels
    dependents = graph.input("dependents", np.float32, ("arcs", labels.size))
    graph.output("scores", labels.constants(graph, dependents), np.float32, ("arcs", labels.count))
    return graph
