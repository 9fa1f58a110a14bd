"""Drawing trees: one layout, and a renderer for each medium that only measures text and draws what the layout says."""

from discotree.draw.arcs import draw_arcs
from discotree.draw.comparison import draw_comparison, draw_comparison_text
from discotree.draw.latex import draw_latex
from discotree.draw.layout import Grid, layout
from discotree.draw.markup import stylesheet
from discotree.draw.page import draw_page
from discotree.draw.svg import draw_svg
from discotree.draw.text import draw_text

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
