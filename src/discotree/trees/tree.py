"""Token, Node and Tree: a sentence with its constituents, immutable, hashable and checked when it is built.

Positions are 0-based. A node's children are other nodes or, for words, their positions. They are sorted by their first
token, so two nodes with the same branches are equal. A node keeps its positions as a bit set (``mask``), which makes
yields, gaps and containment cheap. Nothing here recurses: a chain of thousands of nodes works like any other tree.

A node does not know its tree, so that trees can share nodes; a ``Constituent`` is a node together with its tree.

A tree has two texts: one line of brackets (``str``, ``Tree.parse``), and a record (``to_dict``, ``from_dict``). Other
packages draw and encode trees; ``draw``, ``dependencies`` and similar methods import them when they are called.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache, partial
from itertools import pairwise, repeat
from operator import eq, is_
from os import PathLike
from reprlib import Repr
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from discotree.errors import TreeError
from discotree.trees.verbs import ALWAYS_JOINED, is_particle, is_verb

if TYPE_CHECKING:
    from discotree.drawing.options import DrawingOptions, Highlight
    from discotree.encoding.dependencies import Dependencies
    from discotree.encoding.head_rules import HeadRules

NONE = "--"
"""Stands for a missing lemma, function or other value, as in most treebanks."""

LEMMA, MORPH, FUNCTION = 2, 3, 4
"""The items of a Token as files have them, with NONE; its attributes have None instead."""

ROOT = "ROOT"
"""The label that readers give to the virtual root on top of a sentence."""

GAP = " … "
"""Stands between the spans of a discontinuous constituent."""

ROOT_LABELS = frozenset({ROOT, "VROOT", "TOP", "top", "S1"})  # names of the virtual root elsewhere
MAX_REPR = 1000  # characters
PROBABILITY_DIGITS = 6
MAX_OPENINGS = 10_000  # in memory
Offsets = Sequence[tuple[int, int]]


class _TokenFields(NamedTuple):
    form: str
    tag: str = NONE
    lemma: str = NONE
    morph: str = NONE
    function: str = NONE


class Token(_TokenFields):
    """A word with its annotation; ``lemma``, ``morph`` and ``function`` are None if there is none.

    The tuple itself, which writers use, has ``NONE`` for these. A token that was parsed from a text is
    ``text[start:end]``; for others, both are None. Comparing tokens ignores ``start`` and ``end``.
    Example: ``dt.Token("boeken", "n", lemma="boek").lemma``.
    """

    __slots__ = ()
    start: int | None = None
    end: int | None = None

    def __new__(
        cls,
        form: str,
        tag: str = NONE,
        lemma: str | None = NONE,
        morph: str | None = NONE,
        function: str | None = NONE,
        start: int | None = None,
        end: int | None = None,
    ) -> "Token":
        lemma, morph, function = (
            NONE if lemma is None else lemma,
            NONE if morph is None else morph,
            NONE if function is None else function,
        )
        if start is None:
            return tuple.__new__(cls, (form, tag, lemma, morph, function))
        token = tuple.__new__(TextToken, (form, tag, lemma, morph, function))
        token.start, token.end = start, end
        return token

    @property
    def lemma(self) -> str | None:  # type: ignore[override]
        """The base form, or None."""
        return None if self[LEMMA] == NONE else self[LEMMA]

    @property
    def morph(self) -> str | None:  # type: ignore[override]
        """The morphological features, or None."""
        return None if self[MORPH] == NONE else self[MORPH]

    @property
    def function(self) -> str | None:  # type: ignore[override]
        """The function in the constituent above, or None."""
        return None if self[FUNCTION] == NONE else self[FUNCTION]

    def _replace(self, **changes: Any) -> "Token":
        return Token(**{**dict(zip(self._fields, self, strict=True)), "start": self.start, "end": self.end, **changes})

    def __repr__(self) -> str:
        known = ((name, getattr(self, name)) for name in (*self._fields[1:], "start", "end"))
        return f"Token({', '.join([repr(self.form), *[f'{k}={v!r}' for k, v in known if v not in (None, NONE)]])})"


class TextToken(Token):
    """A token with its offsets in a text. Only this class has a ``__dict__``, which takes 200 bytes."""


_TOKEN_CLASSES = {Token, TextToken}
new_token = partial(tuple.__new__, Token)  # from all five fields


def plain_tokens(words: Iterable[str]) -> list[Token]:
    """Return words as tokens without annotation, four times as fast as one by one."""
    return list(map(new_token, zip(words, *[repeat(NONE)] * 4, strict=False)))


class SecondaryEdge(NamedTuple):
    """An edge beside the tree: ``child`` also plays the role ``label`` in ``parent``.

    Both ends are addresses: a token's address is its position, that of the k-th node in the order of
    ``Tree.nodes`` is ``len(tree) + k``.
    """

    label: str
    child: int
    parent: int


class _NodeFields:
    """A node while it is made; ``__class__ = Node`` then makes it immutable, in a third of the time of five setters."""

    __slots__ = ("children", "first", "function", "label", "mask")

    label: str
    children: tuple["Node | int", ...]
    function: str
    mask: int  # bit i is set when the node covers token i
    first: int  # position of its first token


class Node(_NodeFields):
    """A labelled constituent over nodes and token positions."""

    __slots__ = ()

    def __new__(cls, label: str, children: "Iterable[Node | int]", function: str = NONE) -> "Node":
        children = tuple(children)
        if not label or not children:
            raise TreeError(f"node {label!r} has no {'children' if label else 'label'}")
        mask = 0
        last = -1
        in_order = True
        for child in children:
            if child.__class__ is int:
                first: int = child
                if first < 0:
                    raise TreeError(f"node {label!r}: {child} is not a token position")
                bits = 1 << first
            elif child.__class__ is Node:
                first = child.first
                bits = child.mask
            else:
                raise TypeError(f"node {label!r}: expected a Node or an int as a child, got {child!r:.50}")
            if mask & bits:
                raise TreeError(f"node {label!r} covers token {lowest_bit(mask & bits)} twice")
            mask |= bits
            if first < last:
                in_order = False
            last = first
        if not in_order:
            children = tuple(sorted(children, key=_first))
        return _node(label, children, function, mask, _first(children[0]))

    def _refuse(self, *_: object) -> NoReturn:
        raise AttributeError("a Node cannot be changed")

    __setattr__ = __delattr__ = _refuse

    def nodes(self) -> "Iterator[Node]":
        """Return this node and all its descendants: parents before children, children from left to right."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            for child in reversed(node.children):
                if child.__class__ is Node:
                    stack.append(child)  # noqa: PERF401 - twice as fast as extend with a condition

    @property
    def positions(self) -> tuple[int, ...]:
        """The yield: the positions of all its tokens, ascending."""
        return tuple(position for start, end in self.spans for position in range(start, end))

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """The blocks of the yield, its maximal unbroken stretches, as (start, end) with the end excluded."""
        return mask_spans(self.mask)

    @property
    def gaps(self) -> tuple[tuple[int, int], ...]:
        """The stretches between the spans, as (start, end) with the end excluded."""
        return tuple((left[1], right[0]) for left, right in pairwise(self.spans))

    @property
    def block_degree(self) -> int:
        """The number of blocks: 1 without a gap."""
        return (self.mask & ~(self.mask << 1)).bit_count()

    @property
    def gap_degree(self) -> int:
        """The number of gaps."""
        return self.block_degree - 1

    @property
    def is_discontinuous(self) -> bool:
        """Whether there is a gap."""
        return (self.mask >> self.first) & ((self.mask >> self.first) + 1) != 0

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not Node:
            return NotImplemented
        stack: list[tuple[Node, Node]] = [(self, other)]
        while stack:
            mine, theirs = stack.pop()
            if mine is theirs:
                continue
            if (
                mine.mask != theirs.mask
                or mine.label != theirs.label
                or mine.function != theirs.function
                or len(mine.children) != len(theirs.children)
            ):
                return False
            for a, b in zip(mine.children, theirs.children, strict=True):
                if a.__class__ is not b.__class__:
                    return False
                if a.__class__ is Node:
                    stack.append((a, b))  # type: ignore[arg-type]
                elif a != b:
                    return False
        return True

    def __hash__(self) -> int:
        return hash((self.label, self.function, self.mask, len(self.children)))

    def __repr__(self) -> str:
        """The node as brackets over positions, (NP 0 (NP 2 3)); a large one is cut short."""
        pieces: list[str] = []
        stack: list[Node | int | str] = [self]
        while stack:
            item = stack.pop()
            if isinstance(item, Node):
                pieces.append(f" ({item.label}")
                stack.append(")")
                stack.extend(reversed(item.children))
            else:
                pieces.append(item if isinstance(item, str) else f" {item}")
        return shortened("".join(pieces)[1:])

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            hint = "; use for node in tree, tree['NP'] or tree.find(…)" if hasattr(Constituent, name) else ""
            raise AttributeError(f"a Node without its tree has no attribute {name!r}{hint}")

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Pickle as a flat list: deep trees would exhaust pickle's recursion."""
        flat = [
            (node.label, node.function, tuple(c if isinstance(c, int) else None for c in node.children))
            for node in self.nodes()
        ]
        return _from_flat, (flat,)


