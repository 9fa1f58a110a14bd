"""Transform punctuation, functions, unaries and the root of a tree, with the inverse where there is one.

Ids, comments and secondary edges are kept; an edge goes when one of its ends does.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from discotree.trees.labels import JOINER, escape, split_chain
from discotree.trees.punctuation import move_punctuation, remove_punctuation, root_punctuation
from discotree.trees.tree import NONE, ROOT, ROOT_LABELS, Node, SecondaryEdge, Token, Tree

Punctuation = Literal["keep", "move", "remove", "root"]
Functions = Literal["keep", "strip", "join", "split"]
Unaries = Literal["keep", "collapse", "restore"]
Root = Literal["keep", "add", "strip"]

FUNCTION_SEPARATOR = "-"


def transform(
    tree: Tree,
    *,
    punctuation: Punctuation = "keep",
    functions: Functions = "keep",
    unaries: Unaries = "keep",
    root: Root = "keep",
) -> Tree:
    """Apply transforms by name, in an order in which they do not interfere."""
    tree = {"keep": _same, "add": add_root, "strip": strip_root}[root](tree)
    tree = PUNCTUATION[punctuation](tree)
    tree = {"keep": _same, "collapse": collapse_unaries, "restore": restore_unaries}[unaries](tree)
    return {"keep": _same, "strip": strip_functions, "join": join_functions, "split": split_functions}[functions](tree)


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
    return _relabelled(tree, lambda label, _: (label, NONE), lambda token: token._replace(function=NONE))


def join_functions(tree: Tree) -> Tree:
    """Make the functions of phrases part of their labels (NP-SBJ), for formats that have no field for them."""

    def join(label: str, function: str) -> tuple[str, str]:
        return (label if function == NONE else f"{label}{FUNCTION_SEPARATOR}{function}"), NONE

    return _relabelled(tree, join, lambda token: token)


def split_functions(tree: Tree) -> Tree:
    """Undo ``join_functions``: NP-SBJ becomes an NP with the function SBJ."""

    def split(label: str, function: str) -> tuple[str, str]:
        name, separator, rest = label.partition(FUNCTION_SEPARATOR)
        return (name, rest) if separator and name and rest else (label, function)

    return _relabelled(tree, split, lambda token: token)


def _relabelled(tree: Tree, node: Callable[[str, str], tuple[str, str]], token: Callable[[Token], Token]) -> Tree:
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


# Unaries


def collapse_unaries(tree: Tree) -> Tree:
    """Merge every chain of nodes with a single child into one node (S+VP), except the root.

    Functions are joined in the same way, if there are any. A secondary edge to a node inside a chain then ends at
    the merged node.
    """
    token_parents, nodes = tree.parents()
    count = [0] * (len(nodes) + 1)
    for parent in [*token_parents, *(node[2] for node in nodes)]:
        count[parent] += 1
    chains = [[k] for k in range(len(nodes))]
    merged: dict[int, int] = {}  # node → the top of its chain
    for k, (_, _, parent) in enumerate(nodes):
        if parent >= 0 and count[parent] == 1:
            merged[k] = merged.get(parent, parent)
            chains[merged[k]].append(k)
    kept = [k for k in range(len(nodes)) if k not in merged]
    index = {k: new for new, k in enumerate(kept)} | {-1: -1}
    index |= {k: index[top] for k, top in merged.items()}
    collapsed = []
    for k in kept:
        functions = [nodes[link][1] for link in chains[k]]
        if len(functions) > 1 and any(function != NONE for function in functions):
            function = JOINER.join(map(escape, functions))
        else:
            function = functions[0]
        collapsed.append((JOINER.join(escape(nodes[link][0]) for link in chains[k]), function, index[nodes[k][2]]))
    return _renumbered(tree, [index[p] for p in token_parents], collapsed, index)


def restore_unaries(tree: Tree) -> Tree:
    """Undo ``collapse_unaries``."""
    token_parents, nodes = tree.parents()
    restored: list[tuple[str, str, int]] = []
    top: dict[int, int] = {-1: -1}
    bottom: dict[int, int] = {-1: -1}
    for k, (chain, function, parent) in enumerate(nodes):
        labels = split_chain(chain)
        functions = split_chain(function) if len(labels) > 1 else (function,)
        up = bottom[parent]
        top[k] = len(restored)
        for link, label in enumerate(labels):
            restored.append((label, functions[link] if link < len(functions) else NONE, up))
            up = len(restored) - 1
        bottom[k] = up
    return _renumbered(tree, [bottom[p] for p in token_parents], restored, top)


def _renumbered(tree: Tree, token_parents: list[int], nodes: list[tuple[str, str, int]], index: dict[int, int]) -> Tree:
    n = len(tree)

    def address(old: int) -> int:
        return old if old < n else n + 1 + index[old - n - 1]

    return Tree.from_parents(
        tree.tokens,
        token_parents,
        nodes,
        root=(tree.root.label, tree.root.function),
        id=tree.id,
        comment=tree.comment,
        secondary=[SecondaryEdge(label, address(child), address(parent)) for label, child, parent in tree.secondary],
    )


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


def strip_root(tree: Tree) -> Tree:
    """Undo ``add_root``: remove a virtual root whose only child is a phrase."""
    (child, *siblings) = tree.root.children
    if tree.root.label not in ROOT_LABELS or siblings or not isinstance(child, Node):
        return tree
    shifted = tuple(
        SecondaryEdge(role, end - (end >= len(tree)), parent - 1)
        for role, end, parent in tree.secondary
        if len(tree) not in (end, parent)  # an edge of the root goes with it
    )
    return replace(tree, root=child, secondary=shifted)
