"""/api/treebank: uploaded treebanks, filters, broken trees."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from support.networks import TREES
from support.strategies import trees_with_edges
from support.web import LIMITS, answer, post, problem, upload

import discotree as dt
from discotree.trees.punctuation import is_punctuation, remove_punctuation
from discotree.trees.tree import Tree
from discotree.web.schemas import (
    Upload,
)
from discotree.web.uploads import gap_counts, read_upload

SEEDS = ["figure1.export", "tiger4.export", "tiger.xml", "alpino_many.xml", "small.dbr", "ptb.mrg", "icepahc.psd"]


@pytest.mark.parametrize("name", SEEDS)
def test_an_uploaded_file_has_the_trees_of_the_file(client: httpx.Client, data: Path, name: str) -> None:
    wanted = list(dt.read(data / name))
    raw = (data / name).read_bytes()
    try:
        content = raw.decode()
    except UnicodeDecodeError:
        content = raw.decode("latin-1")  # as the page does
    given = answer(client, "treebank", content=content, name=name)
    assert (given["trees"], given["matching"], given["broken"]) == (len(wanted), len(wanted), 0)
    assert [Tree.from_dict(row) for row in given["rows"]] == wanted


def test_no_reader_opens_a_file(data: Path) -> None:
    opened: list[object] = []
    watching = False

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if watching and event == "open":
            opened.append(arguments[0])

    sys.addaudithook(hook)
    for name in SEEDS:
        content = (data / name).read_bytes().decode("latin-1")
        read_upload(Upload(content=content, name=name), LIMITS)  # loads what is loaded once
        watching = True
        read_upload(Upload(content=content, name=name), LIMITS)
        watching = False
    assert opened == []
    watching = True
    with open(data / name):
        watching = False
    assert opened == [data / name] or opened == [str(data / name)]


ENTITIES = """<?xml version="1.0"?>
<!DOCTYPE corpus [<!ENTITY secret SYSTEM "file:///etc/passwd">]>
<corpus><body><s id="s1"><graph root="1"><terminals><t id="1" word="&secret;" pos="NN"/></terminals>
<nonterminals/></graph></s></body></corpus>"""
FOREIGN_DTD = (
    '<!DOCTYPE alpino_ds SYSTEM "file:///etc/passwd">\n<alpino_ds version="1.3"><node>&secret;</node></alpino_ds>'
)
EXPANDING = '<!DOCTYPE corpus [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><corpus>&b;</corpus>'


@pytest.mark.parametrize("content", [ENTITIES, FOREIGN_DTD, EXPANDING])
def test_xml_entities_are_harmless(client: httpx.Client, content: str) -> None:
    given = answer(client, "treebank", content=content)
    assert (given["rows"], given["broken"]) == ([], 1)
    assert "root:" not in json.dumps(given)
    assert "XML entities" in given["problems"][0]


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        ({"label": "CS"}, lambda tree: any(node.label == "CS" for node in tree.nodes())),
        ({"gap_degree": 1}, lambda tree: remove_punctuation(tree).gap_degree >= 1),
        ({"gap_degree": 2}, lambda tree: remove_punctuation(tree).gap_degree >= 2),
        ({"min_words": 7}, lambda tree: len(tree) >= 7),
        ({"max_words": 2}, lambda tree: len(tree) <= 2),
        ({"contains": "HAT ER"}, lambda tree: "hat er" in " ".join(tree.words)),
        ({"label": "VP", "max_words": 6, "contains": "er"}, lambda tree: tree.id in ("s2", "s11")),
        ({"label": "nothing"}, lambda _: False),
    ],
)
def test_filters(client: httpx.Client, wanted: dict[str, Any], chosen: Callable[[Tree], bool]) -> None:
    given = answer(client, "treebank", **upload(TREES), **wanted)
    names = [tree.id for tree in TREES if chosen(tree)]
    assert [row["id"] for row in given["rows"]] == names
    assert (given["trees"], given["matching"]) == (len(TREES), len(names))


def test_label_and_gaps_are_asked_of_one_constituent(client: httpx.Client) -> None:
    """In the first tree the NP has the gap, in the second only punctuation is between the parts of the VP."""
    lines = [
        "(S (NP (N 0=a) (N 2=c)) (VP (V 1=b) (V 3=d)))",
        "(S (NP (N 0=a) (N 2=c)) (VP (V 1=b)))",
        "(S (VP (V 0=a) (V 2=c)) ($, 1=,))",
        "(S (VP (V 0=a) ($, 2=,) (V 4=e)) (N 1=b) (N 3=d))",
    ]
    content = "\n".join(lines)
    given = answer(client, "treebank", content=content, format="discbracket", label="VP", gap_degree=1)
    assert [(row["id"], row["hits"]) for row in given["rows"]] == [("1", [2]), ("4", [1])]
    assert given["rows"][1]["gaps"] == [0, 1]
    given = answer(
        client, "treebank", content=content, format="discbracket", label="VP", gap_degree=1, punctuation=True
    )
    assert [(row["id"], row["hits"]) for row in given["rows"]] == [("1", [2]), ("3", [1]), ("4", [1])]
    everything = answer(client, "treebank", content=content, format="discbracket")
    assert [(row["gaps"], row["hits"]) for row in everything["rows"]] == [
        *(([0, 1, 1], []), ([0, 1, 0], []), ([0, 0], []), ([0, 1], []))
    ]


@given(trees_with_edges())
def test_gaps_without_punctuation_are_those_of_the_tree_without_it(tree: Tree) -> None:
    if not all(map(is_punctuation, tree.tokens)):
        assert max(gap_counts(tree)) == remove_punctuation(tree).gap_degree


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.skipif("DISCOTREE_DATA" not in os.environ, reason="DISCOTREE_DATA names no folder of treebanks")
def test_gapped_verb_phrases_of_pcc(client: httpx.Client) -> None:
    trees = list(dt.read(Path(os.environ["DISCOTREE_DATA"]) / "pcc"))
    for punctuation, expected in ((False, 441), (True, 582)):
        given = answer(client, "treebank", **upload(trees), label="VP", gap_degree=1, punctuation=punctuation, limit=1)
        assert (given["trees"], given["matching"]) == (len(trees), expected)


def test_a_part_of_the_rows(client: httpx.Client) -> None:
    given = answer(client, "treebank", **upload(TREES), offset=3, limit=2)
    assert [row["id"] for row in given["rows"]] == ["s4", "s5"]
    assert given["matching"] == len(TREES)


def test_broken_trees_are_counted_and_named(client: httpx.Client) -> None:
    content = "(S (A 0=a)\n(S (A 0=a))\n(S (A 1=a))\n"
    given = answer(client, "treebank", content=content, name="some.dbr")
    assert (given["trees"], given["broken"], given["format"]) == (1, 2, "discbracket")
    assert given["problems"][0].startswith("some.dbr:1: ")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"content": "hello"}, "cannot detect the format"),
        ({"content": ""}, "cannot detect the format"),
        ({"content": "", "format": "export"}, "contains no tree"),
        ({"content": "hello", "format": "/etc/passwd"}, "format"),
        ({"content": "x", "name": "n" * 300}, "name"),
    ],
)
def test_uploads_that_are_no_treebank(client: httpx.Client, body: dict[str, Any], message: str) -> None:
    response = client.post("/api/treebank", content=json.dumps(body), headers={"Content-Type": "application/json"})
    assert message in problem(response)


def test_an_upload_with_half_a_surrogate_pair_is_no_json(client: httpx.Client) -> None:
    headers = {"Content-Type": "application/json"}
    response = client.post("/api/treebank", content=json.dumps({"content": "\ud800"}), headers=headers)
    assert "hex escape at line 1" in problem(response, 400)


def test_uploaded_records_without_an_encoding_are_refused(client: httpx.Client) -> None:
    """JSON can spell halves of surrogate pairs; no response could contain them."""
    good, bad = TREES[0].to_dict(), TREES[1].to_dict()
    bad["constituents"][0]["label"] = "\ud800"
    content = "".join(json.dumps(record) + "\n" for record in (good, bad))
    given = answer(client, "treebank", content=content, format="json")
    assert (given["trees"], given["broken"]) == (1, 1)
    assert "UTF-8 cannot represent the label" in given["problems"][0]
    file = {"content": content, "format": "json"}
    assert "UTF-8 cannot represent the label" in problem(post(client, "evaluate", gold=file, predicted=file))
