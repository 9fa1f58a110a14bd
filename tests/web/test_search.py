"""The calls that search treebanks: what they find is what ``dt.search`` finds, in pages, steps, tables and files."""

import asyncio
import csv
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.helpers import parsed, right_branching, tree_of
from support.networks import TREES
from support.web import answer, post, problem, upload

import discotree as dt
from discotree.queries.index import Index, write_index
from discotree.queries.query import Query
from discotree.web import Limits
from discotree.web.limits import RequestRefused
from discotree.web.schemas import MAX_HITS, CountsResponse, ExampleQuery, SearchResponse
from discotree.web.search import EXAMPLES, NEXT_HEADER, check_query, count_matches, find_examples, find_matches
from discotree.web.served_treebanks import ServedTreebank, open_treebanks, samples
from discotree.web.tasks import WorkerContext, draw
from discotree.web.workers import WorkerPool

NODES = "#n:[NT]"
GAPS = "#n:[NT] & discontinuous(#n)"
PAIRS = '#a:[cat="NP"] > #b:[pos=#p]'


def context_of(treebanks: dict[str, ServedTreebank] | None = None, **limits: Any) -> WorkerContext:
    return WorkerContext(Limits(**limits), {}, {}, {**(treebanks or {}), **samples()})


def body_of(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def find(context: WorkerContext, **fields: Any) -> Any:
    return json.loads(find_matches(context, body_of(**fields))[0])


def bindings(trees: Any, query: str) -> list[Any]:
    return [(match.tree.id, dict(match.bindings)) for match in dt.search(trees, query)]


def found_by(hits: list[dict[str, Any]], trees: list[dict[str, Any]]) -> list[Any]:
    """Return hits as ``bindings`` has them: a constituent's address comes after those of the words."""

    def address(hit: dict[str, Any], bound: Any) -> Any:
        if not isinstance(bound, dict):
            return bound
        words = len(trees[hit["tree"]]["tokens"])
        return bound["positions"][0] if bound["node"] is None else words + bound["node"]

    return [(hit["id"], {name: address(hit, bound) for name, bound in hit["bindings"].items()}) for hit in hits]


def test_treebanks_are_known_by_name_alone(client: httpx.Client, folder: Path) -> None:
    response = client.get("/api/treebanks")
    assert [(row["name"], row["trees"], row["is_sample"]) for row in response.json()] == [
        ("small", len(TREES), False),
        ("Sample: German", 12, True),
        ("Sample: Dutch", 12, True),
    ]
    assert str(folder) not in response.text
    counts = Counter(node.label for tree in TREES for node in tree.nodes())
    assert set(response.json()[0]["inventory"]["labels"]) == set(counts)
    assert "smain" in response.json()[2]["inventory"]["labels"]
    assert "let" in response.json()[2]["inventory"]["tags"]


@pytest.mark.parametrize("source", [{"treebank": "small"}, {"upload": upload(TREES)}], ids=["treebank", "upload"])
def test_hits_are_those_of_search(client: httpx.Client, source: dict[str, Any]) -> None:
    given = answer(client, "search", query=PAIRS, limit=MAX_HITS, **source)
    SearchResponse.model_validate(given)
    assert given["variables"] == ["#a", "#b", "#p"]
    assert found_by(given["hits"], given["trees"]) == bindings(TREES, PAIRS)
    assert (given["next"], given["size"], given["searched"]) == (None, len(TREES), len(TREES))
    for hit in given["hits"]:
        assert dt.Tree.from_dict(given["trees"][hit["tree"]]) == TREES[hit["number"] - 1]


def test_gaps_stand_between_the_words(client: httpx.Client) -> None:
    (first, *_) = answer(client, "search", query='#np:[cat="NP"] & discontinuous(#np)', treebank="small")["hits"]
    assert (first["left"], first["right"]) == ("", ".")
    assert [(piece["text"], piece["is_gap"]) for piece in first["words"]] == [
        ("Es", False),
        ("kam", True),
        ("nichts Interessantes", False),
    ]


@pytest.mark.parametrize("source", [{"treebank": "small"}, {"upload": upload(TREES)}], ids=["treebank", "upload"])
def test_a_zero_is_explained(client: httpx.Client, source: dict[str, Any]) -> None:
    def explanation(query: str) -> Any:
        return answer(client, "search", query=query, **source)["explanation"]

    assert explanation('[cat="np"]') == ["no constituent is called 'np' here; did you mean 'NP'?"]
    assert explanation('[lemma="Hund"]') == ["this treebank has no lemmas"]
    assert explanation('[cat="NP"]') == []


def test_gaps_of_punctuation_count_if_asked_for(client: httpx.Client) -> None:
    tree = upload([tree_of("(ROOT (NP (NN 0=A) (NN 2=B)) ($, 1=,))")], "discbracket")
    for punctuation in (False, True):
        fields = {"query": GAPS, "upload": tree, "punctuation": punctuation}
        assert len(answer(client, "search", **fields)["hits"]) == punctuation
        groups = answer(client, "search/counts", group_by=["#n.gaps"], **fields)["groups"]
        assert groups == ([{"values": ["1"], "matches": 1}] if punctuation else [])


@pytest.mark.parametrize("limit", [3, 7])
def test_pages_make_up_the_whole(limit: int, tmp_path: Path) -> None:
    """A page may end inside a tree, and between the indexes of a treebank."""
    write_index(TREES[:7], tmp_path / "a.dtindex")
    write_index(TREES[7:], tmp_path / "b.dtindex")
    context = context_of(open_treebanks([f"both={tmp_path}/*.dtindex"]))
    cursor: dict[str, int] | None = {"start": 1, "skip": 0}
    pages: list[Any] = []
    while cursor:
        page = find(context, treebank="both", query=NODES, limit=limit, **cursor)
        pages += found_by(page["hits"], page["trees"])
        cursor = page["next"]
    assert pages == bindings(TREES, NODES)


def test_a_search_without_time_goes_on_where_it_stopped() -> None:
    context = context_of(search_seconds=0.0)
    start, hits, counted, steps = 1, 0, 0, 0
    while start:
        page = find(context, upload=upload(TREES), query=NODES, limit=MAX_HITS, start=start)
        part = json.loads(count_matches(context, body_of(upload=upload(TREES), query=NODES, start=start)).content)
        hits, counted, steps = hits + len(page["hits"]), counted + part["matches"], steps + 1
        assert page["next"] == part["next"]
        start = page["next"] and page["next"]["start"]
    assert hits == counted == len(bindings(TREES, NODES))
    assert steps == len(TREES)


def test_counts_are_those_of_search(client: httpx.Client) -> None:
    given = answer(client, "search/counts", query=PAIRS, treebank="small", group_by=["#b.pos", "#a.gaps"])
    CountsResponse.model_validate(given)
    expected = Counter((match["#b"].pos, str(match["#a"].gap_degree)) for match in dt.search(TREES, PAIRS))
    assert {tuple(group["values"]): group["matches"] for group in given["groups"]} == expected
    assert given["matches"] == expected.total()
    assert given["trees"] == len({match.tree.id for match in dt.search(TREES, PAIRS)})
    numbers = [group["matches"] for group in given["groups"]]
    assert numbers == sorted(numbers, reverse=True)


@pytest.mark.parametrize(
    ("query", "offset", "message"),
    [
        ("#x:[cat=NP]", 8, "expected a value"),
        ('#x:[word="😀😀" & cat=NP]', 20, "expected a value"),  # characters, not UTF-16 units
        ("", 0, "expected a node"),
        ("[cat=/(/]", 6, "invalid regular expression"),
    ],
)
def test_an_error_names_its_character(client: httpx.Client, query: str, offset: int, message: str) -> None:
    for call, fields in {"query": {}, "search": {"treebank": "small"}, "search/counts": {"treebank": "small"}}.items():
        response = post(client, call, query=query, **fields)
        assert response.status_code == 422
        given = response.json()
        assert given["offset"] == offset
        assert message in given["message"]
        assert given["detail"] == f"query, character {offset + 1}: {given['message']}"


def test_a_query_is_checked() -> None:
    assert json.loads(check_query(context_of(), body_of(query=PAIRS)).content) == {
        "variables": ["#a", "#b", "#p"],
        "nodes": ["#a", "#b"],
    }
    assert json.loads(check_query(context_of(), body_of(query="[] > []")).content)["variables"] == ["1", "2"]


def test_a_query_is_written_from_nodes(client: httpx.Client) -> None:
    tree = TREES[1]
    nodes = [len(tree) + 2, 2]
    given = answer(client, "query-from", tree=tree.to_dict(), nodes=nodes, same=["label", "order"])
    assert given == {"query": '#vp:[cat="VP"] $.* #vafin:[pos="VAFIN"]', "variables": {"#vp": nodes[0], "#vafin": 2}}
    assert (tree.id, given["variables"]) in bindings([tree], given["query"])
    default = answer(client, "query-from", tree={"content": str(tree)}, nodes=nodes)
    assert default["query"] == '#vp:[cat="VP"] $ #vafin:[pos="VAFIN"]'


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"nodes": []}, "nodes: "),
        ({"nodes": [99]}, "there is no node 99; the nodes of this tree are 0 to "),
        ({"nodes": [0] * 51}, "nodes: "),
        ({"nodes": [-1]}, "nodes"),
        ({"nodes": [0], "same": ["colour"]}, "same"),
    ],
)
def test_impossible_examples_are_refused(client: httpx.Client, fields: dict[str, Any], message: str) -> None:
    assert message in problem(post(client, "query-from", tree=TREES[1].to_dict(), **fields))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"query": NODES}, "pass either treebank or upload"),
        ({"query": NODES, "treebank": "small", "upload": {"content": "x"}}, "pass either treebank or upload"),
        ({"query": NODES, "treebank": "/etc/passwd"}, "unknown treebank '/etc/passwd'"),
        ({"query": NODES, "treebank": "small", "focus": "#x"}, "no variable '#x'"),
        ({"query": NODES, "treebank": "small", "limit": MAX_HITS + 1}, "at most 100 with json"),
        ({"query": NODES, "treebank": "small", "limit": 10_001, "output": "csv"}, "limit: "),
        ({"query": NODES, "treebank": "small", "output": "parquet"}, "output: "),
        ({"query": NODES, "treebank": "small", "start": 0}, "start: "),
    ],
)
def test_what_makes_no_sense_is_refused(client: httpx.Client, fields: dict[str, Any], message: str) -> None:
    assert message in problem(post(client, "search", **fields))


