"""Arcs: each is drawn once, as low as possible, and texts keep apart."""

import itertools

from hypothesis import given
from support.pictures import some_dependencies
from support.svgs import boxes, groups, parsed, text_of

from discotree.drawing import (
    draw_arcs,
)
from discotree.drawing.arcs import _Arc, _levels


@given(some_dependencies)
def test_every_arc_is_drawn_once_with_its_label(dependencies):
    drawn = groups(parsed(draw_arcs(dependencies)), "arc")
    found = {int(g.get("data-dependent")): (int(g.get("data-head")), text_of(g, "function").text) for g in drawn}
    assert len(drawn) == len(found) == len(dependencies.heads)
    assert [found[k] for k in range(len(found))] == [*zip(dependencies.heads, dependencies.labels, strict=True)]


@given(some_dependencies)
def test_arcs_are_as_low_as_they_can_be(dependencies):
    arcs = [_Arc(h, d, "", min(h, d), max(h, d)) for d, h in enumerate(dependencies.heads) if h >= 0]
    placed = [*zip(arcs, _levels(arcs), strict=True)]

    def overlap(a, b):
        return a.left < b.right and b.left < a.right

    for arc, level in placed:
        others = [(other, theirs) for other, theirs in placed if other is not arc and overlap(arc, other)]
        assert level not in [theirs for _, theirs in others]
        inside = [theirs for other, theirs in others if arc.left <= other.left and other.right <= arc.right]
        assert level > max(inside, default=0)
        assert level == max(inside, default=0) + 1 or level - 1 in [theirs for _, theirs in others]


@given(some_dependencies)
def test_labels_and_words_of_arcs_keep_apart(dependencies):
    for (a, mine), (b, theirs) in itertools.combinations(boxes(parsed(draw_arcs(dependencies))), 2):
        apart = mine[2] < theirs[0] or theirs[2] < mine[0] or mine[3] < theirs[1] or theirs[3] < mine[1]
        assert apart, (a, b)
