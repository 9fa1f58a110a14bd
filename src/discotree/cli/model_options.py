"""Options of the commands that run a model: which one, on what device, by which engine."""

from typing import Annotated

import typer

from discotree.config import EngineName
from discotree.models.finding import names


def complete_model(incomplete: str) -> list[str]:
    """Complete the name of an installed model in a shell."""
    return [name for name in names() if name.startswith(incomplete)]


Model = Annotated[
    str,
    typer.Option(
        "--model",
        "-m",
        envvar="DISCOTREE_MODEL",
        autocompletion=complete_model,
        show_default=False,
        help="A name (see discotree models), a folder, or hub:ORG/NAME. By default the language of the text decides.",
    ),
]
Device = Annotated[str, typer.Option(help="cpu, cuda, cuda:1 …; a GPU if there is one.")]
Engine = Annotated[
    EngineName | None,
    typer.Option(help="What runs the network; by default torch on a GPU and onnx (int8 weights) on a CPU."),
]
