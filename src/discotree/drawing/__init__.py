"""Drawing trees: one layout, and a renderer for each medium that only measures text and draws what the layout says."""

from discotree.drawing.arcs import draw_arcs
from discotree.drawing.comparison import draw_comparison, draw_comparison_text
from discotree.drawing.latex import draw_latex
from discotree.drawing.layout import Grid, layout
from discotree.drawing.markup import stylesheet
from discotree.drawing.page import draw_page
from discotree.drawing.svg import draw_svg
from discotree.drawing.text import draw_text

__all__ = [
    "Grid",
    "draw_arcs",
    "draw_comparison",
    "draw_comparison_text",
    "draw_latex",
    "draw_page",
    "draw_svg",
    "draw_text",
    "layout",
    "stylesheet",
]
