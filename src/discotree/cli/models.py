"""models."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from discotree.cli.console import number, out, table, write_json, write_rich, write_text
from discotree.cli.options import check_output, choice_option, complete_model, examples, format_for, output_option
from discotree.errors import ModelError, printable
from discotree.files.writing import STANDARD_STREAM
from discotree.models.card import CARD, README, Card, without_metadata
from discotree.models.finding import find, install_command, installed, published, tier
from discotree.models.folder import describe, read_config

if TYPE_CHECKING:
    from rich.table import Table

LEFT_ALIGNED = ("name", "not installed", "tier", "language", "treebanks", "licence", "to install")
ListFormat = Literal["text", "json"]


@click.command(epilog=examples("discotree models", "discotree models nl", "discotree models nl -o card.json"))
@click.argument("name", shell_complete=complete_model, metavar="[MODEL]", required=False)
@output_option("File to write: .txt, .md or .json. By default, standard output.")
@choice_option("--to", ListFormat, "Text (a table or a card), or JSON.")
def models(name: str | None, output: str, to: ListFormat | None) -> None:
    """List the installed models, or show the card of one model.

    MODEL is an installed model, a folder, or hub:ORG/NAME. The table shows the training sentences, the F1 in percent on
    the test split, and the speed on two cores. A second table lists models that can be installed with pip. The notes
    below describe the weaknesses of each model.
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
    tables: list[Table | str] = [_installed_table(cards)] if cards else ["no models are installed"]
    if missing := [name for name, model in published().items() if model.released and name not in cards]:
        tables += ["", _available_table(missing)]
    weak = {name: card.weaknesses for name, card in cards.items()}
    weak |= {name: published()[name].weaknesses for name in missing}
    if any(weak.values()):
        tables += ["", *(f"{name}: {printable(text)}" for name, text in weak.items() if text)]
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


def _installed_table(cards: dict[str, Card]) -> "Table":
    rows = [
        [
            name,
            tier(name),
            _size(find(name)),
            number(card.speed, 0),
            card.language,
            ", ".join(treebank.name for treebank in card.treebanks),
            _terms(card.licence, card.commercial),
            f"{card.sentences:,}",
            number(card.scores.test.f1),
            number(card.scores.test.discontinuous_f1),
        ]
        for name, card in cards.items()
    ]
    columns = ("name", "tier", "size", "sentences/s", "language", "treebanks", "licence", "sentences", "F1", "disc. F1")
    return table(columns, rows, LEFT_ALIGNED)


def _available_table(names: list[str]) -> "Table":
    rows = [
        [
            name,
            tier(name),
            f"{model.megabytes} MB" if model.megabytes else number(None),
            number(model.speed, 0),
            model.language,
            _terms(model.licence, model.commercial),
            install_command(name),
        ]
        for name, model in published().items()
        if name in names
    ]
    columns = ("not installed", "tier", "size", "sentences/s", "language", "licence", "to install")
    return table(columns, rows, LEFT_ALIGNED)


def _terms(licence: str, commercial: bool) -> str:
    return licence if commercial else f"{licence} (non-commercial use only)"


def _size(folder: Path) -> str:
    return f"{sum(path.stat().st_size for path in folder.rglob('*') if path.is_file()) / 1e6:.0f} MB"
