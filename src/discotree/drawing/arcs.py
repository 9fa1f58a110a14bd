"""Augmented dependencies as arcs over the words, as SVG: from the head to the dependent, with the label on top.

An arc is a flat arch. It is as low as it can be above all arcs that it spans, and arches that cross or touch the same
place have different heights. Words are as far apart as the labels between them need.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from discotree.drawing.letters import clean, ems
from discotree.drawing.markup import SIZES, Picture, Theme, attribute, escape, path, text_at
from discotree.encoding.dependencies import Dependencies
from discotree.encoding.spines import DUMMY_ROOT
from discotree.trees.tree import NONE

LEVEL = 22  # from one height to the next
FOOT = 7  # from one end to the next at the same word
ROUND = 6  # the radius of the corners
LOW = 18  # from the words up to the lowest arch
PAD = 20  # what an arch is wider than its label, at least


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
    drawn = _arranged(dependencies)
    tagged = any(token.tag != NONE for token in tokens)
    height = drawn.words_at + (SIZES.below if tagged else 0) + SIZES.margin
    title = f"{dependencies.id}: {sentence}" if dependencies.id else sentence
    elements = [*drawn.arcs(), *drawn.words(tagged)]
    return Picture(title, "; ".join(described), drawn.width, height, elements).svg(theme, style)


class _Arc(NamedTuple):
    """From the head to the dependent; ``left`` and ``right`` are the words at its ends."""

    head: int
    dependent: int
    label: str
    left: int
    right: int


def _levels(arcs: Sequence[_Arc]) -> list[int]:
    """How high each arc is: above what it spans, and beside nothing that overlaps it."""
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
    """For each word the arcs that end at its left and at its right side, from the outermost place to the middle.

    A longer arc stands nearer to the middle: it goes over the shorter ones.
    """
    feet: list[tuple[list[int], list[int]]] = [([], []) for _ in range(words)]
    for k in sorted(range(len(arcs)), key=lambda k: arcs[k].right - arcs[k].left):
        feet[arcs[k].right][0].append(k)
        feet[arcs[k].left][1].append(k)
    return feet


@dataclass(slots=True)
class _Drawn:
    """Arcs with their places."""

    dependencies: Dependencies
    forms: list[str]
    places: list[int]  # the middle of each word
    links: list[_Arc]  # without those of the dummy root
    levels: list[int]
    ends: list[tuple[float, float]]  # of each link, at the left and at the right
    width: int
    words_at: int

    def arcs(self) -> Iterator[str]:
        ground = self.words_at - 12
        tops = [ground - LOW - LEVEL * (level - 1) for level in self.levels]
        posts = [(x, top) for pair, top in zip(self.ends, tops, strict=True) for x in pair]
        roots = [k for k, head in enumerate(self.dependencies.heads) if head == DUMMY_ROOT]
        highest = min(tops, default=ground - LOW) - LEVEL
        posts += [(self.places[word], highest) for word in roots]
        for link, (left, right), top in zip(self.links, self.ends, tops, strict=True):
            passing = sorted([x for x, height in posts if left < x < right and height < top])
            x = _middle([left + ROUND, *passing, right - ROUND])
            room = SIZES.function * ems(link.label) / 2 + 3  # the arch is open where its label stands
            yield self._opening(link.head, link.dependent)
            yield path(
                "line",
                f"M{left:g} {ground}V{top + ROUND}q0 {-ROUND} {ROUND} {-ROUND}H{max(x - room, left + ROUND):g}"
                f"M{min(x + room, right - ROUND):g} {top}H{right - ROUND:g}q{ROUND} 0 {ROUND} {ROUND}V{ground}",
            )
            yield path("tip", _tip(right if link.dependent == link.right else left, ground))
            yield text_at("function", x, top, SIZES.function, link.label) + "</g>"
        for word in roots:
            x = self.places[word]
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

    def words(self, tagged: bool) -> Iterator[str]:
        for position, (form, x) in enumerate(zip(self.forms, self.places, strict=True)):
            tag = clean(self.dependencies.tokens[position].tag)
            below = text_at("tag", x, self.words_at + SIZES.below, SIZES.tag, tag) if tagged else ""
            word = text_at("form", x, self.words_at, SIZES.form, form)
            yield f'<g class="word" data-position="{position}">{word}{below}</g>'


def _arranged(dependencies: Dependencies) -> _Drawn:
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
        halves.append(math.ceil(max(text / 2, FOOT * len(at_left), FOOT * len(at_right))))
    for word, head in enumerate(dependencies.heads):
        if head == DUMMY_ROOT:
            halves[word] = max(halves[word], math.ceil(SIZES.function * ems(clean(dependencies.labels[word])) / 2))
    shifts = [[0.0, 0.0] for _ in links]  # from the middle of the word to the ends
    for (at_left, at_right), head in zip(feet, dependencies.heads, strict=True):
        middle = 1 if head == DUMMY_ROOT else 0.5  # the arrow from above takes the middle
        for rank, k in enumerate(reversed(at_left)):
            shifts[k][1] = -FOOT * (rank + middle)
        for rank, k in enumerate(reversed(at_right)):
            shifts[k][0] = FOOT * (rank + middle)
    places: list[int] = []
    for word in range(words):
        place = SIZES.margin + halves[0] if not word else places[-1] + halves[word - 1] + SIZES.step + halves[word]
        for k in feet[word][0]:
            needed = math.ceil(SIZES.function * ems(links[k].label)) + PAD
            place = max(place, math.ceil(places[links[k].left] + shifts[k][0] - shifts[k][1] + needed))
        places.append(place)
    ends = [
        (places[link.left] + left, places[link.right] + right)
        for link, (left, right) in zip(links, shifts, strict=True)
    ]
    top = SIZES.margin + 2 * LEVEL + LOW + LEVEL * (max(levels, default=0) - 1)
    return _Drawn(dependencies, forms, places, links, levels, ends, places[-1] + halves[-1] + SIZES.margin, top + 12)


def _tip(x: float, y: float) -> str:
    return f"M{x:g} {y + 3}l-3.5 -7h7z"


def _middle(stops: Sequence[float]) -> float:
    """The middle of the widest stretch between two stops."""
    start, end = max(pairwise(stops), key=lambda stretch: stretch[1] - stretch[0])
    return (start + end) / 2
