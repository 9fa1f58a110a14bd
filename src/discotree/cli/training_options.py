"""Options of what is trained: a recipe and what to change in it, a model to start from, trees, raw text."""

from typing import Annotated, Any

import typer

from discotree.cli.model_options import complete_model
from discotree.cli.options import completing, one_of
from discotree.config import PRESETS, recipe_names

Recipe = Annotated[
    str,
    typer.Argument(
        metavar="RECIPE",
        autocompletion=completing(recipe_names()),
        help=f"A file, or one of {', '.join(recipe_names())}.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.NAME=VALUE", help="Change a setting: --set training.epochs=20."),
]
Preset = Annotated[
    str,
    typer.Option(
        callback=one_of("preset", PRESETS),
        autocompletion=completing(PRESETS),
        help=f"Start from these settings instead of the recipe's: {', '.join(PRESETS)}.",
    ),
]

OptionalRecipe = Annotated[
    str,
    typer.Argument(
        metavar="RECIPE",
        autocompletion=completing(recipe_names()),
        show_default=False,
        help=f"A file, or one of {', '.join(recipe_names())}. Not needed with --from and --train.",
    ),
]
Start = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="MODEL",
        autocompletion=complete_model,
        show_default=False,
        help="Fine-tune this model: a name (see discotree models), a folder, or hub:ORG/NAME.",
    ),
]


def _trees(flag: str, help: str) -> Any:
    return typer.Option(flag, metavar="TREEBANK", show_default=False, help=help)


TrainFiles = Annotated[
    list[str] | None, _trees("--train", "Trees to learn from, in place of the recipe's. May be repeated.")
]
DevFiles = Annotated[
    list[str] | None,
    _trees("--dev", "Dev trees; with --from and without any, every tenth training tree is held out."),
]
TestFiles = Annotated[list[str] | None, _trees("--test", "Test trees, which are only scored.")]


# Raw text, for pretrain and distill


def folder_option(help: str) -> Any:
    """Return the option that names the folder to write, which the two commands also know as --out."""
    return typer.Option("--output", "--out", "-o", metavar="FOLDER", help=help, show_default=False)


def texts_argument(repeated: str) -> Any:
    """Return the argument for files of text; ``repeated`` says what FILE*8 means."""
    help = f"Files of raw text, a paragraph or sentence per line, plain or packed (.gz, .bz2, .xz). {repeated}"
    return typer.Argument(metavar="TEXT", show_default=False, help=help)


def hold_out_option(help: str) -> Any:
    """Return the option for sentences that are kept out of the text."""
    return typer.Option(metavar="TREEBANK", autocompletion=completing(recipe_names()), help=help)


Prepared = Annotated[
    str, typer.Option(metavar="FOLDER", help="Take the text from this folder, which --prepare has filled.")
]
