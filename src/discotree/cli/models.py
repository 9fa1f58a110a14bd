"""models."""

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.markdown import Markdown
from rich.table import Table

from discotree.bundled import README, Card, bundled, find
from discotree.cli.common import err, number, out
from discotree.errors import ModelError

RIGHT = ("sentences", "F1", "disc. F1")


def models(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Show the card of this model.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print the cards as JSON.")] = False,
) -> None:
    """List the models that come with discotree, or show the card of one.

    Figures are those on the test part, in percent. Sentences are those of training.
    """
    if name and not as_json:
        _show(name)
        return
    cards = bundled()
    if name and name not in cards:
        raise ModelError(
            f"there is no model {name!r} among those that come with discotree: {', '.join(cards) or 'none'}"
        )
    if as_json:
        chosen = asdict(cards[name]) if name else [asdict(card) for card in cards.values()]
        print(json.dumps(chosen, indent=2, ensure_ascii=False))
    elif cards:
        out().print(_table(cards))
    else:
        err.print("no models come with this discotree")


def _show(name: str) -> None:
    path = find(name) / README
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise ModelError(f"{path}: this model has no card") from None
    console = out()
    if console.is_terminal:
        console.print(Markdown(text))
    else:
        print(text, end="")


def _table(cards: dict[str, Card]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("name", "language", "treebanks", "licence", *RIGHT):
        table.add_column(column, justify="right" if column in RIGHT else "left")
    for name, card in cards.items():
        test = card.scores.test
        table.add_row(
            name,
            card.language,
            ", ".join(treebank.name for treebank in card.treebanks),
            card.licence if card.commercial else f"{card.licence} (non-commercial use only)",
            f"{card.sentences:,}",
            number(test.f1),
            number(test.discontinuous_f1),
        )
    return table
