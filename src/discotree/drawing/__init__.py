"""Pictures of trees: one layout, and one renderer per medium, which only measures text and draws the layout."""

from discotree.drawing.arcs import draw_arcs
from discotree.drawing.comparison import draw_comparison, draw_comparison_text
from discotree.drawing.grid import Grid
from discotree.drawing.latex import draw_latex
from discotree.drawing.layout import layout
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
