"""Word order in French over five centuries: verbs before their subjects, and extraposed relative clauses.

    python benchmarks/french.py FOLDER [-o french.svg]

FOLDER is MCVF and PPCHF (mcvf_ppchf in the recipe). The queries are in french.toml. The name of a
text begins with its date: 1205-clari, 116x-marie-de-france. Prints a table and draws a figure.
"""

import argparse
import csv
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

QUERIES = Path(__file__).with_name("french.toml")
CENTURIES = range(12, 17)  # only five short texts are older
PAIRS = {  # one construction, and the alternative to it
    "verb before its subject": ("verb_subject", "subject_verb"),
    "extraposed relative clause": ("extraposed", "adjacent"),
}
COLOURS = ("#0b5fa5", "#b3471b")
WIDTH, HEIGHT, LEFT, BOTTOM = 640, 320, 50, 280
STEP, PERCENT = 105, 6  # from one century and one percent to the next


def count(folder: str) -> dict[int, Counter[str]]:
    """Count the matches of the queries in every century."""
    counts: dict[int, Counter[str]] = {century: Counter() for century in CENTURIES}
    with tempfile.TemporaryDirectory() as temporary:
        table = Path(temporary, "counts.csv")
        command = ["search", "--queries", str(QUERIES), folder, "-o", str(table)]
        subprocess.run([sys.executable, "-m", "discotree", *command], check=True, stderr=subprocess.DEVNULL)
        with table.open(encoding="utf-8") as stream:
            for row in csv.DictReader(stream):
                century = int(row["file"].rpartition("/")[2][:2]) + 1
                if century in counts:
                    counts[century][row["construction"]] += int(row["matches"])
    return counts


def shares(counts: dict[int, Counter[str]], pair: tuple[str, str]) -> list[float]:
    return [100 * found[pair[0]] / max(1, found[pair[0]] + found[pair[1]]) for found in counts.values()]


def draw(counts: dict[int, Counter[str]]) -> str:
    """Return the figure as SVG: a line for each construction, with its name at its beginning."""
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">']
    lines.append("<title>Share of verbs before their subjects and of extraposed relative clauses, by century</title>")
    lines.append('<g font-family="sans-serif" font-size="13" fill="#555">')
    for percent in range(0, 41, 10):
        y = BOTTOM - percent * PERCENT
        lines.append(f'<path d="M{LEFT} {y}H{WIDTH - 20}" stroke="#bbb" stroke-width="0.5"/>')
        lines.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{percent} %</text>')
    columns = [LEFT + 60 + k * STEP for k in range(len(counts))]
    for x, century in zip(columns, counts, strict=True):
        lines.append(f'<text x="{x}" y="{BOTTOM + 22}" text-anchor="middle">{century}th century</text>')
    for (name, pair), colour in zip(PAIRS.items(), COLOURS, strict=True):
        points = [(x, BOTTOM - share * PERCENT) for x, share in zip(columns, shares(counts, pair), strict=True)]
        path = " ".join(f"{x},{y:.1f}" for x, y in points)
        lines.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        lines += [f'<circle cx="{x}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in points]
        lines.append(f'<text x="{points[0][0] - 5}" y="{points[0][1] - 12:.1f}" fill="{colour}">{name}</text>')
    return "\n".join([*lines, "</g>", "</svg>"]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    counts = count(given.folder)
    print(f"| | {' | '.join(f'{century}th' for century in counts)} |\n|---|{'---|' * len(counts)}")
    for name, pair in PAIRS.items():
        cells = zip(shares(counts, pair), counts.values(), strict=True)
        print(
            f"| {name} | {' | '.join(f'{share:.1f} % of {sum(found[p] for p in pair):,}' for share, found in cells)} |"
        )
    if given.output:
        given.output.write_text(draw(counts), "utf-8")


if __name__ == "__main__":
    main()
