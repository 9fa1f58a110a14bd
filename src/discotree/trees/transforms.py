"""Transform the punctuation, the functions and the root of a tree.

Transforms keep ids, comments and secondary edges; an edge is removed with either of its ends.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from discotree.trees.punctuation import move_punctuation, remove_punctuation, root_punctuation
from discotree.trees.tree import NONE, ROOT, ROOT_LABELS, Node, SecondaryEdge, Token, Tree

Punctuation = Literal["keep", "move", "remove", "root"]
Functions = Literal["keep", "strip", "join", "split"]

FUNCTION_SEPARATOR = "-"


def transform(tree: Tree, *, punctuation: Punctuation = "keep", functions: Functions = "keep") -> Tree:
    """Apply transforms by name, in an order in which they do not interfere."""
    return FUNCTIONS[functions](PUNCTUATION[punctuation](tree))


def _same(tree: Tree) -> Tree:
    return tree


PUNCTUATION: dict[Punctuation, Callable[[Tree], Tree]] = {
    "keep": _same,
    "move": move_punctuation,
    "remove": remove_punctuation,
    "root": root_punctuation,
}

# Functions


def strip_functions(tree: Tree) -> Tree:
    """Remove the functions of phrases and words."""
    return _relabel(tree, lambda label, _: (label, NONE), lambda token: token._replace(function=NONE))


def join_functions(tree: Tree) -> Tree:
    """Make the functions of phrases part of their labels (NP-SBJ), for formats that have no field for them."""

    def join(label: str, function: str) -> tuple[str, str]:
        return (label if function == NONE else f"{label}{FUNCTION_SEPARATOR}{function}"), NONE

    return _relabel(tree, join, lambda token: token)


def split_functions(tree: Tree) -> Tree:
    """Undo ``join_functions``: NP-SBJ becomes an NP with the function SBJ."""

    def split(label: str, function: str) -> tuple[str, str]:
        name, _, suffix = label.partition(FUNCTION_SEPARATOR)
        return (name, suffix) if name and suffix else (label, function)

    return _relabel(tree, split, lambda token: token)


def _relabel(tree: Tree, node: Callable[[str, str], tuple[str, str]], token: Callable[[Token], Token]) -> Tree:
    token_parents, nodes = tree.parents()
    return Tree.from_parents(
        [token(t) for t in tree.tokens],
        token_parents,
        [(*node(label, function), parent) for label, function, parent in nodes],
        root=node(tree.root.label, tree.root.function),
        id=tree.id,
        comment=tree.comment,
        secondary=tree.secondary,
    )


FUNCTIONS: dict[Functions, Callable[[Tree], Tree]] = {
    "keep": _same,
    "strip": strip_functions,
    "join": join_functions,
    "split": split_functions,
}

# The root


def add_root(tree: Tree, label: str = ROOT) -> Tree:
    """Put a virtual root on top, unless there is one already."""
    if tree.root.label in ROOT_LABELS:
        return tree
    shifted = tuple(
        SecondaryEdge(role, child + (child >= len(tree)), parent + 1) for role, child, parent in tree.secondary
    )
    return replace(tree, root=Node(label, (tree.root,)), secondary=shifted)


def label_root(tree: Tree, label: str) -> Tree:
    """Rename the virtual root, for example to VROOT, as in the paper."""
    if tree.root.label not in ROOT_LABELS:
        return tree
    return replace(tree, root=Node(label, tree.root.children, tree.root.function))
