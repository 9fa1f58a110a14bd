"""Search tasks, run in worker processes: check queries, find and count matches.

A search stops when its time is spent, and the response says where to continue, so a treebank may be of any size. If a
single tree takes too long, the worker process ends.
"""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from discotree.errors import QueryError
from discotree.queries.by_example import query_from
from discotree.queries.match import FoundNode, Match
from discotree.queries.query import Query
from discotree.queries.rows import GroupKey, as_text, by_count, columns, csv_lines, row
from discotree.treebanks import TEXT_FORMATS
from discotree.treebanks.json_lines import json_line
from discotree.trees.tree import Tree
from discotree.validation import read_toml
from discotree.web.limits import RequestRefused, size_problem
from discotree.web.schemas import (
    MAX_GROUPS,
    MAX_HITS,
    CountsRequest,
    ExamplesRequest,
    QueryFromRequest,
    QueryRequest,
    SearchRequest,
    SearchSource,
    validate,
)
from discotree.web.served_treebanks import TimedSearch, TreeSource
from discotree.web.tasks import MARKED_HEADS, Reply, WorkerContext, limit_response, media_type, tree_of, with_list
from discotree.web.uploads import read_upload

RECORDS = "jsonl"  # the treebank format json; "json" is the name of the response
NEXT_HEADER = "X-Discotree-Next"  # in a download: where to continue
MAX_MESSAGE_CHARACTERS = 300
EXAMPLE_TREES = 2000  # an example is offered if it has a match in the first trees
EXAMPLES: list[dict[str, str]] = read_toml(Path(__file__).with_name("constructions.toml"))["examples"]


def _parse_query(text: str, all_gaps: bool = False) -> Query:
    """Parse a query; an error tells clients which character is wrong."""
    try:
        return Query(text, all_gaps)
    except QueryError as error:
        message = error.message[:MAX_MESSAGE_CHARACTERS]
        fields = {"message": message, "offset": error.offset}
        raise RequestRefused(422, f"query, character {error.offset + 1}: {message}", fields) from None


def _open_source(context: WorkerContext, request: SearchSource) -> TreeSource:
    if (request.upload is None) == (not request.treebank):
        raise RequestRefused(422, "pass either treebank or upload")
    if request.upload is not None:
        return TreeSource(read_upload(request.upload, context.limits).trees)
    if request.treebank not in context.treebanks:
        names = ", ".join(context.treebanks)
        raise RequestRefused(422, f"unknown treebank {request.treebank[:50]!r}; available treebanks: {names}")
    return context.treebanks[request.treebank].open()


def check_query(_: WorkerContext, body: bytes) -> Reply:
    """Check a query and return its variables. The response to an invalid query names the wrong character."""
    query = _parse_query(validate(QueryRequest, body).query)
    nodes = [name for name in query.variables if name in query.node_variables]
    return Reply(json_line({"variables": query.variables, "nodes": nodes}).encode())


def query_from_nodes(context: WorkerContext, body: bytes) -> Reply:
    """Write the query for some nodes of a tree: it finds them, and others that are like them."""
    request = validate(QueryFromRequest, body)
    text, nodes = query_from(tree_of(context, request.tree), request.nodes, request.same)
    return Reply(limit_response(context, json_line({"query": text, "variables": nodes})))


def find_examples(context: WorkerContext, body: bytes) -> Reply:
    """Return example queries for constructions that occur in the first trees of a treebank."""
    request = validate(ExamplesRequest, body)
    matching = []
    source = _open_source(context, request)
    for example in EXAMPLES:
        search = TimedSearch(source, Query(example["query"]), 1, context.limits.search_seconds / len(EXAMPLES))
        if any(next(matches, None) for _, matches in islice(search, EXAMPLE_TREES)):
            matching.append(example)
    return Reply(f"[{','.join(map(json_line, matching))}]".encode())


def find_matches(context: WorkerContext, body: bytes) -> Reply:
    """Search a treebank. The response is JSON, a concordance, a table, or the trees in a treebank format.

    A response may have fewer matches than requested, even none, if the time is spent; continue at next.
    """
    request = validate(SearchRequest, body)
    if request.output == "json" and request.limit > MAX_HITS:
        raise RequestRefused(422, f"limit: at most {MAX_HITS} with json; a download may have more")
    query = _parse_query(request.query, request.punctuation)
    if request.focus and request.focus not in query.variables:
        raise RequestRefused(422, f"focus: the query has no variable {request.focus[:50]!r}")
    page = HitPage(context, request, _open_source(context, request), query)
    if request.output == "json":
        return Reply(limit_response(context, page.json()))
    content = limit_response(context, page.download())
    headers = {NEXT_HEADER: json.dumps(page.cursor)} if page.cursor else None
    return Reply(content, media_type(request.output), headers)


