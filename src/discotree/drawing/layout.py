"""From a tree to a grid of cells: the only geometry, whatever the drawing is made of later.

Words stand side by side in the lowest row, the root stands in row 0. A node has a horizontal bar right below it,
from its leftmost to its rightmost child, and from the bar a stem drops to each child, in the child's column. So a
line is either a bar or a stem, and lines cross only where a bar passes the stem of somebody else's child.

Two choices make crossings few:

* The rows. Nodes are piled up one by one, the narrowest first, each above all that lies within its span (from its
  first word to its last). What fills a gap is then complete below the bar that bridges the gap, and only one stem
  has to pass. Nodes in one row never overlap. Two constituents that interleave could be piled up either way round;
  where there are few such pairs, each is tried.
* The columns. A node stands as near to the middle of its children as it can without standing on a passing stem,
  unless another column saves crossings: beside the bars that its own stem would meet, and on that side of its gap
  where its siblings are.

Nothing here recurses, and the same tree always gives the same grid.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from discotree.trees.tree import Node, Tree

PITCH = 4  # columns from one word to the next
MAX_PAIRS = 6  # of interleaved constituents, up to which both orders are tried


class Cell(NamedTuple):
    """Where a node or a token stands."""

    item: Node | int  # a node, or the position of a token
    row: int
    column: int
    parent: int  # the address of the parent's cell, -1 for the root


class Bar(NamedTuple):
    """The horizontal line right below a node, over all its children; a point where there is but one child."""

    node: int  # the address of its cell
    row: int
    start: int  # columns, both included
    end: int


class Stem(NamedTuple):
    """The vertical line from the bar of a parent, which hangs below row ``top``, to the child in row ``bottom``."""

    child: int  # the address of its cell
    column: int
    top: int
    bottom: int


class Crossing(NamedTuple):
    """A bar passes a stem that has nothing to do with it."""

    node: int  # the address of the cell whose bar it is
    child: int  # the address of the cell whose stem it is
    row: int  # that of the bar
    column: int  # that of the stem


@dataclass(frozen=True, slots=True)
class Grid:
    """A tree with a place for everything.

    Cells, and what refers to them, have the addresses that secondary edges use: a token's is its position, that of
    the k-th node in the order of ``Tree.nodes`` is ``len(tree) + k``. Word ``i`` stands in column ``PITCH * i``: most
    of the columns between words stay empty, and a renderer that squeezes or stretches columns, but keeps their order,
    draws the same tree.
    """

    tree: Tree
    rows: int
    columns: int
    cells: tuple[Cell, ...]
    bars: tuple[Bar, ...]  # one for each node, in the order of the nodes
    crossings: tuple[Crossing, ...]

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """Addresses of parent and child, for every cell but the root's."""
        return tuple((cell.parent, child) for child, cell in enumerate(self.cells) if cell.parent >= 0)

    @property
    def stems(self) -> tuple[Stem, ...]:
        """One for each edge, in the same order."""
        cells = self.cells
        return tuple(
            Stem(child, cells[child].column, cells[parent].row, cells[child].row) for parent, child in self.edges
        )


def layout(tree: Tree) -> Grid:
    """Find a place for every word and every constituent."""
    branches = _branches(tree)
    placed = _place(branches, branches.narrow_first())
    for a, b in _undecided(branches):
        other = _place(branches, branches.swapped(placed.order, a, b))
        if len(other.crossings) < len(placed.crossings):
            placed = other
    size = len(tree.tokens)
    height = placed.levels[size]  # the root is the first node
    rows = [height - level for level in placed.levels]
    items = [*range(size), *branches.nodes]
    return Grid(
        tree,
        rows=height + 1,
        columns=PITCH * (size - 1) + 1,
        cells=tuple(map(Cell, items, rows, placed.columns, branches.parents)),
        bars=tuple(map(Bar, range(size, len(items)), rows[size:], placed.starts, placed.ends)),
        crossings=tuple([Crossing(node, child, rows[node], placed.columns[child]) for node, child in placed.crossings]),
    )


@dataclass(slots=True)
class _Branches:
    """A tree as lists over addresses."""

    size: int  # how many words
    nodes: list[Node]
    parents: list[int]
    children: list[list[int]]  # words have none
    first: list[int]  # the first word below
    last: list[int]
    broken: list[int]  # which nodes are discontinuous

    def narrow_first(self) -> list[int]:
        """All nodes, children before parents, and what lies within the span of a node before that node."""
        first, last = self.first, self.last
        return sorted(range(self.size, len(first)), key=lambda node: (last[node] - first[node], -node))

    def swapped(self, order: Sequence[int], a: int, b: int) -> list[int]:
        """The order with the earlier one of two nodes, and of its ancestors those that must, behind the later one."""
        places = {node: place for place, node in enumerate(order)}
        low, high = sorted((a, b), key=places.__getitem__)
        moved = []
        while low >= 0 and places[low] < places[high]:
            moved.append(low)
            low = self.parents[low]
        rest = [node for node in order if node not in moved]
        cut = rest.index(high) + 1
        return rest[:cut] + moved + rest[cut:]


