"""Text drawings, checked by eye and by a reader that follows the lines."""

import itertools
import random
import re
import time
import unicodedata
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.drawings import assert_reads_back
from support.helpers import DEEP, tree_of
from support.pictures import some_trees
from support.strategies import HOLDS, random_tree, trees
from support.treebanks import folder

from discotree import Node, Token, Tree, read
from discotree.drawing import draw_text, layout

DRAWINGS = sorted((Path(__file__).parents[1] / "data" / "drawings").glob("*.txt"))
WIDE_LETTERS = ("文", "é", "ｗ", "o\u0308", "né\u0301文", "안녕")


# --- pictures checked by eye


@pytest.mark.parametrize("path", DRAWINGS, ids=lambda path: path.stem)
def test_drawings_look_as_they_should(path):
    sections = re.split(r"^# (.*)\n", path.read_text("utf-8"), flags=re.M)[1:]
    drawings = dict(zip(sections[::2], sections[1::2], strict=True))
    tree = tree_of(drawings.pop("tree").strip())
    assert {"box", "ascii"} <= set(drawings)
    for how, drawing in drawings.items():
        width = int(how.removeprefix("width=")) if how.startswith("width=") else None
        assert draw_text(tree, ascii=how == "ascii", width=width) + "\n" == drawing


def test_figure_1_of_the_paper(data):
    (tree,) = read(data / "figure1.export")
    assert f"# box\n{draw_text(tree)}\n# ascii" in (data / "drawings" / "figure1.txt").read_text("utf-8")
    assert len(layout(tree).crossings) == 1
    assert draw_text(tree, functions=True).splitlines()[3:] == [
        "           ┌─┴─┐                      │",
        "           │ NP-SB                    │",
        "   ┌───────│───┴────────┐             │",
        "   │       │          NP-RE           │",
        "   │       │       ┌────┴─────┐       │",
        "PPER-PH VVFIN-HD PIS-NK     NN-NK     $.",
        "   Es     kam    nichts Interessantes .",
    ]


# --- a reader finds the tree again


@given(some_trees, st.booleans(), st.booleans())
def test_following_the_lines_gives_the_tree_back(tree, ascii, functions):
    assert_reads_back(tree, ascii=ascii, functions=functions)


@given(some_trees, st.integers(1, 80), st.booleans(), st.booleans())
def test_following_the_lines_from_panel_to_panel_gives_the_tree_back(tree, width, ascii, functions):
    assert_reads_back(tree, width=width, ascii=ascii, functions=functions)


@pytest.mark.parametrize("seed", range(6))
def test_a_drawing_can_be_split_anywhere(seed):
    tree = random_tree(random.Random(seed), 9)
    for width in range(1, 60):
        assert_reads_back(tree, width=width)


@given(some_trees, st.integers(0, 2**32), st.none() | st.integers(1, 80))
def test_wide_letters_and_accents_do_not_push_the_lines_aside(tree, seed, width):
    rng = random.Random(seed)
    tokens, nodes = tree.parents()
    nodes = [(rng.choice(WIDE_LETTERS) * rng.randrange(1, 9), function, parent) for _, function, parent in nodes]
    forms = [Token(rng.choice(WIDE_LETTERS) * rng.randrange(1, 4), rng.choice(WIDE_LETTERS)) for _ in tree.tokens]
    assert_reads_back(Tree.from_parents(forms, tokens, nodes), width=width)


ARMS = {"─": "←→", "│": "↑↓", "┌": "→↓", "┐": "←↓", "┬": "←→↓", "┴": "←→↑", "├": "↑↓→", "┤": "↑↓←", "┼": "←→↑↓"}
MEETS = {"←": (0, -1, "→"), "→": (0, 1, "←"), "↑": (-1, 0, "↓"), "↓": (1, 0, "↑")}


@given(some_trees)
def test_no_line_ends_in_nothing(tree):
    lines = draw_text(tree).split("\n")
    for row, line in enumerate(lines):
        for place, sign in enumerate(line):
            for arm in ARMS.get(sign, ""):
                down, right, back = MEETS[arm]
                met = lines[row + down][place + right]
                assert (
                    back in ARMS.get(met, "") or met == "│" if down == 0 else back in ARMS.get(met, back) and met != " "
                )


@pytest.mark.parametrize("path", DRAWINGS, ids=lambda path: path.stem)
def test_the_reader_reads_what_was_checked_by_eye(path):
    tree = tree_of(path.read_text("utf-8").splitlines()[1])
    if path.stem != "wide":  # one of its words is built from two emoji
        for options in ({}, {"ascii": True}, {"width": 20}, {"width": 35, "ascii": True}):
            assert_reads_back(tree, **options)


