"""Evaluation report as one self-contained HTML page: metrics, plots, tables, the worst sentences."""

from collections.abc import Iterable, Sequence
from html import escape

from discotree.evaluation.analysis import TABLES, Analysis
from discotree.evaluation.charts import Chart, svg
from discotree.evaluation.score import BracketCounts, Score
from discotree.evaluation.significance import BootstrapResult

PLOTTED = {"sentence": "F1 by sentence length", "gap": "F1 by gap degree", "label": "F1 by label"}
MAX_LABELS = 20
MAX_CONFUSIONS = 30
STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.2rem;margin-top:2.5rem}
table{border-collapse:collapse;margin:.5rem 0}th,td{padding:.2rem .8rem;text-align:right;border-bottom:1px solid #ddd}
th:first-child,td:first-child{text-align:left}svg{max-width:100%;height:auto;display:block;margin:1rem 0}
details{margin:.4rem 0}summary{cursor:pointer}.wide{overflow-x:auto}.missing{color:#b03a2e}.spurious{color:#7d5ba6}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#1b1b1b}th,td{border-color:#444}
.missing{color:#ff8a7a}.spurious{color:#c3a6ff}}
"""


def html(
    title: str,
    scores: dict[str, Score],
    analysis: Analysis,
    differences: dict[str, BootstrapResult] | None = None,
) -> str:
    """Return a report with a column for each of ``scores``; ``analysis`` belongs to the first of them."""
    parts = [f"<h1>{escape(title)}</h1>", _summary(scores)]
    if differences:
        parts += ["<h2>Is the difference luck?</h2>", _differences(differences)]
    if analysis.rules is not None:
        arcs = analysis.arcs
        parts.append(f"<p>Augmented dependencies: UAS {_number(arcs.uas)}, LAS {_number(arcs.las)}.</p>")
    tables = analysis.tables
    parts.append("<h2>Where the errors are</h2>")
    parts += [
        svg([Chart(heading, TABLES[name], _bars(tables[name], name), digits=1)])
        for name, heading in PLOTTED.items()
        if tables[name]
    ]
    for name, heading in TABLES.items():
        parts += [f"<h2>{heading.capitalize()}</h2>", _counts_table(tables[name].items())]
    parts += ["<h2>Most frequent confusions</h2>", _confusions(analysis)]
    parts += ["<h2>The worst sentences</h2>", *_worst(analysis)]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
        f"<style>{STYLE}</style></head>\n<body>\n" + "\n".join(parts) + "\n</body></html>\n"
    )


ROWS = {
    "sentences": "sentences",
    "longest_sentence": "longest sentence",
    "gold": "gold brackets",
    "predicted": "predicted brackets",
    "matched": "matched brackets",
    "recall": "recall",
    "precision": "precision",
    "f1": "F1",
    "exact_match": "exact match",
    "pos_accuracy": "POS accuracy",
    "function_accuracy": "function accuracy",
}


def _summary(scores: dict[str, Score]) -> str:
    columns = [score.metrics() for score in scores.values()]
    rows = [[name, *(_number(column[key]) for column in columns)] for key, name in ROWS.items()]
    return _table(["", *scores], rows)


def _differences(differences: dict[str, BootstrapResult]) -> str:
    rows = [
        [
            name,
            _number(d.first),
            _number(d.second),
            f"{d.difference:+.2f}",
            f"{d.low:+.2f} … {d.high:+.2f}",
            f"{d.p:.3f}",
        ]
        for name, d in differences.items()
    ]
    return _table(["F1", "first", "second", "difference", "95 % interval", "p"], rows)


def _bars(table: dict[str, BracketCounts], name: str) -> list[tuple[str, float]]:
    rows = list(table.items())[: MAX_LABELS if name == "label" else None]
    return [(key, counts.f1 if counts.matched else 0.0) for key, counts in rows]


def _counts_table(rows: Iterable[tuple[str, BracketCounts]]) -> str:
    return _table(
        ["", "gold", "predicted", "matched", "recall", "precision", "F1"],
        [
            [key, *(f"{n:,}" for n in (c.gold, c.predicted, c.matched)), *map(_number, (c.recall, c.precision, c.f1))]
            for key, c in rows
        ],
    )


def _confusions(analysis: Analysis) -> str:
    rows = [[gold, predicted, f"{n:,}"] for (gold, predicted), n in analysis.confusions.most_common(MAX_CONFUSIONS)]
    return _table(["gold", "predicted", "times"], rows)


def _worst(analysis: Analysis) -> list[str]:
    parts = []
    for worst in analysis.worst:
        missing = "".join(f"<li class=missing>missing {escape(b)}</li>" for b in worst.missing)
        spurious = "".join(f"<li class=spurious>spurious {escape(b)}</li>" for b in worst.spurious)
        parts.append(
            f"<details><summary>{escape(worst.id)} ({worst.errors} errors): {escape(' '.join(worst.words))}</summary>"
            f"<ul>{missing}{spurious}</ul></details>"
        )
    return parts


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>\n" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>'


def _number(value: float | int | None) -> str:
    if value is None or value != value:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"
