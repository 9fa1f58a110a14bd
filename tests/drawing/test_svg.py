"""SVG pictures, looked at as the text drawings are: by eye, by a reader that follows the lines, and by brute force.

DISCOTREE_REDRAW=1 draws the pictures of tests/data/drawings anew; look at what changed before you keep it.
"""

import itertools
import os
import random
import re
import time
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.drawings import as_drawn
from support.helpers import DEEP, tree_of
from support.pictures import DRAWINGS, FIGURE1, GOLD, WRONG, some_trees
from support.strategies import HOLDS, random_tree, trees, trees_with_edges
from support.svgs import SVG, boxes, groups, lines_of, parsed, read_svg, text_of
from support.treebanks import TREEBANKS, folder

from discotree import Dependencies, HeadRules, Node, SecondaryEdge, Token, Tree, read, to_dependencies
from discotree.drawing import (
    draw_arcs,
    draw_comparison,
    draw_comparison_text,
    draw_latex,
    draw_page,
    draw_svg,
    draw_text,
    layout,
    stylesheet,
)
from discotree.drawing.measure import is_right_to_left
from discotree.drawing.svg import PageItem
from discotree.trees.tree import NONE

PICTURES = {
    "figure1.svg": lambda: draw_svg(FIGURE1),
    "figure1_dark.svg": lambda: draw_svg(FIGURE1, theme="dark", functions=False, highlight=False),
    "arcs.svg": lambda: draw_arcs(to_dependencies(FIGURE1, HeadRules.load("negra"))),
    "comparison.svg": lambda: draw_comparison(FIGURE1, WRONG),
    "comparison.text": lambda: draw_comparison_text(FIGURE1, WRONG) + "\n",
    **{f"{name}.svg": lambda tree=tree: draw_svg(tree) for name, tree in GOLD.items()},
}


# --- pictures checked by eye


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_look_as_they_should(name):
    path, picture = DRAWINGS / name, PICTURES[name]()
    if os.environ.get("DISCOTREE_REDRAW"):
        path.write_text(picture, "utf-8")
    assert picture == path.read_text("utf-8")


# --- a reader finds the tree again


@given(some_trees, st.booleans(), st.booleans())
def test_following_the_lines_gives_the_tree_back(tree, functions, highlight):
    root, words = read_svg(draw_svg(tree, functions=functions, highlight=highlight))
    assert words == list(tree.words)
    assert root == as_drawn(tree)


@pytest.mark.parametrize("name", GOLD)
def test_the_reader_reads_what_was_checked_by_eye(name):
    tree = GOLD[name]
    root, words = read_svg(draw_svg(tree))
    assert root == as_drawn(tree)
    assert words == [form.replace("\u202e", "�") for form in tree.words]


def crosses(a, b):
    return a.x1 <= b.x2 and b.x1 <= a.x2 and a.y1 <= b.y2 and b.y1 <= a.y2


@given(some_trees)
def test_lines_of_different_constituents_never_touch(tree):
    lines = [[*lines_of(group)] for group in groups(parsed(draw_svg(tree)), "node")]
    for mine, theirs in itertools.combinations(lines, 2):
        assert not any(crosses(a, b) for a in mine for b in theirs)


@given(some_trees, st.booleans())
def test_no_line_runs_through_a_text_and_no_text_into_another(tree, functions):
    picture = parsed(draw_svg(tree, functions=functions))
    width, height = float(picture.get("width")), float(picture.get("height"))
    texts = [*boxes(picture)]
    lines = [line for group in groups(picture, "node") for line in lines_of(group)]
    for name, (left, top, right, bottom) in texts:
        assert left > 0
        assert top > 0
        assert right < width
        assert bottom < height
        assert not any(x1 < right and left < x2 + 1 and y1 < bottom and top < y2 for x1, y1, x2, y2 in lines), name
    for (a, mine), (b, theirs) in itertools.combinations(texts, 2):
        apart = mine[2] < theirs[0] or theirs[2] < mine[0] or mine[3] < theirs[1] or theirs[3] < mine[1]
        assert apart, (a, b)


