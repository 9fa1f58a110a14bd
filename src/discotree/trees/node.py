"""What trees are made of: Token, Node, SecondaryEdge and Constituent, all immutable and hashable.

Positions are 0-based. A node's children are other nodes or, for words, their positions. They are sorted by their first
token, so two nodes with the same branches are equal. A node keeps its positions as a bit set (``mask``), which makes
yields, gaps and containment cheap.

Nothing here recurses: a chain of thousands of nodes works like any other tree.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple, NoReturn

from discotree.errors import TreeError

NONE = "--"
"""The field's mark for "nothing here": no lemma, no function."""


MAX_REPR = 1000  # characters


class Token(NamedTuple):
    """A word with its annotation."""

    form: str
    tag: str = NONE
    lemma: str = NONE
    morph: str = NONE
    function: str = NONE


class SecondaryEdge(NamedTuple):
    """An edge beside the tree: ``child`` also plays the role ``label`` in ``parent``.

    Both ends are addresses: a token's address is its position, that of the k-th node in the order of
    ``Tree.nodes`` is ``len(tree) + k``.
    """

    label: str
    child: int
    parent: int


class Constituent(NamedTuple):
    """A node as a row of its own: label, function, the positions of its tokens, and a parser's confidence."""

    label: str
    function: str
    positions: tuple[int, ...]
    confidence: float | None = None


class Node:
    """A labelled constituent over nodes and token positions."""

    __slots__ = ("children", "first", "function", "label", "mask")

    label: str
    children: tuple["Node | int", ...]
    function: str
    mask: int  # bit i is set when the node covers token i
    first: int  # position of its first token

    def __init__(self, label: str, children: "Iterable[Node | int]", function: str = NONE) -> None:
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
        _set_label(self, label)
        _set_children(self, children)
        _set_function(self, function)
        _set_mask(self, mask)
        _set_first(self, _first(children[0]))

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

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Pickle as a flat list: deep trees would exhaust pickle's recursion."""
        flat = [
            (node.label, node.function, tuple(c if isinstance(c, int) else None for c in node.children))
            for node in self.nodes()
        ]
        return _from_flat, (flat,)


_set_label = Node.__dict__["label"].__set__
_set_children = Node.__dict__["children"].__set__
_set_function = Node.__dict__["function"].__set__
_set_mask = Node.__dict__["mask"].__set__
_set_first = Node.__dict__["first"].__set__


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
