"""Work on queries, in worker processes as in ``tasks``: check them, find them, count what they find.

A search stops when its time is spent and says where to go on, so a treebank may be of any size. What takes too long in
a single tree ends with the process.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import islice
from typing import Any

from discotree.errors import QueryError
from discotree.integrations.web.constructions import EXAMPLES
from discotree.integrations.web.limits import RequestRefused, count_positions, why_too_large
from discotree.integrations.web.search_schemas import (
    MAX_GROUPS,
    MAX_HITS,
    CountsRequest,
    ExamplesRequest,
    QueryRequest,
    SearchRequest,
    SearchSource,
)
from discotree.integrations.web.search_source import TimedSearch, TreeSource, UploadedTrees
from discotree.integrations.web.tasks import MARKED_HEADS, Setup, checked
from discotree.integrations.web.uploads import read_leniently
from discotree.integrations.web.validation import validate
from discotree.queries.match import FoundNode, Match
from discotree.queries.query import Query
from discotree.queries.rows import GroupKey, header, rows
from discotree.treebanks import TEXT_FORMATS, WriterOptions
from discotree.treebanks.json_lines import json_line
from discotree.trees.tree import Tree

RECORDS = "jsonl"  # the treebank format json, which is also the name of the response
MAX_MESSAGE_CHARACTERS = 300
EXAMPLE_TREES = 2000  # trees among which an example has to be found


@contextmanager
def _pointing_at_errors() -> Iterator[None]:
    """Tell clients which character of a query is wrong."""
    try:
        yield
    except QueryError as error:
        message = error.message[:MAX_MESSAGE_CHARACTERS]
        fields = {"message": message, "offset": error.offset}
        raise RequestRefused(422, f"query, character {error.offset + 1}: {message}", fields=fields) from None


def check_query(_: Setup, body: bytes) -> bytes:
    """Return the variables of a query, or refuse it."""
    request = validate(QueryRequest, body)
    with _pointing_at_errors():
        query = Query(request.query)
    nodes = [name for name in query.variables if name in query.node_variables]
    return json_line({"variables": query.variables, "nodes": nodes}).encode()


def find_examples(setup: Setup, body: bytes) -> bytes:
    """Return the examples that find something in the first trees of a treebank."""
    request = validate(ExamplesRequest, body)
    found = []
    with _source(setup, request) as source:
        for example in EXAMPLES:
            query = Query(example.query)
            search = TimedSearch(source, query, 1, setup.limits.search_seconds / len(EXAMPLES))
            if any(next(matches, None) for _, matches in islice(search, EXAMPLE_TREES)):
                found.append(example._asdict())
    return f"[{','.join(map(json_line, found))}]".encode()


def _source(setup: Setup, request: SearchSource) -> AbstractContextManager[TreeSource]:
    if (request.upload is None) == (not request.treebank):
        raise RequestRefused(422, "give either treebank or upload")
    if request.upload is not None:
        return nullcontext(UploadedTrees(read_leniently(request.upload, setup.limits).trees))
    if request.treebank not in setup.treebanks:
        known = ", ".join(setup.treebanks)
        raise RequestRefused(422, f"there is no treebank {request.treebank[:50]!r}: choose one of {known}")
    return setup.treebanks[request.treebank].open()


def search_treebank(setup: Setup, body: bytes) -> tuple[bytes, str, dict[str, int] | None]:
    """Return matches, the name of the output, and where the next ones are."""
    request = validate(SearchRequest, body)
    if request.output == "json" and request.limit > MAX_HITS:
        raise RequestRefused(422, f"limit: at most {MAX_HITS} with json; downloads have more")
    with _pointing_at_errors():
        query = Query(request.query)
    if request.focus and request.focus not in query.variables:
        raise RequestRefused(422, f"focus: the query has no variable {request.focus[:50]!r}")
    with _source(setup, request) as source:
        page = HitPage(setup, request, source, query)
        content = page.json() if request.output == "json" else page.download()
    return checked(setup, content), request.output, page.cursor


class HitPage:
    """Some matches of a query: as many as were asked for, as fit into a response, and as its time allows."""

    def __init__(self, setup: Setup, request: SearchRequest, source: TreeSource, query: Query) -> None:
        self.setup = setup
        self.request = request
        self.source = source
        self.query = query
        self.searched = 0  # trees
        self.cursor: dict[str, int] | None = None  # where the next match is
        self.bytes_left = setup.limits.response_bytes // 2  # a tree or line is added while there are any

    def matches(self) -> Iterator[tuple[int, Match]]:
        """Yield matches with the numbers of their trees."""
        left, skip = self.request.limit, self.request.skip
        search = TimedSearch(self.source, self.query, self.request.start, self.setup.limits.search_seconds)
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
        self.searched = min(search.next - 1, self.source.size)
        if search.next <= self.source.size:
            self.cursor = {"start": search.next, "skip": 0}

    def json(self) -> str:
        hits: list[dict[str, Any]] = []
        trees: list[Tree] = []
        numbers: dict[int, int | None] = {}  # index into trees by number
        positions = 0
        for number, match in self.matches():
            if number not in numbers:
                numbers[number] = None
                positions += count_positions(match.tree)
                if not why_too_large(match.tree, self.setup.limits) and positions <= self._max_positions:
                    numbers[number] = len(trees)
                    trees.append(match.tree)
            hits.append(self._hit(number, numbers[number], match))
        progress = {"size": self.source.size, "searched": self.searched, "next": self.cursor}
        records = ",".join([json_line(tree.to_dict()).rstrip() for tree in trees])
        summary = json_line({"variables": self.query.variables, **progress, "hits": hits}).rstrip()
        return f'{summary[:-1]}, "trees": [{records}]}}\n'

    @property
    def _max_positions(self) -> int:
        return self.setup.limits.response_positions

    def _hit(self, number: int, tree: int | None, match: Match) -> dict[str, Any]:
        left, pieces, right = match.context(self.request.width, self.request.focus)
        return {
            "id": match.view.id,
            "number": number,
            "tree": tree,
            "left": left,
            "words": [{"text": text, "is_gap": is_gap} for text, is_gap in pieces],
            "right": right,
            "bindings": {name: _bound(bound) for name, bound in match.items()},
        }

    def download(self) -> str:
        output = self.request.output
        if output in ("csv", "tsv"):
            return "".join(self._table("," if output == "csv" else "\t"))
        if output == "concordance":
            return "".join(self._metered(self._lines()))
        writer = TEXT_FORMATS["json" if output == RECORDS else output]
        return "".join(self._metered(writer.write(self._trees(), WriterOptions(heads=MARKED_HEADS))))

    def _metered(self, pieces: Iterator[str]) -> Iterator[str]:
        for piece in pieces:
            self.bytes_left -= len(piece)
            yield piece

    def _lines(self) -> Iterator[str]:
        for _, match in self.matches():
            yield f"{match.view.id}\t{match.concordance(self.request.width, self.request.focus)}\n"

    def _trees(self) -> Iterator[Tree]:
        """Yield every tree once."""
        last = 0
        for number, match in self.matches():
            if number != last:
                last = number
                yield match.tree

    def _table(self, delimiter: str) -> Iterator[str]:
        """Yield lines: the match in its context, then what each variable stands for."""
        stream = io.StringIO()
        writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")

        def line(row: list[str]) -> str:
            stream.seek(0)
            stream.truncate()
            writer.writerow(row)
            return stream.getvalue()

        first, *columns = header(self.query)
        yield line([first, "left", "match", "right", *columns])
        for _, match in self.matches():
            left, pieces, right = match.context(self.request.width, self.request.focus)
            shown = " ".join([text if is_gap else f"[{text}]" for text, is_gap in pieces])
            ((identity, *cells),) = rows([match])
            yield from self._metered(iter([line([identity, left, shown, right, *cells])]))


def _bound(bound: FoundNode | str | None) -> dict[str, Any] | str | None:
    if not isinstance(bound, FoundNode):
        return bound
    return {
        "node": bound.address - bound.view.terminals if bound.node is not None else None,
        "label": bound.cat or bound.pos or "",
        "edge": bound.edge or "",
        "positions": list(bound.positions),
    }


def count_matches(setup: Setup, body: bytes) -> bytes:
    """Count the matches of a query, by features of its variables."""
    request = validate(CountsRequest, body)
    with _pointing_at_errors():
        query = Query(request.query)
    keys = [GroupKey(key, query) for key in request.group_by]
    counts: Counter[tuple[str, ...]] = Counter()
    total = trees = others = 0
    with _source(setup, request) as source:
        search = TimedSearch(source, query, request.start, setup.limits.search_seconds)
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
        size, following = source.size, search.next
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    response = {
        "matches": total,
        "trees": trees,
        "groups": [{"values": list(values), "matches": number} for values, number in ordered],
        "others": others,
        "size": size,
        "searched": min(following - 1, size),
        "next": {"start": following, "skip": 0} if following <= size else None,
    }
    return checked(setup, json_line(response))
