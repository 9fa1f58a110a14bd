"""Layout of a tree on a grid of cells: the geometry that all renderers share.

Words are in the lowest row, the root is in row 0. A node has a horizontal bar right below it, from its leftmost to its
rightmost child, and a stem drops from the bar to each child, in the child's column. Every line is a bar or a stem, and
lines cross only where a bar passes the stem of another node's child.

Two choices keep the number of crossings small:

* Rows. Nodes are stacked one by one, the narrowest first, each above everything within its span (from its first word to
  its last). The words in a gap are then complete below the bar that bridges the gap, and only one stem has to pass.
  Nodes in one row never overlap. Two constituents that interleave can be stacked either way; if there are only a few
  such pairs, both orders are tried.
* Columns. A node is as near to the middle of its children as possible without covering a passing stem, unless another
  column saves crossings: one beside the bars that its stem would meet, or on the side of its gap where its siblings
  are.

``layout`` computes the grid, without recursion and deterministically. ``column_extents``, ``pack_columns`` and
``centre_columns`` turn columns into x coordinates, given the widths of the texts in any unit. ``bar_pieces`` and
``secondary_curve`` give the lines.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple

from discotree.trees.tree import Node, Tree

PITCH = 4  # columns from one word to the next


class Cell(NamedTuple):
    """Row and column of a node or a token."""

    item: Node | int  # a node, or a token's position
    row: int
    column: int
    parent: int  # address of the parent's cell, -1 for the root


class Bar(NamedTuple):
    """Horizontal line right below a node, over all its children; a point if there is only one child."""

    node: int  # address of its cell
    row: int
    start: int  # first column
    end: int  # last column


class Crossing(NamedTuple):
    """Point where a bar passes the stem of another node's child."""

    node: int  # address of the cell above the bar
    child: int  # address of the cell below the stem
    row: int  # row of the bar
    column: int  # column of the stem


@dataclass(frozen=True, slots=True)
class Grid:
    """Tree with a cell for every token and node.

    Cells have the addresses that secondary edges use: a token's is its position, and that of the k-th node in the order
    of ``Tree.nodes`` is ``len(tree) + k``. Word ``i`` is in column ``PITCH * i``. Most columns between words are empty;
    a renderer may stretch or squeeze columns as long as it keeps their order.
    """

    tree: Tree
    rows: int
    columns: int
    cells: tuple[Cell, ...]
    bars: tuple[Bar, ...]  # one per node, in the order of the nodes
    crossings: tuple[Crossing, ...]

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """Addresses of parent and child for every cell but the root's."""
        return tuple((cell.parent, child) for child, cell in enumerate(self.cells) if cell.parent >= 0)

    @property
    def children(self) -> list[list[int]]:
        """Addresses of the children of each node, in the order of the nodes."""
        size = len(self.tree)
        children: list[list[int]] = [[] for _ in self.bars]
        for parent, child in self.edges:
            children[parent - size].append(child)
        return children

    @property
    def crossed_columns(self) -> list[list[int]]:
        """Columns where other nodes' stems pass through the bar of each node, in the order of the nodes."""
        size = len(self.tree)
        columns: list[list[int]] = [[] for _ in self.bars]
        for crossing in self.crossings:
            columns[crossing.node - size].append(crossing.column)
        return columns


MAX_PAIRS = 6  # pairs of interleaved constituents for which both orders are tried


def layout(tree: Tree) -> Grid:
    """Assign a row and a column to every word and constituent."""
    indexed = _index_tree(tree)
    # By width: children before parents, and the nodes within a span before the node over it.
    widths = [last - first for first, last in zip(indexed.first, indexed.last, strict=True)]
    best = _arrange(indexed, sorted(range(len(tree), len(widths)), key=lambda node: (widths[node], -node)))
    for a, b in _interleaved_pairs(indexed):
        other = _arrange(indexed, indexed.swap(best.order, a, b))
        if len(other.crossings) < len(best.crossings):
            best = other
    size = len(tree.tokens)
    height = best.levels[size]  # the root is the first node
    rows = [height - level for level in best.levels]
    items = [*range(size), *indexed.nodes]
    return Grid(
        tree,
        rows=height + 1,
        columns=PITCH * (size - 1) + 1,
        cells=tuple(map(Cell, items, rows, best.columns, indexed.parents)),
        bars=tuple(map(Bar, range(size, len(items)), rows[size:], best.starts, best.ends)),
        crossings=tuple([Crossing(node, child, rows[node], best.columns[child]) for node, child in best.crossings]),
    )


