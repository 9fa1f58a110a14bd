"""Highlighted nodes: discontinuous constituents by default, or what a query binds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.drawings import as_drawn
from support.pictures import FIGURE1, some_trees
from support.svgs import SVG, groups, parsed, read_svg, text_of

import discotree as dt
from discotree.drawing import draw_svg
from discotree.drawing.options import highlight_style
from discotree.queries.query import Query

QUERY = Query('#np:[cat="NP"] >* #w:[pos=/N.*/] & discontinuous(#np)')


def marked(svg):
    """What stands out: address, style and variables of every group with a hue."""
    picture = parsed(svg)
    found = []
    for kind in ("word", "node"):
        for group in groups(picture, kind):
            _, *style = group.get("class").split()
            if style:
                found.append((group.get("data-position") or group.get("data-node"), style, group.get("data-variables")))
    return found


def test_bound_words_and_constituents_stand_out_and_nothing_else():
    assert QUERY.nodes(FIGURE1) == {"#np": (7,), "#w": (3,)}
    picture = draw_svg(FIGURE1, highlight=QUERY.nodes(FIGURE1))
    assert marked(picture) == [("3", ["hue1", "dash1"], "#w"), ("2", ["hue0"], "#np")]
    (word,) = groups(parsed(picture), "dash1")[1:]  # after its entry in the legend
    assert word.find(f"{SVG}rect").get("class") == "box"


def test_a_match_is_highlighted_alone():
    first, second = dt.search([FIGURE1], '#np:[cat="NP"]')
    assert [marked(draw_svg(FIGURE1, highlight=match.nodes)) for match in (first, second)] == [
        [("2", ["hue0"], "#np")],
        [("3", ["hue0"], "#np")],
    ]


def test_several_variables_have_a_legend_and_one_has_none():
    legend = groups(parsed(draw_svg(FIGURE1, highlight=QUERY.nodes(FIGURE1))), "legend")
    assert [text_of(entry, "label").text for entry in legend] == ["#np", "#w"]
    assert not groups(parsed(draw_svg(FIGURE1, highlight={"#np": [7], "#x": []})), "legend")


def test_variables_keep_their_colour_where_another_finds_nothing():
    assert marked(draw_svg(FIGURE1, highlight={"#x": [], "#np": [7]}))[0][1] == ["hue1", "dash1"]
    assert len({highlight_style(k) for k in range(16)}) == 16


def test_a_node_with_two_names_tells_both():
    assert marked(draw_svg(FIGURE1, highlight={"#a": [7], "#b<": [7]})) == [("2", ["hue0"], "#a #b<")]


def test_an_address_outside_the_tree_is_an_error():
    with pytest.raises(dt.TreeError, match="address 9 of '#a' is not in the tree"):
        draw_svg(FIGURE1, highlight={"#a": [9]})


@settings(max_examples=max(1, settings.default.max_examples // 4))
@given(some_trees, st.data())
def test_highlighting_changes_no_line(tree, data):
    addresses = st.lists(st.integers(0, len(tree) + sum(1 for _ in tree.nodes()) - 1), unique=True)
    highlight = data.draw(st.dictionaries(st.sampled_from(["#a", "#b", "#c"]), addresses))
    picture = draw_svg(tree, highlight=highlight)
    root, words = read_svg(picture)
    assert root == as_drawn(tree)
    assert words == list(tree.words)
    assert len(marked(picture)) == len({address for found in highlight.values() for address in found})
