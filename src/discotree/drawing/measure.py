"""Widths of texts, and the grid of a tree with its measured texts.

``terminal_width`` counts cells as a terminal does. ``ems`` estimates the width in a proportional font, in multiples of
the font size: letters by the widths that Helvetica, Arial and their free equivalents share, other characters by
category. ``LabelledGrid`` is for renderers with proportional fonts, which give font sizes and distances in ``Sizes``,
in a unit of their own. Trees over the same words can share their columns, so that one can be drawn above the words and
the other below.
"""

import math
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from discotree.drawing.layout import Extent, Grid, Rectangle, centre_columns, column_extents, layout, pack_columns
from discotree.drawing.options import Figure
from discotree.trees.tree import FUNCTION, NONE

NO_TEXT = "␣"  # stand-in for a text without visible characters
HIDDEN = "�"  # stand-in for a control or formatting character
JOINERS = "\u200c\u200d"  # zero width, but they change the shape of their neighbours
EMOJI_STYLE = "\ufe0f"  # turns the character before it into an emoji
WIDTHS = {  # thousandths of the font size
    **dict.fromkeys("ijl'|", 222),
    **dict.fromkeys("I.,:;!/\\[] ft·", 278),
    **dict.fromkeys('r(){}-`"*^‘’', 345),
    **dict.fromkeys("ckJsvxyz_", 500),
    **dict.fromkeys("abdeghnopquL0123456789$#?=+<>~ß„“”–", 570),
    **dict.fromkeys("FTZ", 611),
    **dict.fromkeys("ABEKPSVXY&", 667),
    **dict.fromkeys("CDHNRUw", 722),
    **dict.fromkeys("GOQ", 778),
    **dict.fromkeys("mM", 833),
    **dict.fromkeys("%W", 944),
    **dict.fromkeys("@—…æœÆŒ", 1000),
}
LOWER, CAPITAL, WIDE, EMOJI = 650, 760, 1000, 1300  # all other characters
BOLD = 1.09  # width of bold letters relative to regular ones


def clean(text: str, no_text: str = NO_TEXT, hidden: str = HIDDEN) -> str:
    """Return the text on one line, without control characters, and with a stand-in if it would be invisible."""
    if text.isascii() and text.isprintable() and not text.isspace():
        return text or no_text
    text = "".join([_replace_invisible(character, hidden) for character in text])
    if text.isspace():
        return no_text
    return text if terminal_width(text[0]) else f"◌{text}"  # an accent needs a base


def _replace_invisible(character: str, hidden: str) -> str:
    if character.isspace():
        return " "
    is_control = unicodedata.category(character) in ("Cc", "Cf", "Cs") and character not in JOINERS
    return hidden if is_control or ord(character) & 0xFFFE == 0xFFFE else character


def terminal_width(text: str) -> int:
    """Return the number of terminal cells: 0 for accents, 2 for East Asian wide characters and emoji.

    The widths of ``rich.cells`` depend on the version of rich: those of emoji, and those of vowel signs in Hindi.
    """
    if text.isascii():
        return len(text)
    return sum([1 if character == EMOJI_STYLE or not _is_wide(character) else 2 for character in _advancing(text)])


@lru_cache(maxsize=1 << 14)
def ems(text: str, bold: bool = False) -> float:
    """Estimate the width of a text in a proportional font; the estimate tends to be too wide."""
    width = sum([_thousandths(character) for character in (text if text.isascii() else _advancing(text))])
    return width / 1000 * (BOLD if bold else 1)


def _thousandths(character: str) -> int:
    width = WIDTHS.get(character)
    if width is None:
        width = WIDTHS.get(unicodedata.normalize("NFD", character)[0])  # é is as wide as e
    if width is not None:
        return width
    if _is_wide(character):
        return EMOJI if unicodedata.category(character) == "So" else WIDE
    return EMOJI - LOWER if character == EMOJI_STYLE else CAPITAL if character.isupper() else LOWER


def _advancing(text: str) -> Iterator[str]:
    """Yield the characters that take space; an emoji style selector counts as one after a narrow character."""
    before = ""
    for character in text:
        if character == EMOJI_STYLE:
            if before and not _is_wide(before):
                yield character
        elif unicodedata.category(character) in ("Mn", "Me", "Cf") or "\u1160" <= character <= "\u11ff":
            pass
        elif not _is_wide(character) or (
            before != "\u200d" and not (before and "\U0001f3fb" <= character <= "\U0001f3ff")
        ):
            yield character  # not joined to the previous emoji, and not its skin tone
        before = character


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"


def wrap_lines(pieces: Sequence[str], width: float, joint: str = " ") -> list[str]:
    """Join words or other pieces to lines of at most this many ems; only a single piece may exceed them."""
    lines: list[str] = []
    for piece in map(clean, pieces):
        if lines and ems(lines[-1] + joint + piece) <= width:
            lines[-1] += joint + piece
        else:
            lines.append(piece)
    return lines


def is_right_to_left(text: str) -> bool:
    """Return whether the first character with a direction belongs to a script such as Arabic or Hebrew."""
    if text.isascii():
        return False
    directions = (unicodedata.bidirectional(character) for character in text)
    return next((direction for direction in directions if direction in ("L", "R", "AL")), "L") != "L"


