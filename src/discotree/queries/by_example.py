"""Search by example: write the query that finds nodes like some nodes of a tree.

The query has a variable for each node. It always states which nodes dominate each other and which are siblings; the
aspects decide what else a match must have in common with the example. The query matches the example itself.
"""

import re
from collections.abc import Collection, Iterator
from itertools import combinations, pairwise
from typing import Literal, NamedTuple, get_args

from discotree.errors import InputError, expected
from discotree.queries.language import LABEL_NAME, quote
from discotree.queries.match import TreeView
from discotree.queries.query import MAX_NODES
from discotree.trees.tree import NONE, Tree

Aspect = Literal["label", "function", "word", "lemma", "order", "distance", "gap"]
ASPECTS: tuple[Aspect, ...] = get_args(Aspect)
DEFAULT_ASPECTS: tuple[Aspect, ...] = ("label", "function")


class QueryFromNodes(NamedTuple):
    """The text of a query, and the address of the example's node for each of its variables."""

    text: str
    nodes: dict[str, int]


def query_from(tree: Tree, nodes: Collection[int], same: Collection[Aspect] = DEFAULT_ASPECTS) -> QueryFromNodes:
    """Write a query for these nodes and all others that are like them in the aspects ``same``.

    A word's address is its position, that of the k-th constituent in the order of ``Tree.nodes`` is ``len(tree) + k``.

    label     the label of a constituent, the tag of a word
    function  the function of each node
    word, lemma
    order     the order of nodes that do not dominate each other
    distance  the number of levels between nodes that dominate each other, and the number of words from the beginning of
              one node to that of the next; without ``order``, the nearest words are at most as far apart
    gap       whether a constituent is discontinuous; gaps of only punctuation do not count

    Example: ``query_from(tree, [0, 1], ["word", "order"]).text``.
    """
    view = TreeView(tree)
    if unknown := [aspect for aspect in same if aspect not in ASPECTS]:
        raise InputError(f"unknown aspect {unknown[0]!r}{expected(unknown[0], ASPECTS)}")
    if outside := [address for address in nodes if not 0 <= address < view.size]:
        raise InputError(f"there is no node {outside[0]}; the nodes of this tree are 0 to {view.size - 1}")
    if not 1 <= len(set(nodes)) <= MAX_NODES:
        raise InputError(f"expected 1 to {MAX_NODES} nodes, got {len(set(nodes))}")
    return _Example(view, set(nodes), frozenset(same)).query()


