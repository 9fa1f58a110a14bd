"""TikZ pictures: what TeX reads, and, where a TeX is installed, that it compiles."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.drawings import as_drawn
from support.helpers import DEEP
from support.pictures import some_trees
from support.strategies import HOLDS, trees
from support.tex import balanced, compiled
from support.tikz import read_tikz

from discotree import Node, Token, Tree, read
from discotree.drawing import draw_latex, layout
from discotree.drawing.latex import latex_pages, tex

DATA = Path(__file__).parents[1] / "data"
(FIGURE1,) = read(DATA / "figure1.export")
GOLD = [*read(DATA / "drawings" / "trees.export")]
ENGINES = ("pdflatex", "lualatex", "xelatex")


def test_the_picture_looks_as_it_should():
    path = DATA / "drawings" / "figure1.tex"
    picture = draw_latex(FIGURE1)
    if os.environ.get("DISCOTREE_REDRAW"):
        path.write_text(picture, "utf-8")
    assert picture == path.read_text("utf-8")


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("plain", "plain"),
        ("50%", r"50\%"),
        ("a_b^c~d", r"a\_b\textasciicircum{}c\textasciitilde{}d"),
        (r"\{}", r"\textbackslash{}\{\}"),
        ("$&#", r"\$\&\#"),
        ("<|>", r"\textless{}\textbar{}\textgreater{}"),
        ("``\"''", 2 * r"\textasciigrave{}" + r"\textquotedbl{}" + 2 * r"\textquotesingle{}"),
        ("--", r"-\kern0pt{}-"),
        ("---", r"-\kern0pt{}-\kern0pt{}-"),
        (",,", r",\kern0pt{},"),
        ("e\u0301", "é"),
        ("שלום", r"\discotreertl{שלום}"),
    ],
)
def test_texts_are_escaped(text, escaped):
    assert tex(text) == escaped


@given(trees(HOLDS["conllu"]))
def test_any_text_leaves_tex_in_one_piece(tree):
    source = draw_latex(tree)
    assert balanced(source)
    body = source[source.index("bridge/.style") :].splitlines()[1:]
    for line in body:
        if not line.startswith(("\\providecommand", "% ")):
            assert not set("&#^~_%") & set(re.sub(r"\\.", "", line))
    assert not {sign for sign in source if ord(sign) < 32} - {"\n"}


@given(some_trees, st.booleans(), st.booleans())
def test_following_the_lines_gives_the_tree_back(tree, functions, highlight):
    source = draw_latex(tree, standalone=False, functions=functions, highlight=highlight)
    assert source.startswith("\\begin{tikzpicture}")
    assert read_tikz(source) == (as_drawn(tree), list(tree.words))
    assert source.count(", marked=") == highlight * sum(node.is_discontinuous for node in tree.nodes())
    assert source.count("[passage]") == len(layout(tree).crossings)


def test_many_trees_make_one_document():
    source = latex_pages([draw_latex(tree, standalone=False) for tree in GOLD])
    assert source.count("\\documentclass") == source.count("\\end{document}") == 1
    assert source.count("\\begin{tikzpicture}") == len(GOLD)


@pytest.mark.parametrize("shape", DEEP)
def test_deep_trees(shape):
    assert draw_latex(DEEP[shape](400)).count("\\node[phrase]") == 401


@pytest.mark.parametrize("engine", ENGINES)
def test_tex_compiles_every_tree_on_a_page_of_its_own(engine, tmp_path):
    log = compiled(engine, latex_pages([draw_latex(tree, standalone=False) for tree in (FIGURE1, *GOLD)]), tmp_path)
    assert f"({len(GOLD) + 1} pages" in log


def test_tex_compiles_any_sign(tmp_path):
    signs = [chr(code) for code in range(0x20, 0x250)] + [
        "–",
        "—",
        "…",
        "„",
        "€",
        "ж",
        "ω",
        "文",
        "𝄞",
        "\ud800",
        "\x00",
    ]
    tokens = tuple([Token(f"a{sign}b", sign, function=sign) for sign in signs])
    compiled("pdflatex", draw_latex(Tree(tokens, Node("ROOT", range(len(tokens))))), tmp_path)


def test_no_label_of_a_secondary_edge_covers_a_line():
    source = draw_latex(next(tree for tree in GOLD if tree.id == "secondary"))
    places = {name: float(x) for name, x in re.findall(r"\((\w+(?:-\d)?)\) at \((-?\d+),", source)}
    curves = re.findall(
        r"xshift=(-?\d+)pt\]([\w]+)-function.north\) .. controls \+\(0,\d+\) and \+\((-?\d+),0\) .. "
        r"node\[function, pos=([\d.]+),.*?\] \{\w+\} \(\[xshift=(-?\d+)pt\]([\w-]+).center",
        source,
    )
    labels = []
    for before, child, across, at, shift, parent in curves:
        t, start, end = float(at), places[child] + float(before), places[parent] + float(shift)
        labels.append(
            start * ((1 - t) ** 3 + 3 * t * (1 - t) ** 2) + (end + float(across)) * 3 * t**2 * (1 - t) + end * t**3
        )
    assert len(labels) == 2
    assert all(abs(x - places["und"]) > 7 for x in labels)  # the line from CS to "und" is between the two clauses
    assert abs(labels[0] - labels[1]) > 14
