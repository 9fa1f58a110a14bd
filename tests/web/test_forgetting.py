"""Nothing of a request is kept when it has been answered."""

import gc
import json
import time
import uuid
from collections.abc import Sequence

import httpx
import pytest
from support.servers import serving

import discotree as dt
from discotree.web import Limits, create_app, tasks
from discotree.web.tasks import ModelTraits


def test_head_rules_remember_no_labels_of_a_request() -> None:
    rules = dt.HeadRules.load("negra")
    setup = tasks.WorkerContext(Limits(), {"xx": ModelTraits("de", False)}, {"xx": rules})
    tree = {"content": "(S (A 0=a) (B 1=b))"}
    for options in ({"model": "xx"}, {"heads": "negra"}, {}):
        body = json.dumps({"tree": tree, "output": "arcs", **options}).encode()
        assert tasks.draw(setup, body)[0].startswith(b"<svg")
    parsed = json.dumps({"trees": [dt.Tree.parse(tree["content"]).to_dict()]}).encode()
    assert tasks.render(setup, parsed, "conllu", "xx")
    assert not rules._cache
    assert not tasks.MARKED_HEADS._cache


def send_all(client: httpx.Client, parts: Sequence[str]) -> None:
    """Send requests with a word that nobody else has, in all places where words can be."""
    word = "-".join(parts)
    tree = {"content": f"({word} ({word}A 0={word}) (B 1=b))"}
    bodies = [
        ("parse", 200, {"text": f"Der {word} kam nicht.", "model": "xx"}),
        ("parse", 200, {"tokens": [word, "kam"] * 60, "model": "xx", "output": "svg"}),
        ("parse", 200, {"tokens": [word, "kam"], "tags": [word, word], "model": "tags", "k": 2, "output": "conllu"}),
        ("parse", 422, {"tokens": [word, 1]}),
        ("draw", 200, {"tree": tree, "output": "arcs", "heads": "negra"}),
        ("draw", 200, {"tree": tree, "output": "conllu", "model": "xx"}),
        ("treebank", 200, {**tree, "contains": word}),
        ("evaluate", 200, {"gold": tree, "predicted": tree}),
        ("treebank", 422, {"content": word}),
    ]
    for call, status, body in bodies:
        response = client.post(f"/api/{call}", json=body)
        assert response.status_code == status, response.text


def holders(parts: Sequence[str]) -> list[str]:
    """Return the kinds of objects that refer to a text with the word in it."""
    gc.collect()
    word = "-".join(parts)
    raw = word.encode()
    return [
        type(thing).__name__
        for thing in gc.get_objects()
        for text in gc.get_referents(thing)
        if (type(text) is str and word in text and text is not word)
        or (type(text) is bytes and raw in text and text is not raw)
    ]


@pytest.mark.slow
def test_no_object_refers_to_a_text_that_was_sent(parsers: dict[str, dt.Parser]) -> None:
    parts = str(uuid.uuid4()).split("-")
    with serving(create_app(parsers)) as client:
        send_all(client, parts)
        end = time.monotonic() + 10  # threads let go of their last request when it has been answered
        while (found := holders(parts)) and time.monotonic() < end:
            time.sleep(0.1)
        assert not found
