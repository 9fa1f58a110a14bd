"""Limits on bodies, treebanks and trees, and the queue of a thread pool."""

import asyncio
import json
import threading
from typing import Any

import httpx
import pytest
from support.helpers import DEEP, right_branching, written
from support.networks import TREES
from support.web import LIMITS, answer, post, problem, upload

from discotree.integrations.web import Limits
from discotree.integrations.web.limits import RequestRefused
from discotree.integrations.web.schemas import (
    Upload,
)
from discotree.integrations.web.thread_pool import THREADS, BoundedPool
from discotree.integrations.web.uploads import read_leniently, read_strictly


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
