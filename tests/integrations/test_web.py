"""The web server: every call, its limits, shared batches, and refused requests."""

import asyncio
import dataclasses
import http.client
import json
import math
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import resources
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from pydantic import BaseModel
from support.helpers import DEEP, brackets_of, parsed, right_branching, written
from support.models import CARD, saved_model, with_card
from support.networks import TREES
from support.servers import serving
from support.strategies import trees_with_edges

import discotree as dt
from discotree.cli import main
from discotree.config import Decoding
from discotree.drawing import draw_arcs, draw_comparison, draw_svg
from discotree.errors import TreebankError
from discotree.integrations.web import Limits, create_app
from discotree.integrations.web import app as app_module
from discotree.integrations.web.batching import Batcher
from discotree.integrations.web.limits import RequestRefused
from discotree.integrations.web.schemas import (
    OUTPUTS,
    EvaluateResponse,
    ParseResponse,
    TreebankResponse,
    TreeRecord,
    Upload,
)
from discotree.integrations.web.security import LOOPBACK_HOSTS, SECURITY_HEADERS, is_loopback
from discotree.integrations.web.server import allowed_hosts, listen, load_app
from discotree.integrations.web.thread_pool import THREADS, BoundedPool
from discotree.integrations.web.uploads import MeteredFile, read_leniently, read_one, read_strictly
from discotree.models import finding as bundled
from discotree.parsing.resilient import ParseOptions
from discotree.treebanks import TEXT_FORMATS
from discotree.trees.tree import Token, Tree

