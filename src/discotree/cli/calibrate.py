"""calibrate."""

from itertools import chain
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from discotree.cli.common import out, report_written
from discotree.cli.model_options import Device, Engine, complete_model
from discotree.cli.options import check_output_folder, expand
from discotree.errors import InputError
from discotree.models.finding import find, names
from discotree.models.folder import write_fitted
from discotree.models.hub import HUB
from discotree.parsing.load import load
from discotree.treebanks import read

if TYPE_CHECKING:
    from discotree.network.calibration import Calibration
    from discotree.parsing.parser import Parser
    from discotree.training.data import Split


def calibrate(
    model: Annotated[str, typer.Argument(metavar="MODEL", autocompletion=complete_model, help="A name or a folder.")],
    treebanks: Annotated[
        list[str] | None,
        typer.Argument(metavar="TREEBANK", help="Held-out trees; by default the dev split of the model's own recipe."),
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FOLDER", help="Write a copy; the model itself by default.")
    ] = "",
    keep_prices: Annotated[
        bool, typer.Option("--keep-prices", help="Leave the prices of gaps as they are, and so the trees.")
    ] = False,
    device: Device = "",
    engine: Engine = None,
) -> None:
    """Fit the prices of gaps and the confidences of a model on held-out trees.

    Changes config.json and writes calibration.json in the model's folder, or in a copy of it. The trees must be none
    that the model was trained on, or its confidences will be too high. The metrics are cross-validated: each fold is
    scored by a fit on the others.
    """
    from discotree.parsing.parser import Parser
    from discotree.training.calibrate import MIN_CONSTITUENTS, calibrated, finished

    if not output and (model.startswith(HUB) or model in names()):
        raise typer.BadParameter(f"{model} is not yours to change: -o FOLDER writes a copy")
    folder = find(model)
    if output:
        check_output_folder(output, [str(folder)])
    parser = load(model, device, engine=engine or "")
    split = _held_out(parser, expand(treebanks or []))
    fitted = calibrated(parser, split) if keep_prices else finished(parser, split)
    if fitted.calibration is None:
        raise InputError(f"there are fewer than {MIN_CONSTITUENTS} constituents to learn from: give more trees")
    if output:
        Parser(fitted, parser.engine).save_pretrained(output)
    else:
        write_fitted(fitted, folder)
    prices = fitted.config.decoding.gap_prices
    out().print(f"prices of gaps: {', '.join(f'{label} {price:g}' for label, price in prices.items()) or 'none'}\n")
    out().print(_table(fitted.calibration))
    report_written("prices and calibration", output or str(folder))


def _held_out(parser: "Parser", paths: list[str]) -> "Split":
    from discotree.training.data import load_held_out, resolve, treebank_split

    if paths:
        return treebank_split(chain.from_iterable(map(read, paths)), parser.config.data)
    data = parser.config.data
    if not data.dev and not (data.train and data.hold_out):
        raise InputError("this model's settings name no dev split: give treebanks")
    return load_held_out(resolve(data))


def _table(calibration: "Calibration") -> Table:
    found = calibration.fitted

    def cell(name: str) -> str:
        return f"{found[name]:.3f}" if name in found else "–"

    count = f"{found['constituents']:,.0f} constituents, {found['sentences']:,.0f} trees"
    table = Table(count, box=None, pad_edge=False)
    for column in ("before", "calibrated"):
        table.add_column(column, justify="right")
    table.add_row("AUC", cell("raw_auc"), cell("auc"))
    table.add_row("ECE", cell("raw_ece"), cell("ece"))
    table.add_row("Brier score", cell("raw_brier"), cell("brier"))
    table.add_row("Brier score of a constant", cell("constant"), cell("constant"))
    table.add_row("correlation with the F1 of trees", cell("raw_tree_correlation"), cell("tree_correlation"))
    table.add_row("mean expected F1 of trees", cell("raw_tree_f1"), cell("expected_tree_f1"))
    table.add_row("mean F1 of trees", cell("tree_f1"), cell("tree_f1"))
    return table
