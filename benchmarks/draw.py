"""Time of drawing, by renderer.

    python benchmarks/draw.py FOLDER [--trees 1000]

FOLDER holds the unpacked treebanks (alpino, pcc, squoia_de, craft, icepahc); missing ones are left out. The layout
alone comes first, since every renderer needs it; the ratio says how much more a renderer does. Times are the best of
three runs in one process. The target is 1,000 trees as SVG within three seconds.
"""

import argparse
import itertools
import time
from collections.abc import Callable
from pathlib import Path

import discotree as dt
from discotree import drawing as draw
from discotree.drawing.svg import PageItem

TREEBANKS = {
    "alpino": ("alpino/cdb.xml", "alpino"),
    "pcc": ("pcc/syntax", "negra"),
    "squoia_de": ("squoia_de", "negra"),
    "craft": ("craft/penn", "ptb"),
    "icepahc": ("icepahc/finished", "icepahc"),
}
RUNS = 3
TARGET = 3.0  # seconds for 1,000 trees to SVG


def seconds(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(RUNS):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def measure(name: str, trees: list[dt.Tree], rules: dt.HeadRules) -> None:
    arcs = [dt.to_dependencies(tree, rules) for tree in trees]
    renderers: dict[str, Callable[[], object]] = {
        "layout": lambda: [draw.layout(tree) for tree in trees],
        "text": lambda: [draw.draw_text(tree) for tree in trees],
        "text, width 100": lambda: [draw.draw_text(tree, width=100) for tree in trees],
        "svg": lambda: [draw.draw_svg(tree) for tree in trees],
        "arcs": lambda: [draw.draw_arcs(dependencies) for dependencies in arcs],
        "comparison": lambda: [draw.draw_comparison(tree, tree) for tree in trees],
        "latex": lambda: [draw.draw_latex(tree) for tree in trees],
        "html": lambda: list(
            draw.draw_page((PageItem(tree.id, "", draw.draw_svg(tree, style=False)) for tree in trees), name)
        ),
    }
    words = sum(map(len, trees)) / len(trees)
    size = sum(len(draw.draw_svg(tree)) for tree in trees) / len(trees) / 1024
    print(f"\n{name}: {len(trees):,} trees, {words:.1f} words and {size:.0f} KiB of SVG each")
    print(f"{'':18}{'seconds':>9}{'trees/s':>10}{'× layout':>10}")
    base = 0.0
    for renderer, work in renderers.items():
        taken = seconds(work)
        base = base or taken
        note = ""
        if renderer == "svg":
            per_thousand = taken * 1000 / len(trees)
            note = (
                f"   {per_thousand:.2f} s per 1,000: {'within' if per_thousand < TARGET else 'MISSES'} {TARGET:.0f} s"
            )
        print(f"{renderer:18}{taken:9.2f}{len(trees) / taken:10,.0f}{taken / base:10.1f}{note}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trees", type=int, default=1000, help="number of trees per treebank")
    arguments = parser.parse_args()
    for name, (path, rules) in TREEBANKS.items():
        if (arguments.folder / path).exists():
            trees = list(itertools.islice(dt.read(arguments.folder / path), arguments.trees))
            measure(name, trees, dt.HeadRules.load(rules))


if __name__ == "__main__":
    main()