@given(some_trees)
def test_every_word_every_constituent_and_every_edge_is_there_once(tree):
    picture = parsed(draw_svg(tree))
    nodes = [*tree.nodes()]
    assert [group.get("data-position") for group in groups(picture, "word")] == [str(k) for k in range(len(tree))]
    found = groups(picture, "node")
    assert [group.get("data-node") for group in found] == [str(k) for k in range(len(nodes))]
    assert [group.get("data-label") for group in found] == [node.label for node in nodes]
    assert [group.get("data-function", NONE) for group in found] == [node.function for node in nodes]
    assert [group.get("data-positions") for group in found] == [",".join(map(str, node.positions)) for node in nodes]
    edges = [edge for group in found for edge in lines_of(group, "edge")]
    assert len(edges) == len(set(edges)) == len(layout(tree).edges)


# --- any text


ODD = ("\x00", "\x1b[1m", "\ud800", "a\udfffb", "\ufffe", "<&>\"'", "]]>", "\u202eabc", "", " ", "\n", "&#0;", "\u0301")


@given(trees(HOLDS["conllu"]))
def test_any_text_makes_well_formed_xml(tree):
    parsed(draw_svg(tree, ids="a<b>\x00"))
    parsed(draw_comparison(tree, tree))
    parsed(draw_arcs(to_dependencies(tree, HeadRules({}, marked_first=True))))


@pytest.mark.parametrize("text", ODD, ids=ascii)
def test_what_xml_forbids_is_shown_by_a_sign(text):
    tree = Tree(
        (Token(text, text, function=text), Token("b")),
        Node("S", [Node(f"x{text}", [0], text), 1]),
        text,
        (SecondaryEdge(text, 0, 2),),
    )
    picture = parsed(draw_svg(tree))
    shown = text_of(groups(picture, "word")[0], "form").text
    assert shown
    assert not shown.isspace()
    assert ("�" in shown) == any(
        (ord(sign) < 32 and sign != "\n") or sign in "\ud800\udfff\ufffe\u202e" for sign in text
    )
    parsed(draw_arcs(Dependencies(tree.tokens, (1, -1), (f"{text}#1", text), id=text)))
    page = "".join(draw_page([PageItem(text, text, draw_svg(tree, style=False))], text))
    page.encode()
    assert "\x00" not in page


def test_right_to_left_words_say_so():
    picture = parsed(draw_svg(GOLD["hebrew"]))
    forms = [text_of(group, "form") for group in groups(picture, "word")]
    assert [form.get("direction") for form in forms] == ["rtl", "rtl", "rtl", "rtl", None]
    assert picture.get("direction") == "ltr"
    assert is_right_to_left("(ספר")
    assert not is_right_to_left("abc ספר")
    assert not is_right_to_left("...")


def test_long_words_push_each_other_apart():
    tree = Tree((Token("W" * 50), Token("i" * 50)), Node("ROOT", [0, 1]))
    (_, first), (_, second) = [box for box in boxes(parsed(draw_svg(tree))) if box[0][0] in "Wi"]
    assert first[2] < second[0]
    assert first[2] - first[0] > 3 * (second[2] - second[0])


# --- the other promises of a picture


@pytest.mark.parametrize("picture", [*PICTURES])
def test_pictures_stand_on_their_own(picture):
    svg = PICTURES[picture]()
    if picture.endswith(".svg"):
        parsed(svg)
        assert not re.search(r"<script|href|url\(|@import|<image|http(?!://www\.w3\.org/2000/svg)", svg)


