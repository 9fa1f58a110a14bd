"""query-from: write the query for nodes of a tree."""

import click

from discotree.cli.console import table, write_rich, write_text
from discotree.cli.options import TreebankInput, check_output, choice_option, examples, output_option, treebank_options
from discotree.errors import DiscotreeError, expected, list_some
from discotree.queries.by_example import DEFAULT_ASPECTS, Aspect
from discotree.queries.by_example import query_from as write_query
from discotree.queries.match import FoundNode, TreeView
from discotree.trees.tree import NONE, Tree

MAX_CANDIDATES = 8  # listed in the message about a name that fits several nodes


@click.command(
    "query-from",
    epilog=examples(
        "discotree query-from tiger.xml --id s5",
        "discotree query-from tiger.xml --id s5 --nodes 'S NP:Haus hat'",
        "discotree query-from tiger.xml --id s5 --nodes '12 15' --same label --same order",
        "discotree search \"$(discotree query-from tiger.xml --nodes 'NP:Haus')\" tiger.xml",
    ),
)
@click.option(
    "--nodes",
    metavar="NODES",
    multiple=True,
    help="The nodes, separated by spaces: a label, tag or word; LABEL:WORD for the node with this label that contains "
    "this word; or a number from the list. May be repeated.",
)
@choice_option(
    "--same",
    Aspect,
    "What a match must have in common with these nodes. May be repeated.",
    DEFAULT_ASPECTS,
    multiple=True,
)
@output_option("File to write. By default, standard output.")
@click.option("--id", "identity", metavar="ID", help="The id of the tree. By default, the first tree of the file.")
@treebank_options("TREE")
def query_from(
    source: TreebankInput, nodes: tuple[str, ...], same: tuple[Aspect, ...], output: str, identity: str | None
) -> None:
    """Write the query for nodes of a tree.

    TREE is a treebank; its first tree is used, or the one with --id. Without --nodes, the nodes of the tree are
    listed with their numbers.

    The query finds these nodes and others that are related in the same way and have the same label and function; choose
    other aspects with --same.
    """
    check_output(output, source.paths)
    view = TreeView(_find_tree(source, identity))
    source.report_skipped()
    names = [name for text in nodes for name in text.split()]
    if names:
        query = write_query(view.tree, [find_node(view, name) for name in names], same)
        write_text(f"{query.text}\n", output)
        return
    found = [FoundNode(view, address) for address in range(view.size)]
    rows = [
        (str(node.address), node.cat or node.pos or NONE, node.edge or NONE, node.text)
        for node in [*found[view.terminals :], *found[: view.terminals]]
    ]
    columns = ("number", "label", "function", "words")
    write_rich(table(columns, rows, left=columns[1:]), output=output)


def _find_tree(source: TreebankInput, identity: str | None) -> Tree:
    for tree in source.read(with_stems=True):
        if identity in (None, tree.id):
            return tree
    place = list_some(source.paths)
    raise DiscotreeError(f"{place}: there is no tree with the id {identity!r}" if identity else f"{place}: no trees")


def find_node(view: TreeView, name: str) -> int:
    """Return the address of the node that a user means by a number, a label, tag or word, or LABEL:WORD."""
    if name.isdecimal() and int(name) < view.size:
        return int(name)
    label, _, word = name.partition(":")
    with_word = sum(1 << position for position in view.with_value("word", word))
    candidates = [node for feature in ("cat", "pos", "word") for node in view.with_value(feature, name)]
    labelled = [node for feature in ("cat", "pos") for node in view.with_value(feature, label)]
    candidates = list(dict.fromkeys([*candidates, *[node for node in labelled if view.mask(node) & with_word]]))
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        choices = list_some((f"{node} ({FoundNode(view, node).text})" for node in candidates), MAX_CANDIDATES)
        raise click.UsageError(f"--nodes {name}: {len(candidates)} nodes fit; pass the number of one: {choices}")
    known = [value for feature in ("cat", "pos", "word") for value in view.values(feature)]
    hint = expected(label, known, "; without --nodes, the command lists the nodes")
    raise click.UsageError(f"--nodes {name}: the tree has no such node{hint}")
