"""The annotation loop with gold trees as the annotator: choose sentences, take their trees, fine-tune, measure.

    DISCOTREE_DATA=FOLDER python benchmarks/annotation_loop.py TREEBANK -o RUNS [--model nl] [--sentences 100]
        [--choose random uncertain] [--seeds 1] [--set training.epochs=20] [--from-nothing network.lstm_size=256]

The treebank must be one that the model has not learned from. Half of its sentences, drawn at random, are held out; the
annotator gets some of the others: the ones that the model is least certain of, as `discotree annotate` orders them, or
random ones. `discotree train --from MODEL` learns from their trees. Before and after, the model parses the held-out
half, and the test split of its own recipe to see what it forgets. With --from-nothing and the settings of a network,
the random sentences also train a fresh one.

Finished trainings in RUNS are not repeated.
"""

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import discotree as dt
from discotree.training.data import load_held_out, resolve

HEADER = f"{'':34}{'words':>7}  {'F1':>6}{'disc. F1':>9}{'exact':>7}   {'own F1':>7}{'disc. F1':>9}{'exact':>7}"


def halves(trees: Sequence[dt.Tree]) -> tuple[list[dt.Tree], list[dt.Tree]]:
    """Return two random halves of distinct sentences: to choose from, and to measure on."""
    distinct = list({tree.words: tree for tree in trees}.values())
    random.Random(0).shuffle(distinct)
    return distinct[: len(distinct) // 2], distinct[len(distinct) // 2 :]


def chosen(pool: Sequence[dt.Tree], how: str, count: int, seed: int, parser: dt.Parser) -> list[dt.Tree]:
    """Return the sentences that the annotator works on."""
    if how == "random":
        return random.Random(seed).sample(pool, count)
    certain = [tree.confidence or 0.0 for tree in parser.parse(pool)]
    order = sorted(range(len(pool)), key=certain.__getitem__)
    return [pool[number] for number in order[:count]]


def train(folder: Path, *arguments: str) -> str:
    """Run `discotree train` unless it has been run, and return the folder of its model."""
    if not (folder / "results.json").exists():
        command = [sys.executable, "-m", "discotree", "train", *arguments, "-o", str(folder), "--no-tensorboard"]
        subprocess.run(command, check=True)
    return str(folder / "model")


def recipe(path: Path, trees: Path, parser: dt.Parser) -> str:
    """Write a recipe that trains from nothing on these trees."""
    data = {"train": [str(trees.absolute())], "hold_out": 10, "heads": parser.config.data.heads}
    lines = [f"{name} = {json.dumps(value)}" for name, value in data.items()]
    path.write_text("\n".join([f'language = "{parser.config.language}"', "[data]", *lines, ""]), "utf-8")
    return str(path)


def scores(model: str, *golds: Sequence[dt.Tree]) -> Iterator[float]:
    parser = dt.load(model, "cpu")
    for gold in golds:
        score = dt.evaluate(gold, list(parser.parse(gold)))
        yield from (score.f1, score.discontinuous.f1, score.exact_match)


def show(name: str, words: int, values: Sequence[float]) -> None:
    first, second = (f"{a:>7.2f}{b:>8.2f}{c:>8.2f}" for a, b, c in (values[:3], values[3:]))
    print(f"{name:34}{words:>7,} {first}   {second}", flush=True)


def settings(values: Sequence[str]) -> list[str]:
    return [word for value in values for word in ("--set", value)]


def main() -> None:
    arguments = argparse.ArgumentParser(description="Measure the annotation loop with gold trees as the annotator.")
    arguments.add_argument("treebank")
    arguments.add_argument("-o", "--output", type=Path, required=True, metavar="RUNS")
    arguments.add_argument("--model", default="nl")
    arguments.add_argument("--sentences", type=int, default=100)
    arguments.add_argument("--choose", nargs="*", choices=("random", "uncertain"), default=["random", "uncertain"])
    arguments.add_argument("--seeds", type=int, default=1)
    arguments.add_argument("--set", dest="settings", action="append", default=[], metavar="SECTION.NAME=VALUE")
    arguments.add_argument("--from-nothing", nargs="*", metavar="SECTION.NAME=VALUE")
    arguments.add_argument("--variant", default="", help="name of these settings, for the folders of their runs")
    given = arguments.parse_args()

    pool, held_out = halves(list(dt.read(given.treebank)))
    parser = dt.load(given.model, "cpu")
    own = load_held_out(resolve(parser.config.data), "test").trees
    given.output.mkdir(parents=True, exist_ok=True)
    print(f"{len(held_out):,} sentences held out of {given.treebank}; {len(own):,} of the model's own test split\n")
    print(HEADER)
    show(given.model, 0, list(scores(given.model, held_out, own)))
    for how in given.choose:
        for seed in range(1, given.seeds + 1):
            trees = chosen(pool, how, given.sentences, seed, parser)
            name = "-".join(filter(None, (how, str(given.sentences), str(seed))))
            file = given.output / f"{name}.export"
            dt.write(trees, file)
            words = sum(len(tree.tokens) for tree in trees)
            seeded = settings([f"training.seed={seed}", *given.settings])
            run = given.output / "-".join(filter(None, (name, given.variant)))
            tuned = train(run, "--from", given.model, "--train", str(file), *seeded)
            show(run.name, words, list(scores(tuned, held_out, own)))
            if given.from_nothing is not None and how == "random":
                fresh = recipe(given.output / f"{name}.toml", file, parser)
                run = given.output / f"{name}-nothing"
                seeded = settings([f"training.seed={seed}", *given.from_nothing])
                show(run.name, words, list(scores(train(run, fresh, *seeded), held_out, own)))


if __name__ == "__main__":
    main()