@dataclass(slots=True)
class _IndexedTree:
    """Tree as lists over addresses."""

    size: int  # number of words
    nodes: list[Node]
    parents: list[int]
    children: list[list[int]]  # words have none
    first: list[int]  # first word of each cell
    last: list[int]
    discontinuous: list[int]  # addresses of the discontinuous nodes

    def swap(self, order: Sequence[int], a: int, b: int) -> list[int]:
        """Return the order with the earlier of two nodes, and its ancestors in between, moved after the later one."""
        ranks = {node: rank for rank, node in enumerate(order)}
        low, high = sorted((a, b), key=ranks.__getitem__)
        moved = []
        while low >= 0 and ranks[low] < ranks[high]:
            moved.append(low)
            low = self.parents[low]
        others = [node for node in order if node not in moved]
        split = others.index(high) + 1
        return others[:split] + moved + others[split:]


def _index_tree(tree: Tree) -> _IndexedTree:
    size = len(tree.tokens)
    nodes = [*tree.nodes()]
    token_parents, records = tree.parents()
    parents = [*[size + 1 + parent for parent in token_parents], -1]
    parents += [size + 1 + parent for _, _, parent in records]
    children: list[list[int]] = [[] for _ in parents]
    for address in [*reversed(range(size)), *range(size + 1, len(parents))]:  # the order decides between equal columns
        children[parents[address]].append(address)
    first = [*range(size), *[node.first for node in nodes]]
    last = [*range(size), *[node.mask.bit_length() - 1 for node in nodes]]
    discontinuous = [address for address, node in enumerate(nodes, size) if node.is_discontinuous]
    return _IndexedTree(size, nodes, parents, children, first, last, discontinuous)


def _interleaved_pairs(indexed: _IndexedTree) -> list[tuple[int, int]]:
    """Return the pairs of constituents that have words in each other's gaps; none if there are too many."""
    size, first, last = indexed.size, indexed.first, indexed.last
    pairs: list[tuple[int, int]] = []
    for k, a in enumerate(indexed.discontinuous):
        mask = indexed.nodes[a - size].mask
        span = (1 << last[a] + 1) - (1 << first[a])
        for b in indexed.discontinuous[k + 1 :]:
            other = indexed.nodes[b - size].mask
            if not mask & other and other & span and mask & (1 << last[b] + 1) - (1 << first[b]):
                pairs.append((a, b))
                if len(pairs) > MAX_PAIRS:
                    return []
    return pairs


class _Arrangement(NamedTuple):
    """Levels and columns of all cells, for one order of stacking."""

    order: Sequence[int]
    levels: list[int]  # rows, counted upwards from the words
    columns: list[int]
    starts: list[int]  # first column of each node's bar
    ends: list[int]  # last column
    crossings: list[tuple[int, int]]  # addresses of the nodes that bar and stem belong to


