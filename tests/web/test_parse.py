"""/api/parse: texts, tokens, tags, k-best trees, outputs, and refused requests."""

import dataclasses
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.helpers import brackets_of, parsed
from support.networks import TREES
from support.servers import serving
from support.web import TEXT, answer, post, problem

import discotree as dt
from discotree.trees.tree import Tree
from discotree.web import create_app
from discotree.web.schemas import (
    OUTPUTS,
)
from discotree.web.security import Access


def test_a_text_becomes_trees_with_everything(client: httpx.Client, parsers: dict[str, dt.Parser]) -> None:
    given = answer(client, "parse", text=TEXT)
    assert given["model"] == "xx"
    assert [tree["id"] for tree in given["trees"]] == ["1", "2"]
    for found, wanted in zip(given["trees"], map(parsers["xx"], TEXT.split(". ")), strict=True):
        words = found["tokens"]
        assert [TEXT[word["start"] : word["end"]] for word in words] == [word["form"] for word in words]
        assert 0 < found["confidence"] < 1
        assert found["constituents"][0]["label"] == wanted.root.label
    alone = parsers["xx"](TEXT.partition(".")[0] + ".")
    assert Tree.from_dict(given["trees"][0]) == dataclasses.replace(alone, id="1")


@pytest.mark.parametrize(
    ("body", "lengths"),
    [
        ({"text": "Ja. Nein.", "model": "xx"}, [2, 2]),
        ({"text": ["Ja. Nein.", "Es kam."]}, [4, 3]),
        ({"tokens": ["Wir", "lachen"]}, [2]),
        ({"tokens": [["Wir", "lachen"], ["Ja"]]}, [2, 1]),
        ({"tokens": [["Es", "kam"]], "tags": [["PPER", "VVFIN"]], "model": "tags"}, [2]),
        ({"tokens": ["Ja"], "tags": ["ITJ"], "model": "tags"}, [1]),
        ({"tokens": ["ein Wort", "\0", "👩‍👧", "("], "model": "mute"}, [4]),
    ],
)
def test_text_and_tokens_one_or_many(client: httpx.Client, body: dict[str, Any], lengths: list[int]) -> None:
    trees = answer(client, "parse", **body)["trees"]
    assert [len(tree["tokens"]) for tree in trees] == lengths
    if "tags" in body:
        assert [token["tag"] for token in trees[0]["tokens"]] == (
            body["tags"][0] if isinstance(body["tags"][0], list) else body["tags"]
        )


def test_a_list_without_lists_is_one_sentence_and_a_text_may_have_several(client: httpx.Client) -> None:
    assert [tree["sentence"] for tree in answer(client, "parse", text=TEXT, k=2)["trees"]] == [1, 1, 2, 2]


@pytest.mark.parametrize("output", OUTPUTS)
def test_every_output(client: httpx.Client, output: str) -> None:
    response = post(client, "parse", text="Es kam nichts Interessantes.", output=output)
    assert response.status_code == 200, response.text
    kind = response.headers["content-type"]
    if output in dt.FORMATS and output != "json":
        (tree,) = parsed(response.content, output)
        assert tree.words == ("Es", "kam", "nichts", "Interessantes", ".")
    elif output in ("svg", "arcs"):
        assert kind == "image/svg+xml"
        assert response.text.startswith("<svg ")
    elif output == "latex":
        assert r"\begin{tikzpicture}" in response.text
    else:
        assert "Interessantes" in response.text


def test_a_picture_holds_one_tree_and_a_document_many(client: httpx.Client) -> None:
    assert "one tree" in problem(post(client, "parse", text=TEXT, output="svg"))
    assert post(client, "parse", text=TEXT, output="latex").text.count(r"\begin{tikzpicture}") == 2


def test_the_k_best_trees_come_in_their_order(client: httpx.Client, parsers: dict[str, dt.Parser]) -> None:
    trees = answer(client, "parse", tokens=["Es", "kam", "nichts"], k=3)["trees"]
    assert [tree["id"] for tree in trees] == ["1.1", "1.2", "1.3"]
    wanted = parsers["xx"].k_best(["Es", "kam", "nichts"], 3)
    assert brackets_of(map(Tree.from_dict, trees)) == brackets_of(wanted)
    assert [tree["confidence"] for tree in trees] == pytest.approx([tree.confidence for tree in wanted], rel=1e-4)


