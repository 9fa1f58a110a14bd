"""Logistic regression in numpy, with signs that weights must have.

Shapes: C rows, F columns.
"""

import numpy as np

from discotree.network.arborescence import Floats, Ints
from discotree.network.calibration import sigmoid

STEPS = 50  # Newton's method converges in about ten
TOLERANCE = 1e-7
MAX_STEP = 5.0


def fit_logistic(
    columns: Floats, targets: Floats, signs: Ints, penalty: float, offset: Floats | float = 0.0
) -> tuple[float, Floats]:
    """Return the bias and the weights (F,) that predict ``targets`` (C,), from 0 to 1, from ``columns`` (C, F).

    ``signs`` (F,) are 1 where a weight may not be negative, -1 where it may not be positive, 0 where it is free.
    Columns whose weight would have the wrong sign are left out. ``penalty`` is that of the squared weights of columns
    that are scaled to a deviation of 1. ``offset`` (C,) are logits that the fit only adds to.
    """
    mean, deviation = columns.mean(0), columns.std(0)
    scale = np.where(deviation > 1e-9, deviation, 1.0)
    scaled = (columns - mean) / scale
    kept = np.flatnonzero(deviation > 1e-9)
    weights = np.zeros(columns.shape[1])
    while True:
        bias, found = _newton(scaled[:, kept], targets, penalty, offset)
        wrong = found * signs[kept] < 0
        if not wrong.any():
            break
        kept = kept[~wrong]
    weights[kept] = found / scale[kept]
    return bias - float(mean @ weights), weights


def _newton(columns: Floats, targets: Floats, penalty: float, offset: Floats | float) -> tuple[float, Floats]:
    with_bias = np.hstack([np.ones((len(columns), 1)), columns])
    weights = np.zeros(with_bias.shape[1])
    ridge = np.full(len(weights), penalty)
    ridge[0] = 1e-6  # the bias is free: what is expected on average is what happened
    for _ in range(STEPS):
        expected = sigmoid(with_bias @ weights + offset)
        gradient = with_bias.T @ (expected - targets) + ridge * weights
        curvature = (with_bias * (expected * (1 - expected))[:, None]).T @ with_bias + np.diag(ridge)
        step = np.linalg.solve(curvature, gradient)
        step *= min(1.0, MAX_STEP / max(float(np.abs(step).max()), 1e-12))
        weights -= step
        if np.abs(step).max() < TOLERANCE:
            break
    return float(weights[0]), weights[1:]
