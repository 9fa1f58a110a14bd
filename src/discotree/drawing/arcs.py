"""Draw augmented dependencies as SVG: arcs over the words, from head to dependent, with the label on top.

An arc is a flat arch, as low as possible above the arcs that it spans; arches that overlap have different heights.
Words are so far apart that each label has a place on its arch where no other line passes.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from discotree.drawing.layout import Arc, arc_levels
from discotree.drawing.measure import clean, ems
from discotree.drawing.svg import SIZES, Pen, Theme, attribute, escape
from discotree.encoding.dependencies import DUMMY_ROOT, Dependencies
from discotree.trees.tree import NONE

LEVEL_HEIGHT = 22  # from one level of arches to the next
FOOT_DISTANCE = 7  # between the ends of two arcs at the same word
RADIUS = 6  # radius of the corners
LOWEST_HEIGHT = 18  # from the words up to the lowest arch
PADDING = 4  # on either side of a label


def draw_arcs(dependencies: Dependencies, *, theme: Theme = "auto", style: bool = True) -> str:
    """Draw heads and labels; the dummy root is an arrow from above.

    With ``style=False`` the drawing is for a page that includes ``stylesheet()``.
    """
    pen = Pen(theme, style)
    tokens, labels = dependencies.tokens, dependencies.labels
    governors = [tokens[head].form if head != DUMMY_ROOT else "(root)" for head in dependencies.heads]
    links = [
        Arc.between(head, word, clean(label))
        for word, (head, label) in enumerate(zip(dependencies.heads, labels, strict=True))
        if head != DUMMY_ROOT
    ]
    levels = arc_levels(links)
    xs, ends, middles, width = _positions(dependencies, links, levels)
    ground = SIZES.margin + 2 * LEVEL_HEIGHT + LOWEST_HEIGHT + LEVEL_HEIGHT * (max(levels, default=0) - 1)
    words_y = ground + 12
    tops = [ground - LOWEST_HEIGHT - LEVEL_HEIGHT * (level - 1) for level in levels]
    roots = [k for k, head in enumerate(dependencies.heads) if head == DUMMY_ROOT]
    highest = min(tops, default=ground - LOWEST_HEIGHT) - LEVEL_HEIGHT

    def opening(word: int) -> str:
        data = f'data-head="{dependencies.heads[word]}" data-dependent="{word}" data-label={attribute(labels[word])}'
        title = f"{governors[word]} → {tokens[word].form}: {labels[word]}"
        return f'<g class="arc" {data} tabindex="0"><title>{escape(title)}</title>'

    elements = []
    for link, (left, right), x, top in zip(links, ends, middles, tops, strict=True):
        half = SIZES.function * ems(link.label) / 2 + PADDING - 1  # the arch is open around its label
        elements += [
            opening(link.dependent),
            pen.path(
                "line",
                f"M{left:g} {ground}V{top + RADIUS}q0 {-RADIUS} {RADIUS} {-RADIUS}H{max(x - half, left + RADIUS):g}"
                f"M{min(x + half, right - RADIUS):g} {top}H{right - RADIUS:g}q{RADIUS} 0 {RADIUS} {RADIUS}V{ground}",
            ),
            pen.path("tip", _tip(right if link.dependent == link.right else left, ground)),
            pen.text("function", x, top, link.label) + "</g>",
        ]
    for word in roots:
        x = xs[word]
        elements += [
            opening(word),
            pen.path("line", f"M{x} {highest}V{ground}") + pen.path("tip", _tip(x, ground)),
            pen.text("function", x, highest - 9, clean(labels[word])) + "</g>",
        ]
    has_tags = any(token.tag != NONE for token in tokens)
    for position, (token, x) in enumerate(zip(tokens, xs, strict=True)):
        below = pen.text("tag", x, words_y + SIZES.below, clean(token.tag)) if has_tags else ""
        word_text = pen.text("form", x, words_y, clean(token.form))
        elements.append(f'<g class="word" data-position="{position}">{word_text}{below}</g>')
    sentence = " ".join([token.form for token in tokens])
    title = f"{dependencies.id}: {sentence}" if dependencies.id else sentence
    descriptions = [f"{t.form} ← {head} ({label})" for t, head, label in zip(tokens, governors, labels, strict=True)]
    height = words_y + (SIZES.below if has_tags else 0) + SIZES.margin
    return pen.picture(title, "; ".join(descriptions), width, height, elements)


class _Post(NamedTuple):
    """Vertical line at a word, shifted from its middle."""

    word: int
    shift: float
    level: float


def _positions(
    dependencies: Dependencies, links: Sequence[Arc], levels: Sequence[int]
) -> tuple[list[int], list[tuple[float, float]], list[float], int]:
    """Return the middle of each word, the left and right x and the middle of the label of each link, and the width."""
    words = len(dependencies.tokens)
    # For each word, the arcs that end at its left and at its right side, from the outside to the middle. Longer arcs
    # are nearer to the middle, because they span the shorter ones.
    feet: list[tuple[list[int], list[int]]] = [([], []) for _ in range(words)]
    for k in sorted(range(len(links)), key=lambda k: links[k].right - links[k].left):
        feet[links[k].right][0].append(k)
        feet[links[k].left][1].append(k)
    halves = []
    for token, (at_left, at_right) in zip(dependencies.tokens, feet, strict=True):
        text = max(SIZES.form * ems(clean(token.form)), SIZES.tag * ems(clean(token.tag)))
        halves.append(math.ceil(max(text / 2, FOOT_DISTANCE * len(at_left), FOOT_DISTANCE * len(at_right))))
    for word, head in enumerate(dependencies.heads):
        if head == DUMMY_ROOT:
            halves[word] = max(halves[word], math.ceil(SIZES.function * ems(clean(dependencies.labels[word])) / 2))
    shifts = [[0.0, 0.0] for _ in links]  # from the middle of the words to the left and right end
    for (at_left, at_right), head in zip(feet, dependencies.heads, strict=True):
        middle = 1 if head == DUMMY_ROOT else 0.5  # the arrow from above takes the middle
        for rank, k in enumerate(reversed(at_left)):
            shifts[k][1] = -FOOT_DISTANCE * (rank + middle)
        for rank, k in enumerate(reversed(at_right)):
            shifts[k][0] = FOOT_DISTANCE * (rank + middle)
    posts = [_Post(word, 0, math.inf) for word, head in enumerate(dependencies.heads) if head == DUMMY_ROOT]
    for link, level, (left, right) in zip(links, levels, shifts, strict=True):
        posts += [_Post(link.left, left, level), _Post(link.right, right, level)]
    distances: list[dict[int, float]] = [{} for _ in range(words)]  # least distances from words to the left, by word
    is_narrow = True
    while is_narrow:
        xs: list[int] = []
        for word in range(words):
            x = SIZES.margin + halves[0] if not word else xs[-1] + halves[word - 1] + SIZES.step + halves[word]
            xs.append(max([x, *[math.ceil(xs[other] + least) for other, least in distances[word].items()]]))
        places = [_widest_place(*arc, posts, xs) for arc in zip(links, levels, shifts, strict=True)]
        is_narrow = False
        for link, (start, end) in zip(links, places, strict=True):
            least = SIZES.function * ems(link.label) + 2 * PADDING + start.shift - end.shift
            if xs[end.word] - xs[start.word] < least:
                distances[end.word][start.word] = max(least, distances[end.word].get(start.word, 0))
                is_narrow = True
    ends = [(xs[link.left] + left, xs[link.right] + right) for link, (left, right) in zip(links, shifts, strict=True)]
    middles = [(xs[start.word] + start.shift + xs[end.word] + end.shift) / 2 for start, end in places]
    return xs, ends, middles, xs[-1] + halves[-1] + SIZES.margin


def _widest_place(
    arc: Arc, level: int, shift: Sequence[float], posts: Sequence[_Post], xs: Sequence[int]
) -> tuple[_Post, _Post]:
    """Return the ends of the widest part of an arch, between two words, that no higher arc's line passes through."""
    left, right = xs[arc.left] + shift[0], xs[arc.right] + shift[1]
    passing = [post for post in posts if post.level > level and left < xs[post.word] + post.shift < right]
    stops = [_Post(arc.left, shift[0] + RADIUS, level), *passing, _Post(arc.right, shift[1] - RADIUS, level)]
    stops.sort(key=lambda post: xs[post.word] + post.shift)
    between = [(start, end) for start, end in pairwise(stops) if start.word < end.word]
    return max(between, key=lambda pair: xs[pair[1].word] + pair[1].shift - xs[pair[0].word] - pair[0].shift)


def _tip(x: float, y: float) -> str:
    return f"M{x:g} {y + 3}l-3.5 -7h7z"
