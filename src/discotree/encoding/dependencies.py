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

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
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

Phrase = tuple[str, Sequence[int], float]
"""A node of a spine before it is built: its label, the dependents that join it, its confidence. Its head child is the
next lower phrase, or the word itself."""

NodeFunctions = Callable[[int, Sequence[Phrase]], Sequence[str]]
"""Takes a word and its spine, lowest phrase first, and returns the functions of these nodes; missing ones are NONE. If
the word is the first one on the dummy root, the next function is that of the root."""


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
    top, _ = build_nodes(
        dependencies.heads, levels, chains, root, lambda position, _: functions[position] if functions else ()
    )
    return Tree(dependencies.tokens, top, dependencies.id)


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


# The tree builder: heads and labels → nodes. ``to_tree`` and the parser both build their trees here. A word heads the
# nodes of its spine. Its dependents join the spine at the level that their arcs name: at level 1 a node is built over
# the word and the dependents of that level, at level 2 a node over that node and its dependents, and so on.


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
    node_functions: NodeFunctions,
    arc_probabilities: Sequence[float] = (),
    chain_probabilities: Sequence[float] = (),
) -> tuple[Node, tuple[float, ...]]:
    """Build the nodes of a tree; return its root, and the confidences of all nodes in the order of ``root.nodes()``.

    ``levels`` has the level of every word's arc, ``chains`` the labels of the phrases over every word alone, from top
    to bottom. Raises EncodingError if the heads have a cycle.

    Confidence: a phrase has the product of the probabilities of the arcs that join its children to its head; a phrase
    over a single word has the probability of its chain. A chain of phrases is one label, so all of it has the
    confidence of its lowest phrase. The root has the product over the arcs that end at it. Without
    probabilities there are no confidences.
    """
    n, scored = len(heads), bool(arc_probabilities)
    arcs, chained = arc_probabilities or [1.0] * n, chain_probabilities or [1.0] * n
    dependents, order = heads_first(heads)
    if len(order) < n:
        lost = min(set(range(n)).difference(order))
        raise EncodingError(f"token {lost} is part of a cycle or hangs on one")
    confidences: dict[int, float] = {}  # by id of the node
    parts: list[list[Node | int]] = [[k] for k in range(n)]  # several where a root label dissolved
    uncounted = [1.0] * n  # probability of the arcs inside these parts that no node has counted yet
    functions: Sequence[str] = ()
    spine: Sequence[Phrase] = ()
    for position in reversed(order):
        if not dependents[position] and not chains[position] and heads[position] != DUMMY_ROOT:
            continue  # most words have no dependents
        spine, remaining, uncounted[position] = _spine(
            chains[position], chained[position], spine_phrases(dependents[position], levels), arcs, uncounted
        )
        functions = node_functions(position, spine)
        grown, named = parts[position], len(functions)
        for height, (label, joining, confidence) in enumerate(spine):
            for dependent in joining:
                grown += parts[dependent]
            node = Node(label, grown, functions[height] if height < named else NONE)
            if scored:
                confidences[id(node)] = confidence
            grown = [node]
        for dependent in remaining:
            grown += parts[dependent]
        parts[position] = grown
    tops = dependents[DUMMY_ROOT]
    root_function = functions[len(spine)] if len(functions) > len(spine) else NONE
    root = Node(root_label, [part for position in tops for part in parts[position]], root_function)
    if not scored:
        return root, ()
    confidences[id(root)] = math.prod(arcs[position] * uncounted[position] for position in tops)
    return root, tuple([confidences[id(node)] for node in root.nodes()])


def _spine(
    chain: tuple[str, ...],
    chain_probability: float,
    phrases: Sequence[tuple[tuple[str, ...], list[int]]],
    arcs: Sequence[float],
    uncounted: Sequence[float],
) -> tuple[list[Phrase], Sequence[int], float]:
    """Return the phrases that a word heads, lowest first: those over the word alone, then those of its dependents.

    Also return the dependents that are left over because the label of their level dissolved, and the probability of
    their arcs.
    """
    spine: list[Phrase] = [(label, (), chain_probability) for label in reversed(chain)] if chain else []
    joining: Sequence[int] = ()
    probability = 1.0
    for labels, group in phrases:
        joining = [*joining, *group] if joining else group
        for dependent in group:
            probability *= arcs[dependent] * uncounted[dependent]
        if labels:
            spine.append((labels[-1], joining, probability))
            if len(labels) > 1:
                spine += [(label, (), probability) for label in labels[-2::-1]]
            joining, probability = (), 1.0
    return spine, joining, probability