def _arrange(indexed: _IndexedTree, order: Sequence[int]) -> _Arrangement:
    """Stack the nodes in this order."""
    size, children, first, last = indexed.size, indexed.children, indexed.first, indexed.last
    levels = [0] * len(first)
    columns = [PITCH * word for word in range(size)] + [0] * len(order)
    starts, ends = [0] * len(order), [0] * len(order)
    crossings: list[tuple[int, int]] = []
    skyline = [0] * size  # level of the topmost node over each word
    taken = bytearray([1] + [0] * (PITCH - 1)) * size  # columns with a stem that rises to a bar still to come
    cells = [column // PITCH for column in range(PITCH * size)]  # address of the cell below that stem
    ranks = [0] * len(first)
    for rank, node in enumerate(order):
        ranks[node] = rank
    for node in order:
        start, end = first[node], last[node] + 1
        levels[node] = level = max(skyline[start:end]) + 1
        skyline[start:end] = [level] * (end - start)
        child_columns = [columns[child] for child in children[node]]
        left, right = min(child_columns), max(child_columns)
        for column in child_columns:
            taken[column] = 0
        column = left
        if left < right:
            costs: list[int] = []
            if indexed.discontinuous:
                passing = {column: cells[column] for column in range(left, right) if taken[column]}
                crossings += [(node, cell) for cell in passing.values()]
                costs = _costs(indexed, ranks, node, passing, left, right)
            column = _nearest(taken, child_columns, left, right, costs)
        taken[column] = 1
        cells[column] = node
        columns[node] = column
        starts[node - size], ends[node - size] = left, right
    return _Arrangement(order, levels, columns, starts, ends, crossings)


def _nearest(taken: bytearray, child_columns: Sequence[int], left: int, right: int, costs: Sequence[int]) -> int:
    """Return the free column of least cost, preferably without a stem right beside it, nearest to the middle.

    A child near the middle wins over the exact middle: its stem then goes straight up.
    """
    middle = (left + right) // 2
    if not costs:
        if len(child_columns) > 2:
            child = min(child_columns, key=lambda column: abs(column - middle))
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
    indexed: _IndexedTree, ranks: Sequence[int], node: int, passing: dict[int, int], left: int, right: int
) -> list[int]:
    """Return the number of later crossings for each column from left to right; an empty list if all are equal."""
    parents, children, first, last = indexed.parents, indexed.children, indexed.first, indexed.last
    parent = parents[node]
    if parent < 0:
        return []
    now, then = ranks[node], ranks[parent]
    # The stem of the node may meet these bars on the way up.
    bars = [other for other in indexed.discontinuous if now < ranks[other] < then]
    if not bars and not passing:
        return []
    steps = [0] * (right - left + 2)  # change of cost from one column to the next
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
            if ranks[parents[cell]] <= ranks[parent]:
                continue  # its stem ends below the bar
            if column < start:
                steps[0] += 1
                steps[column - left] -= 1
            elif column > end:
                steps[column - left] += 1
    return [*accumulate(steps[:-1])] if any(steps[1:-1]) else []


class Extent(NamedTuple):
    """Space that a cell takes: its text, and its stem up to the bar of its parent."""

    row: int
    top: int  # row of the parent
    left: int  # extent of the text to the left of the column
    right: int
    opens: bool  # the bar of the parent begins here
    closes: bool  # the bar of the parent ends here


Column = tuple[int, list[Extent]]  # number of a column, and the extents of its cells


def column_extents(grid: Grid, sides: Iterable[tuple[int, int]]) -> list[Column]:
    """Return the columns in use, given the extents of every cell's text to the left and to the right."""
    size = len(grid.tree)
    columns: dict[int, list[Extent]] = {}
    for (_, row, column, parent), (left, right) in zip(grid.cells, sides, strict=True):
        top, start, end = row, -1, -1
        if parent >= 0:
            _, top, start, end = grid.bars[parent - size]
        columns.setdefault(column, []).append(Extent(row, top, left, right, column == start, column == end))
    return sorted(columns.items())


def pack_columns(rows: int, columns: Iterable[Column], origin: int, step: int) -> Iterator[tuple[int, int]]:
    """Yield columns with their x from left to right; texts begin at ``origin`` and keep a distance of ``step``."""
    return _sweep(rows, columns, origin, step, lambda _, lowest: lowest)


def centre_columns(rows: int, columns: Sequence[Column], xs: dict[int, int], end: int, step: int) -> dict[int, int]:
    """Move columns between two words to the right, as far as possible; ``end`` is the last x of a text."""

    def settle(column: int, lowest: int) -> int:
        word, offset = column - column % PITCH, column % PITCH
        if not offset or word + PITCH not in xs:
            return -xs[column]
        ideal = xs[word] + (xs[word + PITCH] - xs[word]) * offset // PITCH
        return -max(xs[column], min(ideal, -lowest))

    mirrored = [
        (column, [Extent(e.row, e.top, e.right, e.left, e.closes, e.opens) for e in cells])
        for column, cells in reversed(columns)
    ]
    return {column: -x for column, x in _sweep(rows, mirrored, -end, step, settle)}


def _sweep(
    rows: int, columns: Iterable[Column], origin: int, step: int, settle: Callable[[int, int], int]
) -> Iterator[tuple[int, int]]:
    """Yield columns with the x that ``settle`` chooses, given the lowest x that keeps the distance to the others."""
    labels = [origin - step] * rows  # last x of the labels and passing stems in each row
    bars = [origin - step] * rows  # last x in the line of the bars
    x = origin - 1
    for column, cells in columns:
        lowest = x + 1
        for row, top, left, _, opens, _ in cells:
            lowest = max(lowest, labels[row] + left + step, max(bars[top : row + 1]) + step)
            passed = labels[top + (not opens) : row]  # a bar must not begin below another node's label
            if passed:
                lowest = max(lowest, max(passed) + step)
        x = settle(column, lowest)
        for row, top, _, right, _, closes in cells:
            bars[top : row + 1] = [x] * (row + 1 - top)
            labels[top + 1 : row] = [x] * (row - top - 1)
            labels[row] = x + right
            if closes:
                labels[top] = max(labels[top], x)
        yield column, x


