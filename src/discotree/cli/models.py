"""models and push."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.table import Table

from discotree.cli.common import err, number, out, write_json, write_rich, write_text
from discotree.cli.options import check_output, completing, format_for, output_option
from discotree.errors import ModelError, printable
from discotree.files.names import STANDARD_STREAM
from discotree.models.card import CARD, README, Card
from discotree.models.card_page import without_metadata
from discotree.models.description import describe
from discotree.models.finding import bundled, find, names
from discotree.parsing.load import load

RIGHT_ALIGNED = ("sentences", "F1", "disc. F1")


def models(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            autocompletion=completing(names()),
            help="Show the card of this model: a name, a folder, or hub:ORG/NAME.",
        ),
    ] = "",
    output: Annotated[str, output_option("File to write: .txt, .md or .json.")] = STANDARD_STREAM,
    to: Annotated[Literal["text", "json"] | None, typer.Option(help="A table or a card as text, or JSON.")] = None,
) -> None:
    """List the bundled models, or show the card of one model.

    F1 is measured on the test split, in percent; sentences are those of training.
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
    cards = bundled()
    if as_json:
        write_json([asdict(card) for card in cards.values()], output)
    elif cards:
        write_rich(_table(cards), output=output)
    else:
        err.print("no models come with this discotree")


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


def _table(cards: dict[str, Card]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("name", "language", "treebanks", "licence", *RIGHT_ALIGNED):
        table.add_column(column, justify="right" if column in RIGHT_ALIGNED else "left")
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
