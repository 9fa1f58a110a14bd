"""Schemes: SQUOIA's deep trees in the flat scheme of TIGER."""

import discotree as dt
from discotree.queries.edit import Editor
from discotree.queries.schemes import scheme_converter
from discotree.trees.tree import Node, Token, Tree

squoia_to_tiger = scheme_converter("squoia")
squoia_low = scheme_converter("squoia-low")
attach_verb_dependents_low = Editor("squoia-low")


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


def test_an_upper_phrase_over_a_phrase_over_a_word_stays():
    words = tokens(("a", "NN", "HD"))
    deep = Tree(words, Node("ROOT", [Node("NP", [Node("NP", [0], "NK")], "SB")]))
    assert [node.label for node in squoia_to_tiger(deep).nodes()] == ["ROOT", "NP"]


def test_a_noun_kernel_beside_a_noun_phrase_keeps_the_noun_phrase():
    words = tokens(("von", "APPR", "HD"), ("a", "NN", "HD"), ("b", "NN", "HD"), ("c", "NN", "NK"))
    tree = Tree(words, Node("ROOT", [Node("PP", [0, Node("NP", [1], "NK"), Node("NP", [2, 3], "NK")])]))
    assert [node.label for node in squoia_to_tiger(tree).nodes()] == ["ROOT", "PP", "NP"]


def test_a_discontinuous_noun_phrase_is_spliced_too():
    words = tokens(("für", "APPR", "HD"), ("Leute", "NN", "HD"), ("da", "ADV", "MO"), ("dort", "ADV", "MNR"))
    tree = Tree(words, Node("ROOT", [Node("PP", [0, Node("NP", [1, 3], "NK")]), 2]))
    flat = squoia_to_tiger(tree)
    assert [(node.label, node.positions) for node in flat.nodes()] == [("ROOT", (0, 1, 2, 3)), ("PP", (0, 1, 3))]


def test_every_scheme_keeps_the_words(data):
    for scheme in map(scheme_converter, ("squoia", "squoia-low", "genia", "masc")):
        for tree in dt.read(data / "figure1.export"):
            assert scheme(tree).words == tree.words


# What belongs to verbs


def clause(verb_phrase, *more):
    """Return *In Rom hat es sich damals nicht bewegen lassen .*: a clause, its verb phrase and what else it has."""
    words = tokens(
        ("In", "APPR", "AC"),
        ("Rom", "NE", "NK"),
        ("hat", "VAFIN", "HD"),
        ("es", "PPER", "SB"),
        ("sich", "PRF", "OA"),
        ("damals", "ADV", "MO"),
        ("nicht", "PTKNEG", "NG"),
        ("bewegen", "VVINF", "HD"),
        ("lassen", "VVINF", "HD"),
    )
    return Tree(words, Node("ROOT", [Node("S", [*more, verb_phrase], "--")]), "1")


PLACE = Node("PP", [0, 1], "MO")


def test_modifying_phrases_join_the_highest_verb_phrase_and_objects_the_lowest():
    inner = Node("VP", [7], "OC")
    given = clause(Node("VP", [inner, 8], "OC"), PLACE, 2, 3, 4, 5, 6)
    low = clause(Node("VP", [PLACE, Node("VP", [4, 7], "OC"), 8], "OC"), 2, 3, 5, 6)
    assert attach_verb_dependents_low(given) == low
    assert attach_verb_dependents_low(low) == low
    assert [any(node.is_discontinuous for node in tree.nodes()) for tree in (given, low)] == [False, True]


def test_nothing_is_lowered_where_the_verb_phrase_is_not_certain():
    two = clause(Node("VP", [7], "OC"), PLACE, 2, 3, 4, 5, 6, Node("VP", [8], "OC"))
    assert attach_verb_dependents_low(two) == two
    subject = clause(Node("VP", [7, 8], "SB"), PLACE, 2, 3, 4, 5, 6)
    assert attach_verb_dependents_low(subject) == subject
    words = tokens(("Ja", "ITJ", "MO"))
    assert attach_verb_dependents_low(Tree(words, Node("ROOT", [0]))) == Tree(words, Node("ROOT", [0]))


def test_an_object_that_was_in_a_verb_phrase_stays_there():
    inner = Node("VP", [7], "OC")
    tree = clause(Node("VP", [4, inner, 8], "OC"), PLACE, 2, 3, 5, 6)
    low = clause(Node("VP", [PLACE, 4, inner, 8], "OC"), 2, 3, 5, 6)
    assert attach_verb_dependents_low(tree) == low


def test_objects_stop_above_two_verb_phrases():
    tree = clause(Node("VP", [Node("VP", [7], "OC"), Node("VP", [8], "OC")], "OC"), PLACE, 2, 3, 4, 5, 6)
    upper = Node("VP", [PLACE, 4, Node("VP", [7], "OC"), Node("VP", [8], "OC")], "OC")
    assert attach_verb_dependents_low(tree) == clause(upper, 2, 3, 5, 6)


def test_squoia_low_is_flat_and_low():
    assert squoia_low(DEEP) == FLAT  # there is no verb phrase
    high = clause(Node("VP", [7, 8], "OC"), Node("PP", [0, Node("NP", [1], "NK")], "MO"), 2, 3, 4, 5, 6)
    low = clause(Node("VP", [PLACE, 4, 7, 8], "OC"), 2, 3, 5, 6)
    assert squoia_low(high) == low
