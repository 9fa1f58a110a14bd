"""Token, Node and Tree: immutable, hashable and checked when they are made.

Positions are 0-based. A node's children are other nodes or, for words, their positions; they stand in
the order of their first token whatever order they were given in, so two trees with the same branches are
equal. A node knows its words as a bit set (``mask``), which makes yields, gaps and containment cheap.

Nothing here recurses: a chain of thousands of nodes is as good as any other tree.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, NoReturn

from discotree.errors import TreeError

NONE = "--"
"""What the field writes for "nothing here": no lemma, no function."""

ROOT = "ROOT"
"""The label that every reader gives to the virtual root on top of a sentence."""

ROOT_LABELS = frozenset({ROOT, "VROOT", "TOP", "top", "S1"})  # what treebanks and parsers call it


class Token(NamedTuple):
    """A word with what the treebank says about it."""

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


class Node:
    """A labelled constituent over nodes and token positions."""

    __slots__ = ("children", "first", "function", "label", "mask")

    label: str
    children: tuple["Node | int", ...]
    function: str
    mask: int  # bit i is set when the node covers token i
    first: int  # the position of its first token

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
                raise TreeError(f"node {label!r}: a child must be a Node or an int, not {child!r}")
            if mask & bits:
                raise TreeError(f"node {label!r} covers token {_lowest(mask & bits)} twice")
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
        """This node and all below it: parents before children, children from left to right."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            for child in reversed(node.children):
                if child.__class__ is Node:
                    stack.append(child)  # noqa: PERF401 - twice as fast as extend with a condition

    @property
    def positions(self) -> tuple[int, ...]:
        """The yield: the positions of all tokens below, ascending."""
        return tuple(position for start, end in self.blocks for position in range(start, end))

    @property
    def blocks(self) -> tuple[tuple[int, int], ...]:
        """The maximal unbroken stretches of the yield, as (start, end) with the end excluded."""
        blocks = []
        mask, start = self.mask, 0
        while mask:
            skipped = _lowest(mask)
            start += skipped
            mask >>= skipped
            length = _lowest(~mask)
            blocks.append((start, start + length))
            start += length
            mask >>= length
        return tuple(blocks)

    @property
    def gaps(self) -> tuple[tuple[int, int], ...]:
        """What lies between the blocks, as (start, end) with the end excluded."""
        blocks = self.blocks
        return tuple((left[1], right[0]) for left, right in pairwise(blocks))

    @property
    def block_degree(self) -> int:
        return (self.mask & ~(self.mask << 1)).bit_count()

    @property
    def gap_degree(self) -> int:
        return self.block_degree - 1

    @property
    def is_discontinuous(self) -> bool:
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
        """The node as brackets over positions: (NP 0 (NP 2 3))."""
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
        return "".join(pieces)[1:]

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Pickle as a flat list, children before parents: deep trees would exhaust pickle's recursion."""
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


def _lowest(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


def _first(child: Node | int) -> int:
    return child if isinstance(child, int) else child.first


def _from_flat(flat: list[tuple[str, str, tuple[int | None, ...]]]) -> Node:
    """Rebuild a node from its pre-order list, where None stands for the next node below."""
    done: list[Node] = []
    for label, function, children in reversed(flat):
        done.append(Node(label, [done.pop() if c is None else c for c in children], function))
    return done[0]


@dataclass(frozen=True, slots=True)
class Tree:
    """A sentence and its constituents. The root covers every token exactly once, or there is no Tree.

    Secondary edges, the comment and confidences travel along but do not count when trees are compared.
    """

    tokens: tuple[Token, ...]
    root: Node
    id: str = ""
    secondary: tuple[SecondaryEdge, ...] = field(default=(), compare=False)
    comment: str = field(default="", compare=False)
    confidence: float | None = field(default=None, compare=False)  # how sure a parser is of the whole tree
    confidences: tuple[float, ...] = field(default=(), compare=False)  # and of each node, in the order of nodes()

    def __post_init__(self) -> None:
        if self.tokens.__class__ is not tuple:
            object.__setattr__(self, "tokens", tuple(self.tokens))
        if self.root.__class__ is not Node:
            raise TreeError(f"the root must be a Node, not {self.root!r}")
        wanted = (1 << len(self.tokens)) - 1
        if self.root.mask != wanted:
            if beyond := self.root.mask & ~wanted:
                raise TreeError(f"the root covers token {_lowest(beyond)}, but there are {len(self.tokens)}")
            missing = _lowest(wanted & ~self.root.mask)
            raise TreeError(f"the root does not cover token {missing} ({self.tokens[missing].form!r})")
        if self.secondary:
            end = len(self.tokens) + sum(1 for _ in self.root.nodes())
            for edge in self.secondary:
                if not (0 <= edge.child < end and len(self.tokens) <= edge.parent < end):
                    raise TreeError(f"{edge} leads outside the tree")

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
        """Build a tree from parent pointers, in which form most treebanks keep it.

        ``nodes`` holds (label, function, parent) for every node but the root; a parent is an index into
        ``nodes``, or -1 for the root. Secondary edges count the root as node 0, then ``nodes`` in the
        order given; they come out with addresses in the order of ``Tree.nodes``.
        """
        parents = [*token_parents, *[node[2] for node in nodes]]
        if parents and (min(parents) < -1 or max(parents) >= len(nodes)):
            raise TreeError(f"a parent is not among -1..{len(nodes) - 1}")
        below: list[list[Node | int]] = [[] for _ in range(len(nodes) + 1)]  # the last one, [-1], is the root's
        for position, parent in enumerate(token_parents):
            below[parent].append(position)
        inner: list[list[int]] = [[] for _ in below]  # the same for nodes, by index
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
                built[index] = node = Node(label, below[index], function)
            except TreeError as error:
                raise TreeError(str(error), index) from None
            below[parent].append(node)
        top = Node(root[0], below[-1], root[1])
        if secondary:
            secondary = _readdress(secondary, len(tokens), [top, *built], top)
        return cls(tuple(tokens), top, id, tuple(secondary), comment)

    def parents(self) -> tuple[list[int], list[tuple[str, str, int]]]:
        """The inverse of ``from_parents``: a parent for every token, and the nodes below the root."""
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
        """All nodes, the root first: parents before children, children from left to right."""
        return self.root.nodes()

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(token.form for token in self.tokens)

    @property
    def gap_degree(self) -> int:
        return self.block_degree - 1

    @property
    def block_degree(self) -> int:
        """The largest block degree of any node."""
        return max(node.block_degree for node in self.nodes())

    @property
    def is_discontinuous(self) -> bool:
        return any(node.is_discontinuous for node in self.nodes())

    def __len__(self) -> int:
        return len(self.tokens)


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
