"""Queries are read as the grammar says, and mistakes are pointed at."""

import re
from pathlib import Path

import pytest

from discotree import QueryError, Tree
from discotree.queries.language import And, Described, Exactly, Feature, Matching, Not, Or, Related, Relation, Without
from discotree.queries.query import MAX_NODES, Query

TREE = Tree.parse("(ROOT (S (NP (ART 0=das) (NN 2=Haus)) (V 1=hat)))")


def graph(text):
    return Query(text).graph


def test_a_node_has_features():
    assert graph('[cat="NP"]') == Described("1", Feature("cat", Exactly("NP")))
    assert graph('#n:[pos!="NN"]') == Described("#n", Feature("pos", Not(Exactly("NN"))))
    assert graph("[]") == Described("1", And(()))


def test_and_binds_more_tightly_than_or():
    a, b, c = (Feature("cat", Exactly(text)) for text in "abc")
    assert graph('[cat="a" | cat="b" & cat="c"]') == Described("1", Or((a, And((b, c)))))
    assert graph('[(cat="a" | cat="b") & cat="c"]') == Described("1", And((Or((a, b)), c)))


@pytest.mark.parametrize(
    ("text", "relation"),
    [
        (">", Relation(">")),
        (">*", Relation(">", 1, None)),
        (">3", Relation(">", 3, 3)),
        (">2,4", Relation(">", 2, 4)),
        (">HD", Relation(">", label=Exactly("HD"))),
        (">OC-HD", Relation(">", label=Exactly("OC-HD"))),
        ('>"--"', Relation(">", label=Exactly("--"))),
        (">/H.*/", Relation(">", label=Matching("H.*"))),
        (">@l", Relation(">@l")),
        (">@r", Relation(">@r")),
        (".", Relation(".")),
        (".*", Relation(".", 1, None)),
        (".2,4", Relation(".", 2, 4)),
        ("$", Relation("$")),
        ("$.*", Relation("$.*")),
        (">~", Relation(">~")),
        (">~MO", Relation(">~", label=Exactly("MO"))),
    ],
)
def test_relations(text, relation):
    nodes = Described("#a", And(())), Described("#b", And(()))
    assert graph(f"#a {text} #b") == And((nodes[0], Related("#a", relation, "#b"), nodes[1]))
    assert graph(f"#a !{text} #b") == And((nodes[0], Not(Related("#a", relation, "#b")), nodes[1]))


def test_spaces_line_ends_and_comments_mean_nothing():
    text = '#n : [ cat = "NP" ]  // a noun phrase\n & #n > [ ]'
    assert graph(text) == graph('#n:[cat="NP"]&#n>[]')


def test_backslashes_make_characters_plain():
    assert graph(r'[word="\"\\"]') == Described("1", Feature("word", Exactly('"\\')))
    assert graph(r"[word=/a\/b\./]") == Described("1", Feature("word", Matching(r"a/b\.")))


def test_a_variable_for_a_value_may_have_a_constraint():
    """TIGERSearch's manual, 3.4: two words of the same tag, which is one of these."""
    tree = Tree.parse("(S (NN 0=a) (NE 1=b) (NN 2=c) (V 3=d) (V 4=e))")
    found = Query('#a:[pos=#c:("NN"|"NE")] .* #b:[pos=#c]').matches(tree)
    assert [(m["#a"].word, m["#b"].word, m["#c"]) for m in found] == [("a", "c", "NN")]
    assert [m["#c"] for m in Query("[pos=#c:/V.*/] . [pos=#c]").matches(tree)] == ["V"]
    assert [m["#c"] for m in Query('[pos=#c:!"V"]').matches(tree)] == ["NN", "NE"]
    assert [m["#c"] for m in Query('[pos=(#c & ("NE"|"V"))]').matches(tree)] == ["NE", "V"]


def test_without_is_a_form_of_its_own():
    assert isinstance(graph('#n & without(#n > [pos="ART"])').parts[1], Without)


