"""Bodies that once took minutes or gigabytes are refused at once, with a message."""

import json
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from support.web import problem

MAX_SECONDS = 60.0  # the limit of the server; mostly a tenth of a second on a machine that is not busy
ONES = b"[" + b"1," * 2_000_000 + b"1]"  # 4 MB


def tree_body(output: str = "svg", **fields: Any) -> bytes:
    tree = {"tokens": [{"form": "a"}], "constituents": [{"label": "S", "positions": [0]}], **fields}
    return json.dumps({"tree": tree, "output": output}).encode()


def edges_body(output: str) -> bytes:
    words = 200
    return tree_body(
        output,
        tokens=[{"form": f"w{k}"} for k in range(words)],
        constituents=[{"label": "S", "positions": list(range(words))}],
        secondary=[{"label": "x", "child": k % words, "parent": words} for k in range(14_000)],
    )


def deep_body(form: str, output: str) -> bytes:
    chain = [{"label": "A", "positions": [0]}] * 1000
    return tree_body(output, tokens=[{"form": form}], constituents=chain)


def nested_body(words: int) -> bytes:
    constituents = [{"label": "S", "positions": list(range(k, words))} for k in range(words)]
    return tree_body(tokens=[{"form": "w"}] * words, constituents=constituents)


def endless_tree(words: int) -> str:
    return "".join(f"(A (B {k}=w) " for k in range(words)) + ")" * words


ATTACKS: dict[str, tuple[str, Callable[[], bytes], int, str]] = {
    "numbers as tokens": ("parse", lambda: b'{"tokens":' + ONES + b"}", 422, "too many values"),
    "numbers as texts": ("parse", lambda: b'{"text":' + ONES + b"}", 422, "too many values"),
    "lists as tokens": ("parse", lambda: b'{"tokens":' + ONES.replace(b"1", b"[]") + b"}", 422, "too many values"),
    "numbers as constituents": (
        "draw",
        lambda: b'{"tree":{"tokens":[{"form":"a"}],"constituents":' + ONES + b"}}",
        422,
        "tree.constituents.0: ",
    ),
    "numbers as positions": (
        "draw",
        lambda: b'{"tree":{"tokens":[{"form":"a"}],"constituents":[{"label":"A","positions":' + ONES + b"}]}}",
        422,
        "tree.constituents.0.positions: List should have at most 20000 items",
    ),
    "empty tokens of a tree": (
        "draw",
        lambda: b'{"tree":{"tokens":[' + b'{"form":""},' * 300_000 + b'{}],"constituents":[]}}',
        422,
        "tree.tokens: List should have at most 20000 items",
    ),
    "unknown fields": (
        "draw",
        lambda: b"{" + b",".join(b'"%d":1' % k for k in range(300_000)) + b"}",
        422,
        "unknown fields",
    ),
    "nested lists": ("parse", lambda: b'{"text":' + b"[" * 8_000_000, 400, "recursion limit exceeded"),
    "a number of 8 million digits": ("parse", lambda: b'{"text":"Ja.","k":1' + b"0" * 8_000_000 + b"}", 400, "number"),
    "a position of 4,000 digits": (
        "draw",
        lambda: tree_body(constituents=[{"label": "A", "positions": [10**3999]}]),
        422,
        "tree.constituents.0.positions.0: ",
    ),
    "secondary edges as svg": ("draw", lambda: edges_body("svg"), 413, "secondary edges; at most 1,000"),
    "secondary edges as text": ("draw", lambda: edges_body("text"), 413, "secondary edges; at most 1,000"),
    "a long word to draw": ("draw", lambda: deep_body("w" * 200_000, "text"), 422, "at most 100000 characters"),
    "a word to draw": ("draw", lambda: deep_body("w" * 100_000, "text"), 413, "at most 1,000 can be shown"),
    "a wide and deep text": (
        "draw",
        lambda: tree_body(
            "text",
            tokens=[{"form": "w" * 1000}] * 100,
            constituents=[{"label": "A", "positions": list(range(100))}] * 1000,
        ),
        413,
        "more than",
    ),
    "many words to draw": ("draw", lambda: nested_body(1001), 413, "1,001 words; at most 1,000"),
    "many constituents to draw": (
        "draw",
        lambda: tree_body(constituents=[{"label": "A", "positions": [0]}] * 6000),
        413,
        "6,000 constituents; at most 5,000",
    ),
    "a long word to parse": (
        "parse",
        lambda: json.dumps({"tokens": ["w" * 90_000], "model": "xx"}).encode(),
        422,
        "at most 1,000",
    ),
    "many words to parse": (
        "parse",
        lambda: json.dumps({"tokens": [["w"] * 11] * 1000, "model": "xx"}).encode(),
        422,
        "10,000",
    ),
    "an endless tree": (
        "treebank",
        lambda: json.dumps({"content": endless_tree(60_000), "format": "discbracket"}).encode(),
        413,
        "more than",
    ),
    "markup as a model": ("parse", lambda: b'{"text":"Ja.","model":"[/x]"}', 422, "unknown model '[/x]'"),
    "markup as a format": ("treebank", lambda: b'{"content":"[/x]","format":"[/x]"}', 422, "format: "),
}

LONGER = {
    "a wide and deep text",
    "unknown fields",
    "numbers as positions",
    "empty tokens of a tree",
    "many words to draw",
}  # half a second or more each


@pytest.fixture(scope="module")
def ready(client: httpx.Client) -> httpx.Client:
    """A server whose worker process runs: it takes a second to start."""
    client.post("/api/draw", content=tree_body(), headers={"Content-Type": "application/json"})
    return client


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in LONGER else ()) for name in ATTACKS]
)
def test_an_attack_is_refused_at_once(ready: httpx.Client, name: str) -> None:
    call, make_body, status, message = ATTACKS[name]
    body = make_body()
    begin = time.monotonic()
    response = ready.post(f"/api/{call}", content=body, headers={"Content-Type": "application/json"})
    seconds = time.monotonic() - begin
    assert message in problem(response, status)
    assert seconds < MAX_SECONDS


def test_markup_in_a_tree_is_drawn_as_it_is(ready: httpx.Client) -> None:
    tree = tree_body("text", tokens=[{"form": "[/x]"}], constituents=[{"label": "[/x]", "positions": [0]}])
    response = ready.post("/api/draw", content=tree, headers={"Content-Type": "application/json"})
    assert (response.status_code, response.text.count("[/x]")) == (200, 2)
