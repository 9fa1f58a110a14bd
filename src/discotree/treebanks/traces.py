"""Traces in Penn brackets: discontinuity written as movement, and movement read as discontinuity.

On reading, the overt filler of ``*T*``, ``*ICH*``, ``*EXP*`` and ``*RNR*`` moves to the nearest of its traces. On
writing, a child that would break the order of words is raised to where its words are, and leaves an ``*ICH*`` trace
behind.
"""

from itertools import count

from discotree.trees.tree import NONE, Node, Tree

EMPTY_TAG = "-NONE-"
MOVEMENT = frozenset({"*T*", "*ICH*", "*EXP*", "*RNR*"})
WRITTEN_TRACE = "*ICH*"


class Item:
    """A bracket while it is read: a phrase, or a leaf with its word."""

    __slots__ = ("children", "first_leaf", "function", "index", "label", "line", "parent", "trace", "word")

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


def move_fillers(leaves: list[Item], top: Item) -> None:
    """Move every overt filler to the nearest of its traces."""
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
        target = min(candidates, key=lambda phrase: abs(phrase.first_leaf - filler.first_leaf))
        assert target.parent is not None  # a trace or a filler is never the outermost bracket
        assert filler.parent is not None
        if filler.function == NONE and filler.word is None:
            filler.function = target.function
        filler.parent.children.remove(filler)
        filler.parent = target.parent
        target.parent.children.append(filler)
        traces[filler.index] = []


def _phrase_of(leaf: Item) -> Item:
    """Return the phrase that holds only this empty leaf, (NP-SBJ (-NONE- *T*-1)), or else the leaf."""
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
    """Return whether an item dominates another by now: fillers may hold each other's traces, and one moves first."""
    up: Item | None = other
    while up is not None and up is not item:
        up = up.parent
    return up is item


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
