"""Accuracy over speed as one picture: F1 on Alpino's test over sentences per second, ours and the peers'.

    python benchmarks/tradeoff.py -o plot.svg --point nl runs/small/results.json 412

A point is a name, the results.json of a run (docs/lab/results has some) and the sentences per second that
benchmarks/parse.py found on two cores. The peers are those of docs/lab/results.md, with the speed measured on the
same data: filled marks on a CPU, hollow ones on a GPU.
"""

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from discotree.files.writing import escape, writable

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 56, 24, 48, 48
RADIUS = 5
LABEL_HEIGHT, LABEL_WIDTH = 14, 6.6  # pixels of a line, and of a character, about
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#222}.title{font-weight:600;font-size:14px}"
    "line{stroke:#ddd}.ours{fill:#3b6ea5;stroke:#3b6ea5}.peer{fill:#b8642c;stroke:#b8642c}.gpu{fill:none}.page{fill:#fff}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}line{stroke:#444}.page{fill:#1b1b1b}}"
)


@dataclass(frozen=True)
class Point:
    """A parser: its F1 and its sentences per second."""

    name: str
    f1: float
    speed: float
    kind: str = "peer"  # or "ours"
    gpu: bool = False


# Alpino cdb, trained on its train alone: docs/lab/results.md. Speeds on one CPU core, or on an H200.
PEERS = (
    Point("Coavoux & Cohen 2019, one core", 74.5, 17),
    Point("Corro 2020, H200", 77.0, 461, gpu=True),
    Point("disco-dop 2DOP, ≤ 25 words, one core", 70.7, 2.2),
)


def point_of(name: str, path: str, speed: str) -> Point:
    """Return the point of a run, from its results."""
    results = json.loads(Path(path).read_text("utf-8"))
    return Point(name, float(results["scores"]["test"]["all"]["f1"]), float(speed), "ours")


def draw(points: Sequence[Point]) -> str:
    """Return the picture as SVG; speed has a logarithmic axis."""
    lowest = 10 ** math.floor(math.log10(min(point.speed for point in points)))
    highest = 10 ** math.ceil(math.log10(max(point.speed for point in points) * 1.01))
    least = 5 * math.floor(min(point.f1 for point in points) / 5)
    most = 5 * math.ceil(max(point.f1 for point in points) / 5)

    def x(speed: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(speed / lowest) / math.log(highest / lowest)

    def y(f1: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (f1 - least) / max(1, most - least)

    title = "F1 on Alpino's test over sentences per second"
    pieces = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img"><title>{title}</title><style>{STYLE}</style>',
        f'<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>',
        f'<text class="title" x="{LEFT}" y="24">{title}</text>',
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 10}" text-anchor="middle">sentences per second (logarithmic)</text>',
    ]
    for power in range(round(math.log10(lowest)), round(math.log10(highest)) + 1):
        at = x(10.0**power)
        pieces.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
        pieces.append(f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{10**power:,g}</text>')
    for f1 in range(least, most + 1, 5):
        pieces.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(f1):.1f}" y2="{y(f1):.1f}"/>')
        pieces.append(f'<text x="{LEFT - 8}" y="{y(f1) + 4:.1f}" text-anchor="end">{f1}</text>')
    taken: list[tuple[float, float, float]] = []  # left, right and baseline of each label
    for point in sorted(points, key=lambda point: -point.f1):
        across, down = x(point.speed), y(point.f1)
        width = LABEL_WIDTH * len(point.name)
        left = across + 9 if across + 9 + width < WIDTH else across - 9 - width
        baseline = down + 4
        while any(a < left + width and left < b and abs(baseline - c) < LABEL_HEIGHT for a, b, c in taken):
            baseline += LABEL_HEIGHT
        taken.append((left, left + width, baseline))
        marks = f"{point.kind}{' gpu' if point.gpu else ''}"
        about = f"{escape(point.name)}: {point.f1:.1f} F1, {point.speed:,g} sentences/s"
        pieces.append(
            f'<circle class="{marks}" cx="{across:.1f}" cy="{down:.1f}" r="{RADIUS}" stroke-width="2">'
            f"<title>{about}</title></circle>"
        )
        pieces.append(f'<text x="{left:.1f}" y="{baseline:.1f}">{escape(point.name)}</text>')
    return "\n".join(pieces) + "\n</svg>\n"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the SVG to write")
    parser.add_argument("--point", nargs=3, action="append", default=[], metavar=("NAME", "RESULTS", "SPEED"))
    options = parser.parse_args(arguments)
    picture = draw([*PEERS, *(point_of(*values) for values in options.point)])
    with writable(options.output) as stream:
        stream.write(picture.encode())


if __name__ == "__main__":
    main()
