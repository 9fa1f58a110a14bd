"""Requests that share batches, fail alone, wait in a queue, time out or are cancelled."""

import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from support.helpers import brackets_of
from support.networks import TREES
from support.servers import serving
from support.web import answer, post, problem

import discotree as dt
from discotree.config.schema import Decoding
from discotree.parsing.parser import ParseOptions
from discotree.trees.tree import Token, Tree
from discotree.web import Limits, create_app
from discotree.web.batching import Batcher
from discotree.web.limits import RequestRefused

DEFAULT = ParseOptions()


def test_parsing_together_gives_the_same_trees(client: httpx.Client, parsers: dict[str, dt.Parser]) -> None:
    wanted = brackets_of(parsers["xx"].parse([tree.words]).__next__() for tree in TREES)
    with ThreadPoolExecutor(len(TREES)) as clients:
        found = list(clients.map(lambda tree: answer(client, "parse", tokens=list(tree.words), model="xx"), TREES))
    assert brackets_of(Tree.from_dict(one["trees"][0]) for one in found) == wanted


class Watched:
    """A parser that records its batches, and can be made to wait or to fail."""

    def __init__(self, parser: dt.Parser, monkeypatch: pytest.MonkeyPatch) -> None:
        self.batches: list[list[str]] = []
        self.go = threading.Event()
        self.go.set()
        self.began = threading.Event()
        original = parser._parse_checked

        def parse_checked(sentences: Sequence[Sequence[Token]], *rest: Any) -> list[Tree]:
            self.batches.append([sentence[0].form for sentence in sentences])
            self.began.set()
            self.go.wait(20)
            if any(sentence[0].form == "bad" for sentence in sentences):
                raise RuntimeError("out of memory")
            return original(sentences, *rest)

        monkeypatch.setattr(parser, "_parse_checked", parse_checked)


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

    def submit(*requests: list[list[Token]], options: Sequence[ParseOptions] = ()) -> Any:
        batcher = Batcher(parsers["xx"], Limits(queued_words=4000))
        open_ones.append(batcher)
        options = options or [DEFAULT] * len(requests)
        with batcher.lock:  # the batcher waits until all are queued
            return [batcher.submit(*pair) for pair in zip(requests, options, strict=True)]

    yield submit
    for batcher in open_ones:
        batcher.close()


def test_requests_of_one_moment_are_one_batch(together: Submit, watched: Watched) -> None:
    answers = together(tokens("a"), tokens("b", "c"), tokens("d"))
    found = [future.result(20) for future in answers]
    assert [[trees[0].words for trees in one] for one in found] == [[("a",)], [("b",), ("c",)], [("d",)]]
    assert watched.batches == [["a", "b", "d", "c"]]


def test_a_batch_is_forgotten_before_the_next_one_comes(parsers: dict[str, dt.Parser]) -> None:
    batcher = Batcher(parsers["xx"], Limits())
    finished = weakref.ref(batcher.submit(tokens("a", "b"), DEFAULT))
    deadline = time.monotonic() + 20
    while finished() is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert finished() is None
    batcher.close()


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


def test_clients_take_turns(parsers: dict[str, dt.Parser], watched: Watched) -> None:
    """However many requests one client has, another one gets every second sentence."""
    batcher = Batcher(parsers["xx"], Limits())
    with batcher.lock:
        for _ in range(50):
            batcher.submit(tokens(*["a"] * 20), DEFAULT, "greedy client")
        other = batcher.submit(tokens("b", "b", "b"), DEFAULT, "other client")
    assert len(other.result(20)) == 3
    assert watched.batches[0][:7] == ["a", "b", "a", "b", "a", "b", "a"]
    batcher.close()