@pytest.mark.parametrize("picture", [*PICTURES])
def test_every_element_has_its_style_in_attributes_that_every_program_reads(picture):
    svg = PICTURES[picture]()
    if not picture.endswith(".svg"):
        return
    assert "var(" not in svg
    assert "font:" not in svg
    root = parsed(svg)
    for text in root.iter(f"{SVG}text"):
        assert {"fill", "font-family", "font-size", "text-anchor"} <= set(text.keys())
    for path in root.iter(f"{SVG}path"):
        needed = {"fill"} if path.get("class") == "tip" else {"fill", "stroke", "stroke-width"}
        assert needed <= set(path.keys())
    for rectangle in root.iter(f"{SVG}rect"):
        assert rectangle.get("fill")


def test_themes():
    light, dark, auto = (draw_svg(FIGURE1, theme=theme) for theme in ("light", "dark", "auto"))
    assert "<style" not in light + dark
    without = re.sub(r"(?s)<style>.*</style>\n", "", auto)
    assert without == light
    media = re.search(r"(?s)<style>\n@media\(prefers-color-scheme:dark\)\{\n(.*)\}\n</style>", auto)[1]
    assert {rule[:18] for rule in media.splitlines()} == {"[class~=discotree]"}  # or LibreOffice would apply them
    assert re.findall(r'fill="#e6edf3"', dark)
    page = draw_svg(FIGURE1, style=False)
    assert not re.search("fill|stroke|font|<style", page)
    names = set(re.findall(r"var\((--[\w-]+)\)", stylesheet()))
    assert names == set(re.findall(r"(--[\w-]+):", stylesheet()))
    for theme in ("light", "dark", "auto"):
        assert "@" not in stylesheet(theme).replace("@media", ""), "a colour without a value"
        assert {rule[:10] for rule in stylesheet(theme).splitlines()} <= {".discotree", "@media(pre"}


@given(some_trees)
def test_no_corner_of_a_bar_is_detached(tree):
    for group in groups(parsed(draw_svg(tree)), "node"):
        bars = [line for line in lines_of(group) if line.y1 == line.y2]
        bridges = [*lines_of(group, "bridge")]
        solid = [bar for bar in bars if bar not in bridges]
        edges = [*lines_of(group, "edge")]
        for edge in edges if bars else ():
            assert any(bar.y1 == edge.y1 and bar.x1 <= edge.x1 <= bar.x2 for bar in solid)


def test_the_corner_of_a_short_bridge_is_attached():
    heard = tree_of(
        "(ROOT (smain (ppart (pp (vnw 0=Daar) (vz 5=van)) (advp (bw 3=nog) (bw 4=nooit)) (ww 6=gehoord)) (ww 1=heb)"
        " (vnw 2=ik)) (let 7=.))"
    )
    _, _, ppart, pp, _ = groups(parsed(draw_svg(heard)), "node")
    assert not [*lines_of(ppart, "bridge")]
    assert [*lines_of(pp, "bridge")]


def contrast(one, other):
    def luminance(color):
        parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def test_colors_can_be_read_on_their_page():
    rows = re.findall(r"\.discotree\{(--[^}]*)\}", stylesheet())
    assert len(rows) == 2
    for row in rows:
        colors = dict(pair.split(":") for pair in row.split(";"))
        page = colors.pop("--dt-page")
        for name, color in colors.items():
            assert contrast(page, color) >= 4.5, name


def test_discontinuous_constituents_stand_out_without_colour_too():
    def marked(svg):
        return [group for group in groups(parsed(svg), "node") if len(group.get("class").split()) > 1]

    (group,) = marked(draw_svg(FIGURE1))
    assert group.get("data-label") == "NP"
    assert group.get("data-positions") == "0,2,3"
    assert group.find(f"{SVG}rect").get("class") == "box"
    assert [*lines_of(group, "bridge")]
    assert re.search(r"\.hue0>\.label\{font-weight:700", stylesheet())
    assert not marked(draw_svg(FIGURE1, highlight=False))


