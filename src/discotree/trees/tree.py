"""Tree: a sentence with its constituents, immutable, hashable and checked when it is built.

Higher floors draw and encode trees; ``draw`` and ``dependencies`` import them when they are called.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import eq, is_
from typing import TYPE_CHECKING, Any

from discotree.errors import TreeError
from discotree.trees.brackets import format_brackets, parse_brackets
from discotree.trees.node import NONE, Constituent, Node, SecondaryEdge, Token, lowest_bit, shortened
from discotree.trees.record import Offsets, from_record, shown, to_record

if TYPE_CHECKING:
    from discotree.drawing.highlights import Highlight
    from discotree.drawing.look import Look
    from discotree.encoding.dependencies import Dependencies
    from discotree.encoding.head_rules import HeadRules

__all__ = ["GAP", "NONE", "ROOT", "ROOT_LABELS", "Constituent", "Node", "SecondaryEdge", "Token", "Tree"]

ROOT = "ROOT"
"""The label that readers give to the virtual root on top of a sentence."""

GAP = " … "
"""Stands between the spans of a discontinuous constituent."""

_ONLY_TOKENS = frozenset({Token})
ROOT_LABELS = frozenset({ROOT, "VROOT", "TOP", "top", "S1"})  # names of the virtual root elsewhere


@dataclass(frozen=True, slots=True)
class Tree:
    """A sentence and its constituents. The root covers every token exactly once, or building the Tree fails.

    Comparing trees ignores secondary edges, the comment and confidences.
    """

    tokens: tuple[Token, ...]
    root: Node
    id: str = ""
    secondary: tuple[SecondaryEdge, ...] = field(default=(), compare=False)
    comment: str = field(default="", compare=False)
    confidence: float | None = field(default=None, compare=False)  # expected F1, from 0 to 1
    confidences: tuple[float, ...] = field(default=(), compare=False)  # in the order of nodes()

    def __post_init__(self) -> None:
        tokens = self.tokens
        if tokens.__class__ is not tuple:
            if isinstance(tokens, str) or not isinstance(tokens, Iterable):
                raise TypeError(f"expected a sequence of Tokens, got {shown(tokens)}")
            tokens = tuple(tokens)
            object.__setattr__(self, "tokens", tokens)
        if self.root.__class__ is not Node:
            raise TypeError(f"expected a Node as the root, got {shown(self.root)}")
        if not _ONLY_TOKENS.issuperset(map(type, tokens)):
            wrong = next(token for token in tokens if token.__class__ is not Token)
            raise TypeError(f"expected a sequence of Tokens, got {shown(wrong)} among them")
        expected = (1 << len(tokens)) - 1
        if self.root.mask != expected:
            if beyond := self.root.mask & ~expected:
                raise TreeError(f"the root covers token {lowest_bit(beyond)}, but there are {len(tokens)}")
            missing = lowest_bit(expected & ~self.root.mask)
            raise TreeError(f"the root does not cover token {missing} ({tokens[missing].form!r})")
        if self.secondary:
            end = len(self.tokens) + sum(1 for _ in self.root.nodes())
            for edge in self.secondary:
                if not (0 <= edge.child < end and len(self.tokens) <= edge.parent < end):
                    raise TreeError(f"{edge} leads outside the tree")

    @classmethod
    def parse(cls, text: str, id: str = "") -> "Tree":
        """Return the tree of a line of brackets, ``(ROOT (NP (D 0=das) (N 2=Haus)) (V 1=hat))``; inverts ``str``."""
        if not isinstance(text, str):
            raise TypeError(f"expected a line of brackets, got {shown(text)}")
        return cls(*parse_brackets(text.strip()), id)

    @classmethod
    def from_parents(
        cls,
        tokens: Sequence[Token],
        token_parents: Sequence[int],
        nodes: Sequence[tuple[str, str, int]],
        *,
        root: tuple[str, str] = (ROOT, NONE),
        id: str = "",
        secondary: Iterable[SecondaryEdge] = (),
        comment: str = "",
    ) -> "Tree":
        """Build a tree from parent pointers, the form in which most treebanks store it.

        ``nodes`` holds (label, function, parent) for every node but the root; a parent is an index into
        ``nodes``, or -1 for the root. Secondary edges count the root as node 0, then ``nodes`` in the
        order given; they come out with addresses in the order of ``Tree.nodes``.
        """
        parents = [*token_parents, *[node[2] for node in nodes]]
        if parents and (min(parents) < -1 or max(parents) >= len(nodes)):
            raise TreeError(f"a parent is not among -1..{len(nodes) - 1}")
        children: list[list[Node | int]] = [[] for _ in range(len(nodes) + 1)]  # the root's are the last, [-1]
        for position, parent in enumerate(token_parents):
            children[parent].append(position)
        inner: list[list[int]] = [[] for _ in children]  # child nodes by index
        for index, (_, _, parent) in enumerate(nodes):
            inner[parent].append(index)
        order = list(inner[-1])
        for index in order:  # grows while we walk it: parents come before their children
            if inner[index]:
                order += inner[index]
        if len(order) < len(nodes):
            lost = min(set(range(len(nodes))).difference(order))
            raise TreeError(f"node {nodes[lost][0]!r} is part of a cycle", lost)
        built: list[Node] = [None] * len(nodes)  # type: ignore[list-item]
        for index in reversed(order):
            label, function, parent = nodes[index]
            try:
                built[index] = node = Node(label, children[index], function)
            except TreeError as error:
                raise TreeError(str(error), index) from None
            children[parent].append(node)
        top = Node(root[0], children[-1], root[1])
        if secondary:
            secondary = _readdress(secondary, len(tokens), [top, *built], top)
        return cls(tuple(tokens), top, id, tuple(secondary), comment)

    def parents(self) -> tuple[list[int], list[tuple[str, str, int]]]:
        """Return the parent of every token, and all nodes but the root: the inverse of ``from_parents``."""
        token_parents = [-1] * len(self.tokens)
        nodes: list[tuple[str, str, int]] = []
        stack: list[tuple[Node, int]] = [(self.root, -1)]
        while stack:
            node, parent = stack.pop()
            index = -1
            if node is not self.root:
                index = len(nodes)
                nodes.append((node.label, node.function, parent))
            for child in reversed(node.children):
                if isinstance(child, int):
                    token_parents[child] = index
                else:
                    stack.append((child, index))
        return token_parents, nodes

    def nodes(self) -> Iterator[Node]:
        """Return all nodes, the root first: parents before children, children from left to right."""
        return self.root.nodes()

    @property
    def words(self) -> tuple[str, ...]:
        """The forms of all tokens."""
        return tuple(token.form for token in self.tokens)

    @property
    def gap_degree(self) -> int:
        """The largest number of gaps that any node has."""
        return self.block_degree - 1

    @property
    def block_degree(self) -> int:
        """The largest block degree of any node."""
        return max(node.block_degree for node in self.nodes())

    @property
    def is_discontinuous(self) -> bool:
        """Whether any node has a gap."""
        return any(node.is_discontinuous for node in self.nodes())

    def find(
        self, label: str | None = None, *, function: str | None = None, discontinuous: bool | None = None
    ) -> list[Node]:
        """Return the nodes with this label, this function, and with or without gaps, in the order of ``nodes()``."""
        return [
            node
            for node in self.nodes()
            if (label is None or node.label == label)
            and (function is None or node.function == function)
            and (discontinuous is None or node.is_discontinuous == discontinuous)
        ]

    def text(self, node: Node | int | None = None, gap: str = GAP) -> str:
        """Return the words of a node, a token or the whole sentence, with ``gap`` where some are left out."""
        if isinstance(node, int):
            return self.tokens[node].form
        spans = (self.root if node is None else node).spans
        return gap.join([" ".join([token.form for token in self.tokens[start:end]]) for start, end in spans])

    def parent(self, child: Node | int) -> Node | None:
        """Return the node right above a node or a token, None for the root; what is not in the tree is a TreeError."""
        if child is self.root:
            return None
        mask = child.mask if isinstance(child, Node) else 1 << child if 0 <= child < len(self) else 0
        candidates = []  # the nodes that cover the child, from the top
        node: Node | None = self.root
        while mask and node is not None and not mask & ~node.mask:
            candidates.append(node)
            node = next((c for c in node.children if isinstance(c, Node) and not mask & ~c.mask), None)
        for same in (is_, eq):  # comparing whole nodes is slow in a long unary chain
            for candidate in reversed(candidates):
                if any(same(c, child) for c in candidate.children):
                    return candidate
        if candidates and child == self.root:
            return None
        raise TreeError(f"{shown(child)} is not in the tree")

    def constituents(self) -> list[Constituent]:
        """Return all nodes as rows in the order of ``nodes()``; confidences of another number of nodes are left out."""
        nodes = list(self.nodes())
        known = self.confidences if len(self.confidences) == len(nodes) else [None] * len(nodes)
        return [
            Constituent(node.label, node.function, node.positions, confidence)
            for node, confidence in zip(nodes, known, strict=True)
        ]

    def to_dict(self, offsets: Offsets = ()) -> dict[str, Any]:
        """Return the tree's record, ready for JSON; ``offsets`` are the (start, end) of its tokens in a text.

        The record holds everything but the last digits of confidences; ``from_dict`` reads it.
        """
        return to_record(
            self.id, self.tokens, self.constituents(), self.secondary, self.comment, self.confidence, offsets
        )

    @classmethod
    def from_dict(cls, record: object) -> "Tree":
        """Build the tree of a record; one that makes no sense is a TreeError. Keys it does not know are ignored."""
        parts = from_record(record)
        try:
            tree = cls.from_parents(
                parts.tokens,
                parts.token_parents,
                parts.nodes,
                root=parts.root,
                id=parts.id,
                secondary=parts.secondary,
                comment=parts.comment,
            )
        except TreeError as error:
            raise TreeError(f"constituent {0 if error.node is None else error.node + 1}: {error}") from None
        if parts.confidence is None and not parts.confidences:
            return tree
        return replace(tree, confidence=parts.confidence, confidences=parts.confidences)

    def dependencies(self, heads: "HeadRules | str | None" = None) -> "Dependencies":
        """Return the tree as augmented dependencies.

        ``heads`` are head rules or their name; without any, children that are marked as heads (HD) are heads.
        """
        from discotree.encoding.dependencies import to_dependencies

        return to_dependencies(self, heads)

    def draw(
        self,
        *,
        ascii: bool = False,
        color: bool = False,
        width: int | None = None,
        functions: bool = False,
        highlight: "Highlight" = True,
        look: "Look | None" = None,
    ) -> str:
        """Return the tree drawn in characters; ``draw_text`` describes the options."""
        from discotree.drawing.look import WHOLE
        from discotree.drawing.text import draw_text

        return draw_text(
            self, ascii=ascii, color=color, width=width, functions=functions, highlight=highlight, look=look or WHOLE
        )

    def _repr_svg_(self) -> str:
        """Return the picture that a notebook shows."""
        from discotree.drawing.svg import draw_svg

        return draw_svg(self)

    def __len__(self) -> int:
        return len(self.tokens)

    def __str__(self) -> str:
        """The tree as one line of brackets; ``Tree.parse`` reads it."""
        return format_brackets(self.tokens, self.root)

    def __repr__(self) -> str:
        return f"Tree.parse({shortened(str(self))!r}, id={shortened(self.id)!r})"


def _readdress(
    edges: Iterable[SecondaryEdge], n_tokens: int, given: Sequence[Node], root: Node
) -> Iterator[SecondaryEdge]:
    """Turn addresses that count ``given`` into addresses in the order of ``Tree.nodes``."""
    address = {id(node): n_tokens + k for k, node in enumerate(root.nodes())}

    def new(old: int) -> int:
        if not 0 <= old < n_tokens + len(given):
            raise TreeError(f"a secondary edge leads to {old}, outside the tree")
        return old if old < n_tokens else address[id(given[old - n_tokens])]

    return (SecondaryEdge(label, new(child), new(parent)) for label, child, parent in edges)
