"""Trees as self-contained SVG, in light and dark, without fonts, scripts or other files.

Every constituent is a group ``node`` with its lines and its label; every word is a group ``word``. A page can attach
events to them. ``data-node`` numbers constituents in the order of ``Tree.nodes``, whatever is hidden.

A bar is interrupted where another node's stem passes. Discontinuous constituents have a colour and, for readers who do
not see it, bold lines, a box around the label, and dots where the bar bridges a gap. So do nodes that a query binds.
"""

import math
from collections.abc import Sequence

from discotree.drawing.drawn_tree import DrawnTree, words_y_below
from discotree.drawing.figure import Figure
from discotree.drawing.glyphs import clean, ems, wrapped
from discotree.drawing.highlights import Highlight, Highlights
from discotree.drawing.labelled_grid import LabelledGrid, column_xs
from discotree.drawing.look import WHOLE, Look
from discotree.drawing.markup import SIZES, Picture, Theme, box_around, text_at
from discotree.trees.tree import Tree

LEGEND_HEIGHT = 34
MIN_LINE = 320  # pixels that a line of a translation may have, however narrow the tree is


def draw_svg(
    tree: Tree,
    *,
    functions: bool = True,
    theme: Theme = "auto",
    highlight: Highlight = True,
    ids: str = "",
    style: bool = True,
    look: Look = WHOLE,
) -> str:
    """Draw a tree as SVG.

    ``highlight`` makes discontinuous constituents stand out, or words and nodes that it maps names to: those that
    ``Query.nodes`` finds in the tree, for example. ``ids`` is a prefix that gives groups ids for links:
    ``{ids}node-3``, ``{ids}word-0``. Without ``style`` the drawing is for a page that has ``stylesheet()`` already.
    ``look`` hides parts, draws triangles and slanted lines, and adds glosses and a translation.
    """
    figure = Figure.of(tree, look)
    n = len(figure.tree)
    highlights = Highlights.of(figure.tree, figure.highlight(highlight))
    labelled = LabelledGrid.of(figure, SIZES, functions, boxed=highlights.named)
    xs, width = column_xs([labelled], SIZES)
    legend, legend_width = legend_elements(highlights.legend)
    top = LEGEND_HEIGHT if legend else 0
    drawn = DrawnTree(labelled, xs, top + words_y_below(labelled), ids=ids, names=highlights.names)
    elements = [*legend, *drawn.constituents(highlights.styles[n:]), *drawn.words(highlights.styles[:n])]
    elements += drawn.secondary_edges()
    bottom = drawn.forms_y + (SIZES.below if labelled.glosses else 0)
    translation = wrapped(look.translation, max(width - 2 * SIZES.margin, MIN_LINE) / SIZES.form)
    for k, line in enumerate(translation):
        bottom += SIZES.below + (8 if k == 0 else 0)
        elements.append(text_at("translation", SIZES.margin, bottom, SIZES.form, line))
    lines_width = max([math.ceil(SIZES.form * ems(line)) + 2 * SIZES.margin for line in translation], default=0)
    width = max(width, legend_width, lines_width)
    return Picture(caption(tree), str(tree), width, bottom + SIZES.margin + 4, elements).svg(theme, style)


def caption(tree: Tree) -> str:
    sentence = " ".join(tree.words)
    return f"{tree.id}: {sentence}" if tree.id else sentence


def legend_elements(legend: Sequence[tuple[str, str]]) -> tuple[list[str], int]:
    """Return the boxed names of a legend side by side, and the width that they need."""
    elements, x, y = [], SIZES.margin, SIZES.margin + SIZES.reach
    for name, style in legend:
        text = clean(name)
        width = math.ceil(SIZES.label * ems(text, True)) + SIZES.box
        box = box_around(x + width / 2, y, width, 2 * SIZES.reach - 2)
        label = text_at("label", x + width / 2, y, SIZES.label, text)
        elements.append(f'<g class="legend {style}">{box}{label}</g>')
        x += width + SIZES.step
    return elements, x - SIZES.step + SIZES.margin