def test_functions_stand_on_the_edges_or_not_at_all():
    assert Counter(re.findall(r'class="function"[^>]*>([^<]+)', draw_svg(FIGURE1))) == Counter(
        PH=1, HD=1, NK=2, RE=1, SB=1
    )
    assert 'class="function"' not in draw_svg(FIGURE1, functions=False)


def test_confidence_is_there_if_the_parser_gave_it():
    nodes = sum(1 for _ in FIGURE1.nodes())
    confident = replace(FIGURE1, confidences=tuple([0.987654 - 0.1 * k for k in range(nodes)]))
    found = groups(parsed(draw_svg(confident)), "node")
    assert [group.get("data-confidence") for group in found] == ["0.9877", "0.8877", "0.7877", "0.6877"]
    assert found[2].find(f"{SVG}title").text.endswith("\nconfidence 0.79")
    assert "confidence" not in draw_svg(FIGURE1)


def test_a_tooltip_explains_labels():
    picture = parsed(draw_svg(FIGURE1))
    _, _, phrase, _ = groups(picture, "node")
    title = phrase.find(f"{SVG}title").text
    assert title == "NP (SB): Es … nichts Interessantes\nNP: noun phrase\nSB: subject"
    assert groups(picture, "word")[0].find(f"{SVG}title").text == "Es\nPPER: personal pronoun\nPH: placeholder"
    unknown = draw_svg(tree_of("(ROOT (foo (bar 0=a) (baz 1=b)))"))
    assert re.findall("<title>([^<]*)", unknown) == ["a b", "ROOT: a b", "foo: a b"]


def test_the_picture_says_what_it_shows():
    picture = parsed(draw_svg(FIGURE1))
    assert picture.get("role") == "img"
    assert picture.find(f"{SVG}title").text == "1: Es kam nichts Interessantes ."
    assert picture.find(f"{SVG}desc").text.startswith("(ROOT (S (NP (PPER 0=Es)")
    assert {group.get("tabindex") for group in groups(picture, "node")} == {"0"}


def test_ids_are_for_pages_that_want_to_link():
    assert " id=" not in draw_svg(FIGURE1)
    picture = parsed(draw_svg(FIGURE1, ids="a1-"))
    assert [group.get("id") for group in groups(picture, "node")] == [f"a1-node-{k}" for k in range(4)]
    assert [group.get("id") for group in groups(picture, "word")] == [f"a1-word-{k}" for k in range(5)]


@given(trees_with_edges())
def test_secondary_edges_are_all_there(tree):
    drawn = groups(parsed(draw_svg(tree)), "secondary")
    assert [(int(group.get("data-child")), int(group.get("data-parent"))) for group in drawn] == [
        (edge.child, edge.parent) for edge in tree.secondary
    ]


@pytest.mark.parametrize("shape", [*DEEP, "random"])
def test_400_words_are_drawn_at_once(shape):
    tree = random_tree(random.Random(1), 400) if shape == "random" else DEEP[shape](400)
    start = time.process_time()
    parsed(draw_svg(tree))
    assert time.process_time() - start < 3


# --- real trees


@pytest.mark.data
@pytest.mark.parametrize("treebank", TREEBANKS, ids=lambda treebank: treebank.name)
def test_real_trees_are_drawn_by_every_renderer(treebank):
    rules = HeadRules.load(treebank.rules)
    sample = list(itertools.islice(read(folder("DISCOTREE_DATA") / treebank.path), 0, 1_000, 50))
    assert len(sample) == 20
    for tree, other in zip(sample, sample[1:] + sample[:1], strict=True):
        root, words = read_svg(draw_svg(tree))
        assert root == as_drawn(tree)
        assert len(words) == len(tree)
        flat = Tree(tree.tokens, Node("ROOT", range(len(tree))), tree.id)
        parsed(draw_comparison(tree, flat))
        draw_comparison_text(tree, flat, width=100)
        parsed(draw_arcs(to_dependencies(tree, rules)))
        assert draw_latex(tree).count("\\node[word]") == len(tree)
        assert draw_text(tree) != draw_text(other)