def _node(label: str, children: tuple[Node | int, ...], function: str, mask: int, first: int) -> Node:
    """Return a node of parts that fit together; nothing is checked."""
    node = _NodeFields()
    node.label = label
    node.children = children
    node.function = function
    node.mask = mask
    node.first = first
    node.__class__ = Node
    return node  # type: ignore[return-value]


def shortened(text: str) -> str:
    """Return a text for a repr, cut where it gets too long to read."""
    return text if len(text) <= MAX_REPR else f"{text[:MAX_REPR]} …"


def lowest_bit(mask: int) -> int:
    """Return the index of the lowest bit that is set; of a node's mask, its first position."""
    return (mask & -mask).bit_length() - 1


def mask_spans(mask: int) -> tuple[tuple[int, int], ...]:
    """Return the unbroken stretches of the bits that are set, as (start, end) with the end excluded."""
    spans = []
    start = 0
    while mask:
        skipped = lowest_bit(mask)
        start += skipped
        mask >>= skipped
        length = lowest_bit(~mask)
        spans.append((start, start + length))
        start += length
        mask >>= length
    return tuple(spans)


def _first(child: Node | int) -> int:
    return child if isinstance(child, int) else child.first


def _from_flat(flat: list[tuple[str, str, tuple[int | None, ...]]]) -> Node:
    """Rebuild a node from its pre-order list, in which None stands for the next child node."""
    done: list[Node] = []
    for label, function, children in reversed(flat):
        done.append(Node(label, [done.pop() if c is None else c for c in children], function))
    return done[0]


@dataclass(slots=True, unsafe_hash=True, repr=False)
class Constituent:
    """A node together with its tree, with words, a parent and a head. Example: ``tree["NP"][0].parent.text``."""

    tree: "Tree"
    number: int  # in the order of Tree.nodes
    node: Node = field(compare=False)
    parent: "Constituent | None" = field(compare=False)  # the constituent right above; the root has none

    # A node's own attributes
    label = property(lambda self: self.node.label, doc="The category.")
    positions = property(lambda self: self.node.positions, doc="The positions of the tokens, ascending.")
    spans = property(lambda self: self.node.spans, doc="The blocks of the yield as (start, end), the end excluded.")
    gaps = property(lambda self: self.node.gaps, doc="The stretches between the spans as (start, end).")
    block_degree = property(lambda self: self.node.block_degree, doc="The number of blocks: 1 without a gap.")
    gap_degree = property(lambda self: self.node.gap_degree, doc="The number of gaps.")
    is_discontinuous = property(lambda self: self.node.is_discontinuous, doc="Whether there is a gap.")

    @property
    def function(self) -> str | None:
        """The function in the constituent above, or None."""
        return None if self.node.function == NONE else self.node.function

    @property
    def confidence(self) -> float | None:
        """The probability that the constituent is correct, or None."""
        known = self.tree.confidences
        return known[self.number] if known and len(known) == sum(1 for _ in self.tree.nodes()) else None

    @property
    def tokens(self) -> tuple[Token, ...]:
        """The tokens of the constituent."""
        return tuple([self.tree.tokens[position] for position in self.node.positions])

    @property
    def words(self) -> tuple[str, ...]:
        """The forms of its tokens."""
        return tuple([token.form for token in self.tokens])

    @property
    def text(self) -> str:
        """Its words, with … for each gap."""
        return self.tree.text(self.node)

    @property
    def children(self) -> "tuple[Constituent | Token, ...]":
        """The constituents and tokens right below, from left to right."""
        children: list[Constituent | Token] = []
        number = self.number + 1
        for child in self.node.children:
            if isinstance(child, int):
                children.append(self.tree.tokens[child])
            else:
                children.append(Constituent(self.tree, number, child, self))
                number += sum(1 for _ in child.nodes())
        return tuple(children)

    @property
    def head(self) -> Token | None:
        """The head word, or None if it is not known.

        Parsed trees store their heads. In others, it is the head of the child that the treebank marks as head (HD);
        ``Tree.dependencies`` finds heads by rules.
        """
        tokens, heads = self.tree.tokens, self.tree.heads
        if heads:
            inside = self.node.mask
            return next(tokens[p] for p in self.node.positions if heads[p] < 0 or not inside >> heads[p] & 1)
        child: Node | int = self.node
        while isinstance(child, Node):
            roles = [(tokens[c][FUNCTION] if isinstance(c, int) else c.function).upper() for c in child.children]
            marked = [k for k, role in enumerate(roles) if "HD" in role.split("-")]
            if not marked and len(roles) > 1:
                return None
            child = child.children[marked[0] if marked else 0]
        return tokens[child]

    def __repr__(self) -> str:
        return f"<{self.label}: {shortened(self.text)}>"


