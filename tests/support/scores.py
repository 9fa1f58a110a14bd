"""Random scores, as a network might give them."""

import numpy as np

from discotree.network.scores import Scores, grouped_labeler

KINDS = ("plain", "peaked", "ties", "holes")


def random_scores(lengths, seed=0, kind="plain", labels=3, features=2) -> Scores:
    """Random scores. peaked: a tree plus noise; ties: a few round numbers; holes: much is -inf or not a number."""
    rng = np.random.default_rng(seed)
    b, n = len(lengths), max(lengths)
    arcs = rng.normal(size=(b, n, n + 1)) * 2
    dependents = rng.normal(size=(b, n, features))
    heads = rng.normal(size=(b, n + 1, features))
    bilinear = rng.normal(size=(labels, features, features))
    if kind == "ties":
        arcs, bilinear = arcs.round(), bilinear * 0
    if kind == "peaked":
        for sentence, word in np.ndindex(b, n):
            arcs[sentence, word, rng.integers(0, word + 1)] += 8.0
    if kind == "holes":
        arcs[rng.random(arcs.shape) < 0.5] = -np.inf
        arcs[rng.random(arcs.shape) < 0.1] = np.nan
        heads[rng.random(heads.shape) < 0.1] = np.nan
    arcs[np.broadcast_to(np.arange(n + 1) > np.array(lengths)[:, None, None], arcs.shape)] = -np.inf
    if kind in ("plain", "peaked"):
        arcs -= np.log(np.exp(arcs).sum(-1, keepdims=True))
    arcs, dependents, heads, bilinear = (x.astype(np.float32) for x in (arcs, dependents, heads, bilinear))
    return Scores(np.array(lengths), arcs, dependents, heads, bilinear_labeler(bilinear), {})


def bilinear_labeler(bilinear):
    """Return the labeler of a biaffine layer (L, K, K): a label's score for a dependent and its head is d · W · h."""
    matrix = bilinear.transpose(2, 1, 0).reshape(bilinear.shape[2], -1)  # (K, K · L)
    return grouped_labeler(lambda heads: heads @ matrix, len(bilinear))
