"""Match: a place where a query matches, with the nodes that its variables stand for; and the trees as queries see them.

Addresses of nodes are those of secondary edges: a token's address is its position, that of the k-th node in the order
of ``Tree.nodes`` is the number of tokens plus k. So the root comes right after the tokens.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from discotree.queries.language import TERMINAL_FEATURES
from discotree.trees.punctuation import gap_degree, is_punctuation
from discotree.trees.tree import GAP, NONE, Node, SecondaryEdge, Token, Tree, lowest_bit, mask_spans

FIELDS = {"word": 0, "pos": 1, "lemma": 2, "morph": 3, "edge": 4}  # indices in a Token
Context = tuple[str, list[tuple[str, bool]], str]
"""The words before a match, its own words with a flag that is True for a gap, and the words after it."""

assert set(FIELDS) == {*TERMINAL_FEATURES, "edge"}


class Columns(NamedTuple):
    """A tree as columns, the form in which an index stores it. Nodes are in the order of ``Tree.nodes``, root first."""

    id: str
    tokens: list[list[str]]  # one column for each field of a Token
    token_parents: list[int]  # -1 for the root, k for the k-th of the other nodes
    labels: list[str]
    functions: list[str]
    node_parents: list[int]  # the same for all nodes but the root
    secondary: list[SecondaryEdge]
    comment: str
    confidence: float | None
    confidences: list[float]

    @classmethod
    def from_tree(cls, tree: Tree) -> "Columns":
        """Return the columns of a tree."""
        token_parents, nodes = tree.parents()
        return cls(
            tree.id,
            [list(column) for column in zip(*tree.tokens, strict=True)],
            token_parents,
            [tree.root.label, *[label for label, _, _ in nodes]],
            [tree.root.function, *[function for _, function, _ in nodes]],
            [parent for _, _, parent in nodes],
            [SecondaryEdge(str(label), int(child), int(parent)) for label, child, parent in tree.secondary],
            tree.comment,
            None if tree.confidence is None else float(tree.confidence),
            list(map(float, tree.confidences)),
        )

    def tree(self) -> Tree:
        """Return the tree; the inverse of ``from_tree``."""
        tree = Tree.from_parents(
            list(map(Token._make, zip(*self.tokens, strict=True))),
            self.token_parents,
            list(zip(self.labels[1:], self.functions[1:], self.node_parents, strict=True)),
            root=(self.labels[0], self.functions[0]),
            id=self.id,
            secondary=self.secondary,
            comment=self.comment,
        )
        if self.confidence is None and not self.confidences:
            return tree
        return replace(tree, confidence=self.confidence, confidences=tuple(self.confidences))


class TreeView:
    """The nodes of a tree by their addresses, terminals and non-terminals.

    Everything is computed when a query first asks for it, and the tree of an index is only built for output.
    """

    def __init__(self, source: Tree | Columns) -> None:
        if isinstance(source, Tree):
            self.tree = source
            source = Columns.from_tree(source)
        self.columns = source
        self.terminals = len(source.token_parents)
        self.size = self.terminals + len(source.labels)
        self._by_value: dict[str, dict[str, list[int]]] = {}

    @cached_property
    def tree(self) -> Tree:
        return self.columns.tree()

    @cached_property
    def nodes(self) -> list[Node]:
        """The non-terminals, the root first."""
        return list(self.tree.nodes())

    @cached_property
    def parents(self) -> list[int]:
        """The address above each node; -1 for the root."""
        root = self.terminals  # the address of node k is root + k, counted with the root
        above_nodes = [root + 1 + parent for parent in self.columns.node_parents]
        return [*[root + 1 + parent for parent in self.columns.token_parents], -1, *above_nodes]

    @cached_property
    def masks(self) -> list[int]:
        """The terminals of every non-terminal as a bit set."""
        masks = [0] * len(self.columns.labels)
        for position, parent in enumerate(self.columns.token_parents):
            masks[parent + 1] |= 1 << position
        parents = self.columns.node_parents
        for node in range(len(parents), 0, -1):
            masks[parents[node - 1] + 1] |= masks[node]
        return masks

    @cached_property
    def first(self) -> list[int]:
        """The left-most terminal below each node."""
        return [*range(self.terminals), *map(lowest_bit, self.masks)]

    @cached_property
    def children(self) -> list[list[int]]:
        """The children of each non-terminal, from left to right."""
        children: list[list[int]] = [[] for _ in self.columns.labels]
        for address, parent in enumerate(self.parents):
            if parent >= 0:
                children[parent - self.terminals].append(address)
        for addresses in children:
            if len(addresses) > 1:
                addresses.sort(key=self.first.__getitem__)
        return children

    @cached_property
    def edges(self) -> list[str | None]:
        """The label of the edge above each node; the root has none."""
        return [*self.columns.tokens[FIELDS["edge"]], None, *self.columns.functions[1:]]

    @property
    def id(self) -> str:
        """The id of the sentence."""
        return self.columns.id

    @property
    def words(self) -> Sequence[str]:
        """The forms of all tokens."""
        return self.columns.tokens[FIELDS["word"]]

    def confidence(self, address: int) -> float | None:
        """Return the parser's confidence of a constituent; None for words, and in trees without confidences."""
        index = address - self.terminals
        confidences = self.columns.confidences
        return confidences[index] if index >= 0 and len(confidences) == len(self.columns.labels) else None

    def value(self, address: int, feature: str) -> str | None:
        """Return the value of a node's feature; None if the node lacks it."""
        if feature == "edge":
            return self.edges[address]
        if (feature == "cat") == (address < self.terminals):
            return None
        column = self._column(feature)
        value = column[address - self.terminals] if feature == "cat" else column[address]
        return None if value == NONE else value

    def _column(self, feature: str) -> list[str]:
        return self.columns.labels if feature == "cat" else self.columns.tokens[FIELDS[feature]]

    def addresses(self, terminal: bool | None = None) -> Sequence[int]:
        """Return the addresses of all nodes, of the terminals, or of the non-terminals."""
        return range(self.terminals if terminal is False else 0, self.terminals if terminal else self.size)

    def with_value(self, feature: str, value: str) -> Sequence[int]:
        """Return the addresses of the nodes whose feature has this value."""
        return self.values(feature).get(value, ())

    def values(self, feature: str) -> dict[str, list[int]]:
        """Return the values of a feature, and the addresses of the nodes that have each."""
        table = self._by_value.get(feature)
        if table is None:
            table = self._by_value[feature] = {}
            column: Sequence[str | None] = self.edges if feature == "edge" else self._column(feature)
            missing = None if feature == "edge" else NONE
            for address, value in enumerate(column, self.terminals if feature == "cat" else 0):
                if value is not None and value != missing:
                    table.setdefault(value, []).append(address)
        return table

    def below(self, address: int) -> Sequence[int]:
        """Return the children of a node."""
        return () if address < self.terminals else self.children[address - self.terminals]

    def beginning(self, position: int) -> Sequence[int]:
        """Return the nodes whose left-most terminal is at this position."""
        return self._by_first[position] if 0 <= position < self.terminals else ()

    @cached_property
    def _by_first(self) -> list[list[int]]:
        nodes: list[list[int]] = [[] for _ in range(self.terminals)]
        for address in self.addresses():
            nodes[self.first[address]].append(address)
        return nodes

    def mask(self, address: int) -> int:
        """Return the terminals of a node as a bit set."""
        return 1 << address if address < self.terminals else self.masks[address - self.terminals]

    def gap_degree(self, address: int, all_gaps: bool = False) -> int:
        """Return the number of gaps of a node; with ``all_gaps``, gaps of only punctuation also count."""
        mask = self.mask(address)
        gaps = (mask & ~(mask << 1)).bit_count() - 1
        return gaps if all_gaps or not gaps else gap_degree(mask, self._words_mask)

    @cached_property
    def _words_mask(self) -> int:
        """The terminals that are not punctuation as a bit set."""
        forms_and_tags = zip(self.words, self.columns.tokens[FIELDS["pos"]], strict=True)
        return sum(1 << k for k, pair in enumerate(forms_and_tags) if not is_punctuation(Token(*pair)))

    def last(self, address: int) -> int:
        """Return the right-most terminal of a node."""
        return self.mask(address).bit_length() - 1

    def ancestors(self, address: int) -> list[int]:
        """Return the nodes above a node, the nearest first."""
        ancestors = []
        while (address := self.parents[address]) >= 0:
            ancestors.append(address)
        return ancestors

    def descendants(self, address: int) -> list[int]:
        """Return the nodes below a node, nearer ones first."""
        descendants = list(self.below(address))
        for child in descendants:  # grows during the loop
            descendants += self.below(child)
        return descendants

    def siblings(self, address: int) -> list[int]:
        """Return the other children of a node's parent."""
        parent = self.parents[address]
        return [] if parent < 0 else [child for child in self.below(parent) if child != address]

    def secondary(self, address: int) -> list[int]:
        """Return the nodes at the other ends of a node's secondary edges."""
        ends = [(edge.child, edge.parent) for edge in self.columns.secondary]
        below = {child for child, parent in ends if parent == address}
        return sorted(below | {parent for child, parent in ends if child == address})