Outline = tuple[list[str | int | None], list[str]]
"""A tree as a flat list: the label of a node where it begins, None where it ends, and the positions of words; and the
functions of the nodes in the order of their labels."""


TokenColumns = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]]
NodeColumns = tuple[list[str], list[str], list[int]]
Columns = tuple[TokenColumns, NodeColumns]


class _Lazy:
    """Holds what the tokens, the nodes or the confidences of a tree will be made from; None if they are there."""

    __slots__ = ("__weakref__", "_evidence", "_node_columns", "_outline", "_token_columns")
    _evidence: tuple[Any, ...] | None  # a function that sets the confidences, and what it needs
    _node_columns: NodeColumns | None
    _outline: Outline | None
    _token_columns: TokenColumns | None


@dataclass(frozen=True, slots=True)
class Tree(_Lazy):
    """A sentence and its constituents. The root covers every token exactly once, or building the Tree fails.

    ``for node in tree`` yields constituents, and ``tree["NP"]`` has those with a label. Comparing trees ignores
    secondary edges, the comment, confidences and heads.
    Example: ``[node.text for node in tree if node.is_discontinuous]``.
    """

    tokens: tuple[Token, ...]
    root: Node
    id: str = ""
    secondary: tuple[SecondaryEdge, ...] = field(default=(), compare=False)
    comment: str = field(default="", compare=False)
    confidence: float | None = field(default=None, compare=False)  # expected F1, from 0 to 1
    confidences: tuple[float, ...] = field(default=(), compare=False)  # in the order of nodes()
    heads: tuple[int, ...] = field(default=(), compare=False)  # of a parsed tree: the head of every token, or -1

    def __post_init__(self) -> None:
        tokens = self.tokens
        if tokens.__class__ is not tuple:
            if isinstance(tokens, str) or not isinstance(tokens, Iterable):
                raise TypeError(f"expected a sequence of Tokens, got {short_repr(tokens)}")
            tokens = tuple(tokens)
            object.__setattr__(self, "tokens", tokens)
        if self.root.__class__ is not Node:
            raise TypeError(f"expected a Node as the root, got {short_repr(self.root)}")
        if not _TOKEN_CLASSES.issuperset(map(type, tokens)):
            wrong = next(token for token in tokens if token.__class__ not in _TOKEN_CLASSES)
            raise TypeError(f"expected a sequence of Tokens, got {short_repr(wrong)} among them")
        expected = (1 << len(tokens)) - 1
        if self.root.mask != expected:
            if beyond := self.root.mask & ~expected:
                raise TreeError(f"the root covers token {lowest_bit(beyond)}, but there are only {len(tokens)} tokens")
            missing = lowest_bit(expected & ~self.root.mask)
            raise TreeError(f"the root does not cover token {missing} ({tokens[missing].form!r})")
        if self.secondary:
            end = len(self.tokens) + sum(1 for _ in self.root.nodes())
            for edge in self.secondary:
                if not (0 <= edge.child < end and len(self.tokens) <= edge.parent < end):
                    raise TreeError(f"{edge} leads outside the tree")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Make the tokens, nodes or confidences; attributes without a value are looked up here."""
            if name in _Lazy.__slots__:
                return None
            if name in ("confidence", "confidences") and (evidence := self._evidence) is not None:
                evidence[0]()
            if name == "tokens" and (columns := self._token_columns) is not None:
                _set_tokens(self, tuple(map(new_token, zip(*columns, strict=True))))
            elif name == "root" and (outline := self._outline) is not None:
                _set_tokens(self, self.tokens)  # before the columns are dropped
                _set_root(self, _make_nodes(outline))
                _set_outline(self, None)
                _set_node_columns(self, None)
                _set_token_columns(self, None)
            return object.__getattribute__(self, name)  # another thread may have made it

    @classmethod
    def parse(cls, text: str, id: str = "") -> "Tree":
        """Return the tree of a text of brackets with positions, and give it an ``id``; the inverse of ``str``.

        Example: ``dt.Tree.parse("(ROOT (NP (D 0=das) (N 2=Haus)) (V 1=hat))", id="1")``.
        """
        if not isinstance(text, str):
            raise TypeError(f"expected a line of brackets, got {short_repr(text)}")
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
        confidence: float | None = None,
        confidences: Sequence[float] = (),
    ) -> "Tree":
        """Build a tree from parent pointers, the form in which most treebanks store it.

        ``token_parents`` are the parents of the tokens, and ``nodes`` holds (label, function, parent) for every node
        but the root; a parent is an index into ``nodes``, or -1 for the root. In ``secondary``, the root is node 0 and
        ``nodes`` follow in the order given; in the tree, addresses and confidences have the order of ``Tree.nodes``.
        ``root`` is its label and function; ``id``, ``comment`` and ``confidence`` are those of the tree.
        Example: ``dt.Tree.from_parents([dt.Token("Ja")], [0], [("S", "--", -1)])``.
        """
        parents = [*token_parents, *[node[2] for node in nodes]]
        if parents and (min(parents) < -1 or max(parents) >= len(nodes)):
            raise TreeError(f"expected parents from -1 to {len(nodes) - 1}")
        # From every token up to the first node that another token has led to: all children are then in order.
        children: list[list[Node | int]] = [[] for _ in range(len(nodes) + 1)]  # the root's are the last, [-1]
        masks = [0] * len(children)
        order: list[tuple[int, int, int]] = []  # first token, node, number among its siblings: parents before children
        for position, index in enumerate(token_parents):
            siblings = children[index]
            masks[index] |= 1 << position
            if not siblings and index >= 0:
                chain = []
                while not siblings and index >= 0:
                    siblings.append(position)  # for a node, this is replaced below
                    parent = nodes[index][2]
                    siblings = children[parent]
                    chain.append((position, index, len(siblings)))
                    index = parent
                order += reversed(chain)
            siblings.append(position)
        built: list[Node] = [None] * len(nodes)  # type: ignore[list-item]
        label = ROOT
        for first, index, number in reversed(order):
            label, function, parent = nodes[index]
            mask = masks[index]
            masks[parent] |= mask
            if not label:
                break
            built[index] = children[parent][number] = _node(label, tuple(children[index]), function, mask, first)
        if len(order) < len(nodes) or masks[-1] != (1 << len(token_parents)) - 1 or not label:
            _refuse_parents(children, nodes)
        if not root[0] or not children[-1]:
            raise TreeError(f"node {root[0]!r} has no {'children' if root[0] else 'label'}")
        top = _node(root[0], tuple(children[-1]), root[1], masks[-1], 0)
        if secondary:
            secondary = _readdress(secondary, len(tokens), [top, *built], top)
        return cls(tuple(tokens), top, id, tuple(secondary), comment, confidence, tuple(confidences))

    def parents(self) -> tuple[list[int], list[tuple[str, str, int]]]:
        """Return the parent of every token, and (label, function, parent) of all nodes but the root.

        This inverts ``from_parents``. Example: ``token_parents, nodes = tree.parents()``.
        """
        token_parents = [-1] * len(self.tokens)
        nodes: list[tuple[str, str, int]] = []
        outline = self._outline
        if outline is not None:
            items, functions = outline
            path = [-2]  # the numbers of the nodes that have begun, above them that of nothing
            number = -2
            for item in items:
                if item.__class__ is int:
                    token_parents[item] = path[-1]
                elif item is None:
                    path.pop()
                else:
                    number += 1
                    if number >= 0:
                        nodes.append((item, functions[number + 1], path[-1]))  # type: ignore[arg-type]
                    path.append(number)
            return token_parents, nodes
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

    def rebuild(
        self,
        token_parents: Sequence[int],
        nodes: Sequence[tuple[str, str, int]],
        tokens: Sequence[Token] | None = None,
        secondary: Iterable[SecondaryEdge] = (),
    ) -> "Tree":
        """Return a tree with this id, comment and root; token_parents, nodes and secondary are as in ``from_parents``.

        Example: ``tree.rebuild(*tree.parents(), tokens=tree.tokens)``.
        """
        return Tree.from_parents(
            self.tokens if tokens is None else tokens,
            token_parents,
            nodes,
            root=(self.root.label, self.root.function),
            id=self.id,
            secondary=secondary,
            comment=self.comment,
        )

    def nodes(self) -> Iterator[Node]:
        """Return all nodes, the root first: parents before children, children from left to right.

        A Node does not know its tree; iterate over the tree itself for constituents. Example: ``list(tree.nodes())``.
        """
        return self.root.nodes()

    @property
    def words(self) -> tuple[str, ...]:
        """The forms of all tokens."""
        return token_columns(self)[0]

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

    def __iter__(self) -> Iterator[Constituent]:
        """Return all constituents in the order of ``nodes()``."""
        stack: list[tuple[Node, Constituent | None]] = [(self.root, None)]
        number = 0
        while stack:
            node, parent = stack.pop()
            constituent = Constituent(self, number, node, parent)
            yield constituent
            stack.extend([(child, constituent) for child in reversed(node.children) if isinstance(child, Node)])
            number += 1

    def __getitem__(self, label: str) -> list[Constituent]:
        """Return the constituents with a label: ``tree["NP"]``."""
        if not isinstance(label, str):
            raise TypeError(f"expected a label, as in tree['NP'], got {short_repr(label)}; words are in tree.tokens")
        return self.find(label)

    def constituents(self) -> list[Constituent]:
        """Return all constituents, in the order of ``nodes()``. Example: ``tree.constituents()[1].confidence``."""
        return list(self)

    def find(
        self, label: str | None = None, *, function: str | None = None, discontinuous: bool | None = None
    ) -> list[Constituent]:
        """Return the constituents with this label and function, in the order of ``nodes()``.

        ``discontinuous`` selects those with a gap (True) or without (False).
        Example: ``tree.find("NP", discontinuous=True)``.
        """
        return [
            node
            for node in self
            if (label is None or node.label == label)
            and (function is None or node.function == function)
            and (discontinuous is None or node.is_discontinuous == discontinuous)
        ]

    def text(self, node: Node | Constituent | int | None = None, gap: str = GAP) -> str:
        """Return the words of a node, a token or the whole sentence, with ``gap`` where some are left out.

        Example: ``tree.text(tree["NP"][0], gap=" _ ")``.
        """
        if isinstance(node, int):
            return self.tokens[node].form
        spans = (self.root if node is None else node).spans
        return gap.join([" ".join([token.form for token in self.tokens[start:end]]) for start, end in spans])

    def parent(self, child: Node | Constituent | int) -> Node | None:
        """Return the node right above a child, a node or a position, and None for the root.

        A node of another tree is a TreeError. Example: ``tree.parent(0).label``.
        """
        child = child.node if isinstance(child, Constituent) else child
        for same in (is_, eq):  # comparing whole nodes is slow in a long unary chain
            for node in self.nodes():
                if any(same(other, child) for other in node.children):
                    return node
        if child == self.root:
            return None
        raise TreeError(f"{short_repr(child)} is not in the tree")

    def verb_lemma(self, position: int) -> str | None:
        """Return the lemma of the verb at a position, with its separated particle; None if it has no lemma.

        This is *ausgeben* for *gibt* in *Er gibt viel aus*, and *opbellen* for *belt* in *Zij belt hem op*.
        Example: ``tree.verb_lemma(1)``.
        """
        lemma = self.tokens[position].lemma
        for k, token in enumerate(self.tokens):
            particle = token.form.lower()
            is_joined = token.tag in ALWAYS_JOINED and is_particle(token.tag, token[FUNCTION])
            if is_joined and lemma and not lemma.startswith(particle) and self._verb_of(k) == position:
                return particle + lemma
        return lemma

    def _verb_of(self, particle: int) -> int | None:
        """Return the verb beside a particle, or else that of the next larger constituent with one; None if none has."""
        child: Node | int = particle
        while (parent := self.parent(child)) is not None:
            verbs = [k for k in parent.children if isinstance(k, int) and is_verb(self.tokens[k].tag)]
            if verbs:
                return min(verbs, key=lambda k: (self.tokens[k][FUNCTION].upper() != "HD", abs(k - particle)))
            child = parent
        return None

    def to_dict(self, offsets: Offsets = ()) -> dict[str, Any]:
        """Return the tree's record, ready for JSON.

        ``offsets`` are the (start, end) of its tokens in a text; by default, those of the tokens themselves. The record
        holds everything but the last digits of confidences and the heads; ``from_dict`` reads it.
        Example: ``tree.to_dict()["tokens"][0]["form"]``.
        """
        if offsets and len(offsets) != len(self):
            raise TreeError(f"expected {len(self)} offsets, one per token, got {len(offsets)}")
        tokens = [_token_record(token) for token in self.tokens]
        for token, (start, end) in zip(tokens, offsets, strict=False):
            token["start"], token["end"] = start, end
        nodes = list(self.nodes())
        known = self.confidences if len(self.confidences) == len(nodes) else [None] * len(nodes)
        constituents = list(map(_constituent_record, nodes, known))
        record: dict[str, Any] = {"id": str(self.id), "tokens": tokens, "constituents": constituents}
        if self.secondary:
            record["secondary"] = [edge._asdict() for edge in self.secondary]
        if self.comment:
            record["comment"] = self.comment
        if _is_probability(self.confidence):
            record["confidence"] = round_probability(self.confidence)
        return record

    @classmethod
    def from_dict(cls, record: object) -> "Tree":
        """Return the tree of a record; an invalid record is a TreeError. Unknown keys are ignored.

        Example: ``dt.Tree.from_dict(tree.to_dict()) == tree``.
        """
        parts = _parse_record(record)
        try:
            return cls.from_parents(**parts)
        except TreeError as error:
            raise TreeError(f"constituent {0 if error.node is None else error.node + 1}: {error}") from None

    def dependencies(self, heads: "HeadRules | str | None" = None) -> "Dependencies":
        """Return the tree as augmented dependencies.

        ``heads`` are head rules or their name; without any, children that are marked as heads (HD) are heads.
        Example: ``tree.dependencies("negra").heads``.
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
        options: "DrawingOptions | None" = None,
    ) -> str:
        """Return a drawing made of characters.

        ``ascii`` uses only ASCII, ``color`` adds colours, ``width`` splits the drawing into panels, and ``functions``
        shows functions; ``draw_text`` describes highlight and options. Example: ``print(tree.draw())``.
        """
        from discotree.drawing.options import DEFAULT
        from discotree.drawing.text import draw_text

        return draw_text(
            self,
            ascii=ascii,
            color=color,
            width=width,
            functions=functions,
            highlight=highlight,
            options=options or DEFAULT,
        )

    def to_svg(self, **options: Any) -> str:
        """Return an SVG picture; options are those of ``draw_svg``. Example: ``tree.to_svg(functions=False)``."""
        from discotree.drawing.svg import draw_svg

        return draw_svg(self, **options)

    _repr_svg_ = to_svg  # the picture that a notebook shows

    def save(self, path: "str | PathLike[str]", **options: Any) -> None:
        """Write the tree to a path: a picture (.svg, .png, .pdf) or a treebank (.export, .dbr, .json, …).

        Options are those of ``to_svg`` or ``write``. Example: ``tree.save("tree.svg", functions=False)``.
        """
        from discotree.drawing.raster import convert
        from discotree.files.writing import write_bytes
        from discotree.treebanks.formats import write

        suffix = str(path)[-4:].lower()
        if suffix not in (".svg", ".png", ".pdf"):
            write([self], path, **options)
            return
        svg = self.to_svg(**({} if suffix == ".svg" else {"theme": "light"}) | options)
        picture = svg.encode() if suffix == ".svg" else convert(svg, "png" if suffix == ".png" else "pdf")
        write_bytes(path, picture)

    def to_nltk(self, **options: Any) -> Any:
        """Return the tree as an ``nltk.Tree`` over positions; options are those of ``integrations.nltk.to_nltk``.

        Example: ``tree.to_nltk(functions=True)``.
        """
        from discotree.integrations.nltk import to_nltk

        return to_nltk(self, **options)

    def __len__(self) -> int:
        columns = self._token_columns
        return len(self.tokens if columns is None else columns[0])

    def __str__(self) -> str:
        """The tree as one line of brackets; ``Tree.parse`` reads it."""
        outline = self._outline
        if outline is None:
            return format_brackets(self.tokens, self.root)
        return _format_outline(token_columns(self), outline[0])

    def __repr__(self) -> str:
        return f"Tree.parse({shortened(str(self))!r}, id={shortened(self.id)!r})"


