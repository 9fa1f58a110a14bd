"""Constituents as augmented dependencies, and back: section 2 of the paper, made lossless and total.

Head rules find the head word of every node; the nodes that share a head word form its *spine*. A child that is not
the head of its node becomes an arc from the node's head word to its own, labelled with the node's label and its level
on that spine: ``NP#2`` joins the head's second phrase, an NP. The head word of the sentence hangs on the dummy root
(-1) with the label ``ROOT``.

Beyond the paper, so that ``to_tree(to_dependencies(t)) == t``:

* A chain of nodes with one child each is one level, its labels joined from top to bottom: ``S+VP#1``.
  ``unaries`` holds the chain over a single word, which no arc can carry.
* ``functions`` holds the functions of all nodes on a word's spine, from bottom to top.
* The root's label and the sentence's id are kept. The root needs no arc when it has one child.
* Characters with a meaning are escaped in labels (see below).

``to_tree`` builds a tree from *any* arcs that form a tree, with *any* labels:

* Two labels at one level: the most frequent wins, then that of the leftmost dependent.
* A label without a number after the last ``#`` counts as level 1; levels may be skipped.
* A root label inside the tree dissolves: its children go to its parent. An empty label becomes ``--``.
* Labels on arcs from the dummy root are ignored; several such arcs meet at the root.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from discotree.encoding.head_rules import HeadRules
from discotree.errors import EncodingError
from discotree.trees.tree import NONE, ROOT, Node, Token, Tree

ROOT_LABEL = "ROOT"  # label of the arc from the dummy root
DUMMY_ROOT = -1
LEVEL = "#"
JOINER = "+"
ESCAPE = "\\"
NOT_THE_ROOT = "\\^"

_SPECIAL = re.compile(r"[\\+]")
_PIECE = re.compile(r"\\.?|[^\\+]+|\+", re.DOTALL)  # an escaped character, plain text, or a joiner
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_MAX_DIGITS = 9
_CACHED = 10_000  # labels, so about 10 MB at most
_MAX_CACHED_CHARS = 200

Level = tuple[tuple[str, ...], int]
"""The chain of labels and the level on the head's spine that an arc's label names; see ``split_level``."""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The lossless image of a Tree: one head and one label for every token.

    Without ``functions`` and ``unaries``, no node has a function and no word a unary chain.
    """

    tokens: tuple[Token, ...]
    heads: tuple[int, ...]
    labels: tuple[str, ...]
    functions: tuple[tuple[str, ...], ...] = ()
    unaries: tuple[str, ...] = ()
    root: str = ROOT
    id: str = ""

    def __post_init__(self) -> None:
        n = len(self.tokens)
        if not n:
            raise EncodingError("no tokens")
        for name in ("heads", "labels", "functions", "unaries"):
            size = len(getattr(self, name))
            if size != n and (size or name in ("heads", "labels")):
                raise EncodingError(f"{n} tokens but {size} {name}")
        for position, head in enumerate(self.heads):
            if not DUMMY_ROOT <= head < n:
                raise EncodingError(f"token {position} has the head {head}, outside -1..{n - 1}")


def to_dependencies(
    tree: Tree, rules: HeadRules | str | None, unaries: Literal["keep", "drop"] = "keep"
) -> Dependencies:
    """Return a tree as augmented dependencies. ``unaries="drop"`` leaves nodes with one child out, as the paper does.

    ``rules`` are head rules or their name; None follows the treebank's own marks.
    Example: ``dt.to_dependencies(tree, "negra").heads``.
    """
    if not isinstance(tree, Tree):
        raise TypeError(f"expected a Tree, got {type(tree).__name__}: {tree!r:.50}")
    rules = HeadRules.of(rules)
    tokens, root = tree.tokens, tree.root
    n = len(tokens)
    keep = unaries == "keep"
    chains = [""] * n  # over single words
    functions: list[list[str]] = [[] for _ in range(n)]
    branching: list[tuple[Node, str, list[str]]] = []  # node, label, functions top-down; parents first
    stack: list[Node | int] = [root]
    while stack:
        child = stack.pop()
        if child.__class__ is int:
            continue
        labels: list[str] = []
        roles: list[str] = []
        node: Node = child  # type: ignore[assignment]
        while len(node.children) == 1:
            if keep or node is root:
                roles.append(node.function)
                if node is not root:
                    labels.append(escape(node.label, root.label))
            only = node.children[0]
            if only.__class__ is int:
                chains[only] = JOINER.join(labels)
                functions[only].extend(reversed(roles))
                break
            node = only  # type: ignore[assignment]
        else:
            roles.append(node.function)
            label = escape(node.label, "" if node is root else root.label)
            branching.append((node, JOINER.join([*labels, label]) if labels else label, roles))
            stack.extend(node.children)
    heads, arcs = _arcs(tokens, branching, rules, functions)
    return Dependencies(
        tokens, tuple(heads), tuple(arcs), tuple(map(tuple, functions)), tuple(chains), root.label, tree.id
    )


