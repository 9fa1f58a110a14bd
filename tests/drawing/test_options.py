"""What a options hides, collapses and adds, in every renderer; the rest of the tree is still there."""

import itertools
import os
import random
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.drawings import as_drawn
from support.pictures import DRAWINGS, FIGURE1
from support.strategies import random_tree, trees_with_edges
from support.svgs import boxes, groups, lines_of, parsed, read_svg, segments, text_of
from support.tikz import read_tikz

import discotree as dt
from discotree import Node, Token, Tree
from discotree.drawing import DrawingOptions, draw_latex, draw_svg, draw_text
from discotree.drawing.measure import ems, wrap_lines
from discotree.drawing.options import Figure
from discotree.trees.punctuation import is_punctuation

BOOK = Tree.parse(
    "(ROOT (S (NP (ART 0=Das) (NN 1=Buch) (S (PRELS 6=das) (NP (PPER 7=er)) (VP (ADV 8=gestern) (VVPP 9=gelesen)) "
    "(VAFIN 10=hat))) (VAFIN 2=ist) (AP (ADV 3=sehr) (ADJD 4=gut)) ($, 5=,)) ($. 11=.))",
    "book",
)
NP, CLAUSE, AP = 14, 15, 18  # addresses
GLOSSES = ["The", "book", "is", "very", "good", "", "that", "he", "yesterday", "read", "has", ""]
TRANSLATION = "‘The book that he read yesterday is very good.’"
PAPER = DrawingOptions(punctuation=False, root=False, triangles=[CLAUSE], glosses=GLOSSES, translation=TRANSLATION)
FEW = settings(max_examples=max(1, settings.default.max_examples // 6))  # each draws several pictures
OPTIONS = {
    "paper": PAPER,
    "slanted": DrawingOptions(lines="slanted", depth=3),
    "blocks": DrawingOptions(tags=False, root=False, triangles=[NP]),
}
DRAWN = {
    **{
        f"look_{name}.svg": lambda options=options: draw_svg(BOOK, options=options) for name, options in OPTIONS.items()
    },
    "look_highlight.svg": lambda: draw_svg(
        BOOK, highlight={"#np": [NP], "#v": [2]}, options=DrawingOptions(punctuation=False)
    ),
    **{
        f"look_{name}.text": lambda options=options: (
            draw_text(BOOK, options=options, highlight={"#np": [NP], "#v": [2]}) + "\n"
        )
        for name, options in OPTIONS.items()
        if name != "slanted"
    },
    **{
        f"look_{name}.tex": lambda options=options: draw_latex(BOOK, options=options)
        for name, options in OPTIONS.items()
    },
}


@pytest.mark.parametrize("name", DRAWN)
def test_pictures_look_as_they_should(name):
    path, picture = DRAWINGS / name, DRAWN[name]()
    if os.environ.get("DISCOTREE_REDRAW"):
        path.write_text(picture, "utf-8")
    assert picture == path.read_text("utf-8")


# --- a reader finds what is left


def punctuated(seed, size):
    """A random tree with some punctuation."""
    rng = random.Random(seed)
    tree = random_tree(random.Random(seed), size)
    tokens = [Token(",", "$,") if rng.random() < 0.2 else token for token in tree.tokens]
    return Tree(tuple(tokens), tree.root, tree.id)


@st.composite
def drawing_options(draw):
    """A tree with punctuation, and a options that hides and collapses some of it."""
    tree = punctuated(draw(st.integers(0, 2**32)), draw(st.integers(1, 14)))
    nodes = sum(1 for _ in tree.nodes())
    triangles = draw(st.lists(st.integers(len(tree), len(tree) + nodes - 1), max_size=3))
    return tree, DrawingOptions(
        punctuation=draw(st.booleans()),
        root=draw(st.booleans()),
        tags=draw(st.booleans()),
        triangles=triangles,
        depth=draw(st.none() | st.integers(1, 4)),
        glosses=[f"g{k}" for k in range(len(tree))] if draw(st.booleans()) else (),
        lines=draw(st.sampled_from(["square", "slanted"])),
    )


def drawn_root(tree, options):
    """The tree that a picture shows: without its root, the list of what hangs on it."""
    root = as_drawn(Figure.from_tree(tree, options).tree)
    if options.root:
        return root
    return root.children[0] if len(root.children) == 1 else list(root.children)


@FEW
@given(drawing_options())
def test_following_the_lines_gives_back_what_is_left(case):
    tree, options = case
    figure = Figure.from_tree(tree, options)
    words = list(figure.tree.words)
    shown = drawn_root(tree, options)
    assert read_svg(draw_svg(tree, options=options)) == (shown, words)
    assert read_tikz(draw_latex(tree, standalone=False, options=options)) == (shown, words)


@FEW
@given(drawing_options())
def test_nothing_is_lost_but_what_is_hidden(case):
    tree, options = case
    figure = Figure.from_tree(tree, options)
    hidden = {k for k, token in enumerate(tree.tokens) if is_punctuation(token)} if not options.punctuation else set()
    if len(hidden) == len(tree):
        hidden = set()
    covered = [position for words in figure.positions for position in words]
    assert sorted(covered) == [k for k in range(len(tree)) if k not in hidden]
    nodes = [*tree.nodes()]
    for cell, node in enumerate(figure.tree.nodes(), len(figure.tree)):
        origin = nodes[figure.origins[cell] - len(tree)]
        assert node.label == origin.label
        words = {position for leaf in node.positions for position in figure.positions[leaf]}
        assert words == set(origin.positions) - hidden
    for leaf in figure.roofs:
        assert figure.tree.tokens[leaf].form == " ".join([tree.tokens[k].form for k in figure.positions[leaf]])
    if options.glosses:
        assert " ".join(figure.glosses).split() == [options.glosses[k] for words in figure.positions for k in words]


def meets(line, box):
    """Whether a line, straight or slanted, runs through a rectangle."""
    (x1, y1, x2, y2), (left, top, right, bottom) = line, box
    start, end = 0.0, 1.0
    for begin, change, low, high in ((x1, x2 - x1, left, right), (y1, y2 - y1, top, bottom)):
        if change == 0:
            if not low < begin < high:
                return False
            continue
        a, b = sorted([(low - begin) / change, (high - begin) / change])
        start, end = max(start, a), min(end, b)
    return start < end


@FEW
@given(drawing_options(), st.booleans())
def test_no_line_runs_through_a_text_and_no_text_into_another(case, functions):
    tree, options = case
    picture = parsed(draw_svg(tree, functions=functions, options=options))
    texts = [*boxes(picture)]
    lines = [line for group in groups(picture, "node") for line in segments(group)]
    for name, box in texts:
        assert box[0] > 0
        assert box[2] < float(picture.get("width"))
        assert box[1] > 0
        assert box[3] < float(picture.get("height"))
        assert not any(meets(line, box) for line in lines), name
    for (a, mine), (b, theirs) in itertools.combinations(texts, 2):
        apart = mine[2] < theirs[0] or theirs[2] < mine[0] or mine[3] < theirs[1] or theirs[3] < mine[1]
        assert apart, (a, b)


@FEW
@given(drawing_options(), st.none() | st.integers(1, 60))
def test_text_shows_the_words_that_are_left(case, width):
    tree, options = case
    if options.lines == "slanted":
        with pytest.raises(dt.InputError, match="slanted lines and arrows cannot be drawn as text"):
            draw_text(tree, options=options)
        return
    figure = Figure.from_tree(tree, options)
    text = draw_text(tree, options=options, width=width)
    row = -2 if options.glosses else -1
    words = [panel.split("\n")[row].split() for panel in text.split("\n\n")]
    assert [*itertools.chain(*words)] == " ".join(figure.tree.words).split()
    assert text.count("╲") == len(figure.roofs)


@FEW
@given(trees_with_edges(), st.data())
def test_secondary_edges_lead_to_what_is_drawn(tree, data):
    nodes = sum(1 for _ in tree.nodes())
    triangles = data.draw(st.lists(st.integers(len(tree), len(tree) + nodes - 1), max_size=2))
    options = DrawingOptions(root=data.draw(st.booleans()), triangles=triangles)
    figure = Figure.from_tree(tree, options)
    kept = [(edge.label, figure.origins[edge.child], figure.origins[edge.parent]) for edge in figure.secondary]
    assert set(kept) <= {tuple(edge) for edge in tree.secondary}
    assert len(groups(parsed(draw_svg(tree, options=options)), "secondary")) == len(kept)
    assert draw_latex(tree, options=options).count("\\draw[->") == len(kept)
    if not triangles and options.root:
        assert len(kept) == len(tree.secondary)


# --- the parts of a options


def test_pages_find_constituents_and_words_by_their_numbers_in_the_whole_tree():
    picture = parsed(draw_svg(BOOK, options=PAPER, ids="b-"))
    found = {group.get("data-node"): group.get("data-positions") for group in groups(picture, "node")}
    assert found == {"1": "0,1,2,3,4,6,7,8,9,10", "2": "0,1,6,7,8,9,10", "3": "6,7,8,9,10", "6": "3,4"}
    leaf = groups(picture, "word")[-1]
    assert (leaf.get("id"), leaf.get("data-position"), leaf.get("data-positions")) == ("b-word-6", "6", "6,7,8,9,10")
    assert text_of(leaf, "gloss").text == "that he yesterday read has"


def test_a_triangle_has_its_tip_at_the_label_or_at_the_end_of_a_line():
    (clause,) = [g for g in groups(parsed(draw_svg(BOOK, options=PAPER)), "node") if g.get("data-node") == "3"]
    assert len([*segments(clause, "roof")]) == 3
    assert not [*lines_of(clause, "edge")]
    (phrase,) = [
        g
        for g in groups(parsed(draw_svg(BOOK, options=DrawingOptions(triangles=[NP]))), "node")
        if g.get("data-node") == "2"
    ]
    assert len([*segments(phrase, "roof")]) == 6
    assert len([*lines_of(phrase, "edge")]) == 2


def test_a_constituent_of_one_word_needs_no_triangle():
    tree = Tree(BOOK.tokens[:2], Node("S", [Node("NP", [0]), Node("VP", [Node("V", [1])])]))
    assert Figure.from_tree(tree, DrawingOptions(depth=1)).roofs == {1}
    assert draw_text(tree, options=DrawingOptions(triangles=[3])) == draw_text(tree)


def test_the_outermost_of_nested_triangles_counts():
    assert (
        Figure.from_tree(BOOK, DrawingOptions(triangles=[NP, CLAUSE])).tree
        == Figure.from_tree(BOOK, DrawingOptions(triangles=[NP])).tree
    )
    assert Figure.from_tree(BOOK, DrawingOptions(depth=0)).tree.words == (" ".join(BOOK.words),)


def test_a_sentence_of_punctuation_is_drawn_all_the_same():
    tree = Tree((Token(".", "$."),), Node("ROOT", [0]))
    assert draw_text(tree, options=DrawingOptions(punctuation=False)) == draw_text(tree)


def test_a_gap_of_punctuation_closes_with_it():
    tree = Tree((Token("a"), Token(",", "$,"), Token("b")), Node("ROOT", [Node("X", [0, 2]), 1]))
    assert "hue0" in re.sub("<style>.*</style>", "", draw_svg(tree), flags=re.S)
    assert "hue0" not in re.sub(
        "<style>.*</style>", "", draw_svg(tree, options=DrawingOptions(punctuation=False)), flags=re.S
    )


def test_glosses_of_the_tokens():
    tree = Tree((Token("Häuser", lemma="Haus", morph="Pl"), Token("hat")), Node("NP", [0, 1]))
    assert draw_text(tree, options=DrawingOptions(glosses="lemma")).splitlines()[-1].split() == ["Haus"]
    assert draw_text(tree, options=DrawingOptions(glosses="morph")).splitlines()[-1].split() == ["Pl"]
    assert draw_text(BOOK, options=DrawingOptions(glosses="lemma")) == draw_text(BOOK)


def test_a_translation_is_wrapped():
    text = " ".join(["word"] * 40)
    picture = parsed(draw_svg(FIGURE1, options=DrawingOptions(translation=text)))
    lines = [text.text for text in picture.iter() if text.get("class") == "translation"]
    assert " ".join(lines) == text
    assert 1 < len(lines) < 40
    assert all(ems(line) <= 10 for line in wrap_lines(text.split(), 10))
    assert wrap_lines([], 10) == []


def test_confidences_stay_with_their_constituents():
    confident = replace(BOOK, confidences=tuple([k / 10 for k in range(7)]))
    found = groups(parsed(draw_svg(confident, options=PAPER)), "node")
    assert {group.get("data-node"): group.get("data-confidence") for group in found} == {
        "1": "0.1",
        "2": "0.2",
        "3": "0.3",
        "6": "0.6",
    }


def test_names_show_in_text_with_colours_of_their_own():
    text = draw_text(FIGURE1, highlight={"#np": [7], "#v": [1]}, color=True)
    assert "\x1b[31m#np:NP\x1b[0m" in text
    assert "\x1b[34m#v:VVFIN\x1b[0m" in text
    assert "#v:kam" in draw_text(FIGURE1, highlight={"#v": [1]}, options=DrawingOptions(tags=False))
    assert "*NP" in FIGURE1.draw(highlight={"1": [7]}, options=DrawingOptions(root=False))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"triangles": [3]}, "cannot draw a triangle over address 3 of tree '1': it is a word"),
        ({"triangles": [99]}, "it is not in the tree"),
        ({"glosses": ["a"]}, "tree '1' has 5 words, but there are 1 glosses"),
        ({"glosses": "form"}, "glosses: expected lemma, morph or a list, got 'form'"),
        ({"lines": "round"}, "lines: expected square or slanted, got 'round'"),
        ({"depth": -1}, r"depth: expected 0 \(the root\) or more, got -1"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_an_error(options, complaint):
    with pytest.raises(ValueError, match=complaint):
        draw_svg(FIGURE1, options=DrawingOptions(**options))


# --- legends and arrows


HEARD = Tree(
    [
        Token(form, tag, function=function)
        for form, tag, function in [
            ("Daar", "vnw", "obj1"), ("heb", "ww", "hd"), ("ik", "vnw", "su"), ("nog", "bw", "mod"),
            ("nooit", "bw", "hd"), ("van", "vz", "hd"), ("gehoord", "ww", "hd"), (".", "let", "--"),
        ]
    ],
    Node("ROOT", [
        Node("smain", [Node("ppart", [Node("pp", [0, 5], "pc"), Node("advp", [3, 4], "mod"), 6], "vc"), 1, 2]), 7
    ]),
)  # fmt: skip


def arrows_of(tree, **options):
    arrows = Figure.from_tree(tree, DrawingOptions(arrows=True, **options)).arrows()
    return [(arrow.head, arrow.dependent) for arrow, _ in arrows]


def test_a_legend_names_the_labels_that_are_drawn():
    names = ["smain: main clause", "ppart: participle clause", "pp: prepositional phrase", "advp: adverb phrase"]
    tags = ["vnw: pronoun", "ww: verb", "bw: adverb", "vz: adposition", "let: punctuation"]
    assert draw_text(HEARD, options=DrawingOptions(legend=True)).splitlines()[-9:] == [*names, *tags]
    picture = parsed(draw_svg(HEARD, functions=False, options=DrawingOptions(legend=True, tags=False)))
    captions = [text.text for text in picture.iter() if text.get("class") == "caption"]
    assert " · ".join(captions) == " · ".join(names)
    width, height = float(picture.get("width")), float(picture.get("height"))
    lowest = max(float(text.get("y")) for text in picture.iter() if text.get("class") == "caption")
    assert lowest < height
    assert all(ems(line) * 12 < width for line in captions)
    assert " · ".join([*names, *tags]) in draw_latex(HEARD, functions=False, options=DrawingOptions(legend=True))
    assert "vc: verbal complement" in draw_latex(HEARD, options=DrawingOptions(legend=True))
    assert 'class="caption"' not in draw_svg(HEARD)


@pytest.mark.parametrize(
    ("tree", "arrows"),
    [
        (HEARD, [(5, 0)]),  # from "van", not from "gehoord": the lowest constituent counts
        (BOOK, [(1, 8)]),  # from "Buch" to the middle of the relative clause
        (Tree.parse("(ROOT (S (NP (ART 0=a) (NN 1=b) (NN 3=c)) (VVFIN 4=d)) ($, 2=,))"), []),  # a comma is no gap
        (Tree.parse("(ROOT (X (a 0=a) (b 2=b) (c 4=c)) (d 1=d) (e 3=e))"), [(0, 2), (0, 4)]),
    ],
)
def test_arrows_lead_from_a_head_to_what_moved(tree, arrows):
    assert arrows_of(tree) == arrows
    picture = parsed(draw_svg(tree, options=DrawingOptions(arrows=True)))
    xs = [float(text_of(group, "form").get("x")) for group in groups(picture, "word")]
    drawn = []
    for group in groups(picture, "arrow"):
        line = [*segments(group)]
        assert line[-1].y2 < line[-1].y1  # upwards, to the word
        assert line[1].y1 < float(picture.get("height"))
        drawn.append((xs.index(line[0].x1), xs.index(line[-1].x2)))
    assert drawn == arrows
    assert draw_latex(tree, options=DrawingOptions(arrows=True)).count("\\draw[->, rounded corners") == len(arrows)
    with pytest.raises(dt.InputError, match="arrows cannot be drawn as text"):
        draw_text(tree, options=DrawingOptions(arrows=True))


def test_arrows_lead_to_triangles():
    assert arrows_of(BOOK, triangles=[CLAUSE], punctuation=False) == [(1, 5)]


@FEW
@given(st.integers(0, 2**32), st.integers(1, 14))
def test_arrows_have_levels_of_their_own(seed, size):
    arrows = Figure.from_tree(random_tree(random.Random(seed), size), DrawingOptions(arrows=True)).arrows()
    for (one, level), (other, theirs) in itertools.combinations(arrows, 2):
        assert level != theirs or one.right <= other.left or other.right <= one.left
