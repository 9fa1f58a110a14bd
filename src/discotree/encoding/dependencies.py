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
* Characters with a meaning are escaped in labels (see labels.py).

``to_tree`` builds a tree from *any* arcs that form a tree, with *any* labels:

* Two labels at one level: the most frequent wins, then that of the leftmost dependent.
* A label without a number after the last ``#`` counts as level 1; levels may be skipped.
* A root label inside the tree dissolves: its children go to its parent. An empty label becomes ``--``.
* Labels on arcs from the dummy root are ignored; several such arcs meet at the root.
"""

from dataclasses import dataclass
from typing import Literal

from discotree.encoding.head_rules import HeadRules
from discotree.encoding.spines import DUMMY_ROOT, heads_first, spine_phrases
from discotree.errors import EncodingError
from discotree.trees.labels import JOINER, LEVEL, escape, split_chain, split_level
from discotree.trees.tree import NONE, ROOT, Node, Token, Tree

ROOT_LABEL = "ROOT"  # label of the arc from the dummy root


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
            given = len(getattr(self, name))
            if given != n and (given or name in ("heads", "labels")):
                raise EncodingError(f"{n} tokens but {given} {name}")
        for position, head in enumerate(self.heads):
            if not DUMMY_ROOT <= head < n:
                raise EncodingError(f"token {position} has the head {head}, outside -1..{n - 1}")


def to_dependencies(
    tree: Tree, rules: HeadRules | str | None, unaries: Literal["keep", "drop"] = "keep"
) -> Dependencies:
    """Encode a tree. ``unaries="drop"`` leaves nodes with one child out, as the paper does.

    ``rules`` are head rules or their name; None follows the treebank's own marks.
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
        found = head_word.get(id(child))
        if found is not None:
            return found
        child = child.children[0]  # type: ignore[union-attr]
    return child


def to_tree(dependencies: Dependencies) -> Tree:
    """Decode any arcs that form a tree; a cycle is an EncodingError."""
    tokens, root = dependencies.tokens, dependencies.root
    n = len(tokens)
    dependents, order = heads_first(dependencies.heads)
    if len(order) < n:
        lost = min(set(range(n)).difference(order))
        raise EncodingError(f"token {lost} is part of a cycle or hangs on one")
    levels = [split_level(label, root) for label in dependencies.labels]
    finished: list[list[Node | int]] = [[]] * n  # mostly one part; several where a root label dissolved
    roles: list[str] = []
    unaries = dependencies.unaries
    for position in reversed(order):
        roles = list(reversed(dependencies.functions[position])) if dependencies.functions else []
        parts: list[Node | int] = [position]
        if unaries and unaries[position]:
            parts = _grow(parts, split_chain(unaries[position], root), roles)
        if dependents[position]:
            for labels, group in spine_phrases(dependents[position], levels):
                for dependent in group:
                    parts += finished[dependent]
                parts = _grow(parts, labels, roles)
        finished[position] = parts
    top = [part for position in dependents[DUMMY_ROOT] for part in finished[position]]
    return Tree(tokens, Node(root, top, roles.pop() if roles else NONE), dependencies.id)


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


def _grow(parts: list[Node | int], labels: tuple[str, ...], roles: list[str]) -> list[Node | int]:
    """Put a chain of nodes, given from top to bottom, over the parts, and pop their functions from ``roles``."""
    for label in reversed(labels):
        parts = [Node(label, parts, roles.pop() if roles else NONE)]
    return parts