class HitPage:
    """Some matches of a query: as many as are requested, fit into the response and are found in time."""

    def __init__(self, context: WorkerContext, request: SearchRequest, source: TreeSource, query: Query) -> None:
        self.limits = context.limits
        self.request = request
        self.source = source
        self.query = query
        self.searched = 0  # trees
        self.cursor: dict[str, int] | None = None  # where the next match is
        self.bytes_left = context.limits.response_bytes // 2  # the last tree or line may exceed it

    def matches(self) -> Iterator[tuple[int, Match]]:
        """Yield matches with the numbers of their trees."""
        left, skip = self.request.limit, self.request.skip
        search = TimedSearch(self.source, self.query, self.request.start, self.limits.search_seconds)
        for number, matches in search:
            done = skip
            for match in islice(matches, skip, None):
                if left == 0 or self.bytes_left <= 0:
                    self.cursor = {"start": number, "skip": done}
                    self.searched = number - 1
                    return
                left, done = left - 1, done + 1
                yield number, match
            skip = 0
        self.searched, self.cursor = search.searched, search.cursor

    def json(self) -> str:
        hits: list[dict[str, Any]] = []
        trees: list[Tree] = []
        indices: dict[int, int | None] = {}  # into trees, by the number of the tree
        for number, match in self.matches():
            if number not in indices:
                indices[number] = None
                if not size_problem(match.tree, self.limits):
                    indices[number] = len(trees)
                    trees.append(match.tree)
            hits.append(self._hit(number, indices[number], match))
        explanation = [] if hits or self.cursor else self.source.explain(self.query)
        progress = {
            "size": self.source.size,
            "searched": self.searched,
            "next": self.cursor,
            "explanation": explanation,
        }
        records = [json_line(tree.to_dict()) for tree in trees]
        return with_list({"variables": self.query.variables, **progress, "hits": hits}, "trees", records)

    def _hit(self, number: int, tree: int | None, match: Match) -> dict[str, Any]:
        left, pieces, right = match.context(self.request.width, self.request.focus)
        return {
            "id": match.view.id,
            "number": number,
            "tree": tree,
            "left": left,
            "words": [{"text": text, "is_gap": is_gap} for text, is_gap in pieces],
            "right": right,
            "bindings": {name: _binding(value) for name, value in match.items()},
        }

    def download(self) -> str:
        output, width, focus = self.request.output, self.request.width, self.request.focus
        lines: Iterator[str]
        if output in ("csv", "tsv"):
            cells = (as_text(row(match, width, focus)) for _, match in self.matches())
            lines = (f"{line}\n" for line in csv_lines(chain([columns(self.query)], cells), output))
        elif output == "concordance":
            lines = (f"{match.view.id}\t{match.concordance(width, focus)}\n" for _, match in self.matches())
        else:
            format = TEXT_FORMATS["json" if output == RECORDS else output]
            lines = format.writer(MARKED_HEADS).file(self._trees())
        content = []
        for line in lines:
            self.bytes_left -= len(line)
            content.append(line)
        return "".join(content)

    def _trees(self) -> Iterator[Tree]:
        """Yield every tree once."""
        last = 0
        for number, match in self.matches():
            if number != last:
                last = number
                yield match.tree


def _binding(value: FoundNode | str | None) -> dict[str, Any] | str | None:
    if not isinstance(value, FoundNode):
        return value
    return {
        "node": value.address - value.view.terminals if value.node is not None else None,
        "label": value.cat or value.pos or "",
        "edge": value.edge or "",
        "positions": list(value.positions),
    }


def count_matches(context: WorkerContext, body: bytes) -> Reply:
    """Count matches, optionally by features of variables. Continue at next until it is null, and add up the counts."""
    request = validate(CountsRequest, body)
    query = _parse_query(request.query, request.punctuation)
    keys = [GroupKey(key, query) for key in request.group_by]
    counts: Counter[tuple[str, ...]] = Counter()
    total = trees = others = 0
    source = _open_source(context, request)
    search = TimedSearch(source, query, request.start, context.limits.search_seconds)
    for _, matches in search:
        before = total
        for match in matches:
            total += 1
            if keys:
                group = tuple([key.value(match) for key in keys])
                if group in counts or len(counts) < MAX_GROUPS:
                    counts[group] += 1
                else:
                    others += 1
        trees += total > before
    response = {
        "matches": total,
        "trees": trees,
        "groups": [{"values": list(values), "matches": number} for values, number in by_count(counts)],
        "others": others,
        "size": source.size,
        "searched": search.searched,
        "next": search.cursor,
    }
    return Reply(limit_response(context, json_line(response)))