@pytest.mark.parametrize(
    ("keys", "message"),
    [(["#x.cat"], "no variable"), (["#n.color"], "unknown column 'color'"), (["#n.cat"] * 3, "group_by: ")],
)
def test_keys_that_do_not_exist_are_refused(client: httpx.Client, keys: list[str], message: str) -> None:
    assert message in problem(post(client, "search/counts", query=NODES, treebank="small", group_by=keys))


# Downloads


def test_hits_as_a_table(client: httpx.Client) -> None:
    response = post(client, "search", query=GAPS, treebank="small", output="csv", limit=1000)
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(response.text)))
    matches = list(dt.search(TREES, GAPS))
    assert [row["id"] for row in rows] == [match.tree.id for match in matches]
    assert [row["#n.text"] for row in rows] == [match["#n"].text for match in matches]
    assert rows[0]["match"] == "[Es] kam [nichts Interessantes]"
    tabs = post(client, "search", query=GAPS, treebank="small", output="tsv", limit=1000).text
    assert list(csv.DictReader(io.StringIO(tabs), delimiter="\t")) == rows


@pytest.mark.parametrize("output", ["export", "tigerxml", "discbracket", "jsonl"])
def test_trees_as_a_file(client: httpx.Client, output: str) -> None:
    response = post(client, "search", query=GAPS, treebank="small", output=output, limit=1000)
    trees = list(dict.fromkeys(match.tree.id for match in dt.search(TREES, GAPS)))
    found = parsed(response.text, "json" if output == "jsonl" else output)
    assert len(found) == len(trees)
    if output != "discbracket":  # which has no ids
        assert [tree.id for tree in found] == trees
    assert "x-discotree-next" not in response.headers