def _arcs(
    tokens: tuple[Token, ...],
    branching: list[tuple[Node, str, list[str]]],
    rules: HeadRules,
    functions: list[list[str]],
) -> tuple[list[int], list[str]]:
    """Return heads and labels from the branching nodes, and extend the functions of the spines."""
    heads = [DUMMY_ROOT] * len(tokens)
    labels = [ROOT_LABEL] * len(tokens)
    height = [0] * len(tokens)
    head_word: dict[int, int] = {}  # by id of the node
    for node, label, roles in reversed(branching):
        children = [_head_word(child, head_word) for child in node.children]
        head = children.pop(rules.head_child(node, tokens))
        height[head] += 1
        arc = f"{label}{LEVEL}{height[head]}"
        for child in children:
            heads[child] = head
            labels[child] = arc
        functions[head].extend(reversed(roles))
        head_word[id(node)] = head
    return heads, labels


def _head_word(child: Node | int, head_word: dict[int, int]) -> int:
    """Return the head word of a child, which may be a chain of nodes."""
    while child.__class__ is not int:
        head = head_word.get(id(child))
        if head is not None:
            return head
        child = child.children[0]  # type: ignore[union-attr]
    return child


def to_tree(dependencies: Dependencies) -> Tree:
    """Return the tree of dependencies, which may be any arcs that form a tree; a cycle is an EncodingError.

    Example: ``dt.to_tree(dt.to_dependencies(tree, "negra")) == tree``.
    """
    root, functions = dependencies.root, dependencies.functions
    levels = [split_level(label, root) for label in dependencies.labels]
    chains = [split_chain(unary, root) if unary else () for unary in dependencies.unaries or [""] * len(levels)]
    return Tree(dependencies.tokens, build_nodes(dependencies.heads, levels, chains, root, functions), dependencies.id)


def spines(dependencies: Dependencies) -> list[list[str]]:
    """Return for every word the labels of the nodes that it heads, lowest first, as ``to_tree`` makes them.

    The root belongs to the first word that hangs on the dummy root.
    """
    root = dependencies.root
    dependents, _ = heads_first(dependencies.heads)
    levels = [split_level(label, root) for label in dependencies.labels]
    result: list[list[str]] = [[] for _ in dependencies.tokens]
    for position, spine in enumerate(result):
        if dependencies.unaries and dependencies.unaries[position]:
            spine.extend(reversed(split_chain(dependencies.unaries[position], root)))
        for labels, _ in spine_phrases(dependents[position], levels):
            spine.extend(reversed(labels))
    result[dependents[DUMMY_ROOT][0]].append(root)
    return result


# Composite labels:
#
#     S+VP        an S over a VP, its only child
#     NP#2        the second phrase on its head word's spine, an NP
#     \+  \\      a + or a \ that belongs to a label
#     \^ROOT      a label that equals the root's but belongs to a node inside the tree


def escape(label: str, root: str = "") -> str:
    """Return a label that can be part of a chain in a tree whose root is labelled ``root``."""
    escaped = _SPECIAL.sub(r"\\\g<0>", label) if JOINER in label or ESCAPE in label else label
    return NOT_THE_ROOT + escaped if label == root else escaped


def split_chain(chain: str, root: str = "") -> tuple[str, ...]:
    """Return the labels of a chain, top to bottom, unescaped; the root label is left out."""
    return (_split_chain if len(chain) + len(root) <= _MAX_CACHED_CHARS else _split_chain.__wrapped__)(chain, root)


@lru_cache(_CACHED)
def _split_chain(chain: str, root: str) -> tuple[str, ...]:
    links = [""]
    for piece in _PIECE.findall(chain):
        if piece == JOINER:
            links.append("")
        else:
            links[-1] += piece
    raw_root = escape(root)
    return tuple(_unescape(link) or NONE for link in links if link != raw_root or not root)