class Sizes(NamedTuple):
    """Font sizes and distances; vertical distances are between the middles of texts."""

    label: float
    tag: float
    form: float
    function: float
    margin: int
    step: int  # horizontal distance between neighbours
    box: int  # extra width of a box around a label
    reach: int  # from a label to the ends of its lines
    bar: int  # from a label to its bar
    role: int  # from a label up to its function
    row: int  # from a label to a child's label, without functions
    tall: int  # from a label to a child's label, with functions
    below: int  # from a tag to its word, and from a word to its gloss
    slant: int  # extra height of a row for slanted lines


@dataclass(frozen=True, slots=True)
class LabelledGrid:
    """Grid with its texts. ``labels``, ``functions`` and ``widths`` are indexed by address."""

    figure: Figure
    grid: Grid
    labels: list[str]  # tags of words, labels of nodes; empty for words without a tag and for a hidden root
    functions: list[str]  # empty where there is none
    forms: list[str]
    glosses: list[str]  # empty if no word has one
    widths: list[int]

    @classmethod
    def measure(
        cls, figure: Figure, sizes: Sizes, functions: bool, marks: Sequence[str] = (), boxed: Collection[int] = ()
    ) -> "LabelledGrid":
        """Lay out a tree and measure its texts.

        ``marks`` are put in front of labels and tags, by address. ``boxed`` are the addresses of cells that get a box.
        Discontinuous constituents and marked cells always have room for one.
        """
        tree, options = figure.tree, figure.options
        n = len(tree.tokens)
        nodes = [*tree.nodes()]
        texts = [(token.tag, token[FUNCTION]) for token in tree.tokens]
        texts += [(node.label, node.function) for node in nodes]
        labels = [clean(label) for label, _ in texts]
        if not options.tags or all(label == NONE for label in labels[:n]):
            labels[:n] = [""] * n
        if marks:
            labels = [mark + label for mark, label in zip(marks, labels, strict=True)]
        roles = [clean(role) if functions and role != NONE else "" for _, role in texts]
        for leaf in figure.roofs:
            labels[leaf] = ""
        forms = [clean(token.form) for token in tree.tokens]
        glosses = [clean(gloss) if gloss else "" for gloss in figure.glosses]
        widths = [sizes.label * ems(label, True) for label in labels]
        for address, node in enumerate(nodes, n):
            if node.is_discontinuous or (marks and marks[address]) or address in boxed:
                widths[address] += sizes.box
        for word, form in enumerate(forms):
            width = sizes.form * ems(form, True) + sizes.box if word in boxed else sizes.form * ems(form)
            gloss = sizes.tag * ems(glosses[word]) if glosses else 0
            widths[word] = max(width, sizes.tag * ems(labels[word], word in boxed), gloss)
        for address, role in enumerate(roles):
            if role:
                widths[address] = max(widths[address], sizes.function * ems(role))
        if not options.root:
            labels[n], roles[n], widths[n] = "", "", 0
        return cls(figure, layout(tree), labels, roles, forms, glosses, [math.ceil(width) for width in widths])

    @property
    def has_tag_row(self) -> bool:
        """Whether there is a row for tags or triangles between the tree and the words."""
        return bool(self.figure.roofs) or any(self.labels[: len(self.forms)])

    @property
    def has_functions(self) -> bool:
        return any(self.functions)

    @property
    def first_node(self) -> int:
        """Index of the first node that is drawn, and the top row: a hidden root is alone in row 0."""
        return 0 if self.figure.options.root else 1

    def pitch(self, sizes: Sizes) -> int:
        """Return the distance from one row to the next."""
        slant = sizes.slant if self.figure.options.is_slanted else 0
        return (sizes.tall if self.has_functions else sizes.row) + slant

    def obstacles(
        self, xs: Mapping[int, int], sizes: Sizes, y: Callable[[int], int], top: Callable[[int], int]
    ) -> list[Rectangle]:
        """Return the rectangles of all texts and lines, given the y of addresses and where lines to them end."""
        boxes: list[Rectangle] = []
        if not self.figure.secondary:
            return boxes  # no label needs a place among them
        for address, (width, cell) in enumerate(zip(self.widths, self.grid.cells, strict=True)):
            x, half = xs[cell.column], width // 2
            boxes.append((x - half, top(address), x + half, y(address) + sizes.reach))
            if cell.parent >= 0:
                boxes.append((x, y(cell.parent) + sizes.bar, x, top(address)))
        for node, _, start, end in self.grid.bars[self.first_node :]:
            boxes.append((xs[start], y(node) + sizes.bar, xs[end], y(node) + sizes.bar))
        return boxes


def column_xs(labelled_grids: Sequence[LabelledGrid], sizes: Sizes) -> tuple[dict[int, int], int]:
    """Return the x of every column of trees over the same words, and the total width."""
    rows = 0
    merged: dict[int, list[Extent]] = {}
    for labelled in labelled_grids:
        sides = [((width + 1) // 2, (width + 1) // 2) for width in labelled.widths]
        for column, cells in column_extents(labelled.grid, sides):
            merged.setdefault(column, []).extend(
                [extent._replace(row=extent.row + rows, top=extent.top + rows) for extent in cells] if rows else cells
            )
        rows += labelled.grid.rows
    columns = sorted(merged.items())
    xs = dict(pack_columns(rows, columns, sizes.margin, sizes.step))
    end = max([xs[column] + extent.right for column, cells in columns for extent in cells])
    return centre_columns(rows, columns, xs, end, sizes.step), end + sizes.margin