class _Value:
    """The value of the feature that has the name of the attribute."""

    def __set_name__(self, _: type, name: str) -> None:
        self.name = name

    def __get__(self, node: "FoundNode", _: object = None) -> str | None:
        return node.view.value(node.address, self.name)


@dataclass(frozen=True, slots=True)
class FoundNode:
    """A word or constituent that a variable stands for. Features that it lacks are None."""

    view: TreeView
    address: int  # a token's position; beyond the tokens, nodes in the order of Tree.nodes

    @property
    def tree(self) -> Tree:
        return self.view.tree

    @property
    def node(self) -> Node | None:
        """The constituent; None for a word."""
        return self.view.nodes[self.address - self.view.terminals] if self.address >= self.view.terminals else None

    word, lemma, pos, morph, cat, edge = _Value(), _Value(), _Value(), _Value(), _Value(), _Value()

    @property
    def text(self) -> str:
        """The words, with an ellipsis for gaps."""
        words = self.view.words
        return GAP.join([" ".join(words[start:end]) for start, end in self.spans])

    @property
    def positions(self) -> tuple[int, ...]:
        """The positions of all words."""
        return tuple(position for start, end in self.spans for position in range(start, end))

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """The unbroken stretches of words, as (start, end) with the end excluded."""
        return mask_spans(self.view.mask(self.address))

    @property
    def gap_degree(self) -> int:
        """The number of gaps, without those of only punctuation."""
        return self.view.gap_degree(self.address)

    @property
    def confidence(self) -> float | None:
        """The parser's confidence of a constituent, if the tree has confidences."""
        return self.view.confidence(self.address)

    def __repr__(self) -> str:
        return f"<{self.cat or self.pos or 'word'}: {self.text}>"


