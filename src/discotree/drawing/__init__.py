"""Pictures of trees: one layout, and one renderer per medium, which only measures text and draws the layout."""

from discotree.drawing.arcs import draw_arcs
from discotree.drawing.comparison import draw_comparison, draw_comparison_text
from discotree.drawing.forest import draw_forest, forest_pages
from discotree.drawing.glosses import GlossFile
from discotree.drawing.grid import Grid
from discotree.drawing.latex import draw_latex, latex_pages
from discotree.drawing.layout import layout
from discotree.drawing.look import Look
from discotree.drawing.markup import stylesheet
from discotree.drawing.page import draw_page
from discotree.drawing.svg import draw_svg
from discotree.drawing.text import draw_text

__all__ = [
    "GlossFile",
    "Grid",
    "Look",
    "draw_arcs",
    "draw_comparison",
    "draw_comparison_text",
    "draw_forest",
    "draw_latex",
    "draw_page",
    "draw_svg",
    "draw_text",
    "forest_pages",
    "latex_pages",
    "layout",
    "stylesheet",
]
