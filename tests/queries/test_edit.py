"""Change trees by rule: every action, the order of changes, rules that do not end, and mistakes in rules."""

import json
from dataclasses import replace
from itertools import pairwise

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from support.strategies import HOLDS, trees

import discotree as dt
from discotree.errors import ConfigError, TreeError
from discotree.queries import edit as module
from discotree.queries.edit import EditedTree, Editor, load_rules
from discotree.queries.match import TreeView
from discotree.queries.query import Query
from discotree.trees.tree import Node, SecondaryEdge, Token, Tree

TREE = Tree(
    [Token("das", "ART", "der", function="NK"), Token("hat", "V", "haben", function="HD"), Token("Haus", "NN")],
    Node("ROOT", [Node("S", [Node("NP", [0, 2], "SB"), 1], "--")]),
    id="7",
)


def rule(query, *actions, name="r", **options):
    return {"name": name, "query": query, "actions": list(actions), **options}


def edited(tree, query, *actions, **options):
    (result,) = dt.edit([tree], [rule(query, *actions, **options)])
    return result


# Actions


@pytest.mark.parametrize(
    ("query", "actions", "expected"),
    [
        ('#n:[cat="NP"]', [{"relabel": "#n", "to": "NML"}], "(ROOT (S (NML (ART 0=das) (NN 2=Haus)) (V 1=hat)))"),
        (
            '#w:[pos="V"]',
            [{"set": "tag", "on": "#w", "to": "VF"}],
            "(ROOT (S (NP (ART 0=das) (NN 2=Haus)) (VF 1=hat)))",
        ),
        ('#n:[cat="NP"]', [{"delete": "#n"}], "(ROOT (S (ART 0=das) (V 1=hat) (NN 2=Haus)))"),
        (
            '#n:[cat="NP"] & #w:[pos="V"] & without(#n > #w)',
            [{"attach": "#w", "to": "#n"}],
            "(ROOT (S (NP (ART 0=das) (V 1=hat) (NN 2=Haus))))",
        ),
        ('[cat="NP"] > #w:[pos="NN"]', [{"detach": "#w"}], "(ROOT (S (NP (ART 0=das)) (V 1=hat) (NN 2=Haus)))"),
        (
            '#w:[pos="V"] & without([cat="VP"] > #w)',
            [{"insert": "VP", "above": "#w"}],
            "(ROOT (S (NP (ART 0=das) (NN 2=Haus)) (VP (V 1=hat))))",
        ),
        (
            '#n:[cat="NP"] $ #w:[T] & without([cat="X"] > #n)',
            [{"insert": "X", "above": ["#n", "#w"]}],
            "(ROOT (S (X (NP (ART 0=das) (NN 2=Haus)) (V 1=hat))))",
        ),
    ],
)
def test_each_action_changes_the_tree(query, actions, expected):
    assert str(edited(TREE, query, *actions)) == expected


def test_functions_and_lemmas_are_set_and_survive_a_file(tmp_path):
    new = edited(
        TREE,
        '#n:[cat="NP"] > #w:[pos="ART"]',
        {"set": "function", "on": "#n", "to": "OA"},
        {"set": "function", "on": "#w", "to": "DET"},
        {"set": "lemma", "on": "#w", "to": "d"},
    )
    dt.write([new], tmp_path / "new.export")
    (again,) = dt.read(tmp_path / "new.export")
    assert again == new
    assert (again["NP"][0].function, again.tokens[0].function, again.tokens[0].lemma) == ("OA", "DET", "d")
    assert (again.tokens[1].function, again.tokens[1].lemma) == ("HD", "haben")


def test_a_new_constituent_may_have_a_function():
    new = edited(TREE, '#w:[pos="V"]', {"insert": "VP", "above": "#w", "function": "OC"}, once=True)
    assert new["VP"][0].function == "OC"


def test_a_value_of_the_query_can_be_a_label_or_a_function():
    new = edited(
        TREE,
        '#n:[cat=#label & edge=#function] > #w:[pos=#tag & edge!="SB"] & #n:[cat="NP"]',
        {"relabel": "#n", "to": "#tag"},
        {"set": "function", "on": "#w", "to": "#function"},
        once=True,
    )
    assert str(new) == "(ROOT (S (ART (ART 0=das) (NN 2=Haus)) (V 1=hat)))"
    assert [token.function for token in new.tokens] == ["SB", "HD", None]


def test_a_tree_that_no_rule_changes_is_the_same_object():
    assert edited(TREE, '#n:[cat="X"]', {"delete": "#n"}) is TREE
    assert edited(TREE, '#n:[cat="NP"]', {"relabel": "#n", "to": "NP"}) is TREE


