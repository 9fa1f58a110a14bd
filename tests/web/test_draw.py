"""/api/draw: records and files in, pictures and formats out."""

import json
import re
from typing import Any

import httpx
import pytest
from hypothesis import given
from support.helpers import written
from support.networks import TREES
from support.strategies import trees_with_edges
from support.web import LIMITS, answer, changed, post, problem, upload

import discotree as dt
from discotree.drawing import draw_arcs, draw_comparison, draw_svg
from discotree.errors import TreebankError
from discotree.treebanks import TEXT_FORMATS
from discotree.trees.tree import Token, Tree
from discotree.web.schemas import (
    TreeRecord,
    Upload,
)
from discotree.web.uploads import read_one


@given(trees_with_edges())
def test_a_validated_record_is_the_whole_tree(tree: Tree) -> None:
    record = TreeRecord.model_validate_json(json.dumps(tree.to_dict())).model_dump(exclude_none=True)
    assert record == tree.to_dict()
    assert Tree.from_dict(record).secondary == tree.secondary


def test_confidences_travel_with_a_record(client: httpx.Client, parsers: dict[str, dt.Parser]) -> None:
    tree = parsers["xx"](["Es", "kam", "nichts"])
    again = Tree.from_dict(answer(client, "draw", tree=tree.to_dict(), output="json"))
    assert again.confidences == pytest.approx(tree.confidences, rel=1e-4)
    assert again.confidence == pytest.approx(tree.confidence, rel=1e-4)


PLAIN = {"tokens": [{"form": "a"}, {"form": "b"}, {"form": "c"}]}
ROOT = {"label": "ROOT", "positions": [0, 1, 2]}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"constituents": [{"label": "A", "positions": [0, 1]}]}, "must be the root"),
        ({"constituents": [ROOT, {"label": "A", "positions": [0, 1]}, {"label": "B", "positions": [1, 2]}]}, "overlap"),
        (
            {"constituents": [ROOT, {"label": "A", "positions": [0]}, {"label": "B", "positions": [0, 1]}]},
            "after its own child",
        ),
        ({"constituents": [ROOT, {"label": "A", "positions": [2]}, {"label": "B", "positions": [0]}]}, "left to right"),
        ({"constituents": [ROOT, {"label": "A", "positions": [7]}]}, "expected positions of tokens (0 to 2), got 7"),
        ({"constituents": [ROOT], "tokens": [{"form": "a", "tag": 5}]}, "tag"),
        (
            {"constituents": [ROOT], "secondary": [{"label": "x", "child": 0, "parent": 1}]},
            "expected a parent among 3 to 3, got 1",
        ),
        (
            {"constituents": [ROOT], "secondary": [{"label": "x", "child": 0, "parent": 9}]},
            "expected a parent among 3 to 3, got 9",
        ),
        ({"constituents": [{**ROOT, "confidence": 2}]}, "confidence"),
    ],
)
def test_records_that_are_no_tree(client: httpx.Client, fields: dict[str, Any], message: str) -> None:
    assert message in problem(post(client, "draw", tree=PLAIN | fields))


def test_a_drawing_is_that_of_the_library(client: httpx.Client, parsers: dict[str, dt.Parser]) -> None:
    tree = TREES[0]
    assert post(client, "draw", tree=tree.to_dict()).text == draw_svg(tree)
    assert post(client, "draw", tree=upload([tree])).text == draw_svg(tree)
    options = {"functions": False, "theme": "dark", "style": False}
    assert post(client, "draw", tree=tree.to_dict(), **options).text == draw_svg(
        tree, functions=False, theme="dark", style=False
    )
    arcs = {"tree": tree.to_dict(), "output": "arcs", "functions": False}
    assert post(client, "draw", **arcs, heads="negra").text == draw_arcs(tree.dependencies("negra"))
    model = post(client, "draw", **arcs, model="xx").text
    assert model == draw_arcs(tree.dependencies(parsers["xx"].config.data.heads))
    assert post(client, "draw", **arcs).text == draw_arcs(tree.dependencies())
    (flat,) = changed([tree])
    assert post(client, "draw", tree=tree.to_dict(), against=flat.to_dict()).text == draw_comparison(tree, flat)
    assert "gold" in post(client, "draw", tree=tree.to_dict(), against=flat.to_dict(), output="text").text
    assert Tree.from_dict(post(client, "draw", tree=upload([tree]), output="json").json()) == tree


