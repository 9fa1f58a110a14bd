"""Limits on bodies, treebanks and trees."""

import json

import httpx
from support.helpers import right_branching
from support.networks import TREES
from support.web import answer, post, problem, upload


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