@pytest.mark.parametrize("decode", ["exact", "beam", "greedy"])
def test_decoding_is_the_parsers(client: httpx.Client, parsers: dict[str, dt.Parser], decode: Any) -> None:
    settings = dataclasses.replace(parsers["xx"].config.decoding, method=decode)
    wanted = parsers["xx"].parse([tree.words for tree in TREES], settings)
    found = answer(client, "parse", tokens=[list(tree.words) for tree in TREES], decode=decode)["trees"]
    assert brackets_of(map(Tree.from_dict, found)) == brackets_of(wanted)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "either text or tokens"),
        ({"text": "Ja", "tokens": ["Ja"]}, "either text or tokens"),
        ({"text": " \n "}, "no words"),
        ({"text": []}, "no words"),
        ({"text": ["Ja.", " "]}, "sentence 2 has no words"),
        ({"tokens": []}, "no words"),
        ({"tokens": [["Ja"], []]}, "sentence 2 has no words"),
        ({"tokens": ["Ja", ""]}, "empty"),
        ({"tokens": ["Ja", ["Nein"]]}, "tokens"),
        ({"text": "Ja", "model": "nl"}, "unknown model 'nl'; available models: xx, tags, mute"),
        ({"text": "Ja", "model": "../xx"}, "unknown model"),
        ({"text": "Ja", "model": "mute"}, "cannot tokenise text"),
        ({"text": "Ja", "model": "tags"}, "requires tags"),
        ({"text": "Ja", "tags": ["ITJ"]}, "tags require tokens"),
        ({"tokens": ["Ja"], "tags": ["ITJ"]}, "does not use tags"),
        ({"tokens": ["Ja"], "tags": ["ITJ", "NN"], "model": "tags"}, "one tag for each token"),
        ({"text": "Ja", "decode": "best"}, "decode"),
        ({"text": "Ja", "decode": "beam", "k": 2}, "always exact"),
        ({"text": "Ja", "k": 99}, "k: "),
        ({"text": "Ja", "output": "docx"}, "output"),
        ({"text": "Ja", "modell": "xx"}, "modell"),
        ({"tokens": ["a b"], "output": "export", "model": "xx"}, "cannot represent"),
        ({"text": "w" * 200_001}, "200,001 characters; at most"),
        ({"tokens": [["w" * 1000] * 101, ["w" * 1000] * 100]}, "201,000 characters; at most"),
        ({"tokens": ["w" * 1001]}, "sentence 1 has a word of 1,001 characters; at most 1,000"),
        ({"tokens": ["w" * 100_001]}, "at most 100000 characters"),
        ({"tokens": [["w"]] * 20_001}, "at most 20000 items"),
        ({"text": ["w"] * 20_001}, "at most 20000 items"),
        ({"tokens": ["w"] * 1001}, "sentence 1 has 1,001 words; at most 1,000"),
        ({"tokens": [["w"]] * 1001}, "1,001 sentences; at most"),
        ({"tokens": [["w"] * 101] * 100}, "10,100 words; at most"),
    ],
)
def test_invalid_requests_are_refused_with_a_reason(client: httpx.Client, body: dict[str, Any], message: str) -> None:
    assert message in problem(post(client, "parse", **body))


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"{", 400),
        (b"[" * 100_000, 400),
        (b'{"text": "\\ud800"}', 400),
        (b'{"text": 1' + b"0" * 5000 + b"}", 400),
        (b"\xff", 400),
        (b'"text"', 422),
        (b'{"tokens": [["\\ud800", "a"]]}', 400),
    ],
)
def test_bodies_that_are_no_request(client: httpx.Client, raw: bytes, status: int) -> None:
    response = client.post("/api/parse", content=raw, headers={"Content-Type": "application/json"})
    assert problem(response, status)


DUTCH, ENGLISH = "Zij heeft het boek gelezen.", "The mice that we analyzed were fed a normal diet."


@pytest.fixture
def bilingual(folder: Path) -> Iterator[httpx.Client]:
    """German comes first in the alphabet, and nobody speaks it."""
    parsers = {code: dt.load(folder / "xx") for code in ("de", "nl")}
    for code, parser in parsers.items():
        parser.model = replace(parser.model, config=replace(parser.config, language=code))
    with serving(create_app(parsers, access=Access(hosts=None))) as client:
        yield client


def test_the_language_decides_which_model_parses(bilingual: httpx.Client) -> None:
    found = answer(bilingual, "parse", text=DUTCH)
    assert (found["model"], found["warning"]) == ("nl", "")
    assert found["notice"] == "this text looks like Dutch: parsed with the model nl"
    assert answer(bilingual, "parse", tokens=[DUTCH.split(), ["Ja"]])["model"] == "nl"
    response = bilingual.post("/api/parse", json={"text": DUTCH, "output": "svg"})
    assert response.headers["X-Discotree-Model"] == "nl"


def test_a_text_without_a_model_is_refused_unless_one_is_named(bilingual: httpx.Client) -> None:
    for text, reason in (("Ja.", "not certain: name a model (de, nl)"), (ENGLISH, "looks like English, which no")):
        assert reason in problem(bilingual.post("/api/parse", json={"text": text}), 422)
    found = answer(bilingual, "parse", text=ENGLISH, model="nl")
    assert (found["notice"], found["warning"]) == ("", "this text looks like English; this model is for Dutch")
