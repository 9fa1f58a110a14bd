"""Arcs: each is drawn once, as low as possible, and texts keep apart."""

import itertools
import random
import re
import time
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from support.pictures import some_dependencies
from support.strategies import random_heads
from support.svgs import SVG, boxes, groups, parsed, text_of

from discotree import Dependencies, Token
from discotree.drawing import draw_arcs
from discotree.drawing.layout import Arc, arc_levels


@given(some_dependencies)
def test_every_arc_is_drawn_once_with_its_label(dependencies):
    drawn = groups(parsed(draw_arcs(dependencies)), "arc")
    found = {int(g.get("data-dependent")): (int(g.get("data-head")), text_of(g, "function").text) for g in drawn}
    assert len(drawn) == len(found) == len(dependencies.heads)
    assert [found[k] for k in range(len(found))] == [*zip(dependencies.heads, dependencies.labels, strict=True)]


@given(some_dependencies)
def test_arcs_are_as_low_as_they_can_be(dependencies):
    arcs = [Arc.between(h, d) for d, h in enumerate(dependencies.heads) if h >= 0]
    placed = [*zip(arcs, arc_levels(arcs), strict=True)]

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


@given(some_dependencies, st.integers(1, 12))
def test_no_label_of_an_arc_covers_a_line(dependencies, letters):
    dependencies = replace(dependencies, labels=tuple(["W" * letters for _ in dependencies.labels]))
    picture = parsed(draw_arcs(dependencies))
    posts = []
    for group in groups(picture, "arc"):
        d = group.find(f"{SVG}path").get("d")
        start = re.match(r"M([\d.]+) ([\d.]+)V([\d.]+)", d)
        x, *ys = map(float, start.groups())
        posts.append((x, min(ys), max(ys)))
        if end := re.search(r"H([\d.]+)q(\d+) 0 \d+ (\d+)V([\d.]+)$", d):
            to, radius, _, ground = map(float, end.groups())
            posts.append((to + radius, min(ys), ground))
    labels = [box for text, box in boxes(picture) if text.startswith("W")]
    assert len(labels) == len(dependencies.labels)
    for left, top, right, bottom in labels:
        assert not [x for x, high, low in posts if left <= x <= right and high <= bottom and top <= low]


def test_the_labels_of_arcs_between_400_words_are_placed_at_once():
    rng = random.Random(1)
    tokens = tuple([Token(f"w{k}") for k in range(400)])
    dependencies = Dependencies(tokens, random_heads(rng, 400), ("NP#1",) * 400)
    start = time.process_time()
    draw_arcs(dependencies)
    assert time.process_time() - start < 5