def test_ids_comments_and_secondary_edges_are_kept_and_edges_of_deleted_nodes_are_removed():
    edges = (SecondaryEdge("A", 0, 4), SecondaryEdge("B", 5, 4), SecondaryEdge("C", 1, 5))
    tree = replace(TREE, secondary=edges, comment="c")
    new = edited(tree, '#w:[pos="V"]', {"insert": "VP", "above": "#w"}, once=True)
    assert (new.id, new.comment, new.secondary) == ("7", "c", edges)
    above = edited(tree, '#n:[cat="NP"]', {"insert": "DP", "above": "#n"}, once=True)
    assert above.secondary == (SecondaryEdge("A", 0, 4), SecondaryEdge("B", 6, 4), SecondaryEdge("C", 1, 6))
    assert edited(tree, '#n:[cat="NP"]', {"delete": "#n"}).secondary == (SecondaryEdge("A", 0, 4),)


# Order


CHAIN = Tree.parse("(ROOT (A (A (A (X 0=a)))))")


def test_rules_are_applied_in_their_order():
    first = rule('#n:[cat="A"]', {"relabel": "#n", "to": "B"}, name="first")
    second = rule('#n:[cat="B"]', {"relabel": "#n", "to": "C"}, name="second")
    assert [str(tree) for tree in dt.edit([CHAIN], [first, second])] == ["(ROOT (C (C (C (X 0=a)))))"]
    assert [str(tree) for tree in dt.edit([CHAIN], [second, first])] == ["(ROOT (B (B (B (X 0=a)))))"]


def test_changes_that_create_matches_are_followed_unless_the_rule_is_applied_once():
    query = '#upper:[cat="A"] > #lower & #lower:[cat=("B" | "T") | T]'
    lift = rule(query, {"relabel": "#upper", "to": "B"})
    assert [str(tree) for tree in dt.edit([CHAIN], [lift])] == ["(ROOT (B (B (B (X 0=a)))))"]
    assert [str(tree) for tree in dt.edit([CHAIN], [lift | {"once": True}])] == ["(ROOT (A (A (B (X 0=a)))))"]


def test_the_deepest_matches_come_first_and_then_those_on_the_left():
    tree = Tree.parse("(ROOT (A (A (X 1=b)) (A (A (X 0=a))) (A (X 2=c))))")
    changes = []
    list(dt.edit([tree], [rule('#n:[cat="A"]', {"relabel": "#n", "to": "B"})], on_change=changes.append))
    assert [change.nodes["#n"]["positions"] for change in changes] == [[0], [0], [1], [2], [0, 1, 2]]


def test_a_match_that_an_earlier_change_made_untrue_is_skipped():
    query = '#upper:[cat="A"] > #lower:[cat="A"]'
    editor = Editor([rule(query, {"relabel": "#lower", "to": "B"}, once=True)])
    assert str(editor(CHAIN)) == "(ROOT (A (B (B (X 0=a)))))"
    editor = Editor([rule(query, {"relabel": "#upper", "to": "B"}, once=True)])
    assert str(editor(CHAIN)) == "(ROOT (A (B (A (X 0=a)))))"
    editor = Editor([rule(query, {"relabel": "#upper", "to": "B"}, {"relabel": "#lower", "to": "B"}, once=True)])
    assert (str(editor(CHAIN)), editor.changes["r"]) == ("(ROOT (A (B (B (X 0=a)))))", 1)


def test_changes_and_trees_are_counted():
    editor = Editor([rule('#n:[cat="A"]', {"delete": "#n"}), rule('#n:[cat="Z"]', {"delete": "#n"}, name="none")])
    assert list(map(str, map(editor, [CHAIN, TREE]))) == ["(ROOT (X 0=a))", str(TREE)]
    editor(CHAIN)
    assert (editor.changes, editor.trees) == ({"r": 6, "none": 0}, {"r": 2, "none": 0})


def test_a_change_has_the_rule_the_nodes_and_the_trees():
    changes = []
    (last,) = dt.edit([CHAIN], [rule('#n:[cat="A"] > #w:[T]', {"delete": "#n"})], on_change=changes.append)
    assert [change.rule for change in changes] == ["r"] * 3
    assert changes[0].nodes == {"#n": {"label": "A", "positions": [0]}, "#w": {"label": "X", "positions": [0]}}
    assert changes[0].before == CHAIN
    assert [a.after == b.before for a, b in pairwise(changes)] == [True, True]
    assert changes[-1].after == last


# Errors


