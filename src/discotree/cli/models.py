"""models."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Literal

import click

from discotree.cli.console import number, out, table, write_json, write_rich, write_text
from discotree.cli.options import check_output, choice_option, complete_model, examples, format_for, output_option
from discotree.errors import ModelError, printable
from discotree.files.writing import STANDARD_STREAM
from discotree.models.card import CARD, README, Card, without_metadata
from discotree.models.finding import PublishedModel, find, install_command, installed, published
from discotree.models.folder import describe, read_config

if TYPE_CHECKING:
    from rich.table import Table

WIDTH = 80  # columns of the notes
ListFormat = Literal["text", "json"]


@click.command(epilog=examples("discotree models", "discotree models nl", "discotree models nl -o card.json"))
@click.argument("name", shell_complete=complete_model, metavar="[MODEL]", required=False)
@output_option("File to write: .txt, .md or .json. By default, standard output.")
@choice_option("--to", ListFormat, "Text (a table or a card), or JSON.")
def models(name: str | None, output: str, to: ListFormat | None) -> None:
    """List the installed models, or show the card of one model.

    MODEL is an installed model, a folder, or hub:ORG/NAME. The table shows the speed in sentences per second on two
    cores, and F1 and discontinuous F1 in percent on the test split. A second table lists models that can be installed
    with pip. The notes below describe the weaknesses of each model; the card of a model also names its treebanks.
    """
    as_json = (to or format_for(output, {".txt": "text", ".md": "text", ".json": "json"}, "text")) == "json"
    if name:
        folder = find(name)
        check_output(output, [str(folder / file) for file in (CARD, README)])
    if name and as_json:
        card = Card.read(folder / CARD) if (folder / CARD).exists() else describe(folder, read_config(folder))
        write_text(card.to_json(), output)
        return
    if name:
        _show(folder / README, output)
        return
    cards = installed()
    if as_json:
        write_json([asdict(card) for card in cards.values()], output)
        return
    missing = {name: model for name, model in published().items() if name not in cards}
    tables: list[Table | str] = [_installed(cards) if cards else "no models are installed"]
    if missing:
        tables += ["", _not_installed(missing), f"to install one: {install_command('NAME')}"]
    listed: dict[str, Card | PublishedModel] = {**cards, **missing}
    notes: dict[str, list[str]] = {}  # models with the same note are listed together
    for name, model in listed.items():
        terms = "" if model.commercial else "Non-commercial use only. "
        notes.setdefault(terms + printable(model.weaknesses), []).append(name)
    for text, names in notes.items():
        tables += ["", fill(f"{', '.join(names)}: {text}", WIDTH)] if text else []
    write_rich(*tables, output=output)


def _show(path: Path, output: str) -> None:
    try:
        text = without_metadata(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        raise ModelError(f"this model has no card: {path} cannot be read") from None
    console = out()
    if console.is_terminal and output == STANDARD_STREAM:
        from rich.markdown import Markdown

        console.print(Markdown(printable(text)))
    else:
        write_text(text, output)


def _installed(cards: Mapping[str, Card]) -> "Table":
    rows = []
    for name, card in cards.items():
        test = card.scores.test
        scores = number(test.f1), number(test.discontinuous_f1)
        rows.append([name, card.language, _size(find(name)), number(card.speed, 0), *scores, card.licence])
    columns = ("name", "language", "MB", "speed", "F1", "disc.", "licence")
    return table(columns, rows, left=("name", "language", "licence"))


def _not_installed(models: Mapping[str, PublishedModel]) -> "Table":
    rows = []
    for name, model in models.items():
        rows.append([name, model.language, number(model.megabytes or None, 0), number(model.speed, 0), model.licence])
    columns = ("not installed", "language", "MB", "speed", "licence")
    return table(columns, rows, left=("not installed", "language", "licence"))


def _size(folder: Path) -> str:
    return f"{sum(path.stat().st_size for path in folder.rglob('*') if path.is_file()) / 1e6:.0f}"
