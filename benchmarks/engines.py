"""How good every engine is: F1 on the dev set of each model, and how many trees differ from those of the first engine.

    DISCOTREE_DATA=FOLDER python benchmarks/engines.py [MODEL …] [--engine torch onnx-float32 onnx] [--show 3]

FOLDER holds the unpacked treebanks. A model's dev set is the one of its own settings. --show prints pairs of trees that
differ, with what their probabilities are: where two trees are about equally probable, rounding decides.
"""

import argparse
import time
from dataclasses import replace

import discotree as dt
from discotree.evaluation.parseval import evaluate
from discotree.models.finding import bundled
from discotree.training.data import load_splits, resolve


def compare(name: str, engines: list[str], show: int) -> None:
    settings = dt.load(name, "cpu").config
    data = resolve(
        replace(settings.data, train=settings.data.dev, test=(), drop_repeats=False)
    )  # no trees but these are read
    split = load_splits(data)["dev"]
    ids = [tree.id for tree in split.trees]
    reference: list[dt.Tree] = []
    print(f"\n{name}, {len(split):,} sentences\n  {'':14}{'F1':>8}{'disc. F1':>10}{'other trees':>13}{'seconds':>9}")
    for engine in engines:
        parser = dt.load(name, "cpu", engine=engine)
        start = time.perf_counter()
        trees = parser.parse_tokens(split.inputs, settings.decoding, ids)
        took = time.perf_counter() - start
        score = evaluate(split.trees, trees)
        reference = reference or trees
        differ = [(one, other) for one, other in zip(reference, trees, strict=True) if one != other]
        f1, disc = score.f1 or 0, score.discontinuous.f1 or 0
        print(f"  {engine:14}{f1:8.2f}{disc:10.2f}{len(differ):13,}{took:9.1f}", flush=True)
        for one, other in differ[:show]:
            print(f"    {one.confidence:.6g} {one}\n    {other.confidence:.6g} {other}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="*", default=list(bundled()))
    parser.add_argument("--engine", nargs="+", default=["torch", "onnx-float32", "onnx"])
    parser.add_argument("--show", type=int, default=0, metavar="N")
    options = parser.parse_args()
    for name in options.model:
        compare(name, options.engine, options.show)


if __name__ == "__main__":
    main()