@pytest.mark.parametrize(
    ("query", "actions", "message"),
    [
        ('#a:[cat="S"] > #b:[NT]', [{"attach": "#a", "to": "#b"}], "cannot attach #a to #b: a node cannot be below"),
        ('#a:[cat="S"]', [{"attach": "#a", "to": "#a"}], "a node cannot be below itself"),
        ('#a:[cat="NP"] & #b:[pos="V"]', [{"attach": "#a", "to": "#b"}], "a word has no children"),
        ('#a:[cat="ROOT"] > #b', [{"delete": "#a"}], "cannot delete #a: it is the root"),
        ('#a:[pos="V"]', [{"delete": "#a"}], "cannot delete #a: it is a word"),
        ('#a:[cat="S"]', [{"detach": "#a"}], "cannot detach #a: it is a child of the root"),
        ('#a:[cat="ROOT"]', [{"detach": "#a"}], "it is the root"),
        ('#a:[cat="ROOT"]', [{"insert": "X", "above": "#a"}], "cannot insert X above #a: nothing can be above"),
        ('#a:[pos="NN"] & #b:[pos="V"]', [{"insert": "X", "above": ["#a", "#b"]}], "above #a, #b: the nodes are not"),
        ('#a:[pos="V"]', [{"relabel": "#a", "to": "X"}], "cannot relabel #a to X: it is a word; set its tag instead"),
        ('#a:[cat="S"]', [{"set": "tag", "on": "#a", "to": "X"}], "cannot set tag on #a to X: it is a constituent"),
        ('#a:[cat="ROOT"]', [{"set": "function", "on": "#a", "to": "X"}], "it is the root"),
        ('#a:[cat="NP"] > #b & #a > #c & #b .* #c', [{"detach": "#b"}, {"detach": "#c"}], "NP has no children left"),
        ('#a:[cat="NP"]', [{"delete": "#a"}, {"relabel": "#a", "to": "X"}], "an earlier action has deleted the node"),
    ],
)  # fmt: skip
def test_an_impossible_action_names_the_sentence_and_the_rule(query, actions, message):
    with pytest.raises(TreeError, match=r"^sentence 7: rule 'r': ") as error:
        edited(TREE, query, *actions)
    assert message in str(error.value)


def test_a_constituent_without_children_can_be_deleted_in_the_same_rule():
    query = '#a:[cat="NP"] > #b & #a > #c & #b .* #c'
    new = edited(TREE, query, {"detach": "#b"}, {"detach": "#c"}, {"delete": "#a"})
    assert str(new) == "(ROOT (S (ART 0=das) (V 1=hat) (NN 2=Haus)))"


@pytest.mark.parametrize(
    ("query", "action"),
    [('#n:[cat="NP"]', {"insert": "X", "above": "#n"}), ("#n:[NT] & !root(#n)", {"insert": "X", "above": "#n"})],
)
def test_a_rule_that_does_not_end_is_an_error(query, action):
    with pytest.raises(TreeError, match=r"sentence 7: rule 'r': it still matches after 600 changes"):
        edited(TREE, query, action)


def test_a_rule_that_does_not_end_stops_soon_in_a_long_sentence():
    tree = Tree([Token("w")] * 200, Node("ROOT", [Node("NP", range(199)), 199]), id="7")
    with pytest.raises(TreeError, match=r"it still matches after 1,000 changes"):
        edited(tree, '#n:[cat="NP"]', {"insert": "X", "above": "#n"})


MISTAKES = {
    "query = '#n:[cat=]'\nactions = [{ delete = '#n' }]": (4, "rule 'r': query, character 9: expected a value"),
    "query = '#n'\nactions = []": (5, "rule 'r' has none"),
    "query = '#n'": (2, "'actions' is missing"),
    "query = '#n'\nactions = [{ remove = '#n' }]": (5, "expected a table with one of the keys relabel, set, attach"),
    "query = '#n'\nactions = ['delete']": (5, "expected a table with one of the keys"),
    "query = '#n'\nactions = [{ relabel = '#n' }]": (5, "relabel: 'to' is missing"),
    "query = '#n'\nactions = [{ delete = '#n', to = 'X' }]": (5, "delete: unknown key 'to'"),
    "query = '#n'\nactions = [{ delete = 3 }]": (5, "delete: expected a string for 'delete', got 3"),
    "query = '#n'\nactions = [{ relabel = '#n', to = '' }]": (5, "relabel: expected a string for 'to', got ''"),
    "query = '#n'\nactions = [{ insert = 'X', above = [] }]": (5, "insert: expected a string for 'above', got []"),
    "query = '#n'\nactions = [{ set = 'tags', on = '#n', to = 'X' }]": (5, "unknown value 'tags'; did you mean 'tag'?"),
    "query = '#n'\nactions = [{ delete = '#m' }]": (5, "rule 'r': the query does not have a node #m"),
    "query = '#n & without(#n > #m)'\nactions = [{ delete = '#m' }]": (5, "the query does not have a node #m"),
    "query = '#n | #m'\nactions = [{ delete = '#m' }]": (5, "does not have a node #m in every alternative"),
    "query = '#n'\nactions = [{ relabel = '#n', to = '#n' }]": (5, "does not have a value #n, as in edge=#n"),
    "query = '#n'\nactions = [{ relabel = '#n', to = '#x' }]": (5, "does not have a value #x"),
    "query = '#n'\nactions = [{ delete = '#n' }]\nonly = 1": (6, "unknown key 'only'"),
    "query = = 3": (4, "Invalid value"),
}  # fmt: skip


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_in_a_rule_file_has_its_line(text, tmp_path):
    line, message = MISTAKES[text]
    path = tmp_path / "rules.toml"
    path.write_text(f"# Rules\n[[rule]]\nname = 'r'\n{text}\n")
    with pytest.raises(ConfigError) as error:
        load_rules(path)
    assert str(error.value).startswith(f"{path}:{line}: ")
    assert message in str(error.value)


