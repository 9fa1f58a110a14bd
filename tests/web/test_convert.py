"""/api/convert: several trees in one file, and what it refuses."""

import os
from pathlib import Path

import httpx
import pytest
from support.helpers import parsed, right_branching
from support.networks import TREES
from support.renderers import hide_renderers, needs_renderer
from support.servers import serving
from support.web import post, problem

import discotree as dt
from discotree.treebanks import TEXT_FORMATS
from discotree.web import create_app

RECORDS = [tree.to_dict() for tree in TREES[:3]]


@pytest.mark.parametrize("output", ["export", "tigerxml", "discbracket", "json"])
def test_trees_come_back_from_one_file(client: httpx.Client, output: str) -> None:
    response = post(client, "convert", trees=RECORDS, output=output)
    assert response.status_code == 200
    trees = parsed(response.text, output)
    assert [tree.root for tree in trees] == [tree.root for tree in TREES[:3]] or output == "discbracket"
    assert [tree.words for tree in trees] == [tree.words for tree in TREES[:3]]


def test_every_output_of_one_tree(client: httpx.Client) -> None:
    for output in ("svg", "arcs", "latex", "text", *TEXT_FORMATS):
        assert post(client, "convert", trees=RECORDS[:1], output=output, heads="negra").status_code == 200, output


def test_named_nodes_stand_out(client: httpx.Client) -> None:
    for output in ("svg", "latex"):
        plain = post(client, "convert", trees=RECORDS[:1], output=output).text
        assert post(client, "convert", trees=RECORDS[:1], output=output, highlight={"#n": [0]}).text != plain
        outside = post(client, "convert", trees=RECORDS[:1], output=output, highlight={"#n": [99]})
        assert "words and constituents" in problem(outside)


def test_what_is_refused(client: httpx.Client) -> None:
    assert "one tree, but there are 3" in problem(post(client, "convert", trees=RECORDS, output="svg"))
    assert "one tree, but there are 3" in problem(post(client, "convert", trees=RECORDS, output="png"))
    assert "trees" in problem(post(client, "convert", trees=[]))
    marked = problem(post(client, "convert", trees=RECORDS, output="pdf", highlight={"#n": [0]}))
    assert "highlight requires exactly one tree" in marked
    no_tree = RECORDS[0] | {"constituents": [{"label": "ROOT", "positions": [0]}]}
    assert "root" in problem(post(client, "convert", trees=[no_tree]))
    assert "unknown model" in problem(post(client, "convert", trees=RECORDS, model="nowhere"))


@pytest.mark.slow
def test_pictures_without_a_renderer_say_what_to_install(
    tmp_path: Path, parsers: dict[str, dt.Parser], monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_renderers(tmp_path, monkeypatch)
    with serving(create_app({"xx": parsers["xx"]})) as own:
        for output in ("pdf", "png"):
            message = problem(post(own, "convert", trees=RECORDS[:1], output=output), 501)
            assert "rsvg-convert" in message
            assert "discotree[draw]" in message


@needs_renderer
def test_one_tree_is_a_png(client: httpx.Client) -> None:
    response = post(client, "convert", trees=RECORDS[:1], output="png")
    assert response.content.startswith(b"\x89PNG")
    assert response.headers["content-type"] == "image/png"


def test_a_png_that_would_take_gigabytes_is_refused(client: httpx.Client) -> None:
    message = problem(post(client, "convert", trees=[right_branching(300).to_dict()], output="png"))
    assert "too much memory; use SVG or PDF" in message


@needs_renderer
def test_pictures(client: httpx.Client) -> None:
    for picture in ("svg", "arcs"):
        response = post(client, "convert", trees=RECORDS, output="pdf", picture=picture, heads="negra")
        assert response.content.startswith(b"%PDF")
        assert response.headers["content-type"] == "application/pdf"


@pytest.mark.slow
def test_a_renderer_that_fails_is_told(
    tmp_path: Path, parsers: dict[str, dt.Parser], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process of its own starts the program, so its exit status must not be lost on the way."""
    program = tmp_path / "rsvg-convert"
    program.write_text("#!/bin/sh\necho no room >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with serving(create_app({"xx": parsers["xx"]})) as own:
        assert "rsvg-convert failed: no room" in problem(post(own, "convert", trees=RECORDS, output="pdf"))


def test_models_offer_the_inventory_of_their_trees(client: httpx.Client) -> None:
    inventory = next(model for model in answer_of_models(client) if model["name"] == "xx")["inventory"]
    tokens = [token for tree in TREES for token in tree.tokens]
    nodes = [node for tree in TREES for node in tree.nodes()]
    assert set(inventory["labels"]) == {node.label for node in nodes}
    assert set(inventory["tags"]) == {token.tag for token in tokens}
    assert set(inventory["functions"]) <= {item.function for item in [*tokens, *nodes]} - {"--", None}
    assert all(len(set(symbols)) == len(symbols) for symbols in inventory.values())


def answer_of_models(client: httpx.Client) -> list[dict[str, object]]:
    found: list[dict[str, object]] = client.get("/api/models").json()
    return found
