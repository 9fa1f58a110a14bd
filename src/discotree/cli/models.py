"""models and push."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.table import Table

from discotree.cli.common import number, out, write_json, write_rich, write_text
from discotree.cli.model_options import complete_model
from discotree.cli.options import check_output, format_for, output_option
from discotree.errors import ModelError, printable
from discotree.files.names import STANDARD_STREAM
from discotree.models.card import CARD, README, Card
from discotree.models.card_page import without_metadata
from discotree.models.description import describe
from discotree.models.finding import find, installed
from discotree.models.published import install_command, published, tier
from discotree.parsing.load import load

RIGHT_ALIGNED = ("size", "sentences/s", "sentences", "F1", "disc. F1")


def models(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            autocompletion=complete_model,
            help="Show the card of this model: a name, a folder, or hub:ORG/NAME.",
        ),
    ] = "",
    output: Annotated[str, output_option("File to write: .txt, .md or .json.")] = STANDARD_STREAM,
    to: Annotated[Literal["text", "json"] | None, typer.Option(help="A table or a card as text, or JSON.")] = None,
) -> None:
    """List the installed models, or show the card of one model.

    F1 is measured on the test split, in percent; sentences are those of training, sentences/s is parsing on two cores.
    Models that are not installed, but that pip can install, follow in a second table. Below is what each is bad at.
    """
    as_json = (to or format_for(output, {".txt": "text", ".md": "text", ".json": "json"}, "text")) == "json"
    if name:
        folder = find(name)
        check_output(output, [str(folder / file) for file in (CARD, README)])
    if name and as_json:
        write_text(_card(name).to_json(), output)
        return
    if name:
        _show(name, output)
        return
    cards = installed()
    if as_json:
        write_json([asdict(card) for card in cards.values()], output)
        return
    tables: list[Table | str] = [_installed_table(cards)] if cards else ["no model is installed"]
    if missing := [name for name, model in published().items() if model.released and name not in cards]:
        tables += ["", _available_table(missing)]
    weak = {name: card.weaknesses for name, card in cards.items()}
    weak |= {name: published()[name].weaknesses for name in missing}
    if any(weak.values()):
        tables += ["", *(f"{name}: {printable(text)}" for name, text in weak.items() if text)]
    write_rich(*tables, output=output)


def push(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A name, a folder, or hub:ORG/NAME.")],
    repository: Annotated[str, typer.Argument(metavar="ORG/NAME", help="Repository on the hub; created if needed.")],
    card: Annotated[str, typer.Option(metavar="FILE", help="Card of the model, as written by models --to json.")] = "",
    private: Annotated[bool, typer.Option("--private", help="Make the repository private.")] = False,
    revision: Annotated[str, typer.Option(help="Branch to push to; created if needed.")] = "",
    message: Annotated[str, typer.Option(help="Commit message.")] = "",
) -> None:
    """Push a model and its card to the Hugging Face hub.

    You need a token with write access: log in with hf auth login, or set HF_TOKEN.
    """
    known = Card.read(Path(card)) if card else None
    parser = load(model, "cpu")
    print(parser.push_to_hub(repository, known, private=private or None, revision=revision, commit_message=message))


def _card(name: str) -> Card:
    folder = find(name)
    if (folder / CARD).exists():
        return Card.read(folder / CARD)
    from discotree.models.folder import read_config

    return describe(folder, read_config(folder))


def _show(name: str, output: str) -> None:
    path = find(name) / README
    try:
        text = without_metadata(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        raise ModelError(f"{path}: this model has no card") from None
    console = out()
    if console.is_terminal and output == STANDARD_STREAM:
        from rich.markdown import Markdown

        console.print(Markdown(printable(text)))
    else:
        write_text(text, output)


def _installed_table(cards: dict[str, Card]) -> Table:
    table = Table(box=None, pad_edge=False)
    columns = ("name", "tier", "size", "sentences/s", "language", "treebanks", "licence", "sentences", "F1", "disc. F1")
    for column in columns:
        table.add_column(column, justify="right" if column in RIGHT_ALIGNED else "left")
    for name, card in cards.items():
        test = card.scores.test
        table.add_row(
            name,
            tier(name),
            _size(find(name)),
            number(card.speed, 0),
            card.language,
            ", ".join(treebank.name for treebank in card.treebanks),
            _terms(card.licence, card.commercial),
            f"{card.sentences:,}",
            number(test.f1),
            number(test.discontinuous_f1),
        )
    return table


def _available_table(names: list[str]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("not installed", "tier", "size", "sentences/s", "language", "licence", "to install"):
        table.add_column(column, justify="right" if column in RIGHT_ALIGNED else "left")
    for name in names:
        model = published()[name]
        table.add_row(
            name,
            tier(name),
            f"{model.megabytes} MB" if model.megabytes else number(None),
            number(model.speed, 0),
            model.language,
            _terms(model.licence, model.commercial),
            install_command(name),
        )
    return table


def _terms(licence: str, commercial: bool) -> str:
    return licence if commercial else f"{licence} (non-commercial use only)"


def _size(folder: Path) -> str:
    return f"{sum(path.stat().st_size for path in folder.rglob('*') if path.is_file()) / 1e6:.0f} MB"
