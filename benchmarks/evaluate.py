"""Sentences per second and peak memory of the evaluation.

    python benchmarks/evaluate.py TREEBANK [--pairs 50000]

Gold trees come from TREEBANK (any file or folder that discotree reads), repeated as needed; predictions are the same
trees with changed labels and spliced-out nodes. Measured are trees in memory, with and without tables, and whole files.
"""

import argparse
import itertools
import random
import resource
import tempfile
import time
import tracemalloc
from collections.abc import Iterable, Iterator
from pathlib import Path

import discotree as dt
from discotree.evaluation.analysis import Analysis
from discotree.evaluation.parseval import evaluate


def spoiled(rng: random.Random, tree: dt.Tree, labels: list[str]) -> dt.Tree:
    """Return the tree with a tenth of its labels changed and a tenth of its nodes spliced out."""
    token_parents, nodes = tree.parents()
    into = {-1: -1}
    kept: list[tuple[str, str, int]] = []
    for k, (label, function, parent) in enumerate(nodes):
        chance = rng.random()
        if chance < 0.1:
            into[k] = into[parent]
        else:
            into[k] = len(kept)
            kept.append((rng.choice(labels) if chance < 0.2 else label, function, into[parent]))
    return dt.Tree.from_parents(tree.tokens, [into[p] for p in token_parents], kept, id=tree.id)


def repeated(trees: list[dt.Tree], n: int) -> Iterator[dt.Tree]:
    return itertools.islice(itertools.cycle(trees), n)


def numbered(trees: Iterable[dt.Tree]) -> Iterator[dt.Tree]:
    return (dt.Tree(tree.tokens, tree.root, str(k)) for k, tree in enumerate(trees, 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("treebank")
    parser.add_argument("--pairs", type=int, default=50_000)
    arguments = parser.parse_args()
    n = arguments.pairs
    gold = list(numbered(itertools.islice(dt.read(arguments.treebank), min(n, 10_000))))
    labels = sorted({node.label for tree in gold for node in tree.nodes()})
    rng = random.Random(0)
    predicted = [spoiled(rng, tree, labels) for tree in gold]
    print(f"{n:,} pairs, {sum(map(len, gold)) / len(gold):.1f} tokens each")

    start = time.perf_counter()
    score = evaluate(repeated(gold, n), repeated(predicted, n))
    plain = time.perf_counter() - start
    print(f"trees in memory     {n / plain:10,.0f} sentences/s   F1 {score.f1:.2f}, disc. {score.discontinuous.f1:.2f}")

    start = time.perf_counter()
    evaluate(repeated(gold, n), repeated(predicted, n), observe=Analysis())
    print(f"… with all tables   {n / (time.perf_counter() - start):10,.0f} sentences/s")

    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / "gold.dbr", Path(folder) / "predicted.dbr"]
        for path, trees in zip(paths, (gold, predicted), strict=True):
            dt.write(numbered(repeated(trees, n)), path)
        start = time.perf_counter()
        evaluate(*map(dt.read, paths))
        print(f"discbracket files   {n / (time.perf_counter() - start):10,.0f} sentences/s")
        tracemalloc.start()
        evaluate(*map(dt.read, paths))
        print(f"peak of its objects {tracemalloc.get_traced_memory()[1] / 2**20:10,.1f} MiB")
        tracemalloc.stop()
    print(f"peak of the process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:10,.1f} MiB")


if __name__ == "__main__":
    main()
