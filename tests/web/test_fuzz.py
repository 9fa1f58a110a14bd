"""Random requests, valid and invalid by the server's own description: none makes the server fail.

Not part of the default run, since it takes most of a minute: ``pytest -m fuzz``.
"""

from collections.abc import Iterator

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.models import saved_model
from support.servers import serving
from support.strategies import trees_with_edges

import discotree as dt
from discotree.trees.tree import Tree
from discotree.web import Limits, create_app
from discotree.web.schemas import OUTPUTS

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
pytestmark = [pytest.mark.fuzz, pytest.mark.filterwarnings("default")]
EXPECTED = {200, 400, 413, 422}
CALLS = ["/api/parse", "/api/draw", "/api/treebank", "/api/evaluate"]
CALLS += ["/api/query", "/api/query-from", "/api/examples", "/api/search", "/api/search/counts"]
MANY = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("models")
    parsers = {"de": dt.load(str(saved_model(folder / "de")), "cpu")}
    limits = Limits(body_bytes=200_000, request_words=2000, timeout_seconds=20)
    with serving(create_app(parsers, limits=limits)) as client:
        yield str(client.base_url)


@pytest.mark.parametrize("path", CALLS)
@pytest.mark.parametrize("sense", ["positive", "negative"])
def test_no_request_makes_the_server_fail(url: str, path: str, sense: str) -> None:
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
    seen: set[int] = set()

    @MANY
    @given(case=schema[path]["POST"].as_strategy(generation_mode=schemathesis.GenerationMode(sense)))
    def ask(case: schemathesis.Case) -> None:
        response = case.call(base_url=url)
        assert response.status_code in EXPECTED | ({404, 405} if sense == "negative" else set()), response.text
        assert response.headers["x-content-type-options"] == ["nosniff"]
        seen.add(response.status_code)

    ask()
    assert seen


@MANY
@given(tree=trees_with_edges(), output=st.sampled_from(OUTPUTS), heads=st.sampled_from([None, "negra"]))
def test_every_tree_can_be_drawn_or_is_refused(url: str, tree: Tree, output: str, heads: str | None) -> None:
    body = {"tree": tree.to_dict(), "output": output, "heads": heads}
    response = httpx.post(f"{url}/api/draw", json=body)
    assert response.status_code in EXPECTED, response.text
    if output in ("json", "svg", "arcs", "text", "latex"):
        assert response.status_code == 200, response.text
