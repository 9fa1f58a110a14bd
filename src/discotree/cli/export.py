"""export: write a model as ONNX or for the web, or upload it to the Hugging Face hub."""

import sys
from pathlib import Path
from typing import Literal

import click

from discotree.cli.console import report_written
from discotree.cli.options import check_output, choice_option, examples, model_argument
from discotree.errors import MissingExtraError, ModelError
from discotree.files.writing import STANDARD_STREAM
from discotree.models.finding import find

Precision = Literal["float32", "int8"]


@click.command(
    epilog=examples(
        "discotree export nl --onnx nl.onnx",
        "discotree export runs/pcc/model --onnx pcc.onnx --precision int8",
        "discotree export nl --web site/models/nl",
        "discotree export runs/alpino/model --hub me/dutch --card card.json",
    )
)
@model_argument
@click.option("--onnx", metavar="FILE", help="Write the network to this ONNX file.")
@choice_option(
    "--precision",
    Precision,
    "Weights in the ONNX file. float32 runs everywhere; int8 is smaller and faster, and needs ONNX Runtime.",
    "float32",
)
@click.option("--web", metavar="FOLDER", help="Write the files that the JavaScript package loads to this folder.")
@click.option("--hub", metavar="ORG/NAME", help="Upload the model to this repository on the hub; create it if needed.")
@click.option("--card", metavar="FILE", help="Model card to upload, as written by discotree models MODEL --to json.")
@click.option("--private", is_flag=True, help="Make the repository on the hub private.")
def export(
    model: str,
    onnx: str | None,
    precision: Precision,
    web: str | None,
    hub: str | None,
    card: str | None,
    private: bool,
) -> None:
    """Export a model as one ONNX file or for the web, or upload it to the Hugging Face hub.

    MODEL is an installed model, a folder, or hub:ORG/NAME. The ONNX file takes words, characters and sub-words as
    numbers and returns scores; its metadata describe the numbers. The folder for the web has everything that the
    JavaScript package needs to parse in a browser. Uploading needs a token with write access: log in with hf auth
    login, or set HF_TOKEN.
    """
    if [onnx, web, hub].count(None) != 2:
        raise click.UsageError("pass one of --onnx FILE, --web FOLDER and --hub ORG/NAME")
    if hub is not None:
        from discotree.models.card import Card
        from discotree.parsing.parser import load

        new_card = Card.read(Path(card)) if card else None
        print(load(model, "cpu").push_to_hub(hub, new_card, private=private or None))
        return
    if card or private:
        raise click.UsageError("--card and --private need --hub")
    if web is not None:
        from discotree.models.finding import announce_licence
        from discotree.models.folder import read_model
        from discotree.models.web import write_web_model

        folder = find(model)
        check_output(web, [str(folder)])
        announce_licence(folder)
        report_written(f"{write_web_model(read_model(folder), Path(web)):,} bytes", web)
        return
    assert onnx is not None
    if onnx == STANDARD_STREAM and sys.stdout.isatty():
        raise click.UsageError("an ONNX file cannot be shown on a terminal; pass --onnx FILE")
    folder = find(model)
    check_output(onnx, [str(folder)])
    from discotree.models.card import CARD, Card
    from discotree.models.finding import announce_licence
    from discotree.models.folder import public, read_model
    from discotree.network.onnx.export import NO_GRAPH
    from discotree.network.onnx.export import export as write

    try:
        content = read_model(folder)
    except MissingExtraError as error:
        if error.name != "transformers":
            raise
        raise ModelError(f"{folder}: {NO_GRAPH}") from None  # installing it would not help
    announce_licence(folder)
    metadata = {"card": Card.read(folder / CARD).to_json()} if (folder / CARD).exists() else {}
    network = public(content.config).network
    size = write(network, content.vocab, content.has_tags, content.subwords, content.weights, onnx, precision, metadata)
    report_written(f"{size:,} bytes", onnx)