def test_a_download_that_is_cut_says_so(client: httpx.Client) -> None:
    response = post(client, "search", query=NODES, treebank="small", output="concordance", limit=3)
    lines = [f"{match.tree.id}\t{match.concordance(60)}" for match in dt.search(TREES, NODES)]
    assert response.text.splitlines() == lines[:3]
    assert json.loads(response.headers["x-discotree-next"]) == {"start": 1, "skip": 3}


def test_a_download_ends_before_it_is_too_large() -> None:
    context = context_of(response_bytes=600)
    for output in ("csv", "concordance", "export"):
        body = body_of(upload=upload(TREES), query=NODES, output=output, limit=1000, width=0)
        content, _, headers = find_matches(context, body)
        cursor = json.loads(headers[NEXT_HEADER]) if headers else None
        assert cursor is not None
        assert 0 < len(content) <= 600


# Examples


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example['scheme']} {example['construction']}")
def test_the_examples_are_queries(example: Any) -> None:
    assert Query(example["query"]).variables[0].startswith("#")


def test_the_samples_have_the_constructions() -> None:
    found = {}
    for name in samples():
        examples = json.loads(find_examples(context_of(), body_of(treebank=name)).content)
        found[name] = {ExampleQuery.model_validate(example).construction for example in examples}
    assert found["Sample: German"] >= {"Extraposition", "Topicalisation", "Scrambling"}
    assert found["Sample: Dutch"] >= {"Extraposition", "Topicalisation", "Cross-serial verbs", "Stranding"}