_TREE_SETTERS = [Tree.__dict__[one.name].__set__ for one in fields(Tree)]
_set_tokens, _set_root, _set_id = _TREE_SETTERS[:3]
_set_confidence, _set_confidences = _TREE_SETTERS[5:7]
_LAZY_SETTERS = [_Lazy.__dict__[name].__set__ for name in ("_token_columns", "_node_columns", "_outline", "_evidence")]
_set_token_columns, _set_node_columns, _set_outline, _set_evidence = _LAZY_SETTERS
_OUTLINED_SETTERS = [_set_token_columns, _set_outline, *_TREE_SETTERS[2:5], _TREE_SETTERS[7], _set_evidence]
_DEFAULTS = list(zip(_TREE_SETTERS[3:], [one.default for one in fields(Tree)[3:]], strict=True))


def outlined_tree(
    columns: TokenColumns,
    outline: Outline,
    id: str,
    heads: tuple[int, ...] = (),
    evidence: tuple[Any, ...] | None = None,
) -> Tree:
    """Return a tree whose tokens and nodes are made when they are asked for; nothing is checked.

    The first item of ``evidence`` is a function that calls ``set_confidences`` when confidences are asked for.
    """
    tree = object.__new__(Tree)
    for set_field, value in zip(_OUTLINED_SETTERS, (columns, outline, id, (), "", heads, evidence), strict=True):
        set_field(tree, value)
    if evidence is None:
        set_confidences(tree, None, ())
    return tree


