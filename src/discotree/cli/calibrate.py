"""calibrate."""

from itertools import chain
from typing import TYPE_CHECKING

import click

from discotree.cli.console import number, out, report_written, table
from discotree.cli.options import check_output_folder, examples, expand, model_argument
from discotree.errors import InputError
from discotree.models import HUB
from discotree.models.finding import find, names
from discotree.models.folder import write_fitted
from discotree.treebanks import read

if TYPE_CHECKING:
    from rich.table import Table

    from discotree.decoding.trees import Calibration
    from discotree.parsing.parser import Parser
    from discotree.training.data import Split


@click.command(epilog=examples("discotree calibrate runs/alpino/model", "discotree calibrate nl mine.export -o mine"))
@model_argument
@click.argument("treebanks", metavar="[TREEBANK]...", nargs=-1)
@click.option(
    "--output", "-o", metavar="FOLDER", help="Write a copy of the model. By default, the model itself is changed."
)
@click.option("--keep-penalties", is_flag=True, help="Do not change the gap penalties, and so the trees.")
def calibrate(model: str, treebanks: tuple[str, ...], output: str | None, keep_penalties: bool) -> None:
    """Fit the gap penalties and confidences of a model on held-out trees.

    MODEL is an installed model or a folder. TREEBANK contains the held-out trees; by default, the dev split of the
    model's recipe is used. The model must not have been trained on these trees, or its confidences will be too high.

    The command changes config.json and writes calibration.json in the folder of the model, or in a copy. The metrics it
    prints are cross-validated: each fold is scored by a fit on the others.
    """
    from discotree.parsing.parser import Parser, load
    from discotree.training.calibrate import MIN_CONSTITUENTS, calibrate_model, fit_on_held_out

    if not output and (model.startswith(HUB) or model in names()):
        raise click.UsageError(f"{model} is an installed model and read-only; use -o FOLDER to write a copy")
    folder = find(model)
    if output:
        check_output_folder(output, [str(folder)])
    parser = load(model)
    split = _held_out(parser, expand(treebanks))
    fitted = calibrate_model(parser, split) if keep_penalties else fit_on_held_out(parser, split)
    if fitted.calibration is None:
        raise InputError(f"at least {MIN_CONSTITUENTS} constituents are needed for calibration; pass more trees")
    if output:
        Parser(fitted, parser.engine).save_pretrained(output)
    else:
        write_fitted(fitted, folder)
    penalties = fitted.config.decoding.gap_penalties.items()
    out().print(f"gap penalties: {', '.join(f'{label} {value:g}' for label, value in penalties) or 'none'}\n")
    out().print(_table(fitted.calibration))
    report_written("gap penalties and calibration", output or str(folder))


def _held_out(parser: "Parser", paths: list[str]) -> "Split":
    from discotree.training.data import load_held_out, resolve, treebank_split

    if paths:
        return treebank_split(chain.from_iterable(map(read, paths)), parser.config.data)
    data = parser.config.data
    if not data.dev and not (data.train and data.hold_out):
        raise InputError("the settings of this model have no dev split; pass held-out treebanks")
    return load_held_out(resolve(data))


def _table(calibration: "Calibration") -> "Table":
    metrics = calibration.fitted
    rows = [
        ("AUC", "raw_auc", "auc"),
        ("ECE", "raw_ece", "ece"),
        ("Brier score", "raw_brier", "brier"),
        ("Brier score of a constant", "constant", "constant"),
        ("correlation with the F1 of trees", "raw_tree_correlation", "tree_correlation"),
        ("mean expected F1 of trees", "raw_tree_f1", "expected_tree_f1"),
        ("mean F1 of trees", "tree_f1", "tree_f1"),
    ]
    count = f"{metrics['constituents']:,.0f} constituents, {metrics['sentences']:,.0f} trees"
    cells = [[title, number(metrics.get(raw), 3), number(metrics.get(new), 3)] for title, raw, new in rows]
    return table([count, "before", "calibrated"], cells, left=[count])
