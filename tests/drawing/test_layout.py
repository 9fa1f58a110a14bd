"""The layout, checked by the definition of what crosses what, and by enumeration on small trees."""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.helpers import DEEP
from support.pictures import some_trees
from support.strategies import random_tree

from discotree import Node
from discotree.drawing import layout


@given(some_trees | st.builds(lambda seed: random_tree(random.Random(seed), 40), st.integers(0, 2**32)))
def test_the_grid_is_consistent(tree):
    grid = layout(tree)
    assert grid == layout(tree)
    size = len(tree)
    assert [cell.item for cell in grid.cells] == [*range(size), *tree.nodes()]
    assert {cell.row for cell in grid.cells[:size]} == {grid.rows - 1}
    columns = [cell.column for cell in grid.cells[:size]]
    assert columns == sorted(set(columns))
    for parent, child in grid.edges:
        item = grid.cells[child].item
        assert any(item is other or item == other for other in grid.cells[parent].item.children)
        assert grid.cells[parent].row < grid.cells[child].row
    for bar in grid.bars:
        below = [grid.cells[child].column for parent, child in grid.edges if parent == bar.node]
        assert (bar.row, bar.start, bar.end) == (grid.cells[bar.node].row, min(below), max(below))
        assert bar.start <= grid.cells[bar.node].column <= bar.end
        assert not any(bar.row == b.row and bar.start <= b.end and b.start <= bar.end for b in grid.bars if b != bar)
    stems = [(child, grid.cells[child].column, grid.cells[p].row, grid.cells[child].row) for p, child in grid.edges]
    for _, column, top, bottom in stems:
        assert not any(column == cell.column and top < cell.row < bottom for cell in grid.cells)
    assert {(crossing.node, crossing.child) for crossing in grid.crossings} == {
        (bar.node, child)
        for bar in grid.bars
        for child, column, top, bottom in stems
        if bar.start <= column <= bar.end and top < bar.row < bottom
    }
    assert tree.is_discontinuous or not grid.crossings


def fewest_crossings(tree):
    """Try all orders of stacking the nodes, and all columns for each."""
    best = 1_000

    def search(todo, columns, crossed):
        nonlocal best
        if crossed >= best:
            return
        if not todo:
            best = crossed
        for node in todo:
            if todo.isdisjoint(child for child in node.children if isinstance(child, Node)):
                below = [columns[child] for child in node.children]
                rest = {key: column for key, column in columns.items() if key not in node.children}
                span = range(min(below), max(below) + 1)
                more = crossed + sum(column in span for column in rest.values())
                for column in set(span) - set(rest.values()):
                    search(todo - {node}, {**rest, node: column}, more)

    search(frozenset(tree.nodes()), {word: 2 * word for word in range(len(tree))}, 0)
    return best


@given(st.integers(0, 2**32), st.integers(1, 6))
def test_small_trees_have_as_few_crossings_as_can_be(seed, size):
    tree = random_tree(random.Random(seed), size)
    if sum(1 for _ in tree.nodes()) <= 5:
        assert len(layout(tree).crossings) == fewest_crossings(tree)


@pytest.mark.parametrize("shape", DEEP)
def test_deep_trees_have_a_row_for_every_level(shape):
    assert layout(DEEP[shape](1_000)).rows == 1_002


def test_a_thousand_trees_are_laid_out_within_a_second():
    rng = random.Random(1)
    trees = [random_tree(rng, 20) for _ in range(200)]
    times = []
    for _ in range(3):
        start = time.process_time()
        for tree in trees:
            layout(tree)
        times.append(time.process_time() - start)
    assert min(times) < 0.2
