"""Counts of queries on PCC agree with those of short scripts that read the XML themselves."""

from collections import Counter
from xml.etree import ElementTree

import pytest
from support.treebanks import folder, many_objects

import discotree as dt
from discotree.queries.query import Query
from discotree.web.search import EXAMPLES

pytestmark = [pytest.mark.data, pytest.mark.xdist_group("search")]  # PCC is read once


class Graph:
    """A sentence of a TigerXML file, as its elements say."""

    def __init__(self, sentence):
        self.words = {t.get("id"): t for t in sentence.iter("t")}
        self.order = {name: k for k, name in enumerate(self.words)}
        self.nodes = {nt.get("id"): nt for nt in sentence.iter("nt")}
        self.edges = [
            (nt.get("id"), edge.get("label"), edge.get("idref"))
            for nt in self.nodes.values()
            for edge in nt.iter("edge")
        ]
        self.secondary = sum(1 for _ in sentence.iter("secedge"))

    def positions(self, name):
        if name in self.order:
            return {self.order[name]}
        return set().union(*(self.positions(child) for parent, _, child in self.edges if parent == name))

    def is_discontinuous(self, name):
        found = self.positions(name)
        return max(found) - min(found) + 1 > len(found)

    def cat(self, name):
        return self.nodes[name].get("cat") if name in self.nodes else None

    def pos(self, name):
        return self.words[name].get("pos") if name in self.words else None


@pytest.fixture(scope="module")
def pcc():
    return folder("DISCOTREE_DATA") / "pcc" / "syntax"


@pytest.fixture(scope="module")
def graphs(pcc):
    paths = sorted(pcc.glob("*.xml"))
    return [Graph(sentence) for path in paths for sentence in ElementTree.parse(path).getroot().iter("s")]


@pytest.fixture(scope="module")
def trees(pcc):
    return list(dt.read(pcc))


def relative_clauses(graph):
    """NPs with a relative clause, discontinuous."""
    return sum(
        graph.cat(parent) == "NP" and label == "RC" and graph.cat(child) == "S" and graph.is_discontinuous(parent)
        for parent, label, child in graph.edges
    )


def fronted_objects(graph):
    """Accusative objects whose first word comes before the finite verb of their clause."""
    return sum(
        graph.cat(parent) == "S"
        and label == "OA"
        and other == "HD"
        and parent == same
        and graph.pos(verb) == "VVFIN"
        and min(graph.positions(child)) < graph.order[verb]
        for parent, label, child in graph.edges
        for same, other, verb in graph.edges
    )


def without_article(graph):
    """NPs without an article right below."""
    articles = {parent for parent, _, child in graph.edges if graph.pos(child) == "ART"}
    return sum(graph.cat(name) == "NP" and name not in articles for name in graph.nodes)


def grandchildren(graph):
    """Words two steps below a VP."""
    return sum(
        graph.cat(parent) == "VP" and child == again and word in graph.words
        for parent, _, child in graph.edges
        for again, _, word in graph.edges
    )


def discontinuous_vps(graph):
    return sum(graph.cat(name) == "VP" and graph.is_discontinuous(name) for name in graph.nodes)


def short_clauses(graph):
    return sum(graph.cat(name) == "S" and 3 <= len(graph.positions(name)) <= 5 for name in graph.nodes)


@pytest.mark.parametrize(
    ("query", "script"),
    [
        ('#np:[cat="NP"] >RC #rc:[cat="S"] & discontinuous(#np, all)', relative_clauses),
        ('#s:[cat="S"] >OA #o & #s >HD #v:[pos="VVFIN"] & #o .* #v', fronted_objects),
        ('#n:[cat="NP"] & without(#n > [pos="ART"])', without_article),
        ('#vp:[cat="VP"] >2 #w:[T]', grandchildren),
        ('#vp:[cat="VP"] & discontinuous(#vp, all)', discontinuous_vps),
        ("#a >~ #b", lambda g: g.secondary),
        ("#w:[word=/.*haus/]", lambda g: sum(t.get("word").endswith("haus") for t in g.words.values())),
        ('#n:[cat="S"] & tokenarity(#n,3,5)', short_clauses),
    ],
)  # fmt: skip
def test_queries_count_what_scripts_count(query, script, graphs, trees):
    expected = sum(map(script, graphs))
    assert expected > 0
    assert sum(1 for _ in dt.search(trees, query)) == expected


def test_groups_are_counted(graphs, trees):
    by_label = Counter(match["#n"].cat for match in dt.search(trees, "#n:[NT] & discontinuous(#n, all)"))
    expected = Counter(g.cat(n) for g in graphs for n in g.nodes if g.is_discontinuous(n))
    assert {k: v for k, v in by_label.items() if k != "ROOT"} == {k: v for k, v in expected.items() if k != "VROOT"}


@pytest.fixture(scope="module")
def cdb():
    with many_objects():
        return list(dt.read(folder("DISCOTREE_DATA") / "alpino" / "cdb.xml"))


@pytest.fixture(scope="module")
def cdb_xml():
    return ElementTree.parse(folder("DISCOTREE_DATA") / "alpino" / "cdb.xml")


@pytest.mark.parametrize(
    ("path", "query"),
    [
        (".//node[@cat='pp']", '#n:[cat="pp"]'),
        (".//node[@lemma='huis'][@pt='n']", '#n:[lemma="huis" & pos="n"]'),
        (".//node[@cat='np'][@rel='su']", '#n:[cat="np" & edge="su"]'),
        (".//node[@cat='np']/node[@rel='mod']", '[cat="np"] >mod #n'),
        (".//node[@cat='inf']//node[@pt='ww']", '[cat="inf"] >* #n:[pos="ww"]'),
    ],
)
def test_the_table_for_users_of_gretel_finds_what_xpath_finds(path, query, cdb, cdb_xml):
    nodes = {id(node) for node in cdb_xml.findall(path) if {"cat", "word"} & node.attrib.keys()}
    found = {(match.tree.id, match.bindings["#n"]) for match in dt.search(cdb, query)}
    assert len(found) == len(nodes) > 0


def test_commas_are_no_gaps_in_the_examples_for_dutch(cdb):
    queries = {e["construction"]: e["query"] for e in EXAMPLES if e["scheme"] in ("Alpino", "any")}
    for construction, counts in {"Extraposition": (263, 1095), "Several gaps": (558, 6368)}.items():
        found = [sum(1 for _ in dt.search(cdb, Query(queries[construction], all_gaps))) for all_gaps in (False, True)]
        assert tuple(found) == counts
