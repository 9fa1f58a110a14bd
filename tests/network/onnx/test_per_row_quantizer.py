"""Int8 products with a step for each row of inputs, against their definition."""

import numpy as np
import pytest

from discotree.network.onnx.engine import Session
from discotree.network.onnx.graph import POSITIVE_ZERO_POINT, Graph, quantized, row_products
from discotree.network.weights import rounded


def products(x, weights, positive):
    graph = Graph("products")
    name = graph.input("x", np.float32, ("rows", x.shape[1]))
    names = [f"weight {k}" for k in range(len(weights))]
    for k, found in enumerate(row_products(graph, names, weights, name, POSITIVE_ZERO_POINT if positive else 128)):
        graph.output(f"product {k}", found, np.float32, ("rows", weights[k].shape[0]))
    return list(Session(graph, 1).run({"x": x}).values())


def expected(x, weight, zero):
    step = np.maximum(np.maximum(x.max(1) / (255 - zero), -x.min(1) / zero), np.float32(1e-30))[:, None]
    numbers = np.clip(np.rint(x / step), -zero, 255 - zero)
    return numbers * step @ quantized(weight).dense().T


@pytest.mark.parametrize(("positive", "zero"), [(False, 128), (True, POSITIVE_ZERO_POINT)])
def test_a_product_is_that_of_rounded_inputs(positive, zero):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(7, 32)).astype(np.float32) * np.logspace(-3, 3, 7, dtype=np.float32)[:, None]
    x[3] = 0
    x[4] = -np.abs(x[4])
    x[5] = np.abs(x[5])
    whole, parts = rng.normal(size=(5, 32)).astype(np.float32), rounded({"a": rng.normal(size=(6, 32))}, 5)["a"]
    for found, weight in zip(products(x, [whole, parts], positive), (whole, parts), strict=True):
        wanted = expected(x, weight, zero)
        scale = np.abs(wanted).max(1) + 1e-6
        assert (np.abs(found - wanted).max(1) < 1e-2 * scale).all()


def test_a_row_does_not_depend_on_the_others():
    rng = np.random.default_rng(1)
    x, weight = rng.normal(size=(4, 16)).astype(np.float32), rng.normal(size=(3, 16)).astype(np.float32)
    alone = products(x[:1], [weight], False)[0]
    x[1:] *= 1000
    assert np.array_equal(products(x, [weight], False)[0][:1], alone)


def test_numbers_above_zero_are_rounded_more_finely():
    rng = np.random.default_rng(2)
    x = np.maximum(rng.normal(size=(50, 64)), -0.1).astype(np.float32)
    exact = np.eye(64, dtype=np.float32)
    error = [np.abs(products(x, [exact], positive)[0] - x).mean() for positive in (False, True)]
    assert error[1] < 0.65 * error[0]
