"""Tree ↔ nltk.Tree.

NLTK has one convention for trees with crossing branches: leaves are positions, and the words stand beside the tree.
Labels, unaries, the root and, as a node over every word, tags survive the round trip exactly; the functions of
constituents survive as parts of their labels (NP-SBJ). Lemmas, morphology, functions of words, secondary edges and ids
do not.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, get_args

import nltk.tree  # type: ignore[import-untyped]

from discotree.errors import ConfigError, TreeError
from discotree.trees.transforms import join_functions, split_functions
from discotree.trees.tree import NONE, ROOT, Node, Token, Tree

Leaves = Literal["positions", "words"]


def to_nltk(
    tree: Tree,
    leaves: Leaves = "positions",
    *,
    tags: bool = True,
    functions: bool = False,
    kind: Callable[[str, list[Any]], Any] = nltk.tree.Tree,
) -> Any:
    """Return the tree as a ``nltk.Tree`` or another class, such as ``nltk.ParentedTree``.

    ``leaves`` are positions or, for a continuous tree only, words. With ``tags`` every word has a node above it with
    its tag; with ``functions`` the labels of constituents include their functions.
    """
    check_leaves(leaves)
    if leaves == "words" and tree.is_discontinuous:
        raise TreeError(f"sentence {tree.id}: a discontinuous tree needs positions as leaves, not words")
    root = join_functions(tree).root if functions else tree.root
    result: list[Any] = []
    stack: list[tuple[Node | int, list[Any], list[Any] | None]] = [(root, result, None)]
    while stack:
        node, siblings, children = stack.pop()
        if isinstance(node, int):
            leaf = node if leaves == "positions" else tree.tokens[node].form
            siblings.append(kind(tree.tokens[node].tag or NONE, [leaf]) if tags else leaf)
        elif children is None:  # first visit: build the children, then come back
            children = []
            stack.append((node, siblings, children))
            stack.extend((child, children, None) for child in reversed(node.children))
        else:
            siblings.append(kind(node.label, children))
    return result[0]


def check_leaves(leaves: str) -> None:
    if leaves not in get_args(Leaves):
        raise ConfigError(f"leaves: expected {' or '.join(get_args(Leaves))}, got {leaves!r:.50}")


def from_nltk(
    tree: Any,
    sentence: Sequence[str | Token] | None = None,
    *,
    tags: bool = True,
    functions: bool = False,
    id: str = "",
) -> Tree:
    """Return the Tree of an NLTK tree: one of positions with its sentence, or one with words as leaves.

    With ``tags``, a node over a single leaf is the tag of that word. A sentence of Tokens keeps what NLTK cannot
    hold. The root may have an empty label, as in the Penn Treebank.
    """
    if not isinstance(tree, nltk.tree.Tree):
        raise TypeError(f"expected an nltk.Tree, got {tree!r:.50}")
    if isinstance(sentence, str):
        raise TypeError(f"expected the sentence as a list of words, got the string {sentence!r:.50}")
    leaves = _LeafTable(sentence)
    root = _to_node(tree, leaves, tags)
    result = Tree(leaves.tokens_in_order(), root, id)
    return split_functions(result) if functions else result


class _LeafTable:
    """The tokens of the sentence, matched with leaves as they turn up: all are positions, or all are words."""

    def __init__(self, sentence: Sequence[str | Token] | None) -> None:
        self.has_sentence = sentence is not None
        self.tokens = [word if isinstance(word, Token) else Token(word) for word in sentence or ()]
        self.seen: set[int] = set()

    def position(self, leaf: object, tag: str | None) -> int:
        """Return the position of a leaf, and set the tag of its token."""
        position = self._add(leaf) if isinstance(leaf, str) else self._look_up(leaf)
        if tag is not None:
            self.tokens[position] = self.tokens[position]._replace(tag=tag)
        return position

    def _add(self, word: str) -> int:
        if self.has_sentence:
            raise TreeError(f"the leaf {word!r} is a word: when you give a sentence, leaves have to be positions")
        self.tokens.append(Token(word))
        return len(self.tokens) - 1

    def _look_up(self, leaf: object) -> int:
        if not isinstance(leaf, int) or isinstance(leaf, bool):
            raise TreeError(f"expected a word or a position as leaf, got {leaf!r:.50}")
        if not self.has_sentence and self.tokens:
            raise TreeError(f"the leaf {leaf} is a position, but another leaf is a word")
        if not self.has_sentence:
            raise TreeError(f"the leaf {leaf} is a position: give the sentence, too")
        if not 0 <= leaf < len(self.tokens):
            raise TreeError(f"the leaf {leaf} is outside the sentence, which has {len(self.tokens)} words")
        if leaf in self.seen:
            raise TreeError(f"the leaf {leaf} ({self.tokens[leaf].form!r}) occurs twice")
        self.seen.add(leaf)
        return int(leaf)

    def tokens_in_order(self) -> tuple[Token, ...]:
        """Return the tokens; refuse a sentence with words that are no leaves."""
        for position, token in enumerate(self.tokens if self.has_sentence else ()):
            if position not in self.seen:
                raise TreeError(f"position {position} ({token.form!r}) is no leaf of the tree")
        return tuple(self.tokens)


def _to_node(tree: Any, leaves: _LeafTable, tags: bool) -> Node:
    """Return the node of an NLTK tree, built without recursion; a tree that contains itself is an error."""
    path = {id(tree)}
    top: list[Node | int] = []
    stack: list[tuple[Any, Iterator[Any], list[Node | int], list[Node | int]]] = [(tree, iter(tree), [], top)]
    while stack:
        current, rest, children, siblings = stack[-1]
        for child in rest:
            if not isinstance(child, nltk.tree.Tree):
                children.append(leaves.position(child, None))
            elif tags and len(child) == 1 and not isinstance(child[0], nltk.tree.Tree):
                children.append(leaves.position(child[0], _label(child) or NONE))
            else:
                if id(child) in path:
                    raise TreeError(f"node {_label(child)!r} contains itself")
                path.add(id(child))
                stack.append((child, iter(child), [], children))
                break
        else:
            stack.pop()
            path.remove(id(current))
            siblings.append(Node(_label(current) or (NONE if stack else ROOT), children))
    (node,) = top
    assert isinstance(node, Node)
    return node


def _label(tree: Any) -> str:
    label = tree.label()
    if not isinstance(label, str):
        raise TreeError(f"expected a string as label, got {label!r:.50}")
    return str(label)