@dataclass(frozen=True, slots=True)
class Match(Mapping[str, "FoundNode | str | None"]):
    """One match of a query: a mapping from its variables to nodes or, for ``pos=#p``, to values.

    A variable of an alternative that did not match stands for None. Names may be written with or without their #.
    """

    view: TreeView
    bindings: dict[str, int | str | None]
    node_variables: tuple[str, ...] = ()  # those that stand for nodes, bound or not

    @property
    def tree(self) -> Tree:
        return self.view.tree

    def __getitem__(self, name: str) -> "FoundNode | str | None":
        bound = self.bindings[name if name in self.bindings else f"#{name}"]
        return FoundNode(self.view, bound) if isinstance(bound, int) else bound

    def __iter__(self) -> Iterator[str]:
        return iter(self.bindings)

    def __len__(self) -> int:
        return len(self.bindings)

    def __repr__(self) -> str:
        return f"Match({self.tree!r}, {self.bindings!r})"

    @property
    def nodes(self) -> dict[str, tuple[int, ...]]:
        """The addresses of the nodes of each variable, in the form that drawings highlight; values are left out."""
        bound = {name: value for name, value in self.bindings.items() if not isinstance(value, str)}
        return {name: () if address is None else (address,) for name, address in bound.items()}

    def context(self, width: int = 40, focus: str | None = None) -> Context:
        """Return the words before a node, its own words, and those after it, with ``width`` characters on each side.

        The node is that of the variable ``focus``, or the first one that is bound.
        The node's own words are pieces of text, each with a flag that is True for a gap.
        """
        node = self[focus] if focus else None
        if not isinstance(node, FoundNode):  # the root if the variables stand only for values
            root = FoundNode(self.view, self.view.terminals)
            node = next((node for node in self.values() if isinstance(node, FoundNode)), root)
        words = self.view.words
        pieces: list[tuple[str, bool]] = []
        end = node.spans[0][0]
        for start, stop in node.spans:
            if start > end:
                pieces.append((" ".join(words[end:start]), True))
            pieces.append((" ".join(words[start:stop]), False))
            end = stop
        left = " ".join(words[: lowest_bit(self.view.mask(node.address))])
        right = " ".join(words[end:])
        right = right if len(right) <= width else f"{right[: max(0, width - 1)]}…"
        return cut_left(left, width), pieces, right

    def concordance(self, width: int = 40, focus: str | None = None) -> str:
        """Return a line with the words of a node in brackets, and ``width`` characters of its sentence around it.

        The node is that of the variable ``focus``, or the first one if it is not bound.
        """
        left, pieces, right = self.context(width, focus)
        return f"{left:>{width}} {bracketed(pieces)} {right}".rstrip()


def cut_left(text: str, width: int) -> str:
    """Return the end of a text, with an ellipsis if it does not fit."""
    return text if len(text) <= width else f"…{text[len(text) - width + 1 :]}"


def bracketed(pieces: Sequence[tuple[str, bool]]) -> str:
    """Return the pieces of a match as text, with all pieces but gaps in brackets."""
    return " ".join([text if is_gap else f"[{text}]" for text, is_gap in pieces])
