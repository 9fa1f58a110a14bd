"""The commands by name, with what `discotree --help` says of each, so that it need not import them."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand

from discotree.cli.examples import EXAMPLES
from discotree.cli.values import unchecked


class CommandEntry(NamedTuple):
    """The module of a command in this folder, and the first paragraph of its help."""

    module: str
    summary: str


ENTRIES = {
    "parse": CommandEntry("parse", "Parse text, or the sentences of treebanks."),
    "bulk": CommandEntry("bulk", "Parse very many rows on many cores, GPUs or machines, with Ray."),
    "models": CommandEntry("models", "List the installed models, or show the card of one model."),
    "convert": CommandEntry("treebanks", "Convert treebanks from one format to another."),
    "stats": CommandEntry("treebanks", "Count what treebanks are made of: sizes, labels, unaries and discontinuity."),
    "evaluate": CommandEntry("evaluation", "Score trees against gold trees, to disco-dop's digit."),
    "draw": CommandEntry(
        "draw", "Draw trees: in the terminal, as SVG, PNG, PDF, LaTeX (TikZ or forest), or all on one HTML page."
    ),
    "search": CommandEntry("search", "Search treebanks for constructions."),
    "index": CommandEntry("search", "Make an index of treebanks that you search often."),
    "serve": CommandEntry("serve", "Serve the web page and the HTTP API, by default for this machine only."),
    "annotate": CommandEntry("annotate", "Annotate sentences in the browser: accept, correct, skip, comment."),
    "train": CommandEntry("training", "Train a model from a recipe, or fine-tune one on trees of yours."),
    "tag": CommandEntry(
        "training", "Predict the tags of a recipe's sentences, for training with --scenario predicted-pos."
    ),
    "vectors": CommandEntry(
        "vectors", "Learn word vectors from raw text: structured skip-gram, as the paper uses them."
    ),
    "pretrain": CommandEntry("pretraining", "Pretrain an encoder on raw text."),
    "distill": CommandEntry(
        "distillation",
        "Train a small network on the trees that large models, its teachers, give raw text, and on a treebank.",
    ),
    "calibrate": CommandEntry("calibrate", "Fit the prices of gaps and the confidences of a model on held-out trees."),
    "export": CommandEntry("export", "Export a model as one ONNX file, for runtimes of your own."),
    "push": CommandEntry("models", "Push a model and its card to the Hugging Face hub."),
}


class QuickCommand(TyperCommand):
    """A command that takes its values as they are where it can."""

    def get_params(self, ctx: Any) -> list[Any]:
        return unchecked(super().get_params(ctx))


class LazyCommands(Mapping[str, Any]):
    """The commands, each imported when it is first looked up."""

    def __init__(self) -> None:
        self.loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self.loaded:
            self.loaded[name] = _command(name, ENTRIES[name].module)
        return self.loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(ENTRIES)

    def __len__(self) -> int:
        return len(ENTRIES)


def _command(name: str, module: str) -> Any:
    function = getattr(import_module(f"discotree.cli.{module}"), name)
    # Paragraphs are single lines: the help would keep the line breaks of the source, and drop those of the examples.
    paragraphs = [" ".join(paragraph.split()) for paragraph in (function.__doc__ or "").split("\n\n")]
    literal = [example.replace("[", "\\[") for example in EXAMPLES[name]]  # no mark-up
    examples = "\n\n".join(("Examples:", *literal))
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command(name, cls=QuickCommand, help="\n\n".join(paragraphs), epilog=examples)(function)
    return typer.main.get_command(app)