def test_one_client_cannot_fill_the_queue(parsers: dict[str, dt.Parser], watched: Watched) -> None:
    watched.go.clear()
    batcher = Batcher(parsers["xx"], Limits(queued_words=20))
    batcher.submit(tokens("a"), DEFAULT, "a")
    assert watched.began.wait(20)
    batcher.submit(tokens(*"aaaaaaaaa"), DEFAULT, "a")
    with pytest.raises(RequestRefused, match="too many"):
        batcher.submit(tokens("a", "a"), DEFAULT, "a")
    other = batcher.submit(tokens("b", "b"), DEFAULT, "b")
    watched.go.set()
    assert len(other.result(20)) == 2
    batcher.close()


def test_a_short_sentence_does_not_wait_for_a_long_one(
    parsers: dict[str, dt.Parser], monkeypatch: pytest.MonkeyPatch
) -> None:
    go, original = threading.Event(), parsers["xx"]._parse_checked

    def parse_checked(sentences: Sequence[Sequence[Token]], *rest: Any) -> list[Tree]:
        if len(sentences[0]) > 100:
            go.wait(20)
        return original(sentences, *rest)

    monkeypatch.setattr(parsers["xx"], "_parse_checked", parse_checked)
    batcher = Batcher(parsers["xx"], Limits())
    long = batcher.submit([[Token("long")] * 101], DEFAULT)
    assert len(batcher.submit(tokens("short"), DEFAULT).result(20)) == 1
    assert not long.done()
    go.set()
    assert len(long.result(20)) == 1
    batcher.close()


def test_a_full_batch_does_not_wait_for_the_one_before_it(parsers: dict[str, dt.Parser], watched: Watched) -> None:
    watched.go.clear()
    batcher = Batcher(parsers["xx"], Limits())
    first = batcher.submit(tokens(*["a"] * 600), DEFAULT)
    assert watched.began.wait(20)
    watched.began.clear()
    few = batcher.submit(tokens("b"), DEFAULT)
    assert not watched.began.wait(0.1)
    rest = batcher.submit(tokens(*["c"] * 900), DEFAULT)
    assert watched.began.wait(20)
    watched.go.set()
    assert [len(future.result(20)) for future in (first, few, rest)] == [600, 1, 900]
    assert sorted(map(len, watched.batches)) == [1501 - 2 * 512, 512, 512]
    batcher.close()


def test_what_a_client_no_longer_waits_for_is_not_parsed(parsers: dict[str, dt.Parser], watched: Watched) -> None:
    watched.go.clear()
    app = create_app({"xx": parsers["xx"]})
    batcher = app.state.endpoints.batchers["xx"]
    with serving(app) as client:
        with pytest.raises(httpx.ReadTimeout):
            client.post("/api/parse", json={"tokens": [["a"]] * 1000}, timeout=0.5)
        deadline = time.monotonic() + 20
        while batcher.queued_words and time.monotonic() < deadline:
            time.sleep(0.01)
        assert batcher.queued_words == 0
        watched.go.set()
        assert len(answer(client, "parse", tokens=["b"])["trees"]) == 1
    assert sum(map(len, watched.batches)) == 513


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
    batcher = Batcher(parsers["xx"], Limits(queued_words=1000))
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


def test_a_full_queue_says_when_to_retry(parsers: dict[str, dt.Parser], watched: Watched) -> None:
    watched.go.clear()
    app = create_app({"xx": parsers["xx"]}, limits=Limits(queued_words=5))
    with serving(app) as client, ThreadPoolExecutor(2) as clients:
        first = clients.submit(answer, client, "parse", tokens=["a"] * 9)
        assert watched.began.wait(20)
        second = clients.submit(answer, client, "parse", tokens=["b"] * 9)  # waits alone, so it may be long
        while not app.state.endpoints.batchers["xx"].queued_words:
            time.sleep(0.01)
        response = post(client, "parse", tokens=["c"])
        assert "too many sentences are waiting" in problem(response, 503)
        assert response.headers["retry-after"] == "2"
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
            patch.setattr(parsers["xx"], "_parse_checked", lost)
            assert problem(post(client, "parse", tokens=["a"]), 500) == "internal server error"
        assert len(answer(client, "parse", tokens=["a"])["trees"]) == 1