def test_a_missing_file_and_two_rules_of_one_name_are_errors(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere\.toml: neither a file nor the name of rules, expected one of masc"):
        load_rules(tmp_path / "nowhere.toml")
    with pytest.raises(ConfigError, match=r"^squoai: neither .* of rules; did you mean 'squoia'\?"):
        load_rules("squoai")
    twice = [rule("#n", {"delete": "#n"})] * 2
    with pytest.raises(ConfigError, match="two rules are called 'r'"):
        Editor(twice)


def test_the_files_that_come_with_discotree_are_known_by_name():
    assert module.rule_names() == ["masc", "squoia", "squoia-low"]
    assert len(load_rules(["squoia", "squoia-low"])) == len(load_rules("squoia")) + len(load_rules("squoia-low"))


# An edited tree is seen as a new one


QUERIES = [
    "#a:[NT] > #b",
    "#a:[NT] >* #b:[T]",
    "#a $ #b",
    "#a $.* #b:[NT]",
    "#a . #b",
    "#a >@l #b & arity(#a, 2)",
    "#a & discontinuous(#a, all)",
    '#a:[cat="A"]',
    '#a:[cat="A"] > #b & without(#b > [cat="B"])',
    '#a:[edge="B"]',
    '#a:[pos="B" & lemma="A"]',
    "#a >~ #b",
]
SMALL = replace(
    HOLDS["json"],
    labels=st.sampled_from("AB"),
    tags=st.sampled_from("AB"),
    functions=st.sampled_from("AB"),
    token_functions=st.sampled_from("AB"),
    lemmas=st.sampled_from("AB"),
    secondary=st.sampled_from("AB"),
)
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["relabel", "function", "tag", "move", "insert", "delete", "look"]), *[st.integers(0, 99)] * 2
    ),
    max_size=8,
)


def change(tree, kind, a, b):
    """Change an edited tree if the change is possible."""
    words, nodes = range(tree.terminals), tree.addresses(False)
    x, y = [*words, *nodes][a % (len(words) + len(nodes))], nodes[b % len(nodes)]
    if kind == "relabel":
        tree.set_value(y, "cat", "AB"[a % 2])
    elif kind == "function" and x != tree.root:
        tree.set_value(x, "edge", "AB"[b % 2])
    elif kind == "tag":
        tree.set_value(words[a % len(words)], "pos", "AB"[b % 2])
    elif kind == "move" and x != tree.root and x != y and x not in tree.ancestors(y) and len(tree.siblings(x)) > 0:
        tree.move(x, y)
    elif kind == "insert" and x != tree.root:
        tree.insert("AB"[b % 2], "A", [x, *tree.siblings(x)[: b % 3]])
    elif kind == "delete" and y != tree.root:
        tree.delete(y)


def found(query, view):
    """Return the matches in a form that does not depend on addresses."""

    def describe(node):
        return (node.cat, node.pos, node.edge, node.positions, len(view.ancestors(node.address)))

    return sorted(json.dumps([describe(node) for node in match.values()]) for match in Query(query).matches_in(view))


@given(trees(SMALL, 6), CHANGES)
@settings(max_examples=50, deadline=None)
def test_queries_see_an_edited_tree_like_a_new_one(tree, changes):
    view = EditedTree(tree)
    for kind, a, b in changes:
        change(view, kind, a, b)
        if kind == "look":  # some lists exist before the next change, others do not
            found(QUERIES[a % len(QUERIES)], view)
    fresh = TreeView(view.build())
    for query in QUERIES:
        assert found(query, view) == found(query, fresh), query
