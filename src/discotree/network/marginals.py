"""Exact marginals of arcs: how probable each one is over all trees with exactly one word on the dummy root.

A tree weighs the product of its arcs' probabilities, and labels sum to 1 whatever the arc: so the marginal of an arc
with a label is that of the arc times p(label | head). The matrix-tree theorem (Koo et al. 2007) takes the sum over all
trees from the determinant of one matrix per sentence, and all marginals from its inverse.

Shapes and columns are those of ``decode``: B sentences, N words in the longest of them, column 0 is the dummy root.
"""

import numpy as np

from discotree.network.arborescence import Floats
from discotree.network.arc_weights import legal_arcs
from discotree.network.scores import Bools, Scores

FLOOR = -25.0  # log-weight of the least likely arc beside a word's best: keeps the matrix from being singular


def marginals(scores: Scores) -> Floats:
    """Return the marginals of all arcs (B, N, N+1); those of a word sum to 1, and rows beyond a sentence are 0.

    Where rounding leaves nothing of a sentence's sums, its marginals are the probabilities that the network gives.
    """
    arcs = legal_arcs(scores)  # (B, N, N+1)
    inside = scores.mask
    there = (arcs > -np.inf) & inside[:, :, None]
    best = np.where(there, arcs, -np.inf).max(2, keepdims=True)
    with np.errstate(invalid="ignore"):
        weights = np.where(there, np.exp(np.maximum(arcs - best, FLOOR)), 0.0)
    local = _normalised(weights)
    exact = np.clip(_by_inverse(local, inside), 0.0, 1.0)
    total = exact.sum(2)
    roots = exact[:, :, 0].sum(1)
    sound = (np.abs(total - 1) < 1e-3) | ~inside  # clipping adds what rounding made negative
    failed = ~(sound.all(1) & (np.abs(roots - 1) < 1e-3))
    exact[failed] = local[failed]
    return _normalised(exact)


def _by_inverse(weights: Floats, inside: Bools) -> Floats:
    """Return the marginals of arcs, given their weights (B, N, N+1); they may be nonsense where rounding was too much.

    The Laplacian has the sum of a word's weights on the diagonal and the negative weights elsewhere; its first row is
    replaced by the weights of the root. It is the identity for words beyond the end of a sentence.
    """
    n = weights.shape[1]
    words = np.arange(n)
    root, between = weights[:, :, 0], weights[:, :, 1:].transpose(0, 2, 1)  # (B, N), (B, head, dependent)
    laplacian = -between
    laplacian[:, words, words] = between.sum(1) + ~inside
    laplacian[:, 0] = root
    try:
        inverse = np.linalg.inv(laplacian)  # (B, dependent, head)
    except np.linalg.LinAlgError:  # one of them is singular: the others must not suffer
        inverse = np.stack([_inverse(matrix) for matrix in laplacian])
    diagonal = inverse[:, words, words].copy()
    found = np.empty_like(weights)
    found[:, :, 0] = root * inverse[:, :, 0]
    diagonal[:, 0] = 0.0
    inverse[:, :, 0] = 0.0
    with np.errstate(all="ignore"):
        found[:, :, 1:] = weights[:, :, 1:] * (diagonal[:, :, None] - inverse)
    return np.nan_to_num(found, nan=-1.0, posinf=-1.0, neginf=-1.0)


def _inverse(matrix: Floats) -> Floats:
    try:
        return np.asarray(np.linalg.inv(matrix), np.float64)
    except np.linalg.LinAlgError:
        return np.full_like(matrix, np.nan)


def _normalised(values: Floats) -> Floats:
    """Return rows (…, columns) that sum to 1; rows of zeros stay."""
    total = values.sum(-1, keepdims=True)
    return values / np.where(total > 0, total, 1.0)