def _unescape(label: str) -> str:
    if ESCAPE not in label:
        return label
    return _ESCAPED.sub(r"\1", label.removeprefix(NOT_THE_ROOT))


def split_level(label: str, root: str = "") -> tuple[tuple[str, ...], int]:
    """Return the chain of labels and the level of an arc's label; a missing level counts as 1."""
    return (_split_level if len(label) + len(root) <= _MAX_CACHED_CHARS else _split_level.__wrapped__)(label, root)


@lru_cache(_CACHED)
def _split_level(label: str, root: str) -> tuple[tuple[str, ...], int]:
    name, separator, level = label.rpartition(LEVEL)
    if separator and level.isascii() and level.isdecimal() and len(level) <= _MAX_DIGITS:
        return split_chain(name, root), int(level)
    return split_chain(label, root), 1


# The tree builder: heads and labels → nodes. ``decoding.phrases`` does the same with arrays for many sentences.
# A word heads the nodes of its spine. Its dependents join the spine at the level that their arcs name: at level 1 a
# node is built over the word and the dependents of that level, at level 2 a node over that node and its dependents, and
# so on.


def heads_first(heads: Sequence[int]) -> tuple[list[list[int]], list[int]]:
    """Return the dependents of every word, and the words in an order that puts heads before their dependents.

    The last list of dependents, [-1], is that of the dummy root. Words on a cycle, and below one, are not in the order.
    """
    dependents: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for position, head in enumerate(heads):
        dependents[head].append(position)
    order = list(dependents[DUMMY_ROOT])
    for position in order:  # grows while we walk it
        if dependents[position]:
            order += dependents[position]
    return dependents, order


def spine_phrases(dependents: list[int], levels: Sequence[Level]) -> list[tuple[tuple[str, ...], list[int]]]:
    """Return the phrases of one spine, lowest first: their chain of labels and the dependents that join there.

    ``levels`` has the level of every word's arc. If two chains compete for one level, the more frequent one wins, then
    that of the leftmost dependent.
    """
    if not dependents:
        return []
    first = levels[dependents[0]]
    if len(dependents) == 1:
        return [(first[0], dependents)]
    for dependent in dependents:
        if levels[dependent] is not first:
            break
    else:
        return [(first[0], dependents)]
    groups: dict[int, list[int]] = {}
    for dependent in dependents:
        groups.setdefault(levels[dependent][1], []).append(dependent)
    phrases = []
    for level in sorted(groups):
        group = groups[level]
        chain = levels[group[0]][0]
        if any(levels[dependent][0] != chain for dependent in group):
            chain = Counter([levels[dependent][0] for dependent in group]).most_common(1)[0][0]
        phrases.append((chain, group))
    return phrases


def build_nodes(
    heads: Sequence[int],
    levels: Sequence[Level],
    chains: Sequence[tuple[str, ...]],
    root_label: str,
    functions: Sequence[Sequence[str]] = (),
) -> Node:
    """Build the nodes of a tree and return its root. Raises EncodingError if the heads have a cycle.

    ``levels`` has the level of every word's arc, ``chains`` the labels of the phrases over every word alone, from top
    to bottom. ``functions`` has those of the phrases on every word's spine, lowest first, and that of the root after
    those of the first word on the dummy root; missing ones are NONE.
    """
    n = len(heads)
    dependents, order = heads_first(heads)
    if len(order) < n:
        lost = min(set(range(n)).difference(order))
        raise EncodingError(f"token {lost} is part of a cycle or hangs on one")
    parts: list[list[Node | int]] = [[k] for k in range(n)]  # several where a root label dissolved
    names: Iterator[str] = iter(())
    for position in reversed(order):
        if not dependents[position] and not chains[position] and heads[position] != DUMMY_ROOT:
            continue  # most words have no dependents
        grown = parts[position]
        names = iter(functions[position] if functions else ())
        for label in reversed(chains[position]):
            grown = [Node(label, grown, next(names, NONE))]
        for labels, group in spine_phrases(dependents[position], levels):
            for dependent in group:
                grown += parts[dependent]
            for label in reversed(labels):
                grown = [Node(label, grown, next(names, NONE))]
        parts[position] = grown
    children = [part for position in dependents[DUMMY_ROOT] for part in parts[position]]
    return Node(root_label, children, next(names, NONE))
