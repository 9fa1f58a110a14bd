"""TreeView: a tree as queries see it, with everything about a node by its address.

Addresses are those of secondary edges: a token's is its position, that of the k-th node in the order of ``Tree.nodes``
is the number of tokens plus k. So the root comes right after the tokens.
"""

from collections.abc import Sequence

from discotree.queries.language import TERMINAL_FEATURES
from discotree.trees.tree import NONE, SecondaryEdge, Tree

FIELDS = {"word": 0, "pos": 1, "lemma": 2, "morph": 3, "edge": 4}  # indices in a Token
assert set(FIELDS) == {*TERMINAL_FEATURES, "edge"}


class TreeView:
    """The nodes of one tree, terminals and non-terminals."""

    __slots__ = (
        "_by_first",
        "_by_value",
        "children",
        "edges",
        "first",
        "nodes",
        "parents",
        "size",
        "terminals",
        "tree",
    )

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        n = self.terminals = len(tree.tokens)
        nodes = self.nodes = list(tree.nodes())
        self.size = n + len(nodes)
        address = {id(node): n + k for k, node in enumerate(nodes)}
        parents = self.parents = [-1] * self.size  # the address above each, -1 for the root
        self.children: list[list[int]] = []  # one list for every non-terminal
        for here, node in enumerate(nodes, n):
            below = [child if child.__class__ is int else address[id(child)] for child in node.children]
            self.children.append(below)
            for child in below:
                parents[child] = here
        self.first = [*range(n), *[node.first for node in nodes]]  # the left-most terminal below each
        self.edges: list[str | None] = [token.function for token in tree.tokens]  # the label of the edge above each
        self.edges += [node.function for node in nodes]
        self.edges[n] = None
        self._by_value: dict[str, dict[str, list[int]]] = {}
        self._by_first: list[list[int]] = []

    @property
    def id(self) -> str:
        """The id of the sentence."""
        return self.tree.id

    @property
    def words(self) -> Sequence[str]:
        """The forms of all tokens."""
        return self.tree.words

    @property
    def secondary_edges(self) -> Sequence[SecondaryEdge]:
        """The edges beside the tree."""
        return self.tree.secondary

    @property
    def confidences(self) -> Sequence[float]:
        """A parser's confidence of each non-terminal; none if there is none."""
        return self.tree.confidences

    def value(self, address: int, feature: str) -> str | None:
        """Return the value of a node's feature; None if it lacks it."""
        if feature == "edge":
            return self.edges[address]
        if (feature == "cat") == (address < self.terminals):
            return None
        found = self.nodes[address - self.terminals].label if feature == "cat" else self._token(address, feature)
        return None if found == NONE else found

    def _token(self, address: int, feature: str) -> str:
        return self.tree.tokens[address][FIELDS[feature]]

    def with_value(self, feature: str, value: str) -> Sequence[int]:
        """Return the addresses of the nodes whose feature has this value."""
        return self.values(feature).get(value, ())

    def values(self, feature: str) -> dict[str, list[int]]:
        """Return the values of a feature, and the addresses of the nodes that have each."""
        table = self._by_value.get(feature)
        if table is None:
            table = self._by_value[feature] = {}
            for address in range(self.size):
                found = self.value(address, feature)
                if found is not None:
                    table.setdefault(found, []).append(address)
        return table

    def below(self, address: int) -> Sequence[int]:
        """Return the children of a node."""
        return () if address < self.terminals else self.children[address - self.terminals]

    def beginning(self, position: int) -> Sequence[int]:
        """Return the nodes whose left-most terminal is at this position."""
        if not self._by_first:
            self._by_first = [[] for _ in range(self.terminals)]
            for address, first in enumerate(self.first):
                self._by_first[first].append(address)
        return self._by_first[position] if 0 <= position < self.terminals else ()

    def mask(self, address: int) -> int:
        """Return the terminals of a node as a bit set."""
        return 1 << address if address < self.terminals else self.nodes[address - self.terminals].mask

    def last(self, address: int) -> int:
        """Return the right-most terminal of a node."""
        return self.mask(address).bit_length() - 1

    def ancestors(self, address: int) -> list[int]:
        """Return the nodes above a node, the nearest first."""
        found = []
        while (address := self.parents[address]) >= 0:
            found.append(address)
        return found

    def descendants(self, address: int) -> list[int]:
        """Return the nodes below a node, nearer ones first."""
        found = list(self.below(address))
        for child in found:  # grows while we walk it
            found += self.below(child)
        return found

    def siblings(self, address: int) -> list[int]:
        """Return the other children of a node's parent."""
        parent = self.parents[address]
        return [] if parent < 0 else [child for child in self.below(parent) if child != address]

    def secondary(self, address: int) -> list[int]:
        """Return the nodes at the other ends of a node's secondary edges."""
        ends = [(edge.child, edge.parent) for edge in self.secondary_edges]
        below = {child for child, parent in ends if parent == address}
        return sorted(below | {parent for child, parent in ends if child == address})
