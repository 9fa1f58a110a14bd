"""Draw trees as text, SVG, LaTeX, PNG, PDF and HTML. All renderers share one layout."""

from discotree.drawing.arcs import draw_arcs
from discotree.drawing.comparison import draw_comparison, draw_comparison_text
from discotree.drawing.latex import draw_latex, latex_pages
from discotree.drawing.layout import Grid, layout
from discotree.drawing.options import DrawingOptions, GlossFile
from discotree.drawing.svg import draw_page, draw_svg, stylesheet
from discotree.drawing.text import draw_text

__all__ = [
    "DrawingOptions",
    "GlossFile",
    "Grid",
    "draw_arcs",
    "draw_comparison",
    "draw_comparison_text",
    "draw_latex",
    "draw_page",
    "draw_svg",
    "draw_text",
    "latex_pages",
    "layout",
    "stylesheet",
]
