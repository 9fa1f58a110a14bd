"""Augmented dependencies as SVG: arcs over the words, from head to dependent, with the label on top.

An arc is a flat arch, as low as possible above the arcs that it spans; arches that overlap have different heights.
Words are as far apart as the labels between them need.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from discotree.drawing.glyphs import clean, ems
from discotree.drawing.markup import SIZES, Picture, Theme, attribute, escape, path, text_at
from discotree.encoding.dependencies import Dependencies
from discotree.encoding.spines import DUMMY_ROOT
from discotree.trees.tree import NONE

LEVEL_HEIGHT = 22  # from one level of arches to the next
FOOT_DISTANCE = 7  # between the ends of two arcs at the same word
RADIUS = 6  # radius of the corners
LOWEST_HEIGHT = 18  # from the words up to the lowest arch
MIN_PADDING = 20  # extra width of an arch around its label


def draw_arcs(dependencies: Dependencies, *, theme: Theme = "auto", style: bool = True) -> str:
    """Draw heads and labels; the dummy root is an arrow from above.

    Without ``style`` the drawing is for a page that has ``stylesheet()`` already.
    """
    tokens = dependencies.tokens
    sentence = " ".join([token.form for token in tokens])
    described = [
        f"{token.form} ← {tokens[head].form if head != DUMMY_ROOT else '(root)'} ({label})"
        for token, head, label in zip(tokens, dependencies.heads, dependencies.labels, strict=True)
    ]
    drawn = _arrange(dependencies)
    has_tags = any(token.tag != NONE for token in tokens)
    height = drawn.words_y + (SIZES.below if has_tags else 0) + SIZES.margin
    title = f"{dependencies.id}: {sentence}" if dependencies.id else sentence
    elements = [*drawn.arcs(), *drawn.words(has_tags)]
    return Picture(title, "; ".join(described), drawn.width, height, elements).svg(theme, style)


class _Arc(NamedTuple):
    """Arc from the head to the dependent; ``left`` and ``right`` are the words at its ends."""

    head: int
    dependent: int
    label: str
    left: int
    right: int


def _levels(arcs: Sequence[_Arc]) -> list[int]:
    """Return the level of each arc: above the arcs that it spans, and different from those that it overlaps."""
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


def _feet(arcs: Sequence[_Arc], words: int) -> list[tuple[list[int], list[int]]]:
    """Return for each word the arcs that end at its left and at its right side, from the outside to the middle.

    Longer arcs are nearer to the middle: they go over the shorter ones.
    """
    feet: list[tuple[list[int], list[int]]] = [([], []) for _ in range(words)]
    for k in sorted(range(len(arcs)), key=lambda k: arcs[k].right - arcs[k].left):
        feet[arcs[k].right][0].append(k)
        feet[arcs[k].left][1].append(k)
    return feet


@dataclass(slots=True)
class _ArcDiagram:
    """Arcs with their coordinates."""

    dependencies: Dependencies
    forms: list[str]
    xs: list[int]  # middle of each word
    links: list[_Arc]  # all arcs but those of the dummy root
    levels: list[int]
    ends: list[tuple[float, float]]  # left and right x of each link
    width: int
    words_y: int

    def arcs(self) -> Iterator[str]:
        ground = self.words_y - 12
        tops = [ground - LOWEST_HEIGHT - LEVEL_HEIGHT * (level - 1) for level in self.levels]
        posts = [(x, top) for pair, top in zip(self.ends, tops, strict=True) for x in pair]
        roots = [k for k, head in enumerate(self.dependencies.heads) if head == DUMMY_ROOT]
        highest = min(tops, default=ground - LOWEST_HEIGHT) - LEVEL_HEIGHT
        posts += [(self.xs[word], highest) for word in roots]
        for link, (left, right), top in zip(self.links, self.ends, tops, strict=True):
            passing = sorted([x for x, height in posts if left < x < right and height < top])
            x = _middle([left + RADIUS, *passing, right - RADIUS])
            half = SIZES.function * ems(link.label) / 2 + 3  # the arch is open around its label
            yield self._opening(link.head, link.dependent)
            yield path(
                "line",
                f"M{left:g} {ground}V{top + RADIUS}q0 {-RADIUS} {RADIUS} {-RADIUS}H{max(x - half, left + RADIUS):g}"
                f"M{min(x + half, right - RADIUS):g} {top}H{right - RADIUS:g}q{RADIUS} 0 {RADIUS} {RADIUS}V{ground}",
            )
            yield path("tip", _tip(right if link.dependent == link.right else left, ground))
            yield text_at("function", x, top, SIZES.function, link.label) + "</g>"
        for word in roots:
            x = self.xs[word]
            yield self._opening(DUMMY_ROOT, word)
            yield path("line", f"M{x} {highest}V{ground}") + path("tip", _tip(x, ground))
            yield text_at("function", x, highest - 9, SIZES.function, clean(self.dependencies.labels[word])) + "</g>"

    def _opening(self, head: int, dependent: int) -> str:
        tokens, label = self.dependencies.tokens, self.dependencies.labels[dependent]
        governor = "(root)" if head == DUMMY_ROOT else tokens[head].form
        data = f'data-head="{head}" data-dependent="{dependent}" data-label={attribute(label)}'
        return (
            f'<g class="arc" {data} tabindex="0">'
            f"<title>{escape(f'{governor} → {tokens[dependent].form}: {label}')}</title>"
        )

    def words(self, has_tags: bool) -> Iterator[str]:
        for position, (form, x) in enumerate(zip(self.forms, self.xs, strict=True)):
            tag = clean(self.dependencies.tokens[position].tag)
            below = text_at("tag", x, self.words_y + SIZES.below, SIZES.tag, tag) if has_tags else ""
            word = text_at("form", x, self.words_y, SIZES.form, form)
            yield f'<g class="word" data-position="{position}">{word}{below}</g>'


def _arrange(dependencies: Dependencies) -> _ArcDiagram:
    words = len(dependencies.tokens)
    links = [
        _Arc(head, word, clean(label), min(head, word), max(head, word))
        for word, (head, label) in enumerate(zip(dependencies.heads, dependencies.labels, strict=True))
        if head != DUMMY_ROOT
    ]
    levels = _levels(links)
    feet = _feet(links, words)
    forms = [clean(token.form) for token in dependencies.tokens]
    halves = []
    for form, token, (at_left, at_right) in zip(forms, dependencies.tokens, feet, strict=True):
        text = max(SIZES.form * ems(form), SIZES.tag * ems(clean(token.tag)))
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
    xs: list[int] = []
    for word in range(words):
        x = SIZES.margin + halves[0] if not word else xs[-1] + halves[word - 1] + SIZES.step + halves[word]
        for k in feet[word][0]:
            needed = math.ceil(SIZES.function * ems(links[k].label)) + MIN_PADDING
            x = max(x, math.ceil(xs[links[k].left] + shifts[k][0] - shifts[k][1] + needed))
        xs.append(x)
    ends = [(xs[link.left] + left, xs[link.right] + right) for link, (left, right) in zip(links, shifts, strict=True)]
    top = SIZES.margin + 2 * LEVEL_HEIGHT + LOWEST_HEIGHT + LEVEL_HEIGHT * (max(levels, default=0) - 1)
    return _ArcDiagram(dependencies, forms, xs, links, levels, ends, xs[-1] + halves[-1] + SIZES.margin, top + 12)


def _tip(x: float, y: float) -> str:
    return f"M{x:g} {y + 3}l-3.5 -7h7z"


def _middle(stops: Sequence[float]) -> float:
    """Return the middle of the widest interval between two stops."""
    start, end = max(pairwise(stops), key=lambda interval: interval[1] - interval[0])
    return (start + end) / 2
