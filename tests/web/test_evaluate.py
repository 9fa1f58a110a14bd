"""/api/evaluate: metrics and the comparison of sentences."""

import math
from typing import Any

import httpx
import pytest
from support.networks import TREES
from support.web import answer, changed, post, problem, upload

import discotree as dt


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
        ({"gold": upload(TREES), "predicted": {"content": "(S", "format": "discbracket"}}, "unclosed brackets"),
        ({"gold": upload(TREES), "predicted": upload(TREES), "params": "/etc/passwd"}, "params"),
        (
            {"gold": {"content": " ", "format": "penn"}, "predicted": {"content": " ", "format": "penn"}},
            "contains no tree",
        ),
    ],
)
def test_files_that_cannot_be_compared(client: httpx.Client, body: dict[str, Any], message: str) -> None:
    assert message in problem(post(client, "evaluate", **body))
