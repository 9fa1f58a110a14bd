"""The HTML page streams, and has one style sheet for all pictures."""

import pytest
from support.pictures import FIGURE1, GOLD

from discotree.drawing import (
    draw_page,
    draw_svg,
)
from discotree.drawing.svg import PageItem


def test_a_page_streams():
    def items():
        yield PageItem("a", "b", draw_svg(FIGURE1, style=False))
        raise AssertionError("nobody asked for more")

    page = draw_page(items(), "t")
    assert next(page).startswith("<!doctype html>")
    assert "<svg" in next(page)


@pytest.mark.parametrize("theme", ["auto", "light", "dark"])
def test_a_page_has_one_style_and_a_section_for_every_tree(theme):
    items = [
        PageItem(tree.id, " ".join(tree.words), draw_svg(tree, style=False, theme=theme)) for tree in GOLD.values()
    ]
    page = "".join(draw_page(items, "Trees & <more>", theme))
    assert page.count("<style>") == 1
    assert page.count("<section") == page.count("<svg") == len(GOLD)
    assert "<h1>Trees &amp; &lt;more&gt;</h1>" in page
    assert "content-visibility:auto" in page
    assert "<script" not in page
    assert ("prefers-color-scheme" in page) == (theme == "auto")
