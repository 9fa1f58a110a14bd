"""Report of an evaluation as one self-contained HTML page."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from discotree.evaluation.analysis import TABLES, Analysis, BootstrapResult
from discotree.evaluation.parseval import Score

MAX_CONFUSIONS = 30
STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.2rem;margin-top:2.5rem}
table{border-collapse:collapse;margin:.5rem 0}th,td{padding:.2rem .8rem;text-align:right;border-bottom:1px solid #ddd}
th:first-child,td:first-child{text-align:left}
.bar{min-width:12rem;background:linear-gradient(90deg,#a9c8e8 var(--share),transparent 0)}
details{margin:.4rem 0}summary{cursor:pointer}.wide{overflow-x:auto}.missing{color:#b03a2e}.spurious{color:#7d5ba6}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#1b1b1b}th,td{border-color:#444}
.bar{background:linear-gradient(90deg,#2f5f92 var(--share),transparent 0)}
.missing{color:#ff8a7a}.spurious{color:#c3a6ff}}
"""


def html(
    title: str,
    scores: dict[str, Score],
    analysis: Analysis,
    differences: dict[str, BootstrapResult] | None = None,
) -> str:
    """Return a report with a column for each of ``scores``; ``analysis`` belongs to the first of them."""
    metrics = [score.metrics() for score in scores.values()]
    summary = [
        [name, *(column[key] for column in metrics)]
        for key, name in ROWS.items()
        if any(column[key] is not None for column in metrics)
    ]
    parts = [f"<h1>{escape(title)}</h1>", _table(["", *scores], summary)]
    if differences:
        rows: list[list[Any]] = [
            [name, d.first, d.second, f"{d.difference:+.2f}", f"{d.low:+.2f} … {d.high:+.2f}", d.p_text.lstrip("= ")]
            for name, d in differences.items()
        ]
        columns = ["F1", *systems_of(scores), "difference", "95 % interval", "p"]
        parts += ["<h2>Significance of the difference</h2>", _table(columns, rows)]
    if analysis.rules is not None:
        uas, las = map(_text, analysis.attachment.values())
        parts.append(f"<p>Augmented dependencies: UAS {uas}, LAS {las}.</p>")
    tables = analysis.tables
    for name, heading in TABLES.items():
        rows = [[key, c.gold, c.predicted, c.matched, c.recall, c.precision, c.f1] for key, c in tables[name].items()]
        columns = ["", "gold", "predicted", "matched", "recall", "precision", "F1"]
        parts += [f"<h2>F1 {heading}</h2>", _table(columns, rows, bars=True)]
    confusions = analysis.confusions.most_common(MAX_CONFUSIONS)
    rows = [[gold, predicted, times] for (gold, predicted), times in confusions]
    parts += ["<h2>Most frequent confusions</h2>", _table(["gold", "predicted", "times"], rows)]
    parts.append("<h2>The worst sentences</h2>")
    for worst in analysis.worst:
        missing = "".join(f"<li class=missing>missing {escape(b)}</li>" for b in worst.missing)
        spurious = "".join(f"<li class=spurious>spurious {escape(b)}</li>" for b in worst.spurious)
        parts.append(
            f"<details><summary>{escape(worst.id)} ({worst.errors} errors): {escape(' '.join(worst.words))}</summary>"
            f"<ul>{missing}{spurious}</ul></details>"
        )
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
    "lemma_accuracy": "lemma accuracy",
}


def systems_of(columns: Iterable[str]) -> list[str]:
    """Return the names of the systems in a comparison: the first lines of the names of columns."""
    return list(dict.fromkeys(name.partition("\n")[0] for name in columns))


def _table(header: Sequence[str], rows: Iterable[Sequence[Any]], bars: bool = False) -> str:
    """Return a table; ``bars`` also shows the percentages of the last column as bars."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = ""
    for *cells, last in rows:
        style = f' class="bar" style="--share:{last:.2f}%"' if bars and last == last else ""
        body += f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in cells)}<td{style}>{_text(last)}</td></tr>\n"
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>'


def _text(value: str | float | None) -> str:
    if isinstance(value, str):
        return escape(value)
    if value is None or value != value:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"
