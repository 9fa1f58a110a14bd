"""/api/reparse and the constraints of /api/parse."""

from concurrent.futures import wait
from dataclasses import replace
from typing import Any

import httpx
import pytest
from support.networks import TREES
from support.web import answer, post, problem

import discotree as dt
from discotree import IsConstituent, NotConstituent, Tree, WordHas
from discotree.parsing.parser import ParseOptions
from discotree.trees.corrections import satisfies
from discotree.web.batching import Batcher
from discotree.web.schemas import ParseRequest
from discotree.web.tasks import constraint_records, constraints_from

WORDS = ["Es", "kam", "nichts", "Interessantes", "."]
Record = dict[str, Any]


def parse(client: httpx.Client, words: list[str] = WORDS, **more: Any) -> Record:
    (record,) = answer(client, "parse", tokens=words, **{"model": "xx"} | more)["trees"]
    return {key: value for key, value in record.items() if key != "sentence"}


def join(record: Record, positions: list[int], label: str) -> Record:
    """Return a tree in which these words are a constituent below the first one, and in no other one below it."""
    first = [one for one in record["constituents"] if len(one["positions"]) == len(record["tokens"])]
    return record | {"constituents": [*first, {"label": label, "positions": positions}]}


def known(record: Record) -> Tree:
    return Tree.from_dict(record)


def test_constraints_and_their_records() -> None:
    constraints = [
        IsConstituent([0, 2], "NP", "SB"),
        IsConstituent([1]),
        NotConstituent([0, 1], "VP"),
        WordHas(2, "NN", -1, "HD"),
        WordHas(0, function="--"),
    ]
    records = constraint_records(constraints)
    assert records[0] == {"constituent": (0, 2), "label": "NP", "function": "SB"}
    assert records[3:] == [{"word": 2, "tag": "NN", "head": -1, "function": "HD"}, {"word": 0, "function": "--"}]
    request = ParseRequest.model_validate({"tokens": ["a"], "constraints": records})
    assert constraints_from(request.constraints or []) == constraints


def test_a_parse_under_constraints(client: httpx.Client, parsers: dict[str, dt.Parser]) -> None:
    constraints = [{"constituent": [0, 3], "label": "VP"}, {"not_constituent": [1]}, {"word": 2, "tag": "PIS"}]
    found = known(parse(client, constraints=constraints))
    wanted = parsers["xx"](WORDS, [IsConstituent([0, 3], "VP"), NotConstituent([1]), WordHas(2, "PIS")])
    assert replace(found, id="") == wanted
    assert satisfies(found, IsConstituent([0, 3], "VP"))


@pytest.mark.parametrize(
    ("constraints", "more", "message"),
    [
        ([{"constituent": [0, 1]}, {"constituent": [1, 2]}], {}, "neither contains the other"),
        ([{"constituent": [0, 1], "label": "NEW"}], {}, "the model does not have this label"),
        ([{"constituent": [0, 9]}], {}, "the sentence has only 5 words"),
        ([{"word": 0, "label": "NP"}], {}, "constraints.0: expected a constituent ("),
        ([{"word": 0}, {"label": "NP"}], {}, "constraints.1: expected a constituent ("),
        ([{"constituent": [0, 1], "not_constituent": [2]}], {}, "constraints.0: expected a constituent ("),
        ([{"word": 0, "cat": "NP"}], {}, "constraints.0.cat"),
        ([{"constituent": []}], {}, "constraints.0.constituent"),
        ([{"word": 0, "tag": "X"}], {"decode": "greedy"}, "exact"),
        ([{"word": 0, "tag": "X"}], {"tokens": [["Ja"], ["Ja"]]}, "single sentence; the request has 2"),
        ([{"word": 0, "tag": "X"}] * 501, {}, "500"),
    ],
)
def test_constraints_that_are_refused(
    client: httpx.Client, constraints: list[Any], more: dict[str, Any], message: str
) -> None:
    body = {"tokens": WORDS, "model": "xx", "constraints": constraints} | more
    assert message in problem(post(client, "parse", **body))


