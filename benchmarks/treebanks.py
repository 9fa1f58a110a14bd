"""Trees per second and peak memory for reading, writing, encoding and decoding treebanks.

    python benchmarks/treebanks.py FOLDER [--trees 2000]

FOLDER holds the unpacked treebanks (alpino, pcc, squoia_de, craft, icepahc); those that are missing are left
out. Every figure is the best of three runs in one process. Peak memory is what Python objects took while
the trees streamed through, for the trees and for ten times as many: it must not grow with the file.
"""

import argparse
import itertools
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path

import discotree as dt

TREEBANKS = {
    "alpino": ("alpino/cdb.xml", "alpino"),
    "pcc": ("pcc/syntax", "negra"),
    "squoia_de": ("squoia_de", "negra"),
    "craft": ("craft/penn", "ptb"),
    "icepahc": ("icepahc/finished", "icepahc"),
}
SUFFIXES = {
    "export": ".export",
    "discbracket": ".dbr",
    "tigerxml": ".tiger.xml",
    "alpino": ".alpino.xml",
    "penn": ".mrg",
    "conllu": ".conllu",
    "parquet": ".parquet",
    "arrow": ".arrow",
}
RUNS = 3


def exhaust(items: Iterable[object]) -> None:
    for _ in items:
        pass


def per_second(count: int, work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(RUNS):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return count / best


def peak_kib(work: Callable[[], object]) -> float:
    tracemalloc.start()
    work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 1024


def measure(name: str, trees: list[dt.Tree], rules: dt.HeadRules, folder: Path) -> None:
    n = len(trees)
    tokens = sum(map(len, trees)) / n
    print(f"\n{name}: {n:,} trees, {tokens:.1f} tokens each")
    print(f"{'':14}{'read/s':>10}{'write/s':>10}{'peak KiB':>10}{'10x':>8}")
    for format, suffix in SUFFIXES.items():
        path, longer = folder / f"one{suffix}", folder / f"ten{suffix}"
        written = per_second(n, lambda path=path, format=format: dt.write(trees, path, format, heads=rules))
        dt.write(itertools.chain.from_iterable(itertools.repeat(trees[:500], 10)), longer, format, heads=rules)
        read = per_second(n, lambda path=path, format=format: exhaust(dt.read(path, format)))
        dt.write(trees[:500], path, format, heads=rules)
        small = peak_kib(lambda path=path, format=format: exhaust(dt.read(path, format)))
        large = peak_kib(lambda longer=longer, format=format: exhaust(dt.read(longer, format)))
        print(f"{format:14}{read:10,.0f}{written:10,.0f}{small:10,.0f}{large:8,.0f}")
    encoded = [dt.to_dependencies(tree, rules) for tree in trees]
    encode = per_second(n, lambda: exhaust(dt.to_dependencies(tree, rules) for tree in trees))
    decode = per_second(n, lambda: exhaust(dt.to_tree(dependencies) for dependencies in encoded))
    print(f"{'encoding':14}{decode:10,.0f}{encode:10,.0f}   (read = to_tree, write = to_dependencies)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trees", type=int, default=2000, help="how many trees of each treebank")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        for name, (path, rules) in TREEBANKS.items():
            if (arguments.folder / path).exists():
                trees = list(itertools.islice(dt.read(arguments.folder / path), arguments.trees))
                measure(name, trees, dt.HeadRules.load(rules), Path(temporary))


if __name__ == "__main__":
    main()