def _branches(tree: Tree) -> _Branches:
    size = len(tree.tokens)
    nodes: list[Node] = []
    parents = [-1] * size
    children: list[list[int]] = [[] for _ in range(size)]
    stack = [(tree.root, -1)]
    while stack:
        node, parent = stack.pop()
        address = size + len(nodes)
        nodes.append(node)
        parents.append(parent)
        below: list[int] = []
        children.append(below)
        if parent >= 0:
            children[parent].append(address)
        for child in reversed(node.children):
            if isinstance(child, int):
                parents[child] = address
                below.append(child)
            else:
                stack.append((child, address))
    first = [*range(size), *[node.first for node in nodes]]
    last = [*range(size), *[node.mask.bit_length() - 1 for node in nodes]]
    broken = [address for address, node in enumerate(nodes, size) if node.is_discontinuous]
    return _Branches(size, nodes, parents, children, first, last, broken)


def _undecided(branches: _Branches) -> list[tuple[int, int]]:
    """The pairs of constituents that interleave, each with words between those of the other; none if too many."""
    size, first, last = branches.size, branches.first, branches.last
    pairs: list[tuple[int, int]] = []
    for k, a in enumerate(branches.broken):
        mask = branches.nodes[a - size].mask
        span = (1 << last[a] + 1) - (1 << first[a])
        for b in branches.broken[k + 1 :]:
            other = branches.nodes[b - size].mask
            if not mask & other and other & span and mask & (1 << last[b] + 1) - (1 << first[b]):
                pairs.append((a, b))
                if len(pairs) > MAX_PAIRS:
                    return []
    return pairs


class _Placed(NamedTuple):
    order: Sequence[int]
    levels: list[int]  # rows counted from the words upwards
    columns: list[int]
    starts: list[int]  # the columns of the bar, for each node
    ends: list[int]
    crossings: list[tuple[int, int]]  # bar and stem


def _place(branches: _Branches, order: Sequence[int]) -> _Placed:
    """Pile the nodes up in this order."""
    size, children, first, last = branches.size, branches.children, branches.first, branches.last
    levels = [0] * len(first)
    columns = [PITCH * word for word in range(size)] + [0] * len(order)
    starts, ends = [0] * len(order), [0] * len(order)
    crossings: list[tuple[int, int]] = []
    skyline = [0] * size  # the level of the topmost node over each word
    taken = bytearray([1] + [0] * (PITCH - 1)) * size  # in which columns a stem rises to a bar still to come
    cells = [column // PITCH for column in range(PITCH * size)]  # and whose stem it is
    times = [0] * len(first)
    for time, node in enumerate(order):
        times[node] = time
    for node in order:
        start, end = first[node], last[node] + 1
        levels[node] = level = max(skyline[start:end]) + 1
        skyline[start:end] = [level] * (end - start)
        below = [columns[child] for child in children[node]]
        left, right = min(below), max(below)
        for column in below:
            taken[column] = 0
        column = left
        if left < right:
            costs: list[int] = []
            if branches.broken:
                passing = {column: cells[column] for column in _ones(taken, left, right)}
                crossings += [(node, cell) for cell in passing.values()]
                costs = _costs(branches, times, node, passing, left, right)
            column = _nearest(taken, below, left, right, costs)
        taken[column] = 1
        cells[column] = node
        columns[node] = column
        starts[node - size], ends[node - size] = left, right
    return _Placed(order, levels, columns, starts, ends, crossings)


def _ones(flags: bytearray, start: int, end: int) -> Iterator[int]:
    found = flags.find(1, start, end)
    while found >= 0:
        yield found
        found = flags.find(1, found + 1, end)


def _nearest(taken: bytearray, below: Sequence[int], left: int, right: int, costs: Sequence[int]) -> int:
    """The free column of least cost; among those one without a stem right beside it, as near as can be to the middle.

    A child that is near enough wins over the exact middle: its stem then goes straight on.
    """
    middle = (left + right) // 2
    if not costs:
        if len(below) > 2:
            child = min(below, key=lambda column: abs(column - middle))
            if left < child < right and abs(child - middle) <= PITCH // 2:
                return child
        if left < middle and not any(taken[middle - 1 : middle + 2]):
            return middle
    free = [column for column in range(left, right + 1) if not taken[column]]
    if costs:
        least = min([costs[column - left] for column in free])
        free = [column for column in free if costs[column - left] == least]
    return min(free, key=lambda column: (any(taken[max(column - 1, 0) : column + 2]), abs(column - middle)))


def _costs(
    branches: _Branches, times: Sequence[int], node: int, passing: dict[int, int], left: int, right: int
) -> list[int]:
    """How many crossings each column from left to right would bring later; nothing where all columns are alike."""
    parents, children, first, last = branches.parents, branches.children, branches.first, branches.last
    parent = parents[node]
    if parent < 0:
        return []
    now, then = times[node], times[parent]
    bars = [other for other in branches.broken if now < times[other] < then]  # its stem may meet these on its way up
    if not bars and not passing:
        return []
    steps = [0] * (right - left + 2)  # by how much the cost changes from one column to the next
    for other in bars:
        start, end = PITCH * first[other], PITCH * last[other]
        if start <= right and left <= end:
            steps[max(start - left, 0)] += 1
            steps[min(end, right) - left + 1] -= 1
    while parent >= 0 and len(children[parent]) == 1:
        node, parent = parent, parents[parent]
    if parent >= 0 and passing:  # the bar of its parent meets the stems between it and its siblings
        siblings = [sibling for sibling in children[parent] if sibling != node]
        start = PITCH * min([first[sibling] for sibling in siblings])
        end = PITCH * max([last[sibling] for sibling in siblings])
        for column, cell in passing.items():
            if times[parents[cell]] <= times[parent]:
                continue  # it ends before
            if column < start:
                steps[0] += 1
                steps[column - left] -= 1
            elif column > end:
                steps[column - left] += 1
    return [*accumulate(steps[:-1])] if any(steps[1:-1]) else []
