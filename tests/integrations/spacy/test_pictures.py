"""Pictures of Docs, spans and constituents."""

import pytest
from spacy.tokens import Doc
from support import svgs
from support.spacy_docs import doc_of

from discotree import ConfigError, Node, Token, Tree
from discotree.drawing.svg import DARK, LIGHT
from discotree.integrations.spacy import render
from discotree.integrations.spacy.extensions import PALETTE


def test_a_sentence_is_drawn_as_svg_with_a_colour_for_each_label(doc: Doc) -> None:
    svg = render(next(doc.sents))
    picture = svgs.parsed(svg)
    scope = picture.get("class").split()[1]
    nodes = svgs.groups(picture, "node")
    assert [node.get("data-label") for node in nodes] == ["ROOT", "smain", "inf", "inf"]
    style = picture.find(f"{svgs.SVG}style").text
    for label in ("smain", "inf"):
        assert style.count(f'.{scope} .node[data-label="{label}"]>.label{{fill:#') == 2  # light and dark
    assert 'data-label="ROOT"' not in style
    assert svg._repr_html_() == svg
    assert svgs.groups(svgs.parsed(render(doc[2:7])), "node")[0].get("data-label") == "inf"
    assert len(svgs.groups(svgs.parsed(render(doc._.constituents[-1])), "word")) == 2  # Daar … van
    assert len(svgs.groups(svgs.parsed(render(doc[3:5])), "word")) == 8  # no constituent: its sentence


def test_a_doc_is_drawn_as_html(doc: Doc) -> None:
    part, page = render(doc), render(doc, page=True, theme="dark", functions=False)
    assert (part.count("<svg"), part.count("<style>")) == (2, 1)
    assert page.startswith("<!doctype html>")
    assert (page.count("<svg"), page.count("<style>"), page.count("prefers-color-scheme")) == (2, 1, 0)
    assert 'class="function"' not in page
    assert render(doc[:]).count("<svg") == 2
    assert render(next(doc.sents), page=True).startswith("<!doctype html>")


def test_colours_can_be_chosen(doc: Doc) -> None:
    sent = next(doc.sents)
    red, plain = render(sent, colors={"inf": "#f00"}, theme="light"), render(sent, theme="light")
    assert '.node[data-label="inf"]>.label{fill:#f00}' in red
    assert '.node[data-label="smain"]' in red
    scopes = [svgs.parsed(svg).get("class") for svg in (red, plain)]
    assert scopes[0] != scopes[1]  # so that one picture in a notebook does not colour the other
    with pytest.raises(ConfigError, match="colors: expected a CSS colour, got"):
        render(sent, colors={"inf": "red}</style><script>"})


def test_what_cannot_be_drawn_is_said(doc: Doc) -> None:
    for item in (doc[0], doc._.trees[0], None):
        with pytest.raises(
            TypeError, match=f"expected a Doc, a Span or a DocConstituent, got a {type(item).__name__}$"
        ):
            render(item)


def test_labels_cannot_break_out_of_the_style_sheet() -> None:
    for label in ('"]{}', "</style><script>alert(1)</script>", "a\\b", "x\ny", "&lt;", "\ud800", "é"):
        tree = Tree((Token("a"),), Node("ROOT", [Node(label, [0])]))
        svg = render(next(doc_of(tree).sents))
        assert "<script" not in svg
        svgs.parsed(svg)
        rule = svg[svg.index(".dt-") :].partition(">.label")[0]
        assert set(rule.partition('data-label="')[2].removesuffix('"]')) <= set(
            "\\ 0123456789abcdefghijklmnopqrstuvwxyz"
        )


def luminance(color: str) -> float:
    parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    red, green, blue = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_every_colour_is_readable() -> None:
    assert len({color for pair in PALETTE for color in pair}) == 2 * len(PALETTE)
    for pair in PALETTE:
        for color, page in zip(pair, (LIGHT.page, DARK.page), strict=True):
            low, high = sorted([luminance(color), luminance(page)])
            assert (high + 0.05) / (low + 0.05) > 5, color