@pytest.mark.parametrize(
    ("text", "offset", "expected"),
    [
        ("", 0, "a node"),
        ("[cat=]", 5, "a value"),
        ('[cat="NP"', 9, "]"),
        ("[cot=1]", 1, "a feature (word, lemma, pos, morph, cat, edge), T or NT"),
        ("#n >", 4, "a node"),
        ("#a > #b > #c", 8, "& or | or the end"),
        ("foo(#n)", 0, "a predicate"),
        ("arity(#n)", 8, "expected ,"),
        ("arity(2)", 6, "a variable"),
        ("arity(#n, 5, 2)", 0, "the smaller number first"),
        ("[" + "!" * 200, 100, "nested more than 100 deep"),
        (f"#a >{9**2000} #b", 13, "expected"),
        ("[word=/[[a]/]", 7, "invalid regular expression"),
        ('without([cat="NP"])', 0, "every alternative needs"),
        ('#n | without([cat="NP"])', 0, "every alternative needs"),
        ("discontinuous(#n, 2)", 18, "expected all"),
        ("gap-degree(#n, all)", 15, "expected a number"),
        ("gap-degree(#n, 1, 2, 3)", 21, "expected all"),
        ("root(#n, all)", 7, "expected )"),
        ("confidence(#n)", 14, "<, <=, > or >="),
        ("root(#n, 2)", 7, "expected )"),
        ("!#n", 1, "without(#a > #b)"),
        ('!(#s:[cat="S"] >SB #x)', 1, "without(#a > #b)"),
        ("!without(#n)", 1, "a predicate after !"),
        ('//node[@cat="pp"]', 0, 'is [cat="pp"]; the table "From GrETEL"'),
        ('//node[@cat="pp" and node[@rel="hd"]]/node', 0, "XPath"),
        ('count(//node[@pt="ww"])', 0, "XPath"),
        ('node[@rel="su"]', 0, "XPath"),
        ("[word=/Ge[a-z]+/ & cat=]", 23, "a value"),
        ("#a >4,2 #b", 4, "distances"),
        ("#a .0 #b", 4, "distances"),
        ('"x', 0, "unterminated string"),
        ("[word=/(/]", 7, "invalid regular expression"),
        ("[pos!=#p]", 6, "never gets a value"),
        ("[pos=#p | T] & #n", 5, "never gets a value"),
        ("#n & [cat=#n]", 10, "is used as a node elsewhere"),
        ("#n ; #m", 3, "unexpected character"),
        ("(" * 200, 100, "nested more than 100 deep"),
        ("&".join(["[]"] * (MAX_NODES + 1)), 0, "more than 50 nodes"),
        ("&".join(["([]|[])"] * 12), 0, "multiply"),
        ('[cat="a\nb" & \n  cat=]', 20, "a value"),
    ],
)
def test_mistakes_are_pointed_at(text, offset, expected):
    with pytest.raises(QueryError) as caught:
        Query(text)
    assert caught.value.offset == offset
    assert expected in caught.value.message
    *_, line, caret = str(caught.value).split("\n")
    assert caret.index("^") == len(caret) - 1 <= len(line)


def test_a_query_is_a_string():
    with pytest.raises(TypeError, match="the text of a query"):
        Query(5)


def test_anonymous_nodes_only_have_to_exist_beside_variables():
    def bindings(text):
        return [[str(node) for node in match.values()] for match in Query(text).matches(TREE)]

    assert bindings('#n:[cat="NP"] > []') == [["<NP: das … Haus>"]]
    assert bindings('[cat="NP"] > []') == [["<NP: das … Haus>", "<ART: das>"], ["<NP: das … Haus>", "<NN: Haus>"]]


@pytest.mark.parametrize("heading", ["From tgrep2", "From GrETEL"])
def test_the_tables_for_users_of_other_tools_hold_queries(heading):
    text = (Path(__file__).parents[2] / "docs" / "search.md").read_text("utf-8")
    section = text.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    cells = [row.split(" | ")[1] for row in section.splitlines() if row.startswith("| `")]
    queries = [query.replace("\\|", "|") for cell in cells for query in re.findall("`(.+?)`", cell)]
    assert len(queries) >= 8
    for query in queries:
        Query(query)
