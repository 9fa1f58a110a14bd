"""Transform the punctuation, the functions and the root of a tree; and ``Draft``, a tree that can be changed.

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


class Draft:
    """The phrases and tags of a tree, open to change.

    A child is a number: the position of a word, or the number of words plus the index of a phrase. Children are in the
    order of their first words. The root is not a phrase of the draft and cannot be changed.
    """

    def __init__(self, tree: Tree) -> None:
        self.original = tree
        self.words = len(tree.tokens)
        self.tags = [token.tag for token in tree.tokens]
        token_parents, nodes = tree.parents()
        self.labels = [label for label, _, _ in nodes]
        self.functions = [function for _, function, _ in nodes]
        _, *phrases = tree.nodes()  # the root comes first, the rest as in parents()
        begins = [*range(self.words), *((node.mask & -node.mask).bit_length() - 1 for node in phrases)]
        self.children: list[list[int]] = [[] for _ in range(len(nodes) + 1)]  # the root's are the last, [-1]
        parents = [*token_parents, *(parent for _, _, parent in nodes)]
        for child in sorted(range(len(parents)), key=begins.__getitem__):
            self.children[parents[child]].append(child)
        self.top = self.children.pop()

    def is_word(self, child: int) -> bool:
        return child < self.words

    def phrase(self, child: int) -> int:
        """Return the index of a child that is a phrase."""
        return child - self.words

    def name(self, child: int) -> str:
        """Return the tag of a word, the label of a phrase."""
        return self.tags[child] if self.is_word(child) else self.labels[self.phrase(child)]

    def has_one_word(self, child: int) -> bool:
        """Return whether a child is a phrase whose only child is a word."""
        children = [] if self.is_word(child) else self.children[self.phrase(child)]
        return len(children) == 1 and self.is_word(children[0])

    def dissolve(self, siblings: list[int], child: int) -> None:
        """Put the children of a phrase into its place among its siblings."""
        at = siblings.index(child)
        siblings[at : at + 1] = self.children[self.phrase(child)]

    def wrap(self, siblings: list[int], begin: int, end: int, label: str) -> int:
        """Put a new phrase around the siblings from one index to another; return its index."""
        self.labels.append(label)
        self.functions.append(NONE)
        self.children.append(siblings[begin:end])
        new = len(self.children) - 1
        siblings[begin:end] = [self.words + new]
        return new

    def tree(self) -> Tree:
        """Build the new tree. Secondary edges are left out."""
        # A phrase that was dissolved still lists its children, so parents are found from the top.
        parents, queue = dict.fromkeys(self.top, -1), list(self.top)
        for child in queue:  # grows during the loop
            if not self.is_word(child):
                index = self.phrase(child)
                parents |= dict.fromkeys(self.children[index], index)
                queue += self.children[index]
        phrases = sorted(self.phrase(child) for child in queue if not self.is_word(child))
        number = {index: k for k, index in enumerate(phrases)} | {-1: -1}
        return self.original.rebuild(
            [number[parents[position]] for position in range(self.words)],
            [(self.labels[k], self.functions[k], number[parents[self.words + k]]) for k in phrases],
            [token._replace(tag=tag) for token, tag in zip(self.original.tokens, self.tags, strict=True)],
        )