def set_confidences(tree: Tree, confidence: float | None, confidences: tuple[float, ...]) -> None:
    """Set the confidences of a tree of ``outlined_tree``."""
    _set_confidence(tree, confidence)
    _set_confidences(tree, confidences)
    _set_evidence(tree, None)


def set_offsets(tree: Tree, source: Sequence[Token]) -> None:
    """Give the tokens of a tree of ``outlined_tree`` the offsets of other tokens."""
    tokens = [
        token if other.start is None else Token(*token, other.start, other.end)
        for token, other in zip(tree.tokens, source, strict=True)
    ]
    _set_tokens(tree, tuple(tokens))


def _make_nodes(outline: Outline) -> Node:
    """Return the root of an outline."""
    items, functions = outline
    number = mask = 0  # of the next node, and of all words so far
    begun: list[tuple[str, str, int]] = []  # for every node that has not ended: its names, and the words before it
    children: list[list[Node | int]] = [[]]
    for item in items:
        if item.__class__ is int:
            children[-1].append(item)
            mask |= 1 << item
        elif item is None:
            inner = tuple(children.pop())
            label, function, before = begun.pop()
            children[-1].append(_node(label, inner, function, mask ^ before, _first(inner[0])))
        else:
            begun.append((item, functions[number], mask))  # type: ignore[arg-type]
            children.append([])
            number += 1
    return children[0][0]  # type: ignore[return-value]


