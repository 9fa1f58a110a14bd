"""A calibration: what its file holds, which files are refused, and what it does to confidences."""

import json
from dataclasses import replace

import numpy as np
import pytest
from support.calibrations import CALIBRATION, WEIGHTS

from discotree.decoding.trees import FORMAT, LOGARITHMS, NAMES, Calibration, ConfidenceFeatures, apply_curve
from discotree.errors import ModelError


def some_evidence(seed=0):
    rng = np.random.default_rng(seed)
    values = np.hstack([-rng.random((7, len(LOGARITHMS))) * 4, rng.random((7, len(NAMES) - len(LOGARITHMS)))])
    return ConfidenceFeatures(values, [*"ABCDE", "NP", "VP"], np.array([0, 0, 0, 2, 2, 3, 3]), np.array([3, 0, 2, 2]))


def test_the_file_holds_all_of_it():
    assert Calibration.from_json(CALIBRATION.to_json(), "file") == CALIBRATION


def test_a_calibration_without_the_weakest_probability_still_loads():
    without = {name: weight for name, weight in WEIGHTS.items() if name != "weakest"}
    old = Calibration.from_json(json.dumps(json.loads(CALIBRATION.to_json()) | {"weights": without}), "file")
    assert old == replace(CALIBRATION, weights=WEIGHTS | {"weakest": 0.0})


TABLE = json.loads(CALIBRATION.to_json())
DAMAGED = {
    "no JSON": "{",
    "deep": "[" * 100_000,
    "another kind": "[]",
    "no format": json.dumps({key: value for key, value in TABLE.items() if key != "format"}),
    "a boolean as format": json.dumps(TABLE | {"format": True}),
    "a newer format": json.dumps(TABLE | {"format": FORMAT + 1}),
    "a key too many": json.dumps(TABLE | {"code": "import os"}),
    "a key too few": json.dumps({key: value for key, value in TABLE.items() if key != "curve"}),
    "a weight too few": json.dumps(TABLE | {"weights": dict(list(WEIGHTS.items())[1:])}),
    "a weight that is a word": json.dumps(TABLE | {"weights": WEIGHTS | {"closed": "high"}}),
    "no number": json.dumps(TABLE | {"bias": float("nan")}),
    "infinite": json.dumps(TABLE | {"tree_bias": float("inf")}),
    "a very large whole number": json.dumps(TABLE | {"bias": 10**400}),
    "a curve that falls": json.dumps(TABLE | {"curve": [[0, 1], [1, 0]]}),
    "a curve that turns back": json.dumps(TABLE | {"curve": [[0, 0], [0, 1]]}),
    "a curve of one point": json.dumps(TABLE | {"curve": [[0, 0]]}),
    "a curve of triples": json.dumps(TABLE | {"curve": [[0, 0, 0], [1, 1, 1]]}),
    "an F1 above 1": json.dumps(TABLE | {"empty": 1.5}),
}


@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_refused_with_its_address(text):
    with pytest.raises(ModelError, match=r"^model/calibration\.json: "):
        Calibration.from_json(text, "model/calibration.json")


def test_a_more_probable_arc_never_lowers_a_confidence():
    seen = some_evidence()
    before = CALIBRATION.constituents(seen)
    for column, _ in enumerate(LOGARITHMS):
        higher = seen.values.copy()
        higher[:, column] *= 0.5
        after = CALIBRATION.constituents(replace(seen, values=higher))
        assert (after > before).all()
        assert (CALIBRATION.trees(seen, after) >= CALIBRATION.trees(seen, before)).all()


def test_confidences_are_probabilities_and_an_empty_tree_has_its_own():
    seen = some_evidence()
    values = CALIBRATION.constituents(seen)
    expected = CALIBRATION.trees(seen, values)
    assert ((values > 0) & (values < 1)).all()
    assert ((expected > 0) & (expected < 1)).all()
    assert expected[1] == 0.9
    heavy = replace(CALIBRATION, weights=dict.fromkeys(WEIGHTS, 1e4), bias=-1e4)
    assert np.isfinite(heavy.constituents(seen)).all()


def test_a_label_has_a_weight_of_its_own():
    seen = some_evidence()
    renamed = CALIBRATION.constituents(replace(seen, labels=["X"] * 7))
    assert (renamed == CALIBRATION.constituents(seen)).tolist() == [True] * 5 + [False] * 2


def test_the_curve_goes_on_straight_at_its_ends():
    found = apply_curve(np.array([-4.0, -2.0, -1.0, 0.0, 3.0, 5.0]), CALIBRATION.curve)
    assert found.tolist() == [-3.5, -1.5, -0.5, 0.5, 2.5, 4.5]