TEXT = "Es kam nichts Interessantes. Den Hund hat er gesehen."
SEEDS = ["figure1.export", "tiger4.export", "tiger.xml", "alpino_many.xml", "small.dbr", "ptb.mrg", "icepahc.psd"]
LIMITS = Limits()
DEFAULT = ParseOptions()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save three models: one with a card, one that needs tags, one without a language."""
    folder = tmp_path_factory.mktemp("models")
    with_card(saved_model(folder / "xx"), CARD)
    saved_model(folder / "tags", tags="gold")
    saved_model(folder / "mute", language="")
    return folder


@pytest.fixture(scope="module")
def parsers(folder: Path) -> dict[str, dt.Parser]:
    return {name: dt.load(str(folder / name), "cpu") for name in ("xx", "tags", "mute")}


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[httpx.Client]:
    names = [str(folder / name) for name in ("xx", "tags", "mute")]
    with serving(load_app(names, "cpu", LOOPBACK_HOSTS, True, LIMITS)) as client:
        yield client


def post(client: httpx.Client, call: str, **body: Any) -> httpx.Response:
    return client.post(f"/api/{call}", json=body)


def answer(client: httpx.Client, call: str, **body: Any) -> Any:
    response = post(client, call, **body)
    assert response.status_code == 200, response.text
    return response.json()


def problem(response: httpx.Response, status: int = 422) -> str:
    assert response.status_code == status, response.text
    (detail,) = response.json().values()
    return str(detail)


def upload(trees: Sequence[Tree], format: str = "export") -> dict[str, str]:
    return {"content": written(trees, format), "format": format}


# The server and its page


def test_health_and_models(client: httpx.Client) -> None:
    assert client.get("/health").json() == {"status": "ok", "version": dt.__version__, "models": ["xx", "tags", "mute"]}
    first, second, third = client.get("/api/models").json()
    assert (first["title"], first["licence"], first["quality"]["f1"]) == ("German", CARD["licence"], 80.5)
    assert (first["language"], first["decode"], first["needs_tags"]) == ("de", "exact", False)
    assert (second["title"], second["needs_tags"], second["quality"]) == ("tags", True, None)
    assert third["language"] == ""


def test_the_page_loads_nothing_from_other_servers(client: httpx.Client) -> None:
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    named = re.findall(r'(?:src|href)="(/page/[^"]+)"', page.text)
    assert {"/page/main.js", "/page/style.css", "/page/tree.css", "/page/icon.svg"} <= set(named)
    for name in named:
        assert client.get(name).status_code == 200
    for file in (Path(app_module.__file__).parent / "page").iterdir():
        text = file.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?:|//[a-z]+\.[a-z]|@import", text), file.name
        assert not re.search(r"innerHTML|\seval\(|<script>|\sstyle=|\son\w+=\"", text), file.name


def test_the_api_description_needs_no_foreign_scripts(client: httpx.Client) -> None:
    description = client.get("/openapi.json").json()
    assert set(description["paths"]) == {
        *("/api/parse", "/api/draw", "/api/treebank", "/api/evaluate", "/api/models", "/health")
    }
    docs = client.get("/docs").text
    assert "POST /api/parse" in docs
    assert "<script" not in docs
    assert client.get("/redoc").status_code == 404


# Parsing


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
        ({"text": "Ja. Nein."}, [2, 2]),
        ({"text": ["Ja. Nein.", "Es kam."]}, [4, 3]),
        ({"tokens": ["Es", "kam"]}, [2]),
        ({"tokens": [["Es", "kam"], ["Ja"]]}, [2, 1]),
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
        ({"text": "Ja", "model": "nl"}, "no model 'nl': choose one of xx, tags, mute"),
        ({"text": "Ja", "model": "../xx"}, "no model"),
        ({"text": "Ja", "model": "mute"}, "no language"),
        ({"text": "Ja", "model": "tags"}, "needs tags"),
        ({"text": "Ja", "tags": ["ITJ"]}, "tags need tokens"),
        ({"tokens": ["Ja"], "tags": ["ITJ"]}, "takes no tags"),
        ({"tokens": ["Ja"], "tags": ["ITJ", "NN"], "model": "tags"}, "a tag for every token"),
        ({"text": "Ja", "decode": "best"}, "decode"),
        ({"text": "Ja", "decode": "beam", "k": 2}, "exactly"),
        ({"text": "Ja", "k": 99}, "k: "),
        ({"text": "Ja", "output": "docx"}, "output"),
        ({"text": "Ja", "modell": "xx"}, "modell"),
        ({"tokens": ["a b"], "output": "export"}, "cannot hold"),
        ({"text": "w" * 200_001}, "200,001 characters are too many"),
        ({"tokens": [["w" * 100_000], ["w" * 100_001]]}, "200,001 characters are too many"),
        ({"tokens": ["w"] * 1001}, "sentence 1 has 1,001 words: at most 1,000"),
        ({"tokens": [["w"]] * 1001}, "1,001 sentences are too many"),
        ({"tokens": [["w"] * 101] * 100}, "10,100 words are too many"),
    ],
)
def test_invalid_requests_are_refused_with_a_reason(client: httpx.Client, body: dict[str, Any], message: str) -> None:
    assert message in problem(post(client, "parse", **body))


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"{", 400),
        (b"[" * 100_000, 400),
        (b'{"text": "\\ud800"}', 422),
        (b'{"text": 1' + b"0" * 5000 + b"}", 400),
        (b"\xff", 400),
        (b'"text"', 422),
        (b'{"tokens": [["\\ud800", "a"]]}', 422),
    ],
)
def test_bodies_that_are_no_request(client: httpx.Client, raw: bytes, status: int) -> None:
    response = client.post("/api/parse", content=raw, headers={"Content-Type": "application/json"})
    assert problem(response, status)


# Batching


def test_parsing_together_gives_the_same_trees(client: httpx.Client, parsers: dict[str, dt.Parser]) -> None:
    wanted = brackets_of(parsers["xx"].parse([tree.words]).__next__() for tree in TREES)
    with ThreadPoolExecutor(len(TREES)) as clients:
        found = list(clients.map(lambda tree: answer(client, "parse", tokens=list(tree.words)), TREES))
    assert brackets_of(Tree.from_dict(one["trees"][0]) for one in found) == wanted


class Watched:
    """A parser that records its batches, and can be made to wait or to fail."""

    def __init__(self, parser: dt.Parser, monkeypatch: pytest.MonkeyPatch) -> None:
        self.batches: list[list[str]] = []
        self.go = threading.Event()
        self.go.set()
        self.began = threading.Event()
        original = parser.parse_tokens

        def parse_tokens(sentences: Sequence[Sequence[Token]], *rest: Any) -> list[Tree]:
            self.batches.append([sentence[0].form for sentence in sentences])
            self.began.set()
            self.go.wait(20)
            if any(sentence[0].form == "bad" for sentence in sentences):
                raise RuntimeError("out of memory")
            return original(sentences, *rest)

        monkeypatch.setattr(parser, "parse_tokens", parse_tokens)


@pytest.fixture
def watched(parsers: dict[str, dt.Parser], monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(parsers["xx"], monkeypatch)


def tokens(*forms: str) -> list[list[Token]]:
    return [[Token(form)] for form in forms]


Submit = Callable[..., list[Future[list[list[Tree]]]]]


@pytest.fixture
def together(parsers: dict[str, dt.Parser]) -> Iterator[Submit]:
    """Return a function that submits several requests at the same moment."""
    open_ones = []

    def submit(*requests: list[list[Token]], options: Sequence[ParseOptions] = (), batching: bool = True) -> Any:
        batcher = Batcher(parsers["xx"], 1000, batching)
        open_ones.append(batcher)
        options = options or [DEFAULT] * len(requests)
        with batcher.changed:  # the batcher waits until all are queued
            return [batcher.submit(*pair) for pair in zip(requests, options, strict=True)]

    yield submit
    for batcher in open_ones:
        batcher.close()


def test_requests_of_one_moment_are_one_batch(together: Submit, watched: Watched) -> None:
    answers = together(tokens("a"), tokens("b", "c"), tokens("d"))
    found = [future.result(20) for future in answers]
    assert [[trees[0].words for trees in one] for one in found] == [[("a",)], [("b",), ("c",)], [("d",)]]
    assert watched.batches == [["a", "b", "d", "c"]]


def test_without_batching_every_request_is_parsed_by_itself(together: Submit, watched: Watched) -> None:
    for future in together(tokens("a"), tokens("b", "c"), tokens("d"), batching=False):
        future.result(20)
    assert watched.batches == [["a"], ["b", "c"], ["d"]]


def test_a_short_request_does_not_wait_for_a_long_one(together: Submit, watched: Watched) -> None:
    long, short = together(tokens(*["long"] * 900), tokens("short"))
    order: list[str] = []
    long.add_done_callback(lambda _: order.append("long"))
    short.add_done_callback(lambda _: order.append("short"))
    assert len(long.result(20)) == 900
    assert order == ["short", "long"]
    assert watched.batches[0][:3] == ["long", "short", "long"]


def test_only_requests_with_equal_options_share_a_batch_and_none_starves(together: Submit, watched: Watched) -> None:
    greedy, several = ParseOptions(Decoding("greedy")), ParseOptions(None, 2)
    requests = [tokens(*["a"] * 900), tokens("b"), tokens("c"), [[Token("d"), Token("e")]]]
    answers = together(*requests, options=[DEFAULT, greedy, DEFAULT, several])
    assert len(answers[3].result(20)[0]) == 2
    assert [len(future.result(20)) for future in answers[:3]] == [900, 1, 1]
    kinds = [set(batch) for batch in watched.batches]
    assert kinds == [{"a", "c"}, {"b"}, {"a"}]


def test_a_request_that_fails_fails_alone(together: Submit, watched: Watched) -> None:
    good, bad, fine = together(tokens("a"), tokens("bad"), tokens("b"))
    assert len(good.result(20)) == len(fine.result(20)) == 1
    with pytest.raises(RuntimeError, match="out of memory"):
        bad.result(20)
    assert watched.batches[0] == ["a", "bad", "b"]


def test_a_cancelled_request_is_not_parsed(together: Submit, watched: Watched) -> None:
    watched.go.clear()
    first, second = together(tokens("a"), tokens("b"), options=[DEFAULT, ParseOptions(Decoding("greedy"))])
    assert watched.began.wait(20)
    assert second.cancel()
    assert first.cancel()  # too late for the parser, but its trees are dropped
    watched.go.set()
    (third,) = together(tokens("c"))
    third.result(20)
    assert watched.batches == [["a"], ["c"]]


def test_a_closed_batcher_refuses_waiting_requests(parsers: dict[str, dt.Parser], watched: Watched) -> None:
    watched.go.clear()
    batcher = Batcher(parsers["xx"], 1000)
    first = batcher.submit(tokens("a"), DEFAULT)
    assert watched.began.wait(20)
    second = batcher.submit(tokens("b"), DEFAULT)
    batcher.close()
    watched.go.set()
    assert len(first.result(20)) == 1
    with pytest.raises(RequestRefused, match="shutting down"):
        second.result(20)
    with pytest.raises(RequestRefused, match="too many"):
        batcher.submit(tokens("c"), DEFAULT)


# Limits


def test_a_full_queue_says_when_to_retry(parsers: dict[str, dt.Parser], watched: Watched) -> None:
    watched.go.clear()
    app = create_app({"xx": parsers["xx"]}, limits=Limits(queued_words=5, retry_seconds=7))
    with serving(app) as client, ThreadPoolExecutor(2) as clients:
        first = clients.submit(answer, client, "parse", tokens=["a"] * 9)
        assert watched.began.wait(20)
        second = clients.submit(answer, client, "parse", tokens=["b"] * 9)  # waits alone, so it may be long
        while not any(request.is_open for request in app.state.endpoints.batchers["xx"].queue):
            time.sleep(0.01)
        response = post(client, "parse", tokens=["c"])
        assert "too many sentences are waiting" in problem(response, 503)
        assert response.headers["retry-after"] == "7"
        watched.go.set()
        assert len(first.result(20)["trees"]) == len(second.result(20)["trees"]) == 1
        assert len(answer(client, "parse", tokens=["d"])["trees"]) == 1


def test_a_slow_response_times_out(parsers: dict[str, dt.Parser], watched: Watched) -> None:
    watched.go.clear()
    app = create_app({"xx": parsers["xx"]}, limits=Limits(timeout_seconds=0.2))
    with serving(app) as client:
        response = post(client, "parse", tokens=["a"])
        assert "longer than 0.2 seconds" in problem(response, 503)
        assert int(response.headers["retry-after"]) > 0
        watched.go.set()
    assert watched.batches == [["a"]]


def test_a_sentence_that_fails_is_an_internal_error(parsers: dict[str, dt.Parser], watched: Watched) -> None:
    app = create_app({"xx": parsers["xx"]})
    with serving(app) as client:
        assert problem(post(client, "parse", tokens=["bad"]), 500) == "internal server error"
        assert len(answer(client, "parse", tokens=["good"])["trees"]) == 1
    assert watched.batches == [["bad"], ["."], ["good"]]  # in between, the parser is checked


def test_a_parser_that_does_not_work_any_more_does_not_end_the_server(
    parsers: dict[str, dt.Parser], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: Any) -> None:
        raise RuntimeError("CUDA error: device lost")

    app = create_app({"xx": parsers["xx"]})
    with serving(app) as client:
        with monkeypatch.context() as patch:
            patch.setattr(parsers["xx"], "parse_tokens", lost)
            assert problem(post(client, "parse", tokens=["a"]), 500) == "internal server error"
        assert len(answer(client, "parse", tokens=["a"])["trees"]) == 1


def test_a_pool_refuses_work_when_its_queue_is_full() -> None:
    go = threading.Event()

    async def overfill() -> list[Any]:
        pool = BoundedPool(LIMITS, max_queued=1)
        tasks = [asyncio.create_task(pool.run(go.wait, 20)) for _ in range(THREADS + 2)]
        await asyncio.sleep(0.05)
        go.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert await pool.run(lambda: "free again") == "free again"
        pool.close()
        return results

    results = asyncio.run(overfill())
    assert results[:-1] == [True] * (THREADS + 1)
    assert (results[-1].status, results[-1].retry_seconds) == (503, Limits().retry_seconds)


@pytest.fixture(scope="module")
def small(parsers: dict[str, dt.Parser]) -> Iterator[httpx.Client]:
    """A server with low limits that accepts any Host."""
    limits = Limits(body_bytes=4000, treebank_trees=3, tree_bytes=600, sentence_words=9, response_positions=60)
    with serving(create_app({"xx": parsers["xx"]}, limits=limits, hosts=None)) as client:
        yield client


def test_large_bodies_are_refused_with_and_without_a_length(small: httpx.Client) -> None:
    body = json.dumps({"text": "a" * 5000}).encode()
    headers = {"Content-Type": "application/json"}
    assert "4,000 bytes" in problem(small.post("/api/parse", content=body, headers=headers), 413)
    pieces = (body[start : start + 100] for start in range(0, len(body), 100))
    assert "4,000 bytes" in problem(small.post("/api/parse", content=pieces, headers=headers), 413)
    larger = b" " * 30_000  # more than the server reads before it answers
    assert "4,000 bytes" in problem(small.post("/api/parse", content=larger, headers=headers), 413)
    fine = (piece for piece in [b'{"text":', b'"Ja"}'])
    assert small.post("/api/parse", content=fine, headers=headers).status_code == 200


def test_large_treebanks_are_truncated_or_refused(small: httpx.Client) -> None:
    four = upload(TREES[4:8], "discbracket")
    given = answer(small, "treebank", **four)
    assert (given["trees"], given["is_complete"]) == (3, False)
    assert "more than 3 trees" in problem(post(small, "evaluate", gold=four, predicted=four), 413)
    long = upload([right_branching(10)], "discbracket")
    given = answer(small, "treebank", **long)
    assert (given["trees"], given["broken"]) == (0, 1)
    assert "10 words" in given["problems"][0]
    assert "10 words" in problem(post(small, "draw", tree=long), 413)
    assert "10 words" in problem(post(small, "draw", tree=right_branching(10).to_dict()), 413)
    assert "600 bytes" in problem(post(small, "treebank", **upload([right_branching(40)], "discbracket")), 413)
    assert "ask for fewer" in problem(post(small, "treebank", **upload(TREES[1:4], "discbracket")), 413)
    assert len(answer(small, "treebank", **upload(TREES[1:4], "discbracket"), limit=1)["rows"]) == 1


@pytest.mark.parametrize("shape", DEEP)
@pytest.mark.parametrize("format", ["discbracket", "export", "tigerxml", "alpino", "penn"])
def test_an_endless_tree_does_not_fill_the_memory(shape: str, format: str) -> None:
    content = written([DEEP[shape](3000)], format)
    limits = Limits(tree_bytes=len(content) // 2)
    with pytest.raises(RequestRefused, match="found no complete tree within"):
        read_strictly(Upload(content=content, format=format), limits)


def test_many_small_trees_are_accepted() -> None:
    for format in ("discbracket", "export", "tigerxml"):
        content = written(TREES * 20, format)
        limits = Limits(tree_bytes=max(len(content) // 50, 70_000))
        assert len(read_strictly(Upload(content=content, format=format), limits)) == len(TREES) * 20


def test_nested_constituents_are_counted() -> None:
    content = written([DEEP["unary"](50)], "discbracket")
    assert read_leniently(Upload(content=content), Limits(tree_positions=50)).broken == 1
    assert read_leniently(Upload(content=content), Limits(tree_positions=51)).broken == 0


# Treebanks


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
        read_leniently(Upload(content=content, name=name), LIMITS)  # loads what is loaded once
        watching = True
        read_leniently(Upload(content=content, name=name), LIMITS)
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
        ({"gap_degree": 1}, lambda tree: tree.gap_degree >= 1),
        ({"gap_degree": 2}, lambda tree: tree.gap_degree >= 2),
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
        ({"content": "hello"}, "the format is unclear"),
        ({"content": ""}, "the format is unclear"),
        ({"content": "", "format": "export"}, "contains no tree"),
        ({"content": "hello", "format": "/etc/passwd"}, "format"),
        ({"content": "x", "name": "n" * 300}, "name"),
        ({"content": "\ud800"}, "surrogate"),
    ],
)
def test_uploads_that_are_no_treebank(client: httpx.Client, body: dict[str, Any], message: str) -> None:
    response = client.post("/api/treebank", content=json.dumps(body), headers={"Content-Type": "application/json"})
    assert message in problem(response)


def test_a_meter_counts_from_the_last_tree() -> None:
    meter = MeteredFile(b"12345\n1234567\n", 10)
    assert next(meter) == b"12345\n"
    meter.next_tree()
    assert next(meter) == b"1234567\n"
    with pytest.raises(RequestRefused):
        MeteredFile(b"12345678901", 10).read()


# Comparing


def changed(trees: Sequence[Tree]) -> list[Tree]:
    """Return the trees, every third one flat."""
    return [
        tree if k % 3 else dataclasses.replace(tree, root=dt.Node("ROOT", range(len(tree))))
        for k, tree in enumerate(trees)
    ]


def test_metrics_are_the_evaluators(client: httpx.Client) -> None:
    predicted = changed(TREES)
    given = answer(client, "evaluate", gold=upload(TREES), predicted=upload(predicted, "tigerxml"))
    score = dt.evaluate(TREES, predicted)
    assert given["all"] == pytest.approx({k: v for k, v in score.metrics().items() if v is not None})
    assert given["discontinuous"]["f1"] == pytest.approx(score.discontinuous.f1)
    assert not math.isnan(score.f1)
    assert [row["id"] for row in given["sentences"]] == [tree.id for tree in TREES]
    assert sum(row["matched"] for row in given["sentences"]) == score.matched


def test_sentences_are_matched_by_their_ids(client: httpx.Client) -> None:
    given = answer(client, "evaluate", gold=upload(TREES), predicted=upload(TREES[::-1]), params="all")
    last = len(TREES) - 1
    assert [(row["gold_tree"], row["predicted_tree"]) for row in given["sentences"]][:2] == [(0, last), (1, last - 1)]
    assert given["all"]["f1"] == 100


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"gold": upload(TREES), "predicted": upload(TREES[1:])}, "have no prediction"),
        ({"gold": upload(TREES[:1]), "predicted": upload(TREES[:2])}, "not in the gold file"),
        ({"gold": upload(TREES), "predicted": {"content": "(S", "format": "discbracket"}}, "not closed"),
        ({"gold": upload(TREES), "predicted": upload(TREES), "params": "/etc/passwd"}, "params"),
    ],
)
def test_files_that_cannot_be_compared(client: httpx.Client, body: dict[str, Any], message: str) -> None:
    assert message in problem(post(client, "evaluate", **body))


# Drawing


@given(trees_with_edges())
def test_a_validated_record_is_the_whole_tree(tree: Tree) -> None:
    record = TreeRecord.model_validate_json(json.dumps(tree.to_dict())).model_dump(exclude_none=True)
    assert record == tree.to_dict()
    assert Tree.from_dict(record).secondary == tree.secondary


def test_the_description_shows_the_record(client: httpx.Client) -> None:
    """The fields of the API are those of record.schema.json."""
    ours = json.loads((resources.files("discotree.trees") / "record.schema.json").read_text("utf-8"))
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    for name, schema in {
        "TreeRecord": ours,
        "TokenRecord": ours["$defs"]["token"],
        "ConstituentRecord": ours["$defs"]["constituent"],
        "EdgeRecord": ours["$defs"]["edge"],
    }.items():
        assert schemas[name]["properties"].keys() == schema["properties"].keys()
        assert schemas[name]["required"] == schema["required"]


def test_responses_are_as_the_description_says(client: httpx.Client) -> None:
    bodies: list[tuple[str, type[BaseModel], dict[str, Any]]] = [
        ("parse", ParseResponse, {"text": TEXT, "k": 2}),
        ("treebank", TreebankResponse, upload(TREES)),
        ("evaluate", EvaluateResponse, {"gold": upload(TREES), "predicted": upload(changed(TREES))}),
    ]
    for call, model, body in bodies:
        response = answer(client, call, **body)
        assert model.model_validate(response).model_dump(exclude_none=True) == response


def test_confidences_travel_with_a_record(client: httpx.Client, parsers: dict[str, dt.Parser]) -> None:
    tree = parsers["xx"](["Es", "kam", "nichts"])
    again = Tree.from_dict(answer(client, "draw", tree=tree.to_dict(), output="json"))
    assert again.confidences == pytest.approx(tree.confidences, rel=1e-4)
    assert again.confidence == pytest.approx(tree.confidence, rel=1e-4)


def test_uploaded_records_without_an_encoding_are_refused(client: httpx.Client) -> None:
    """JSON can spell halves of surrogate pairs; no response could contain them."""
    good, bad = TREES[0].to_dict(), TREES[1].to_dict()
    bad["constituents"][0]["label"] = "\ud800"
    content = "".join(json.dumps(record) + "\n" for record in (good, bad))
    given = answer(client, "treebank", content=content, format="json")
    assert (given["trees"], given["broken"]) == (1, 1)
    assert "lone surrogate" in given["problems"][0]
    file = {"content": content, "format": "json"}
    assert "lone surrogate" in problem(post(client, "evaluate", gold=file, predicted=file))


PLAIN = {"tokens": [{"form": "a"}, {"form": "b"}, {"form": "c"}]}
ROOT = {"label": "ROOT", "positions": [0, 1, 2]}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"constituents": [{"label": "A", "positions": [0, 1]}]}, "has to be the root"),
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
    assert post(client, "draw", tree=tree.to_dict(), output="arcs", heads="negra").text == draw_arcs(
        tree.dependencies("negra")
    )
    model = post(client, "draw", tree=tree.to_dict(), output="arcs", model="xx").text
    assert model == draw_arcs(tree.dependencies(parsers["xx"].config.data.heads))
    assert post(client, "draw", tree=tree.to_dict(), output="arcs").text == draw_arcs(tree.dependencies())
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
        ({"tree": TREES[0].to_dict(), "model": "/etc"}, "no model"),
        ({"tree": TREES[0].to_dict(), "against": TREES[1].to_dict()}, "word 1 is 'Es'"),
        ({"tree": TREES[0].to_dict(), "against": TREES[0].to_dict(), "output": "latex"}, "cannot be compared as latex"),
    ],
)
def test_what_cannot_be_drawn(client: httpx.Client, body: dict[str, Any], message: str) -> None:
    assert message in problem(post(client, "draw", **body))


def test_one_tree_is_one_tree() -> None:
    with pytest.raises(TreebankError, match="found 2"):
        read_one(Upload(content=written(TREES[:2], "export")), LIMITS)


# Security


@pytest.mark.parametrize("path", ["/", "/page/main.js", "/health", "/docs", "/openapi.json", "/nothing", "/api/parse"])
def test_every_answer_has_the_security_headers(client: httpx.Client, path: str) -> None:
    response = client.get(path)
    assert {name: response.headers[name] for name in SECURITY_HEADERS} == SECURITY_HEADERS
    assert "default-src 'none'" in SECURITY_HEADERS["Content-Security-Policy"]
    assert "unsafe" not in SECURITY_HEADERS["Content-Security-Policy"]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "LOCALHOST", "localhost:8000", "[::1]:8000"])
def test_own_names_are_answered(client: httpx.Client, host: str) -> None:
    assert client.get("/health", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", "", "[::2]"]
)
def test_foreign_names_are_refused(client: httpx.Client, small: httpx.Client, host: str) -> None:
    response = client.get("/health", headers={"Host": host})
    assert "its own name as Host" in problem(response, 403)
    assert response.headers["x-content-type-options"] == "nosniff"
    assert small.get("/health", headers={"Host": host}).status_code == 200  # this server accepts every Host


def test_pages_from_elsewhere_are_refused(client: httpx.Client) -> None:
    own = str(client.base_url).rstrip("/")
    assert client.post("/api/parse", json={"text": "Ja"}, headers={"Origin": own}).status_code == 200
    for origin in ("https://evil.example", "null", own + "0"):
        response = client.post("/api/parse", json={"text": "Ja"}, headers={"Origin": origin})
        assert "from its own pages" in problem(response, 403)
        assert "access-control-allow-origin" not in response.headers


@pytest.mark.parametrize(
    "path",
    [
        "/page/../app.py",
        "/page/..%2fapp.py",
        "/page/%2e%2e/app.py",
        "/page//etc/passwd",
        "/page/",
        "/page",
        "/../../../../etc/passwd",
        "//etc/passwd",
        "/page/..\\app.py",
        "/page/main.js%00.html",
        "/etc/passwd",
        "/api/models/xx",
        "/api/models/..%2f..%2fetc%2fpasswd",
    ],
)
def test_no_path_leads_to_a_file(client: httpx.Client, path: str) -> None:
    connection = http.client.HTTPConnection(client.base_url.host, client.base_url.port or 0)
    connection.request("GET", path)  # unchanged: httpx would normalise it
    response = connection.getresponse()
    body = response.read()
    connection.close()
    assert response.status == 404
    assert json.loads(body) == {"detail": "Not Found"}


def test_loopback_addresses_are_known() -> None:
    assert [is_loopback(host) for host in ("127.0.0.1", "127.1.2.3", "::1", "localhost")] == [True] * 4
    assert [is_loopback(host) for host in ("0.0.0.0", "::", "192.168.1.1", "example.org")] == [False] * 4


# The command


def test_models_are_called_by_short_names_and_only_once(folder: Path) -> None:
    with pytest.raises(dt.ConfigError, match="two models are called 'xx'"):
        load_app([str(folder / "xx"), f"{folder}/./xx"], "cpu", LOOPBACK_HOSTS, True, LIMITS)
    with pytest.raises(dt.ModelError, match="there is no model"):
        load_app(["nowhere"], "cpu", LOOPBACK_HOSTS, True, LIMITS)
    with pytest.raises(dt.ConfigError, match="needs at least one model"):
        create_app({})


def test_without_a_name_all_bundled_models_are_served(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundled, "MODELS", folder)
    service = load_app([], "cpu", LOOPBACK_HOSTS, True, LIMITS).state.endpoints
    assert list(service.parsers) == ["mute", "tags", "xx"]
    service.close()
    monkeypatch.setattr(bundled, "MODELS", tmp_path)
    with pytest.raises(dt.ModelError, match="no models are installed"):
        load_app([], "cpu", LOOPBACK_HOSTS, True, LIMITS)


@pytest.mark.slow
def test_the_command_serves_until_it_is_stopped(folder: Path) -> None:
    command = [sys.executable, "-W", "error", "-m", "discotree", "serve", "--model", str(folder / "xx"), "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", url)
        assert httpx.get(f"{url}/health").json()["models"] == ["xx"]
        text = httpx.post(f"{url}/api/parse", json={"text": "Es kam.", "output": "discbracket"}).text
        assert text.startswith("(ROOT ")
        server.send_signal(signal.SIGINT)
        _, printed = server.communicate(timeout=20)
        assert printed == "Ctrl-C stops the server\n"
        assert server.returncode in (0, 130, -signal.SIGINT)
    finally:
        server.kill()
        server.communicate()


def test_a_port_in_use_is_reported(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with listen("127.0.0.1", 0) as bound:
        port = str(bound.getsockname()[1])
        monkeypatch.setattr(sys, "argv", ["discotree", "serve", "--model", str(folder / "xx"), "--port", port])
        with pytest.raises(SystemExit) as ended:
            main()
    assert ended.value.code == 1
    assert f"cannot listen on 127.0.0.1, port {port}" in capsys.readouterr().err


def test_a_missing_package_is_reported_with_its_extra(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith("discotree.integrations")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    monkeypatch.setattr(sys, "argv", ["discotree", "serve", "--model", str(folder / "xx")])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert "pip install 'discotree[web]'" in capsys.readouterr().err


def test_a_loopback_server_accepts_the_host_it_was_started_with():
    for host in ("127.0.0.1", "127.0.0.2", "localhost"):
        with listen(host, 0) as bound:
            names = allowed_hosts(host, bound)
            assert names is not None
            assert {host, "localhost"} <= names
    with listen("0.0.0.0", 0) as bound:
        assert allowed_hosts("0.0.0.0", bound) is None