def tree_of_columns(columns: Columns, outline: Outline, id: str) -> Tree:
    """Return a tree whose tokens and nodes are made when they are asked for; nothing is checked."""
    tree = object.__new__(Tree)
    _set_token_columns(tree, columns[0])
    _set_node_columns(tree, columns[1])
    _set_outline(tree, outline)
    _set_id(tree, id)
    for set_field, value in _DEFAULTS:
        set_field(tree, value)
    return tree


def node_columns(tree: Tree) -> NodeColumns:
    """Return the labels, the functions and the masks of all nodes, in the order of ``nodes()``."""
    columns = tree._node_columns
    if columns is not None:
        return columns
    outline = tree._outline
    if outline is None:
        nodes = list(tree.nodes())
        return [node.label for node in nodes], [node.function for node in nodes], [node.mask for node in nodes]
    items, functions = outline
    labels: list[str] = []
    masks: list[int] = []
    begun: list[tuple[int, int]] = []  # for every node that has not ended: its number, and the words before it
    mask = 0  # of all words so far
    for item in items:
        if item.__class__ is int:
            mask |= 1 << item
        elif item is None:
            number, before = begun.pop()
            masks[number] = mask ^ before
        else:
            begun.append((len(masks), mask))
            labels.append(item)  # type: ignore[arg-type]
            masks.append(0)
    return labels, functions, masks


def token_columns(tree: Tree) -> TokenColumns:
    """Return the forms, tags, lemmas, morphological features and functions of all tokens, with ``NONE``."""
    columns = tree._token_columns
    return columns if columns is not None else tuple(zip(*tree.tokens, strict=True))  # type: ignore[return-value]


def _refuse_parents(children: list[list[Node | int]], nodes: Sequence[tuple[str, str, int]]) -> None:
    """Raise an error for a cycle, or else for the lowest node without a label or children."""
    inner: list[list[int]] = [[] for _ in children]
    for index, (_, _, parent) in enumerate(nodes):
        inner[parent].append(index)
    order = list(inner[-1])
    for index in order:  # grows during the loop
        order += inner[index]
    if len(order) < len(nodes):
        lost = min(set(range(len(nodes))).difference(order))
        raise TreeError(f"node {nodes[lost][0]!r} is part of a cycle", lost)
    for index in reversed(order):
        label = nodes[index][0]
        if not label or not (children[index] or inner[index]):
            raise TreeError(f"node {label!r} has no {'children' if label else 'label'}", index)


def _readdress(
    edges: Iterable[SecondaryEdge], n_tokens: int, nodes: Sequence[Node], root: Node
) -> Iterator[SecondaryEdge]:
    """Turn addresses that count ``nodes`` into addresses in the order of ``Tree.nodes``."""
    address = {id(node): n_tokens + k for k, node in enumerate(root.nodes())}

    def new(old: int) -> int:
        if not 0 <= old < n_tokens + len(nodes):
            raise TreeError(f"a secondary edge leads to {old}, outside the tree")
        return old if old < n_tokens else address[id(nodes[old - n_tokens])]

    return (SecondaryEdge(label, new(child), new(parent)) for label, child, parent in edges)


# A line of brackets

# An opening bracket, a whole leaf, a closing bracket, or anything else, which is an error.
_ITEM = re.compile(r"\(([^ ()]+) *(?:([0-9]{1,9})=([^ ()]+)\))?|(\))|([^ ]+)")
_ODD_SPACE = re.compile(r"[^\S \t\r\n]")  # whitespace that does not end a word here, but does in disco-dop
_CHARACTERS = {"#LRB#": "(", "#RRB#": ")", "#HASH#": "#"}
_CHARACTERS |= {f"#U+{ord(space):04X}#": space for space in _ODD_SPACE.findall("".join(map(chr, range(0x3001))))}
_CODE = re.compile("|".join(map(re.escape, _CHARACTERS)))


_POSITIONS = {str(position): position for position in range(1000)}
_OPENING = re.compile(r"(?: ?\([^ ()]+)+")
_NAME = re.compile(r"[^ ()]+")


class _Openings(dict[str, tuple[list[str], str]]):
    """Map the brackets before a word to the labels of the nodes that begin there, and the word's tag."""

    def __missing__(self, text: str) -> tuple[list[str], str]:
        if not _OPENING.fullmatch(text):
            raise KeyError
        if len(self) >= MAX_OPENINGS:
            self.clear()
        *labels, tag = _NAME.findall(text)
        self[text] = found = labels, "$(" if tag == "$[" else tag
        return found


_openings = _Openings()  # the same ones come again and again


@lru_cache(maxsize=1)  # many predicted trees are equal to the gold tree, which is read just before
def parse_line(text: str) -> tuple[Columns, Outline] | None:
    """Return the columns and the outline of one line, or None if it needs ``parse_brackets``.

    Such lines have errors, odd spaces, or children that are not sorted. Others take less than half the time.
    """
    *pieces, end = text.split(")")
    forms: dict[int, str] = {}
    tags: dict[int, str] = {}
    outline: list[str | int | None] = []
    labels: list[str] = []
    masks: list[int] = []  # of a node that has not ended: the words before it
    firsts: list[int] = []  # the first positions of the nodes
    begun: list[int] = []  # the numbers of the nodes that have not ended
    mask = 0  # of all words so far
    last = 0  # the first position of the child before
    try:
        for piece in pieces:
            if piece:
                brackets, _, leaf = piece.rpartition(" ")
                number, _, form = leaf.partition("=")
                names, tag = _openings[brackets]
                position = _POSITIONS[number]
                if position < last:
                    return None
                last = position
                for name in names:
                    begun.append(len(labels))
                    labels.append(name)
                    masks.append(mask)
                    firsts.append(position)
                    outline.append(name)
                outline.append(position)
                mask |= 1 << position
                forms[position] = form
                tags[position] = tag
            else:
                node = begun.pop()
                masks[node] ^= mask
                last = firsts[node]
                outline.append(None)
        n = len(forms)
        is_whole = masks[0] == (1 << n) - 1 and text.count("(") == n + len(labels)
    except (KeyError, IndexError):
        return None
    if begun or end or not is_whole or "" in forms.values():
        return None
    words = [forms[position] for position in range(n)]
    if "#" in text:
        words = list(map(_decoded, words))
    none, functions = (NONE,) * n, [NONE] * len(labels)
    tokens = (tuple(words), tuple([tags[position] for position in range(n)]), none, none, none)
    return (tokens, (labels, functions, masks)), (outline, functions)


