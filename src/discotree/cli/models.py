"""models and push."""

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markdown import Markdown
from rich.table import Table

from discotree.cli.common import err, number, out
from discotree.errors import ModelError, requires_extra
from discotree.models.card import CARD, README, Card
from discotree.models.card_page import without_metadata
from discotree.models.description import describe
from discotree.models.finding import bundled, find
from discotree.parsing.load import load

RIGHT = ("sentences", "F1", "disc. F1")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # what would tell a terminal to do something


def models(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Show the card of this model: a name, a folder, or hub:ORG/NAME.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print the cards as JSON.")] = False,
) -> None:
    """List the models that come with discotree, or show the card of one.

    Figures are those on the test part, in percent. Sentences are those of training.
    """
    if name and as_json:
        print(_card(name).to_json(), end="")
        return
    if name:
        _show(name)
        return
    cards = bundled()
    if as_json:
        print(json.dumps([asdict(card) for card in cards.values()], indent=2, ensure_ascii=False))
    elif cards:
        out().print(_table(cards))
    else:
        err.print("no models come with this discotree")


def push(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A name, a folder, or hub:ORG/NAME.")],
    repository: Annotated[str, typer.Argument(metavar="ORG/NAME", help="Where on the hub; made if it is not there.")],
    card: Annotated[str, typer.Option(metavar="FILE", help="What is to be said of it, as models --json has it.")] = "",
    private: Annotated[bool, typer.Option("--private", help="Nobody else may see it.")] = False,
    revision: Annotated[str, typer.Option(help="A branch; made if it is not there.")] = "",
    message: Annotated[str, typer.Option(help="What the commit is called.")] = "",
) -> None:
    """Put a model on the Hugging Face hub, with a card.

    You need a token that may write: log in with hf auth login, or set HF_TOKEN.
    """
    known = Card.read(Path(card)) if card else None
    parser = load(model, "cpu")
    print(parser.push_to_hub(repository, known, private=private or None, revision=revision, commit_message=message))


def _card(name: str) -> Card:
    folder = find(name)
    if (folder / CARD).exists():
        return Card.read(folder / CARD)
    with requires_extra("parser"):
        from discotree.models.folder import read_config
    return describe(folder, read_config(folder))


def _show(name: str) -> None:
    path = find(name) / README
    try:
        text = without_metadata(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        raise ModelError(f"{path}: this model has no card") from None
    console = out()
    if console.is_terminal:
        console.print(Markdown(CONTROL.sub("", text)))
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
