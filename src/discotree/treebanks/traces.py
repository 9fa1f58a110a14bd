"""Traces in Penn brackets: discontinuity written as movement, and movement read as discontinuity.

Reading, the overt filler of ``*T*``, ``*ICH*``, ``*EXP*`` and ``*RNR*`` moves to the nearest of its traces. Writing,
what does not fit between its sisters is raised to where its words are, and an ``*ICH*`` trace stays behind.
"""

from itertools import count

from discotree.trees.tree import NONE, Node, Tree

EMPTY_TAG = "-NONE-"
MOVEMENT = frozenset({"*T*", "*ICH*", "*EXP*", "*RNR*"})
WRITTEN_TRACE = "*ICH*"


class Item:
    """A bracket while it is read: a phrase, or a leaf with its word."""

    __slots__ = ("children", "function", "index", "label", "line", "parent", "place", "trace", "word")

    def __init__(self, line: int, parent: "Item | None") -> None:
        self.line = line
        self.parent = parent
        self.label = ""
        self.function = NONE
        self.index = ""  # what co-indexes it with a trace or a filler
        self.word: str | None = None
        self.children: list[Item] = []
        self.trace = ""  # for an empty leaf: its kind
        self.place = 0  # its first leaf, empty ones counted


def move_fillers(leaves: list[Item], top: Item) -> None:
    """Put every overt filler in the place of the nearest of its traces."""
    traces: dict[str, list[Item]] = {}
    for leaf in leaves:
        if leaf.trace in MOVEMENT:
            phrase = _phrase_of(leaf)
            index = leaf.index or phrase.index
            if index:
                traces.setdefault(index, []).append(phrase)
    if not traces:
        return
    targets = {id(phrase) for phrases in traces.values() for phrase in phrases}
    for filler in _fillers(top, traces, targets):
        candidates = [phrase for phrase in traces[filler.index] if not _dominates(filler, phrase)]
        if not candidates:
            continue
        target = min(candidates, key=lambda phrase: abs(phrase.place - filler.place))
        assert target.parent is not None  # a trace or a filler is never the outermost bracket
        assert filler.parent is not None
        if filler.function == NONE and filler.word is None:
            filler.function = target.function
        filler.parent.children.remove(filler)
        filler.parent = target.parent
        target.parent.children.append(filler)
        traces[filler.index] = []


def _phrase_of(leaf: Item) -> Item:
    """The phrase that consists of this empty leaf alone and stands for it: (NP-SBJ (-NONE- *T*-1))."""
    if leaf.parent is not None and len(leaf.parent.children) == 1 and leaf.label == EMPTY_TAG:
        return leaf.parent
    return leaf


def _fillers(top: Item, traces: dict[str, list[Item]], targets: set[int]) -> list[Item]:
    found = []
    stack = [top]
    while stack:
        item = stack.pop()
        if item.index in traces and not item.trace and id(item) not in targets and item is not top:
            found.append(item)
        stack.extend(reversed(item.children))
    return found


def _dominates(item: Item, other: Item) -> bool:
    """Asked of the tree as it is by now: two fillers may hold each other's traces, and only one can move."""
    up: Item | None = other
    while up is not None and up is not item:
        up = up.parent
    return up is item


Raised = tuple[dict[int, list[Node | int]], dict[int, list[Node | int]], dict[int, int]]


def raise_discontinuous(tree: Tree) -> Raised:
    """What to write below each node so that words stay in order; whose traces it holds; and the indices.

    The first two go by the id of the node, the last by the id of a raised node or ~position of a raised word.
    """
    below: dict[int, list[Node | int]] = {}
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
        kept = below[id(node)] = members[:1]
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
    return below, traces, indices
