"""Drawing trees: one layout, and a renderer for each medium that only measures text and draws what the layout says."""

from discotree.draw.layout import Grid, layout
from discotree.draw.text import draw_text

__all__ = ["Grid", "draw_text", "layout"]
