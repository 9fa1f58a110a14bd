"""How good the confidences of a model are, constituent by constituent and tree by tree.

    python benchmarks/confidence.py MODEL TREEBANK...
    DISCOTREE_DATA=FOLDER python benchmarks/confidence.py MODEL [--split dev]

Without treebanks the trees are a split of the model's own recipe, by default test. They must be none that the model was
trained or calibrated on. A constituent is correct as `discotree evaluate` has
it: label and words, punctuation and the root left out. ECE has ten bins of equal width.
"""

import argparse
from itertools import chain

import discotree as dt
from discotree.network.arrays import F64
from discotree.training.calibrate import Outcomes, correlation, deciles, observe, reliability
from discotree.training.data import Split, load_held_out, resolve, treebank_split


def row(name: str, confidence: F64, outcomes: Outcomes) -> None:
    counted = outcomes.counted
    found = reliability(confidence[counted], outcomes.correct[counted])
    print(f"{name:34}{found['auc']:8.3f}{found['ece']:8.3f}{found['brier']:8.3f}{found['constant']:10.3f}", flush=True)


def report(parser: dt.Parser, split: Split) -> None:
    outcomes = observe(parser, split)
    print(f"{len(outcomes.f1):,} trees, {int(outcomes.counted.sum()):,} constituents\n")
    print(f"{'':34}{'AUC':>8}{'ECE':>8}{'Brier':>8}{'constant':>10}")
    row("raw", outcomes.raw, outcomes)
    calibration = parser.model.calibration
    if calibration is None:
        print("the model is not calibrated: discotree calibrate")
        return
    confidence = calibration.constituents(outcomes.evidence)
    row("calibrated", confidence, outcomes)
    expected = calibration.trees(outcomes.evidence, confidence)
    print(f"\ntrees: expected F1 {expected.mean():.3f}, F1 {outcomes.f1.mean():.3f}, ", end="")
    print(
        f"correlation {correlation(expected, outcomes.f1):.3f}, raw {correlation(outcomes.raw_trees, outcomes.f1):.3f}"
    )
    print("tenths, expected F1 / F1: " + "  ".join(f"{a:.2f}/{b:.2f}" for a, b in deciles(expected, outcomes.f1)))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("model")
    options.add_argument("treebank", nargs="*")
    options.add_argument("--split", choices=("dev", "test"), default="test")
    options.add_argument("--engine")
    given = options.parse_args()
    parser = dt.load(given.model, engine=given.engine)
    data = parser.config.data
    if given.treebank:
        split = treebank_split(chain.from_iterable(map(dt.read, given.treebank)), data)
    else:
        split = load_held_out(resolve(data), given.split)
    report(parser, split)


if __name__ == "__main__":
    main()
