"""The application: the page and its files, the description of the API, and what it promises."""

import json
import re
from html import unescape
from importlib import resources
from pathlib import Path
from typing import Any

import httpx
from pydantic import BaseModel
from support.models import CARD
from support.networks import TREES
from support.web import TEXT, answer, changed, upload

import discotree as dt
from discotree.models.finding import Candidates
from discotree.text import sentences as split_text
from discotree.web import app as app_module
from discotree.web.schemas import (
    EvaluateResponse,
    ParseResponse,
    TreebankResponse,
)


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
    named = re.findall(r'(?:src|href)="(page/[^"]+)"', page.text)
    assert {"page/main.js", "page/style.css", "page/tree.css", "page/icon.svg"} <= set(named)
    for name in named:
        assert client.get(f"/{name}").status_code == 200
    for file in (Path(app_module.__file__).parent / "page").iterdir():
        text = file.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?:|//[a-z]+\.[a-z]|@import", text), file.name
        assert not re.search(r"innerHTML|\seval\(|<script>|\sstyle=|\son\w+=\"", text), file.name


def test_the_api_description_needs_no_foreign_scripts(client: httpx.Client) -> None:
    description = client.get("/openapi.json").json()
    assert set(description["paths"]) == {
        *("/api/parse", "/api/draw", "/api/convert", "/api/treebank", "/api/evaluate", "/api/models", "/health"),
        *("/api/labels", "/api/treebanks", "/api/query", "/api/query-from", "/api/examples"),
        *("/api/search", "/api/search/counts", "/api/reparse"),
    }
    docs = client.get("/docs").text
    assert "POST /api/parse" in docs
    assert re.findall("<script[^>]*>", docs) == ['<script type="module" src="page/docs.js">']
    assert client.get("/page/docs.js").status_code == 200


def test_the_examples_of_the_api_page_work(client: httpx.Client) -> None:
    docs = client.get("/docs").text
    calls = re.findall(r'data-path="([^"]+)">(?:<label>Body <textarea[^>]*>([^<]+)<)?', docs)
    assert len(calls) == 15
    for path, body in calls:
        headers = {"Content-Type": "application/json"}
        response = client.post(f"/{path}", content=unescape(body), headers=headers) if body else client.get(f"/{path}")
        assert response.status_code == 200, response.text
    assert "Auf den Bus haben wir" in docs  # a sentence in the language of the first model, German


def test_there_is_no_other_api_page(client: httpx.Client) -> None:
    assert client.get("/redoc").status_code == 404


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


def test_the_model_of_its_language_parses_each_example_of_the_gallery(client: httpx.Client) -> None:
    examples = client.get("/page/examples.json").json()
    languages = {language for language, _, _ in examples}
    models = Candidates({language: language for language in languages})
    assert languages == {"nl", "de", "en", "is"}
    for language, phenomenon, sentence in examples:
        assert models.choose(sentence).model == language, phenomenon
        assert len(list(split_text(sentence, language))) == 1