@pytest.mark.data
@pytest.mark.parametrize("name", ["alpino/cdb.xml", "pcc/syntax", "squoia_de"])
@pytest.mark.parametrize("number", [25, pytest.param(200, marks=pytest.mark.slow)])
def test_real_trees_read_back_in_every_mode(name, number):
    """The first trees in the default run; many more, from all parts of the treebank, in the slow one."""
    every = 1 if number < 100 else 10
    trees = list(itertools.islice(read(folder("DISCOTREE_DATA") / name), 0, every * number, every))
    assert len(trees) > number / 2
    for tree in trees:
        texts = [*tree.words, *[token.tag for token in tree.tokens], *[node.label for node in tree.nodes()]]
        for options in ({}, {"ascii": True}, {"functions": True}, {"width": 100}, {"width": 40, "ascii": True}):
            if any(" " in text for text in texts):
                draw_text(tree, **options)
            else:
                assert_reads_back(tree, **options)


# --- the other promises of a drawing


@given(some_trees, st.integers(1, 60))
def test_only_a_single_word_may_exceed_the_width(tree, width):
    natural = max(map(len, draw_text(tree).split("\n")))
    assert draw_text(tree, width=natural) == draw_text(tree)
    for panel in draw_text(tree, width=width).split("\n\n"):
        *lines, last = panel.split("\n")
        assert len(last.split()) == 1 or all(len(line) <= width for line in (*lines, last))


@given(some_trees, st.none() | st.integers(1, 60))
def test_color_marks_discontinuous_constituents_and_nothing_else(tree, width):
    colored = draw_text(tree, color=True, width=width)
    assert re.sub(r"\x1b\[\d+m", "", colored) == draw_text(tree, width=width)
    if width is None:
        lit = re.findall(r"[A-Za-z-]+", " ".join(re.findall(r"\x1b\[35m(.*?)\x1b\[0m", colored)))
        assert Counter(lit) == Counter(node.label for node in tree.nodes() if node.is_discontinuous)


@given(trees(HOLDS["conllu"]))
def test_no_text_can_break_a_line(tree):
    lines = draw_text(tree, functions=True).split("\n")
    assert len(lines) in (2 * layout(tree).rows, 2 * layout(tree).rows - 1)
    for line in lines:
        assert line == line.rstrip()
        assert not {unicodedata.category(sign) for sign in line} & {"Cc", "Cs", "Zl", "Zp"}


@pytest.mark.parametrize(
    ("text", "box", "ascii"),
    [
        ("\t", "␣", "_"),
        ("", "␣", "_"),
        (" \u3000", "␣", "_"),
        ("a\nb", "a b", "a b"),
        ("\x1b[1m", "�[1m", "?[1m"),
        ("\u202eabc", "�abc", "?abc"),
        ("\u0301", "◌\u0301", "◌\u0301"),
        ("|", "|", "|"),
    ],
)
def test_what_cannot_be_seen_is_shown_by_a_sign(text, box, ascii):
    tree = Tree((Token(text),), Node("X", [0]))
    assert draw_text(tree).split("\n")[-1] == box
    assert draw_text(tree, ascii=True).split("\n")[-1] == ascii


@pytest.mark.parametrize(
    ("text", "cells"),
    [("abc", 3), ("é", 1), ("e\u0301", 1), ("文字", 4), ("ｗ", 2), ("ｶ", 1), ("👍", 2), ("👍🏽", 2),
     ("👩\u200d👩\u200d👧", 2), ("🇩🇪", 2), ("❤\ufe0f", 2),
     ("한", 2), ("\u1112\u1161\u11ab", 2), ("ن\u200cم", 2), ("क\u094d\u200dष", 2)],
)  # fmt: skip
def test_texts_take_as_many_cells_as_in_a_terminal(text, cells):
    tree = Tree((Token(5 * f"{text}."), Token("x")), Node("X", [0, 1]))
    assert draw_text(tree).split("\n")[1].index("┐") == 5 * (cells + 1) + 1


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"width": 100}, {"ascii": True, "color": True}], ids=str)
@pytest.mark.parametrize("shape", [*DEEP, "random"])
def test_400_words_are_drawn_at_once(shape, options):
    tree = random_tree(random.Random(1), 400) if shape == "random" else DEEP[shape](400)
    took = []
    for _ in range(3):  # one may be interrupted by the collector of other tests' garbage
        start = time.process_time()
        draw_text(tree, **options)
        took.append(time.process_time() - start)
    assert min(took) < 0.5
