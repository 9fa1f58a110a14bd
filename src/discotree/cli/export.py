"""export."""

import sys
from typing import Annotated, Literal

import typer

from discotree.cli.common import report_written
from discotree.cli.model_options import complete_model
from discotree.cli.options import check_output
from discotree.errors import MissingExtraError, ModelError
from discotree.files.names import STANDARD_STREAM
from discotree.models.finding import find


def export(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", autocompletion=complete_model, help="A name, a folder, or hub:ORG/NAME."),
    ],
    onnx: Annotated[str, typer.Option(metavar="FILE", show_default=False, help="File to write, for example nl.onnx.")],
    precision: Annotated[
        Literal["float32", "int8"],
        typer.Option(help="float32 runs everywhere; int8 is smaller and faster, and needs ONNX Runtime."),
    ] = "float32",
) -> None:
    """Export a model as one ONNX file, for runtimes of your own.

    It takes words, characters and sub-words as numbers and returns scores. Its metadata say what the numbers mean.
    """
    if onnx == STANDARD_STREAM and sys.stdout.isatty():
        raise typer.BadParameter("a terminal cannot show an ONNX file: --onnx FILE")
    folder = find(model)
    check_output(onnx, [str(folder)])
    from discotree.models.card import CARD, Card
    from discotree.models.choice import announce_licence
    from discotree.models.folder import read_model
    from discotree.models.private_paths import public
    from discotree.network.onnx.export import NO_GRAPH
    from discotree.network.onnx.export import export as write

    try:
        found = read_model(folder)
    except MissingExtraError as error:
        if error.name != "transformers":
            raise
        raise ModelError(f"{folder}: {NO_GRAPH}") from None  # installing it would not help
    announce_licence(folder)
    card = {"card": Card.read(folder / CARD).to_json()} if (folder / CARD).exists() else {}
    network = public(found.config).network
    size = write(network, found.vocab, found.has_tags, found.subwords, found.weights, onnx, precision, card)
    report_written(f"{size:,} bytes", onnx)