def parse_brackets(text: str) -> tuple[tuple[Token, ...], Node]:
    """Return the tokens and the root of one line."""
    tokens: dict[int, Token] = {}
    labels: list[str] = []
    children: list[list[Node | int]] = [[]]
    for label, position, word, closes, junk in _ITEM.findall(text):
        if position:
            index = int(position)
            if index in tokens or index > len(text):
                raise TreeError(f"position {index} is " + ("used twice" if index in tokens else "too high"))
            if "#" in word:
                word = _decoded(word)
            tokens[index] = Token(word, "$(" if label == "$[" else label)
            children[-1].append(index)
        elif label:
            labels.append(label)
            children.append([])
        elif junk:
            raise TreeError(f"expected '(LABEL', 'POSITION=WORD)' or ')', got {junk[:30]!r}")
        elif closes and labels:
            inner = children.pop()
            children[-1].append(Node(labels.pop(), inner))
        else:
            raise TreeError("unmatched ')'")
    if labels:
        raise TreeError(f"unclosed brackets: {len(labels)}")
    if len(children[0]) != 1 or not isinstance(children[0][0], Node):
        raise TreeError("expected one tree on the line")
    if max(tokens) != len(tokens) - 1:
        missing = min(set(range(len(tokens))).difference(tokens))
        raise TreeError(f"position {missing} is missing")
    return tuple([tokens[k] for k in range(len(tokens))]), children[0][0]


def format_brackets(tokens: Sequence[Token], root: Node) -> str:
    """Return the line; words and labels with spaces in them make one that cannot be read again."""
    pieces: list[str] = []
    stack: list[Node | int | None] = [root]
    while stack:
        item = stack.pop()
        if item is None:
            pieces.append(")")
        elif item.__class__ is int:
            form, tag = tokens[item][:2]
            if not form.isalnum():
                form = _encoded(form)
            pieces.append(f"{_opening(tag)} {item}={form})")
        else:
            pieces.append(_opening(item.label))  # type: ignore[union-attr]
            stack.append(None)
            stack.extend(reversed(item.children))  # type: ignore[union-attr]
    return "".join(pieces)[1:]


def _format_outline(columns: TokenColumns, items: list[str | int | None]) -> str:
    """Return the line of an outline: more than twice as fast as that of its nodes."""
    leaves = [
        f"{_opening(tag)} {position}={form if form.isalnum() else _encoded(form)})"
        for position, (form, tag) in enumerate(zip(*columns[:2], strict=True))
    ]
    return "".join(
        [")" if item is None else leaves[item] if item.__class__ is int else _opening(item) for item in items]
    )[1:]


@lru_cache(maxsize=1 << 12)
def _encoded(form: str) -> str:
    """Return a form as it stands in a line."""
    text = _with_codes(form)
    return text if "#" not in form or _decoded(text) == form else _with_codes(form.replace("#", "#HASH#"))


def _with_codes(form: str) -> str:
    form = form.replace("(", "#LRB#").replace(")", "#RRB#")
    return _ODD_SPACE.sub(lambda match: f"#U+{ord(match[0]):04X}#", form)


def _decoded(word: str) -> str:
    return _CODE.sub(lambda match: _CHARACTERS[match[0]], word)


@lru_cache(maxsize=1 << 12)
def _opening(label: str) -> str:
    """Return the beginning of a node or a leaf, as it stands in a line after others."""
    return " (" + (label.replace("(", "[").replace(")", "]") or NONE)


# The record: plain dicts, lists, strings and numbers, ready for JSON. record.schema.json describes every field.
#
#     {"id": "7",
#      "tokens": [{"form": "Es", "tag": "PPER", "start": 0, "end": 2}, …],
#      "constituents": [{"label": "ROOT", "positions": [0, 1, 2]}, {"label": "NP", "function": "SB", …}, …]}
#
# Fields without a value (--) are left out, and unknown ones are ignored. Constituents are in the order of Tree.nodes.
# Records come from files and from the network: any record gives a tree or a TreeError.


def round_probability(probability: float | None) -> float | None:
    """Return a probability with its significant digits."""
    return None if probability is None else float(f"{probability:.{PROBABILITY_DIGITS}g}")


def _token_record(token: Token) -> dict[str, Any]:
    form, tag, lemma, morph, function = token
    record: dict[str, Any] = {"form": form}
    if tag != NONE:
        record["tag"] = tag
    if lemma != NONE:
        record["lemma"] = lemma
    if morph != NONE:
        record["morph"] = morph
    if function != NONE:
        record["function"] = function
    if token.start is not None:
        record["start"], record["end"] = token.start, token.end
    return record


def _constituent_record(node: Node, confidence: float | None) -> dict[str, Any]:
    record: dict[str, Any] = {"label": node.label}
    if node.function != NONE:
        record["function"] = node.function
    record["positions"] = list(node.positions)
    if _is_probability(confidence):
        record["confidence"] = round_probability(confidence)
    return record


def _is_probability(value: float | None) -> bool:
    return value is not None and 0 <= value <= 1  # NaN is neither


