"""Tables at the end of a training: scores of dev and test, of all decoding methods, and what fine-tuning changed."""

import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from rich.table import Table

from discotree.cli.common import number

METRICS = {  # columns of the table, and their keys in results.json
    "F1": ("all", "f1"),
    "disc. F1": ("discontinuous", "f1"),
    "exact match": ("all", "exact_match"),
    "LAS": ("attachment", "las"),
}
PRICES = "prices of gaps and confidences"


def scores_table(runs: Sequence[dict[str, Any]]) -> Table:
    """A row per split and per source with a name; for several runs, means and standard deviations."""
    table = Table("", box=None, pad_edge=False)
    for name in METRICS:
        table.add_column(name, justify="right")
    for split in runs[0]["scores"]:
        found = [run["scores"][split] for run in runs]
        if "start" in runs[0]:
            table.add_row(f"{split}, before", *_cells([runs[0]["start"]["scores"][split]]))
        table.add_row(split, *_cells(found))
        for source in found[0].get("sources", ()):
            table.add_row(f"  {source}", *_cells([scores["sources"][source] for scores in found]))
    return table


def _cells(scores: Sequence[dict[str, Any]]) -> list[str]:
    return [cell([run[kind][name] for run in scores]) for kind, name in METRICS.values()]


def decoding_table(runs: Sequence[dict[str, Any]]) -> Table:
    """A row per split and decoding method."""
    columns = {"F1": "f1", "disc. F1": "discontinuous_f1", "seconds": "seconds"}
    table = Table("", "decoding", box=None, pad_edge=False)
    for name in columns:
        table.add_column(name, justify="right")
    for split, scores in runs[0]["scores"].items():
        for method in scores["decoding"]:
            found = [run["scores"][split]["decoding"][method] for run in runs]
            table.add_row(split, method, *(cell([row[name] for row in found]) for name in columns.values()))
    return table


def cell(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None and value == value]
    if not known:
        return number(None)
    spread = f" ± {statistics.stdev(known):.2f}" if len(known) > 1 else ""
    return number(statistics.mean(known), 2) + spread


def start_lines(results: dict[str, Any]) -> Iterator[str]:
    """Say what a fine-tuned model has learned from, what is new in it, and what dev was good for."""
    start = results["start"]
    dev, name = results["data"]["sentences"]["dev"], start["name"]
    new = [f"{found['count']:,} {kind}{_named(kind, found)}" for kind, found in start["new"].items()]
    yield f"new to {name}: {', '.join(new) or 'nothing'}"
    refitted = results["config"]["training"]["fit_dev"]
    if not start["dev_decides"]:
        yield f"dev has {dev:,} sentences, too few to decide: the last epoch is kept, and {PRICES} are those of {name}"
    elif refitted:
        yield f"{PRICES} are fitted on the {dev:,} sentences of dev"
    terms = start["licence"] or "unknown: ask its authors"
    use = "" if start["commercial"] or not start["licence"] else ", non-commercial use only"
    yield f"licence: that of {name} ({terms}{use}) and that of your trees both apply to this model"


def _named(kind: str, found: dict[str, Any]) -> str:
    if kind in ("words", "characters"):
        return ""
    more = " …" if found["count"] > len(found["first"]) else ""
    return f" ({' '.join(found['first'])}{more})"