class Arc(NamedTuple):
    """Arc from the head to the dependent; ``left`` and ``right`` are the words at its ends."""

    head: int
    dependent: int
    label: str
    left: int
    right: int

    @classmethod
    def between(cls, head: int, dependent: int, label: str = "") -> "Arc":
        return cls(head, dependent, label, min(head, dependent), max(head, dependent))


def arc_levels(arcs: Sequence[Arc]) -> list[int]:
    """Return the level of each arc: above the arcs that it spans, and different from those of overlapping arcs."""
    levels = [0] * len(arcs)
    done: list[int] = []
    for k in sorted(range(len(arcs)), key=lambda k: (arcs[k].right - arcs[k].left, arcs[k].left)):
        arc = arcs[k]
        overlapping = [other for other in done if arcs[other].left < arc.right and arc.left < arcs[other].right]
        spanned = [levels[o] for o in overlapping if arc.left <= arcs[o].left and arcs[o].right <= arc.right]
        taken = {levels[other] for other in overlapping}
        level = max(spanned, default=0) + 1
        while level in taken:
            level += 1
        levels[k] = level
        done.append(k)
    return levels


Interval = tuple[int, int]


def bar_pieces(
    joints: Collection[int], gaps: Sequence[Interval], holes: Sequence[Interval], inset: int
) -> tuple[list[Interval], list[Interval]]:
    """Return the solid pieces of a bar and those that bridge a gap; holes are left out of both.

    ``joints`` are the x of the lines to children. The solid bar reaches into a gap by ``inset``, also
    from a joint, which would be detached otherwise. A bridge that would be shorter than that is solid.
    """
    left, right = min(joints), max(joints)
    bridges: list[Interval] = []
    for start, end in gaps:
        start, end = max(left, start), min(right, end)
        for a, b in pairwise([start, *sorted([x for x in joints if start < x < end]), end]):
            if b - a >= 3 * inset:
                bridges += _cut_out(a + inset, b - inset, holes)
    return _cut_out(left, right, [*holes, *bridges]), bridges


def _cut_out(start: int, end: int, holes: Sequence[Interval]) -> list[Interval]:
    """Return the pieces of a line between its holes."""
    pieces = []
    for left, right in sorted(holes):
        if start < min(left, end):
            pieces.append((start, min(left, end)))
        start = max(start, right)
    if start < end:
        pieces.append((start, end))
    return pieces


Point = tuple[int, int]
Curve = tuple[Point, Point, Point, Point]  # a cubic Bézier curve
Rectangle = tuple[int, int, int, int]  # left, top, right, bottom
LABEL_PARAMETERS = (0.75, 0.65, 0.85, 0.55, 0.45, 0.35, 0.25)  # candidates for a label, best first


def secondary_curve(child: Point, parent: Point, beside: int) -> Curve:
    """Return a curve from the child to a point ``beside`` its parent's middle; y grows downwards."""
    (x, y), (to, level) = child, parent
    towards = 1 if to > x else -1
    x += towards * 6
    to -= towards * beside
    up, across = max(16, abs(y - level) // 2), max(24, abs(to - x) // 2)
    return (x, y), (x, y - up if y > level else y + up), (to - towards * across, level), (to, level)


def point_at(curve: Curve, t: float) -> Point:
    """Return the point of a curve at ``t``, from 0 to 1."""
    weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
    x, y = (round(sum(weight * at[axis] for weight, at in zip(weights, curve, strict=True))) for axis in (0, 1))
    return x, y


def label_parameter(curve: Curve, width: int, height: int, obstacles: list[Rectangle]) -> float:
    """Return the ``t`` at which a label of this size covers the fewest obstacles, and add the label to them."""

    def rectangle(t: float) -> Rectangle:
        x, y = point_at(curve, t)
        return x - width // 2, y - height // 2, x + width // 2, y + height // 2

    def hits(t: float) -> int:
        left, top, right, bottom = rectangle(t)
        return sum([box[0] <= right and left <= box[2] and box[1] <= bottom and top <= box[3] for box in obstacles])

    best = min(LABEL_PARAMETERS, key=hits)
    obstacles.append(rectangle(best))
    return best
