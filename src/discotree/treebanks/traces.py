"""Traces in Penn brackets: discontinuity written as movement, and movement read as discontinuity.

On reading, the overt filler of ``*T*``, ``*ICH*``, ``*EXP*`` and ``*RNR*`` moves to the nearest of its traces. On
writing, a child that would break the order of words is raised to where its words are, and leaves an ``*ICH*`` trace
behind.

Some sentences use one index for several movements. Then a filler moves to a trace of its own category, where WNP counts
as NP, and a zero takes its trace as well: ``(WNP-1 0)``.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from itertools import count

from discotree.errors import TreeError
from discotree.trees.tree import NONE, Node, Tree

EMPTY_TAG = "-NONE-"
MOVEMENT = frozenset({"*T*", "*ICH*", "*EXP*", "*RNR*"})
WRITTEN_TRACE = "*ICH*"
ZERO = "0"  # a filler without words
RESUMPTIVE = "RSP"  # function of a pronoun that has its filler's index but stands in its own place
MAX_JUMPS_PER_LEAF = 500  # from moved filler to moved filler; real trees hardly need one in all

_CATEGORY = re.compile(r"(?:WH?(?=[A-Z]))?([^-=]*)")


class Item:
    """A bracket while it is read: a phrase, or a leaf with its word."""

    __slots__ = ("children", "end_leaf", "first_leaf", "function", "index", "label", "line", "parent", "trace", "word")

    def __init__(self, line: int, parent: "Item | None") -> None:
        self.line = line
        self.parent = parent
        self.label = ""
        self.function = NONE
        self.index = ""  # shared with its trace or filler
        self.word: str | None = None
        self.children: list[Item] = []
        self.trace = ""  # kind of an empty leaf
        self.first_leaf = 0  # index of its first leaf, empty ones counted
        self.end_leaf = 0  # index after its last leaf


def move_fillers(leaves: list[Item], top: Item) -> None:
    """Move every overt filler to the nearest of its traces that it does not dominate."""
    traces: dict[str, list[Item]] = {}
    for leaf in leaves:
        if leaf.trace in MOVEMENT:
            phrase = _phrase_of(leaf)
            index = leaf.index or phrase.index
            if index:
                traces.setdefault(index, []).append(phrase)
    if not traces:
        return
    moves = _Moves(len(leaves))
    left: dict[int, Item] = {}  # former parents, by their id
    fillers = _fillers(top, traces)
    for filler, candidates in zip(fillers, _candidates(fillers, traces), strict=True):
        target = moves.nearest(filler, candidates)
        if target is None:
            continue
        del candidates[bisect_left(candidates, target.first_leaf, key=_first_leaf)]
        if filler.trace:
            continue
        assert target.parent is not None  # a trace or a filler is never the outermost bracket
        assert filler.parent is not None
        if filler.function == NONE and filler.word is None:
            filler.function = target.function
        if filler.parent is not target.parent:
            left[id(filler.parent)] = filler.parent
            filler.parent = target.parent
            target.parent.children.append(filler)
        moves.add(filler, target)
    for parent in left.values():
        parent.children = [child for child in parent.children if child.parent is parent]


class _Moves:
    """The moves so far, in the order of brackets, and what dominates what after them.

    A filler dominates the leaves it had in the beginning, since brackets inside it move later, and what has moved to
    a trace among them. So nobody climbs the tree: intervals of leaves answer the first, jumps from move to move the
    second.
    """

    def __init__(self, size: int) -> None:
        self.jumps_left = MAX_JUMPS_PER_LEAF * size
        self.starts: list[int] = []  # first leaves of the fillers that moved, ascending
        self.ends: list[int] = []
        self.targets: list[int] = []  # leaves of the traces they moved to
        self.around: list[int] = []  # the innermost move whose filler holds this one, or -1

    def nearest(self, filler: Item, traces: list[Item]) -> Item | None:
        """Return the nearest of the traces, which come in order, that the filler does not dominate."""
        here = filler.first_leaf
        left = bisect_left(traces, here, key=_first_leaf) - 1
        right = bisect_left(traces, filler.end_leaf, key=_first_leaf)
        while left >= 0 or right < len(traces):
            is_left = left >= 0 and (
                right == len(traces) or here - traces[left].first_leaf <= traces[right].first_leaf - here
            )
            trace = traces[left if is_left else right]
            if not self._dominates(filler, trace.first_leaf):
                return trace
            left, right = (left - 1, right) if is_left else (left, right + 1)
        return None

    def _dominates(self, filler: Item, leaf: int) -> bool:
        while not filler.first_leaf <= leaf < filler.end_leaf:
            move = self._innermost(leaf)
            if move < 0:
                return False
            leaf = self.targets[move]
            self.jumps_left -= 1
            if self.jumps_left < 0:
                raise TreeError("too many fillers have moved into each other")
        return True

    def _innermost(self, leaf: int) -> int:
        """Return the innermost move whose filler held this leaf in the beginning, or -1."""
        move = bisect_right(self.starts, leaf) - 1
        while move >= 0 and self.ends[move] <= leaf:
            move = self.around[move]
        return move

    def add(self, filler: Item, target: Item) -> None:
        if filler.first_leaf < filler.end_leaf:  # one without leaves holds nothing
            self.around.append(self._innermost(filler.first_leaf))
            self.starts.append(filler.first_leaf)
            self.ends.append(filler.end_leaf)
            self.targets.append(target.first_leaf)


def _first_leaf(item: Item) -> int:
    return item.first_leaf


def _phrase_of(leaf: Item) -> Item:
    """Return the phrase that holds only this empty leaf, (NP-SBJ (-NONE- *T*-1)), or else the leaf."""
    if leaf.parent is not None and len(leaf.parent.children) == 1 and leaf.label == EMPTY_TAG:
        return leaf.parent
    return leaf


def _candidates(fillers: list[Item], traces: dict[str, list[Item]]) -> list[list[Item]]:
    """Return the traces that each filler may move to.

    Fillers that share an index divide its traces by category; traces of other categories are for other fillers.
    """
    counts = Counter(filler.index for filler in fillers)
    keys = {(filler.index, _category(filler)) for filler in fillers if counts[filler.index] > 1}
    divided: dict[tuple[str, str], list[Item]] = {}
    for index in counts:
        for trace in traces[index]:
            key = (index, _category(trace))
            divided.setdefault(key if key in keys else (index, ""), []).append(trace)
    found: list[list[Item]] = []
    for filler in fillers:
        key = (filler.index, _category(filler))
        if counts[filler.index] > 1 and RESUMPTIVE in filler.function.split("-"):
            found.append([])
        else:
            found.append(divided.get(key) or divided.get((filler.index, ""), []))
    return found


def _category(item: Item) -> str:
    match = _CATEGORY.match(item.label)
    return match[1] if match else item.label


def _fillers(top: Item, traces: dict[str, list[Item]]) -> list[Item]:
    """Return the brackets that share an index with a trace, from left to right, parents first; set all last leaves.

    If none of them has words, nothing can move, and there are none.
    """
    targets = {id(phrase) for phrases in traces.values() for phrase in phrases}
    found = []
    order = []
    stack = [top]
    while stack:
        item = stack.pop()
        order.append(item)
        if item.index in traces and item.trace in ("", ZERO) and id(item) not in targets and item is not top:
            found.append(item)
        stack.extend(reversed(item.children))
    if all(item.trace for item in found):
        return []
    for item in reversed(order):
        item.end_leaf = item.children[-1].end_leaf if item.children else item.first_leaf + (item.word is not None)
    return found


Raised = tuple[dict[int, list[Node | int]], dict[int, list[Node | int]], dict[int, int]]


def raise_discontinuous(tree: Tree) -> Raised:
    """Return the children to write for each node so that words stay in order, its traces, and all indices.

    Keys are the id of a node; indices also have ~position for a raised word.
    """
    written: dict[int, list[Node | int]] = {}
    traces: dict[int, list[Node | int]] = {}
    indices: dict[int, int] = {}
    spans: dict[int, tuple[int, int]] = {}
    order = list(tree.nodes())
    parents = {id(child): node for node in order for child in node.children if isinstance(child, Node)}
    raised: dict[int, list[Node | int]] = {}
    numbers = count(1)

    def span(child: Node | int) -> tuple[int, int]:
        return (child, child + 1) if isinstance(child, int) else spans[id(child)]

    for node in reversed(order):
        members = sorted([*node.children, *raised.pop(id(node), [])], key=lambda child: span(child)[0])
        kept = written[id(node)] = members[:1]
        start, end = span(members[0])
        for child in members[1:]:
            child_start, child_end = span(child)
            if child_start == end:
                kept.append(child)
                end = child_end
                continue
            raised.setdefault(id(parents[id(node)]), []).append(child)
            key = ~child if isinstance(child, int) else id(child)
            if key not in indices:
                indices[key] = next(numbers)
                traces.setdefault(id(node), []).append(child)
        spans[id(node)] = (start, end)
    return written, traces, indices
