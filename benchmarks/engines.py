"""How good every engine is: F1 on the dev set of each model, and how many trees differ from those of the first engine.

    DISCOTREE_DATA=FOLDER python benchmarks/engines.py [MODEL …] [--engine torch onnx-float32 onnx] [--show 3]
    DISCOTREE_DATA=FOLDER python benchmarks/engines.py MODEL --engine onnx --bits 16 8 6 5 4

FOLDER holds the unpacked treebanks. A model is a name or a folder, and its dev set is the one of its own settings.
--show prints pairs of trees that differ, with what their probabilities are: where two trees are about equally probable,
rounding decides. --bits rounds the weights before, and gives the size of each model's folder in a zip file, as a wheel
is; start from a model in half precision. "agreement" is the F1 of the trees with those of the first row as gold.
"""

import argparse
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import discotree as dt
from discotree.evaluation.parseval import evaluate
from discotree.models.finding import names
from discotree.models.folder import write_model
from discotree.parsing.parser import Parser
from discotree.training.data import load_splits, resolve


@contextmanager
def rounded(parser: Parser, bits: int) -> Iterator[tuple[str, float]]:
    """Write a parser's model with weights of so many bits; give its folder and its size in a zip file in MB."""
    model = parser.model
    settings = replace(model.config, training=replace(model.config.training, weight_bits=bits))
    with tempfile.TemporaryDirectory() as temporary:
        folder, packed = Path(temporary) / "model", Path(temporary) / "model.zip"
        write_model(replace(model, config=settings), folder)
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(path for path in folder.rglob("*") if path.is_file()):
                archive.write(file)
        yield str(folder), packed.stat().st_size / 1e6


def compare(name: str, options: argparse.Namespace) -> None:
    parser = dt.load(name, "cpu")
    settings = parser.config
    data = resolve(
        replace(settings.data, train=settings.data.dev, test=(), drop_repeats=False)
    )  # no trees but these are read
    split = load_splits(data)["dev"]
    inputs, gold = split.inputs[: options.sentences], split.trees[: options.sentences]
    ids = [tree.id for tree in gold]
    reference: list[dt.Tree] = []
    head = f"{'MB':>8}{'F1':>8}{'disc. F1':>10}{'other trees':>13}{'agreement':>11}{'seconds':>9}"
    print(f"\n{name}, {len(gold):,} sentences\n  {'':22}{head}")
    for bits in options.bits or [settings.training.weight_bits]:
        with rounded(parser, bits) as (folder, size):
            for engine in options.engine:
                one = dt.load(folder, "cpu", engine=engine)
                start = time.perf_counter()
                trees = one._parse_tokens(inputs, settings.decoding, ids)
                took = time.perf_counter() - start
                score = evaluate(gold, trees)
                reference = reference or trees
                differ = [(a, b) for a, b in zip(reference, trees, strict=True) if a != b]
                agreement = evaluate(reference, trees).f1 or 0
                f1, disc = score.f1 or 0, score.discontinuous.f1 or 0
                what = f"{engine}, {bits} bits"
                row = f"{size:8.1f}{f1:8.2f}{disc:10.2f}{len(differ):13,}{agreement:11.2f}{took:9.1f}"
                print(f"  {what:22}{row}", flush=True)
                for a, b in differ[: options.show]:
                    print(f"    {a.confidence:.6g} {a}\n    {b.confidence:.6g} {b}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="*", default=names())
    parser.add_argument("--engine", nargs="+", default=["torch", "onnx-float32", "onnx"])
    parser.add_argument(
        "--bits", type=int, nargs="+", default=[], help="bits of a weight; as the model says if not given"
    )
    parser.add_argument("--sentences", type=int, metavar="N", help="the first ones only")
    parser.add_argument("--show", type=int, default=0, metavar="N")
    options = parser.parse_args()
    for name in options.model:
        compare(name, options)


if __name__ == "__main__":
    main()