@pytest.mark.parametrize("output", [format for format in TEXT_FORMATS if format != "json"])
def test_a_tree_in_another_format(client: httpx.Client, output: str) -> None:
    assert (
        post(client, "draw", tree=TREES[0].to_dict(), output=output).text.rstrip()
        == written(TREES[:1], output).rstrip()
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"tree": upload(TREES[:2])}, "expected one tree, found 2"),
        ({"tree": TREES[0].to_dict(), "heads": "../negra"}, "heads"),
        ({"tree": TREES[0].to_dict(), "heads": "/etc/passwd"}, "heads"),
        ({"tree": TREES[0].to_dict(), "model": "/etc"}, "unknown model"),
        ({"tree": TREES[0].to_dict(), "against": TREES[1].to_dict()}, "word 1 is 'Es'"),
        (
            {"tree": TREES[0].to_dict(), "against": TREES[0].to_dict(), "output": "latex"},
            "two trees as latex",
        ),
    ],
)
def test_what_cannot_be_drawn(client: httpx.Client, body: dict[str, Any], message: str) -> None:
    assert message in problem(post(client, "draw", **body))


def test_one_tree_is_one_tree() -> None:
    with pytest.raises(TreebankError, match="found 2"):
        read_one(Upload(content=written(TREES[:2], "export")), LIMITS)


def test_named_nodes_stand_out(client: httpx.Client) -> None:
    tree = TREES[0]
    nodes = {"#w": [1], "#n": [len(tree) + 1]}
    picture = post(client, "draw", tree=tree.to_dict(), highlight=nodes, theme="light").text
    assert picture == draw_svg(tree, theme="light", highlight=nodes)
    assert "#n" in post(client, "draw", tree=tree.to_dict(), highlight=nodes, output="latex").text.replace("\\#", "#")
    size = len(tree) + sum(1 for _ in tree.nodes())
    message = f"highlight: #w: the tree has only {size} words and constituents"
    assert message in problem(post(client, "draw", tree=tree.to_dict(), highlight={"#w": [size]}))
    assert "highlight" in problem(post(client, "draw", tree=tree.to_dict(), highlight={"#w": [-1]}))


def test_dependencies_show_functions(client: httpx.Client) -> None:
    tree = TREES[0]  # Es kam nichts Interessantes
    labels = re.findall(
        r'data-dependent="(\d)" data-label="([^"]*)"',
        post(client, "draw", tree=tree.to_dict(), output="arcs", heads="negra").text,
    )
    assert "SB" in dict(labels).values()
    assert not any("#" in label for _, label in labels)
    plain = [Token(token.form, token.tag) for token in tree.tokens]
    bare = {
        "tree": Tree(plain, dt.Node("ROOT", (dt.Node("S", (0, 1)), *range(2, len(tree)))), "1").to_dict(),
        "output": "arcs",
    }
    assert post(client, "draw", **bare).text == post(client, "draw", **bare, functions=False).text


def test_labels_have_names(client: httpx.Client) -> None:
    content = "(ROOT (smain (ppart (vnw 0=Dat) (bw 3=nooit) (ww 4=gezegd)) (ww 1=heb) (vnw 2=ik)))"
    names = answer(client, "labels", tree={"content": content})
    assert names["constituent"]["ppart"] == "participle clause"
    assert names["tag"]["ww"] == dt.explain("ww", "alpino", "tag")
    unknown = answer(client, "labels", tree={"content": "(ROOT (Q1 (Q2 0=a) (Q3 1=b)))"})
    assert unknown == {"constituent": {}, "function": {}, "tag": {}}