def test_no_example_is_offered_in_vain(client: httpx.Client) -> None:
    tree = upload([tree_of("(ROOT (X (Y 0=a)))")], "discbracket")
    assert answer(client, "examples", upload=tree) == []


# What might go wrong


def test_a_tree_that_is_too_large_is_a_line_without_a_tree(tmp_path: Path) -> None:
    path = tmp_path / "big.dtindex"
    write_index([right_branching(5), right_branching(30)], path)
    context = context_of(open_treebanks([str(path)]), sentence_words=9)
    given = find(context, treebank="big", query="#n:[NT] & root(#n)")
    assert [hit["tree"] for hit in given["hits"]] == [0, None]
    assert len(given["trees"]) == 1
    assert given["hits"][1]["words"][0]["text"].startswith("w0 w1")


def test_a_damaged_index_is_no_secret_path(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "secret.dtindex"
    write_index(TREES, path)
    context = context_of(open_treebanks([str(path)]))
    path.unlink()
    with pytest.raises(RequestRefused, match="cannot read the treebank 'secret'") as refused:
        find(context, treebank="secret", query=NODES)
    assert refused.value.status == 500
    assert str(tmp_path) not in refused.value.message
    assert str(path) in caplog.text  # the operator learns more


def test_an_index_is_searched_segment_by_segment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The postings of one segment are in memory at a time; the matches are the same."""
    monkeypatch.setattr("discotree.queries.index.SEGMENT_TREES", 6)
    path = tmp_path / "parts.dtindex"
    write_index(TREES, path)
    with Index(path) as index:
        assert index.last == len(TREES)
        query = Query('#n:[cat="NP"]')
        expected = [number for number, tree in enumerate(TREES, 1) if tree.find("NP")]
        assert list(index.candidates(query)) == expected
        assert list(index.candidates(query, 8)) == [number for number in expected if number >= 8]
    context = context_of(open_treebanks([str(path)]))
    for query_text in ('#n:[cat="NP"]', "#n:[cat=/N.*/]", NODES):
        given = find(context, treebank="parts", query=query_text, limit=MAX_HITS)
        assert found_by(given["hits"], given["trees"]) == bindings(TREES, query_text)[:MAX_HITS]


@pytest.mark.slow
def test_hostile_queries_end() -> None:
    """A pattern that takes for ever in one word, or a tree with too many matches, ends with its process."""
    word = {"content": f"(S (A 0={'a' * 60}))", "format": "discbracket"}
    wide = upload([right_branching(40)], "discbracket")
    many = " & ".join(f"#x{k}:[]" for k in range(20))

    async def use() -> None:
        pool = WorkerPool(context_of(worker_seconds=0.5))
        try:
            for task, fields in (
                (find_matches, {"query": "[word=/(a+)+b/]", "upload": word}),
                (count_matches, {"query": many, "upload": wide}),
            ):
                with pytest.raises(RequestRefused, match="s of processor time"):
                    await pool.run("a", task, body_of(**fields), is_long=True)
            content, _, _ = await pool.run("a", find_matches, body_of(query=many, upload=wide, limit=5), is_long=True)
            assert len(json.loads(content)["hits"]) == 5
        finally:
            pool.close()

    asyncio.run(use())


@pytest.mark.slow
def test_drawings_pass_searches() -> None:
    """Searches wait for each other, and never take the last process."""
    slow = body_of(query="[word=/(a+)+b/]", upload={"content": f"(S (A 0={'a' * 60}))", "format": "discbracket"})
    small = body_of(tree={"content": "(S (A 0=a))"}, output="discbracket")

    async def use() -> None:
        pool = WorkerPool(context_of())
        searches = [asyncio.create_task(pool.run("a", find_matches, slow, is_long=True)) for _ in range(3)]
        try:
            assert (await pool.run("a", draw, small)).content == b"(S (A 0=a))\n"
            assert not any(search.done() for search in searches)
        finally:
            for search in searches:
                search.cancel()
            await asyncio.wait(searches)
            pool.close()

    asyncio.run(use())
