"""Layout of a tree on a grid of cells: the geometry that all renderers share.

Words are in the lowest row, the root is in row 0. A node has a horizontal bar right below it, from its leftmost to its
rightmost child, and a stem drops from the bar to each child, in the child's column. Every line is a bar or a stem, and
lines cross only where a bar passes the stem of another node's child.

Two choices keep crossings few:

* Rows. Nodes are stacked one by one, the narrowest first, each above everything within its span (from its first word to
  its last). The words in a gap are then complete below the bar that bridges the gap, and only one stem has to pass.
  Nodes in one row never overlap. Two constituents that interleave can be stacked either way; where such pairs are
  few, both orders are tried.
* Columns. A node is as near to the middle of its children as it can be without covering a passing stem, unless another
  column saves crossings: beside the bars that its own stem would meet, and on the side of its gap where its siblings
  are.

Nothing recurses, and the same tree always gives the same grid.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from discotree.drawing.grid import PITCH, Bar, Cell, Crossing, Grid
from discotree.trees.tree import Node, Tree

MAX_PAIRS = 6  # interleaved constituents of which both orders are tried


def layout(tree: Tree) -> Grid:
    """Assign a row and a column to every word and constituent."""
    indexed = _indexed(tree)
    best = _arrange(indexed, indexed.narrow_first())
    for a, b in _interleaved_pairs(indexed):
        other = _arrange(indexed, indexed.swapped(best.order, a, b))
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

    def narrow_first(self) -> list[int]:
        """Return all nodes by width: children before parents, and the nodes within a span before the node over it."""
        first, last = self.first, self.last
        return sorted(range(self.size, len(first)), key=lambda node: (last[node] - first[node], -node))

    def swapped(self, order: Sequence[int], a: int, b: int) -> list[int]:
        """Return the order with the earlier of two nodes, and its ancestors in between, moved behind the later one."""
        ranks = {node: rank for rank, node in enumerate(order)}
        low, high = sorted((a, b), key=ranks.__getitem__)
        moved = []
        while low >= 0 and ranks[low] < ranks[high]:
            moved.append(low)
            low = self.parents[low]
        rest = [node for node in order if node not in moved]
        split = rest.index(high) + 1
        return rest[:split] + moved + rest[split:]


def _indexed(tree: Tree) -> _IndexedTree:
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
        own: list[int] = []
        children.append(own)
        if parent >= 0:
            children[parent].append(address)
        for child in reversed(node.children):
            if isinstance(child, int):
                parents[child] = address
                own.append(child)
            else:
                stack.append((child, address))
    first = [*range(size), *[node.first for node in nodes]]
    last = [*range(size), *[node.mask.bit_length() - 1 for node in nodes]]
    discontinuous = [address for address, node in enumerate(nodes, size) if node.is_discontinuous]
    return _IndexedTree(size, nodes, parents, children, first, last, discontinuous)


def _interleaved_pairs(indexed: _IndexedTree) -> list[tuple[int, int]]:
    """Return the pairs of constituents with words between those of each other; none if there are too many."""
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
                passing = {column: cells[column] for column in _ones(taken, left, right)}
                crossings += [(node, cell) for cell in passing.values()]
                costs = _costs(indexed, ranks, node, passing, left, right)
            column = _nearest(taken, child_columns, left, right, costs)
        taken[column] = 1
        cells[column] = node
        columns[node] = column
        starts[node - size], ends[node - size] = left, right
    return _Arrangement(order, levels, columns, starts, ends, crossings)


def _ones(flags: bytearray, start: int, end: int) -> Iterator[int]:
    found = flags.find(1, start, end)
    while found >= 0:
        yield found
        found = flags.find(1, found + 1, end)


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
    """Return the later crossings that each column from left to right would cause; nothing where all are alike."""
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
