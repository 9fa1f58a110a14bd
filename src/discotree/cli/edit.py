"""edit: change trees by rule."""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import nullcontext

import click

from discotree.cli.console import ProgressBar, err, out, report_written, table
from discotree.cli.options import TreebankInput, check_output, examples, format_option, output_option, treebank_options
from discotree.errors import DiscotreeError, TreebankError, TreeError, counted, printable
from discotree.files.writing import STANDARD_STREAM, writable
from discotree.queries.edit import Change, Editor
from discotree.treebanks import FORMATS, write
from discotree.treebanks.source import stop
from discotree.trees.tree import Tree


@click.command(
    epilog=examples(
        "discotree edit treebank.export --rules rules.toml --preview 5",
        "discotree edit treebank.export --rules rules.toml -o new.export --journal changes.jsonl",
        "discotree edit squoia/ --rules squoia --rules squoia-low -o squoia.tiger.xml",
    )
)
@click.option(
    "--rules",
    multiple=True,
    required=True,
    metavar="FILE",
    help="A TOML file with rules, or rules that come with discotree: squoia, squoia-low, masc. May be repeated; the "
    "rules are applied in this order.",
)
@output_option("File to write. By default, standard output.")
@format_option("--to", FORMATS, "Format of the output, if the name of the file does not show it")
@click.option(
    "--preview",
    type=click.IntRange(min=0),
    metavar="N",
    help="Show the first N changed trees before and after the changes, and write no treebank.",
)
@click.option("--journal", metavar="FILE", help="Also write every change to this file, as one line of JSON.")
@treebank_options()
def edit(
    source: TreebankInput,
    rules: tuple[str, ...],
    output: str,
    to: str | None,
    preview: int | None,
    journal: str | None,
) -> None:
    """Change trees by rule.

    TREEBANK is a file, a folder, an archive, a pattern, or - for standard input. Several treebanks are joined into
    one output. The output file is created only when it is complete; if there is an error, nothing is written.

    The number of changes by each rule is printed at the end.
    """
    if preview is not None and (to or output != STANDARD_STREAM):
        raise click.UsageError("--preview writes no treebank; leave out -o and --to")
    if preview is None and to is None and output == STANDARD_STREAM:
        raise click.UsageError("pass -o FILE, or --to FORMAT to write to standard output")
    check_output(output, [*source.paths, *rules])
    if journal:
        check_output(journal, [*source.paths, *rules])
        if os.path.realpath(journal) == os.path.realpath(output):
            raise DiscotreeError(f"{journal} is also the output; choose another name for the journal")
    editor = Editor(rules)
    with ProgressBar(shown=preview is None) as bar, writable(journal) if journal else nullcontext() as stream:
        if stream:
            editor.on_change = lambda change: stream.write(journal_line(change, source.current))
        trees = edited_trees(editor, source, bar, preview or 0)
        if preview is None:
            count = write(trees, output, to, on_error=stop if source.errors is None else source.errors.append)
        else:
            count = sum(1 for _ in trees)
    source.report_skipped()
    rows = [(rule.name, f"{editor.changes[rule.name]:,}", f"{editor.trees[rule.name]:,}") for rule in editor.rules]
    (err if preview is None else out()).print(table(["rule", "changes", "trees"], rows, left=["rule"]))
    if preview is None:
        report_written(counted(count, "tree"), output)


def edited_trees(editor: Editor, source: TreebankInput, bar: ProgressBar, shown: int) -> Iterator[Tree]:
    """Yield the edited trees, and print the first ones that have changed."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for tree in source.trees(bar, "editing", with_stems=True):
        before = editor.changes.copy()
        try:
            edited = editor(tree)
        except TreeError as error:
            raise TreebankError(str(error), source.current) from None
        if shown and edited is not tree:
            from discotree.drawing import draw_comparison_text

            shown -= 1
            rules = [f"{name} ({count:,})" for name, count in (editor.changes - before).items()]
            drawing = draw_comparison_text(tree, edited, width=width, functions=True, names=("before", "after"))
            click.echo(printable(f"{tree.id}: {', '.join(rules)}\n{drawing}\n"))
        yield edited


def journal_line(change: Change, path: str) -> bytes:
    """Return a line of the journal: the rule, the sentence, the nodes of the match, and the tree before and after."""
    before, after = str(change.before), str(change.after)
    place = {"rule": change.rule, "file": path, "sentence": change.before.id}
    record = {**place, "nodes": change.nodes, "before": before, "after": after}
    return (json.dumps(record, ensure_ascii=False) + "\n").encode("utf-8", "replace")