class _Example:
    def __init__(self, view: TreeView, nodes: set[int], same: frozenset[str]) -> None:
        self.view = view
        self.same = same
        self.nodes = sorted(nodes, key=lambda node: (view.first[node], len(view.ancestors(node))))  # parents first
        self.above = {node: next((x for x in view.ancestors(node) if x in nodes), None) for node in self.nodes}
        self.tests = {node: dict(self._tests(node)) for node in self.nodes}
        self.names: dict[int, str] = {}
        for node in self.nodes:
            self.names[node] = self._name(node)
        self.described: set[int] = set()

    def query(self) -> QueryFromNodes:
        relations = [*self._dominance(), *self._precedence()]
        related = {node for left, _, right in relations for node in (left, right)}
        statements = [f"{self._mention(left)} {relation} {self._mention(right)}" for left, relation, right in relations]
        statements += [self._mention(node) for node in self.nodes if node not in related]
        text = " & ".join([*statements, *self._predicates()])
        return QueryFromNodes(text, {name: node for node, name in self.names.items()})

    def _tests(self, node: int) -> Iterator[tuple[str, str]]:
        """Yield the features of a node that a match must share, with their values."""
        features = {"label": "pos" if node < self.view.terminals else "cat", "word": "word", "lemma": "lemma"}
        for aspect, feature in features.items():
            if aspect in self.same and (value := self.view.value(node, feature)) is not None:
                yield feature, value
        if "function" in self.same and (function := self.view.edges[node]) and function != NONE:
            yield "edge", function

    def _name(self, node: int) -> str:
        label = re.match("[A-Za-z]+", self.tests[node].get("cat") or self.tests[node].get("pos") or "")
        name = f"#{label[0].lower() if label else 'w' if node < self.view.terminals else 'n'}"
        number = sum(other.rstrip("0123456789") == name for other in self.names.values()) + 1
        return f"{name}{number}" if number > 1 else name

    def _mention(self, node: int) -> str:
        """Return the variable of a node, with a description when it is mentioned for the first time."""
        if node in self.described:
            return self.names[node]
        self.described.add(node)
        tests = self.tests[node]
        if self._is_child(node):
            tests = {feature: value for feature, value in tests.items() if feature != "edge"}  # in the relation
        parts = [f"{feature}={quote(value)}" for feature, value in tests.items()]
        if not tests.keys() - {"edge"}:
            parts.insert(0, "T" if node < self.view.terminals else "NT")
        return f"{self.names[node]}:[{' & '.join(parts)}]"

    def _is_child(self, node: int) -> bool:
        return self.above[node] is not None and self.above[node] == self.view.parents[node]

    def _dominance(self) -> Iterator[tuple[int, str, int]]:
        """Relate each node to the nearest of the nodes above it."""
        for node, above in self.above.items():
            if above is None:
                continue
            if self._is_child(node):
                function = self.tests[node].get("edge", "")
                yield above, f">{function if not function or LABEL_NAME.fullmatch(function) else quote(function)}", node
            else:
                levels = self.view.ancestors(node).index(above) + 1
                yield above, f">{levels}" if "distance" in self.same else ">*", node

    def _precedence(self) -> Iterator[tuple[int, str, int]]:
        """Relate siblings without their parent, and the neighbours in the order of the words."""
        siblings: dict[int, list[int]] = {}
        for node in self.nodes:
            if not self._is_child(node):
                siblings.setdefault(self.view.parents[node], []).append(node)
        siblings.pop(-1, None)  # the root
        neighbours = set(self._neighbours()) if "order" in self.same else set()
        for pair in [pair for group in siblings.values() for pair in pairwise(group)]:
            has_order = pair in neighbours and "distance" not in self.same
            neighbours -= {pair} if has_order else set()
            yield pair[0], "$.*" if has_order else "$", pair[1]
        for left, right in sorted(neighbours, key=lambda pair: [self.nodes.index(node) for node in pair]):
            distance = self.view.first[right] - self.view.first[left]
            yield left, ".*" if "distance" not in self.same else "." if distance == 1 else f".{distance}", right

    def _neighbours(self) -> Iterator[tuple[int, int]]:
        """Yield the pairs of disjoint nodes, the left one first, whose order does not follow from that of others."""
        for left, right in combinations(self.nodes, 2):
            between = self.nodes[self.nodes.index(left) + 1 : self.nodes.index(right)]
            if self._are_disjoint(left, right) and not any(
                self._are_disjoint(left, node) and self._are_disjoint(node, right) for node in between
            ):
                yield left, right

    def _are_disjoint(self, left: int, right: int) -> bool:
        return not self.view.mask(left) & self.view.mask(right)

    def _predicates(self) -> Iterator[str]:
        for node in self.nodes if "gap" in self.same else ():
            if node >= self.view.terminals and self.view.gap_degree(node):
                yield f"discontinuous({self.names[node]})"
            elif node >= self.view.terminals and not self.view.gap_degree(node, all_gaps=True):
                yield f"continuous({self.names[node]})"
        if "order" in self.same:
            return
        for left, right in self._neighbours() if "distance" in self.same else ():
            yield f"within({self.names[left]}, {self.names[right]}, {self._distance(left, right)})"
        for left, right in combinations(self.nodes, 2):  # two variables may stand for the same node
            if self._are_disjoint(left, right) and self._may_be_the_same(left, right):
                yield f"!within({self.names[left]}, {self.names[right]}, 0)"

    def _distance(self, left: int, right: int) -> int:
        masks = self.view.mask(left), self.view.mask(right)
        return next(k for k in range(self.view.terminals) if masks[0] << k & masks[1] or masks[1] << k & masks[0])

    def _may_be_the_same(self, left: int, right: int) -> bool:
        tests, others = self.tests[left], self.tests[right]
        is_word = [node < self.view.terminals for node in (left, right)]
        return is_word[0] == is_word[1] and all(others.get(feature, value) == value for feature, value in tests.items())
