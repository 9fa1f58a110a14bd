"""Two engines on random networks, side by side."""

import dataclasses
from functools import cache

import numpy as np
from support.networks import CALM, HEADS, parser_of

from discotree.models.folder import shapes
from discotree.network.onnx.engine import OnnxEngine
from discotree.network.pytorch.engine import TorchEngine, network_of
from discotree.network.weights import rounded

NO_HEADS = dict.fromkeys(HEADS, 0.0)
SETTINGS = {
    "plain": CALM,
    "no auxiliary heads": dataclasses.replace(CALM, **NO_HEADS),
    "sub-words": dataclasses.replace(CALM, subwords="latin"),
    "tags": CALM,
    "one layer": dataclasses.replace(CALM, lstm_layers=1, char_window=1),
    "wide windows": dataclasses.replace(CALM, char_window=7, char_filters=9, max_chars=3),
}


@cache
def untrained(name):
    return parser_of(network=SETTINGS[name], tags="gold" if name == "tags" else "none")


def random_weights(parser, seed=0, bits=0):
    """Weights that are not small: a network that was never trained says the same about everything."""
    rng = np.random.default_rng(seed)
    parts = (parser.config.network, parser.vocab, parser.has_tags, parser.model.subwords)
    weights = {name: rng.normal(0, 0.4, shape).astype(np.float32) for name, shape in shapes(*parts)}
    return rounded(weights, bits) if bits else weights


def engines(parser, weights, precision="float32"):
    parts = (parser.config.network, parser.vocab, parser.has_tags, parser.model.subwords, weights)
    return TorchEngine(network_of(*parts)), OnnxEngine(*parts, precision, threads=1)


def largest_difference(expected, found):
    """The largest difference between two Scores of a batch, where there are words."""
    inside = expected.mask
    assert found.arcs.shape == expected.arcs.shape
    assert np.array_equal(np.isneginf(found.arcs), np.isneginf(expected.arcs))
    heads = np.concatenate([np.ones((len(inside), 1), bool), inside], 1)
    chosen = np.where(inside, np.arange(inside.shape[1])[::-1] % expected.lengths[:, None], 0)
    pairs = [
        (np.maximum(found.arcs, -1e9)[inside], np.maximum(expected.arcs, -1e9)[inside]),
        (found.dependents[inside], expected.dependents[inside]),
        (found.heads[heads], expected.heads[heads]),
        (found.labels_of(chosen)[inside], expected.labels_of(chosen)[inside]),
    ]
    assert found.auxiliary.keys() == expected.auxiliary.keys()
    for head, values in expected.auxiliary.items():
        assert np.array_equal(values.classes[inside], found.auxiliary[head].classes[inside])
        pairs.append((found.auxiliary[head].log_probability[inside], values.log_probability[inside]))
    assert [(a.shape, a.dtype) for a, _ in pairs] == [(b.shape, b.dtype) for _, b in pairs]
    return max(float(np.abs(a - b).max()) for a, b in pairs)
