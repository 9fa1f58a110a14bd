"""Brackets for forest: what they say, and, where a TeX is installed, that they compile."""

import os
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.drawings import as_drawn
from support.helpers import DEEP
from support.pictures import DRAWINGS, FIGURE1, GOLD, some_trees
from support.strategies import HOLDS, trees
from support.tex import balanced, compiled
from support.tikz import read_forest

from discotree import Node, Tree
from discotree.drawing import Look, draw_forest, forest_pages

FEW = settings(max_examples=max(1, settings.default.max_examples // 6))  # drawing is slow


def test_the_source_looks_as_it_should():
    path = DRAWINGS / "figure1_forest.tex"
    source = draw_forest(FIGURE1)
    if os.environ.get("DISCOTREE_REDRAW"):
        path.write_text(source, "utf-8")
    assert source == path.read_text("utf-8")


@FEW
@given(some_trees, st.booleans(), st.sampled_from(["square", "slanted"]))
def test_brackets_and_lines_give_the_tree_back(tree, functions, lines):
    source = draw_forest(tree, standalone=False, functions=functions, look=Look(lines=lines))
    assert read_forest(source) == (as_drawn(tree), list(tree.words))


@FEW
@given(some_trees)
def test_only_discontinuous_constituents_lose_a_part(tree):
    moved = draw_forest(tree, standalone=False).count("\\draw[moved")
    assert bool(moved) == tree.is_discontinuous


def test_a_moved_constituent_stays_below_its_parent():
    """In brackets of the same depth, both would stand side by side, with the line from one to the other upwards."""
    tree = Tree(FIGURE1.tokens, Node("ROOT", [Node("NP", [0, 1, Node("S", [3, 4])]), 2]))
    lines = draw_forest(tree, standalone=False).splitlines()
    (line,) = [line for line in lines if "{S}" in line]
    assert line.strip().startswith("[, phantom [{S}, name=S, no edge")


@FEW
@given(trees(HOLDS["conllu"]))
def test_any_text_leaves_tex_in_one_piece(tree):
    source = draw_forest(tree)
    assert balanced(source)
    body = source[source.index("  [") :]
    assert not set("&#^~_%") & set(re.sub(r"\\.", "", body))


@pytest.mark.parametrize("shape", DEEP)
def test_deep_trees(shape):
    tree = DEEP[shape](400)
    assert draw_forest(tree).count("[{") == len(tree) + sum(1 for _ in tree.nodes())


@pytest.mark.slow
def test_tex_compiles_every_tree_on_a_page_of_its_own(tmp_path):
    chosen = [tree for name, tree in GOLD.items() if name not in ("wide", "markup")]
    pictures = [
        draw_forest(tree, standalone=False, look=Look(lines=lines, root=root, depth=depth), highlight={"#a": [0]})
        for tree in chosen
        for lines, root, depth in (("square", True, None), ("slanted", False, 2))
    ]
    assert f"({len(pictures)} pages" in compiled("pdflatex", forest_pages(pictures), tmp_path)
