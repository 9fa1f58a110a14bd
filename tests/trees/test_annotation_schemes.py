"""Schemes: SQUOIA's deep trees in the flat scheme of TIGER."""

import discotree as dt
from discotree.trees.annotation_schemes import SCHEMES, squoia_to_tiger
from discotree.trees.tree import Node, Token, Tree


def tokens(*pairs):
    return tuple(Token(form, tag, function=function) for form, tag, function in pairs)


DEEP = Tree(
    tokens(
        ("In", "APPR", "HD"),
        ("dem", "ART", "NK"),
        ("alten", "ADJA", "HD"),
        ("Haus", "NN", "HD"),
        ("wohnt", "VVFIN", "HD"),
    )
    + tokens(("Anna", "NE", "PNC"), ("Blum", "NE", "PNC"), ("oben", "ADV", "HD")),
    Node(
        "ROOT",
        [
            Node(
                "S",
                [
                    Node("PP", [0, Node("NP", [1, Node("AP", [2], "NK"), 3], "NK")], "MO"),
                    4,
                    Node("NP", [Node("PN", [5, 6], "HD")], "SB"),
                    Node("AVP", [7], "MO"),
                ],
            )
        ],
    ),
    "1",
)
FLAT = Tree(
    tokens(
        ("In", "APPR", "AC"),
        ("dem", "ART", "NK"),
        ("alten", "ADJA", "NK"),
        ("Haus", "NN", "NK"),
        ("wohnt", "VVFIN", "HD"),
    )
    + tokens(("Anna", "NE", "PNC"), ("Blum", "NE", "PNC"), ("oben", "ADV", "MO")),
    Node("ROOT", [Node("S", [Node("PP", [0, 1, 2, 3], "MO"), 4, Node("PN", [5, 6], "SB"), 7])]),
    "1",
)


def test_needless_phrases_go_and_their_functions_stay():
    assert squoia_to_tiger(DEEP) == FLAT


def test_a_flat_tree_stays_as_it_is():
    assert squoia_to_tiger(FLAT) == FLAT


def test_two_noun_phrases_in_a_prepositional_phrase_stay():
    words = tokens(("von", "APPR", "HD"), ("a", "NN", "HD"), ("b", "NN", "NK"), ("c", "NN", "HD"), ("d", "NN", "NK"))
    inner = [Node("NP", [1, 2], "NK"), Node("NP", [3, 4], "NK")]
    flat = squoia_to_tiger(Tree(words, Node("ROOT", [Node("PP", [0, *inner])])))
    assert [node.label for node in flat.nodes()] == ["ROOT", "PP", "NP", "NP"]


def test_a_discontinuous_noun_phrase_is_spliced_too():
    words = tokens(("für", "APPR", "HD"), ("Leute", "NN", "HD"), ("da", "ADV", "MO"), ("dort", "ADV", "MNR"))
    tree = Tree(words, Node("ROOT", [Node("PP", [0, Node("NP", [1, 3], "NK")]), 2]))
    flat = squoia_to_tiger(tree)
    assert [(node.label, node.positions) for node in flat.nodes()] == [("ROOT", (0, 1, 2, 3)), ("PP", (0, 1, 3))]


def test_every_scheme_keeps_the_words(data):
    for scheme in SCHEMES.values():
        for tree in dt.read(data / "figure1.export"):
            assert scheme(tree).words == tree.words