def _parse_record(record: object) -> dict[str, Any]:
    """Return the arguments of ``Tree.from_parents`` for a record, or raise a TreeError."""
    if not isinstance(record, Mapping):
        raise TreeError(f"expected an object with the fields of a tree, got {short_repr(record)}")
    if "constituents" not in record and isinstance(record.get("error"), str):
        raise TreeError(f"the record has an error instead of a tree: {record['error'][:200]}")
    tokens = [_token(item, f"token {k}") for k, item in enumerate(_list(record, "tokens", "the record"))]
    if offsets := offsets_of(record):
        tokens = [token._replace(start=s, end=e) for token, (s, e) in zip(tokens, offsets, strict=True)]
    items = _list(record, "constituents", "the record")
    labels, masks, positions, confidences = [], [], [], []
    for k, item in enumerate(items):
        where = f"constituent {k}"
        if not isinstance(item, Mapping):
            raise TreeError(f"{where}: expected an object, got {short_repr(item)}")
        labels.append((_text(item, "label", where), _text(item, "function", where, NONE)))
        positions.append(_list(item, "positions", where))
        masks.append(_mask(positions[-1], len(tokens), where))
        confidences.append(_probability(item, where))
    token_parents, parents = _parents(masks, positions, len(tokens))
    known = tuple([confidence for confidence in confidences if confidence is not None])
    return {
        "tokens": tokens,
        "token_parents": token_parents,
        "nodes": [(*name, parent) for name, parent in zip(labels[1:], parents, strict=True)],
        "root": labels[0],
        "id": _text(record, "id", "the record", ""),
        "secondary": _secondary(record, len(tokens), len(items)),
        "comment": _text(record, "comment", "the record", ""),
        "confidence": _probability(record, "the record"),
        "confidences": known if len(known) == len(items) else (),
    }


def offsets_of(record: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Return the (start, end) of every token of a record in its text, or an empty list if a token has none."""
    offsets: list[tuple[int, int]] = []
    for k, token in enumerate(_list(record, "tokens", "the record")):
        if not isinstance(token, Mapping):
            raise TreeError(f"token {k}: expected an object, got {short_repr(token)}")
        start, end = token.get("start"), token.get("end")
        if start is None or end is None:
            return []
        if type(start) is not int or type(end) is not int or not 0 <= start <= end:
            raise TreeError(f"token {k}: expected 0 ≤ start ≤ end, got {short_repr(start)} and {short_repr(end)}")
        offsets.append((start, end))
    if any(left[0] > right[0] or left[1] > right[1] for left, right in pairwise(offsets)):
        raise TreeError("the offsets of the tokens are not in order")
    return offsets


def _token(item: object, where: str) -> Token:
    if not isinstance(item, Mapping):
        raise TreeError(f'{where}: expected an object like {{"form": "Haus"}}, got {short_repr(item)}')
    tag, lemma, morph, function = [_text(item, name, where, NONE) for name in Token._fields[1:]]
    return Token(_text(item, "form", where), tag, lemma, morph, function)


def _mask(positions: list[Any], n: int, where: str) -> int:
    """Return a constituent's positions as a bit set."""
    if set(map(type, positions)) != {int} or min(positions) < 0 or max(positions) >= n:
        wrong = next(p for p in positions if type(p) is not int or not 0 <= p < n)
        raise TreeError(f"{where}: expected positions of tokens (0 to {n - 1}), got {short_repr(wrong)}")
    first: int = positions[0]
    if positions == list(range(first, first + len(positions))):  # most have no gap
        return ((1 << len(positions)) - 1) << first
    mask = 0
    for position in positions:
        mask |= 1 << position
    if mask.bit_count() != len(positions):
        raise TreeError(f"{where}: duplicate position")
    return mask


def _parents(masks: list[int], positions: list[list[int]], n: int) -> tuple[list[int], list[int]]:
    """Return the parent of every token and every other node than the root, which is -1."""
    if masks[0] != (1 << n) - 1:
        raise TreeError("the first constituent must be the root, with the positions of all tokens")
    token_parents = [-1] * n
    parents: list[int] = []
    covered = [0] * len(masks)  # tokens of the children so far
    latest = [-1] * len(masks)  # first position of the latest child
    path = [0]  # from the root down to the constituent before
    for k in range(1, len(masks)):
        mask = masks[k]
        while mask & ~masks[path[-1]]:
            path.pop()
        parent = path[-1]
        if mask & covered[parent]:
            raise TreeError(f"constituent {k} overlaps one before it, or comes after its own child")
        first = lowest_bit(mask)
        if first < latest[parent]:
            raise TreeError(f"constituent {k} is out of order: siblings must be ordered from left to right")
        covered[parent] |= mask
        latest[parent] = first
        parents.append(parent - 1)
        path.append(k)
        for position in positions[k]:
            token_parents[position] = k - 1
    return token_parents, parents


def _secondary(record: Mapping[str, Any], n: int, nodes: int) -> list[SecondaryEdge]:
    edges = []
    for k, item in enumerate(_list(record, "secondary", "the record", optional=True)):
        where = f"secondary edge {k}"
        if not isinstance(item, Mapping):
            raise TreeError(f"{where}: expected an object, got {short_repr(item)}")
        label, child, parent = _text(item, "label", where), item.get("child"), item.get("parent")
        if type(child) is not int or not 0 <= child < n + nodes:
            raise TreeError(f"{where}: expected a child among 0 to {n + nodes - 1}, got {short_repr(child)}")
        if type(parent) is not int or not n <= parent < n + nodes:
            raise TreeError(f"{where}: expected a parent among {n} to {n + nodes - 1}, got {short_repr(parent)}")
        edges.append(SecondaryEdge(label, child, parent))
    return edges


# Fields


def _list(record: Mapping[str, Any], key: str, where: str, optional: bool = False) -> list[Any]:
    value = record.get(key)
    if value is None and optional:
        return []
    if not isinstance(value, (list, tuple)) or not (value or optional):
        raise TreeError(f"{where}: expected {key} as a list{'' if optional else ' that is not empty'}, {_got(value)}")
    return list(value)


def _text(record: Mapping[str, Any], key: str, where: str, default: str | None = None) -> str:
    value = record.get(key)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise TreeError(f"{where}: expected {key} as a string, {_got(value)}")
    return value


def _probability(record: Mapping[str, Any], where: str) -> float | None:
    value = record.get("confidence")
    if value is None:
        return None
    if type(value) not in (int, float) or not 0 <= value <= 1:
        raise TreeError(f"{where}: expected confidence as a number from 0 to 1, {_got(value)}")
    return float(value)


_REPR = Repr()
_REPR.maxstring = _REPR.maxother = 50


def _got(value: object) -> str:
    return "but it is missing" if value is None else f"got {short_repr(value)}"


def short_repr(value: object) -> str:
    """Return a short repr of any value, however large or deep."""
    try:
        return _REPR.repr(value)
    except (ValueError, RecursionError):  # an integer with thousands of digits
        return f"a very large {type(value).__name__}"
