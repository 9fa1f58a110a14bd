"""A calibration with round numbers."""

from discotree.decoding.trees import CONSTITUENT, FORMAT, RISING, TREE, Calibration

WEIGHTS = {name: 0.5 if name in RISING else -0.25 for name in CONSTITUENT}
CALIBRATION = Calibration(
    FORMAT, 2.0, WEIGHTS, {"NP": 0.5, "VP": -1.0}, [[-2.0, -1.5], [0.0, 0.5], [3.0, 2.5]],
    0.25, dict.fromkeys(TREE, 0.5), 0.9, {"sentences": 20.0},
)  # fmt: skip