def test_requests_with_constraints_share_batches_with_others(parsers: dict[str, dt.Parser]) -> None:
    """Every sentence is parsed under its own constraints."""
    parser = parsers["xx"]
    sentences = [parser.tokens(tree.words) for tree in TREES[:4]]
    constraints: list[list[Any]] = [[NotConstituent([0])], [], [IsConstituent([0, 2], "VP")], []]
    batcher = Batcher(parser)
    free = batcher.submit(sentences, ParseOptions(), "a")
    bound = batcher.submit(sentences, ParseOptions(constraints=constraints), "b")
    wait([free, bound], timeout=60)
    batcher.close()
    assert [trees[0] for trees in free.result()] == [parser(tokens) for tokens in sentences]
    pairs = zip(sentences, constraints, strict=True)
    assert [trees[0] for trees in bound.result()] == [parser(tokens, given) for tokens, given in pairs]


def test_the_rest_is_parsed_again_around_every_correction(client: httpx.Client) -> None:
    before = parse(client)
    corrected = join(before, [0, 2], "VP")
    first = answer(client, "reparse", tree=corrected, before=before, model="xx")
    assert {"constituent": [0, 2], "label": "VP"} in first["constraints"]
    assert first["problem"] == ""
    proposed = known(first["tree"])
    assert satisfies(proposed, IsConstituent([0, 2], "VP"))
    assert proposed != known(corrected)
    second = join(first["tree"], [3, 4], "NP")
    then = answer(client, "reparse", tree=second, before=first["tree"], constraints=first["constraints"], model="xx")
    assert {"constituent": [3, 4], "label": "NP"} in then["constraints"]
    assert {"constituent": [0, 2], "label": "VP"} not in then["constraints"]  # the second correction has undone it


def test_a_proposal_that_was_left_is_not_repeated(client: httpx.Client) -> None:
    before = parse(client)
    corrected = join(before, [0, 2], "VP")
    body = {"tree": corrected, "before": before, "model": "xx"}
    first = answer(client, "reparse", **body)
    again = answer(client, "reparse", **body | {"before": corrected, "constraints": first["if_left"]})
    assert again["tree"] != first["tree"]
    assert known(again["tree"] or corrected) != known(first["tree"])


def test_nothing_is_proposed_without_a_correction(client: httpx.Client) -> None:
    before = parse(client)
    found = answer(client, "reparse", tree=before, before=before, model="xx")
    assert found == {"tree": None, "problem": "", "constraints": [], "if_left": []}


def test_corrections_that_the_model_cannot_parse_have_a_reason(client: httpx.Client) -> None:
    before = parse(client)
    found = answer(client, "reparse", tree=join(before, [0, 2], "NEW"), before=before, model="xx")
    assert found["tree"] is None
    assert "the model does not have this label" in found["problem"]
    assert {"constituent": [0, 2], "label": "NEW"} in found["constraints"]


def test_a_model_that_reads_tags_reads_those_of_the_corrected_tree(
    client: httpx.Client, parsers: dict[str, dt.Parser]
) -> None:
    tags = ["PPER", "VVFIN", "PIS", "NN", "$."]
    before = parse(client, model="tags", tags=tags)
    tokens = [token | {"tag": "PIS"} if token["form"] == "Es" else token for token in before["tokens"]]
    found = answer(client, "reparse", tree=before | {"tokens": tokens}, before=before, model="tags")
    assert found["constraints"] == [{"word": 0, "tag": "PIS"}]
    if found["tree"]:
        assert found["tree"]["tokens"][0]["tag"] == "PIS"
    else:
        assert parsers["tags"](list(map(dt.Token, WORDS, ["PIS", *tags[1:]]))).root == known(before).root


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "nl"}, "unknown model 'nl'"),
        ({"before": TREES[1].to_dict()}, "the same words"),
        ({"constraints": [{"word": 9, "tag": "X"}]}, "the sentence has only 5 words"),
        ({"tree": {"tokens": [], "constituents": []}}, "tree.tokens"),
    ],
)
def test_requests_that_are_refused(client: httpx.Client, changes: dict[str, Any], message: str) -> None:
    record = parse(client)
    body = {"tree": record, "before": record, "model": "xx"} | changes
    assert message in problem(post(client, "reparse", **body))
