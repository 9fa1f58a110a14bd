"""Search trees for a query: in memory, in treebank files or in an index, in one process or in several.

``search`` is the function for Python, and ``ParallelSearch`` serves the command line. The web server continues a search
at any tree, with ``Index.candidate_views``.

Matches stay in the process that found them. Only their output is sent: lines, rows, keys to count by, or trees.
"""

import os
import sys
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import islice
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from discotree.errors import DiscotreeError, TreebankError
from discotree.files.writing import STANDARD_STREAM
from discotree.processes import OrderedPool
from discotree.queries.index import Index, index_batch, is_index
from discotree.queries.inventory import explain
from discotree.queries.match import Match, TreeView, bracketed
from discotree.queries.prefilter import BytePrefilter
from discotree.queries.query import Query
from discotree.queries.rows import GroupKey, Row, columns, count_table, row
from discotree.treebanks import read
from discotree.treebanks.chunks import SentenceChunk, read_chunks
from discotree.treebanks.reading import FileChunk
from discotree.treebanks.source import ErrorHandler, stop
from discotree.treebanks.tables import Table
from discotree.trees.transforms import Punctuation, transform
from discotree.trees.tree import Tree

if TYPE_CHECKING:
    from discotree.drawing.svg import PageItem

UNIT_SENTENCES, UNIT_BYTES = 200, 1 << 20  # the size of a work unit for another process
PROGRESS_SENTENCES = 2000  # sentences without a possible match between two progress reports
INLINE_SENTENCES = 500  # sentences to search in this process before it starts others
BATCH = 1000  # matches of one tree, or trees for an index, in memory at a time


class Matches(Iterator[Match]):
    """All matches of a query, tree by tree: a stream that can be read, or turned into a table, once.

    To use them several times, make a list, or search again.
    """

    def __init__(self, matches: Iterable[Match], query: Query, explain: Callable[[], list[str]] = list) -> None:
        self.matches = iter(matches)
        self.query = query
        self._explain = explain

    @property
    def explanation(self) -> str:
        """Why there is no match: ``no constituent is called 'NP' here; did you mean 'np'?``.

        Empty if everything that the query names occurs, or if the trees came from an iterator. Files are read again.
        """
        return "\n".join(self._explain())

    def __next__(self) -> Match:
        return next(self.matches)

    def table(self) -> Table[Row]:
        """Return one row per match, with its context and the words, label, edge and positions of each variable."""
        return Table(columns(self.query), map(row, self))

    def counts(self, *keys: str) -> Table[Row]:
        """Count matches by features of variables, such as ``#n.cat`` or ``#p``; the most frequent come first."""
        group_keys = [GroupKey(key, self.query) for key in keys]
        counts = Counter(tuple([key.value(match) for key in group_keys]) for match in self)
        return count_table(counts, group_keys)


def search(source: Iterable[Tree] | str | PathLike[str], query: str | Query) -> Matches:
    """Return all matches of a query in a source: trees, a treebank file or an index.

    Example: ``[match["#n"].text for match in dt.search([tree], '#n:[cat="NP"]')]``.
    """
    query = query if isinstance(query, Query) else Query(query)
    if isinstance(source, str | PathLike):
        path = os.fspath(source)
        return Matches(_matches_in_file(path, query), query, lambda: explain_files(query, [path]))
    if isinstance(source, Tree) or not isinstance(source, Iterable):
        raise TypeError(f"expected trees or a path, got {type(source).__name__}; for one tree, pass [tree]")
    trees = () if isinstance(source, Iterator) else source
    matches = (match for tree in source for match in query.matches(tree))
    return Matches(matches, query, lambda: explain(query, map(TreeView, trees)) if trees else [])


def explain_files(query: Query, paths: Sequence[str], **options: Any) -> list[str]:
    """Return the reasons why a query matches nothing in files and indexes, which are read again with these options."""
    if STANDARD_STREAM in paths:
        return []
    files = [path for path in paths if not is_index(path)]
    broken: list[TreebankError] = []
    trees = (tree for path in files for tree in read(path, on_error=broken.append, **options))
    with ExitStack() as stack:
        indexes = [stack.enter_context(Index(path)) for path in paths if is_index(path)]
        reasons = explain(query, map(TreeView, trees), indexes)
    return [*(f"a tree cannot be read: {error}" for error in broken[:1]), *reasons]


def _matches_in_file(path: str, query: Query) -> Iterator[Match]:
    run = ParallelSearch([path], SearchJob(query.text))
    with Worker(run.job) as worker:
        worker.query = query
        for unit in run.units(worker):
            for view in worker.views(unit.content):
                yield from query.matches_in(view)


class TreebankFile(NamedTuple):
    """A whole file on disk."""

    path: str
    format: str | None
    encoding: str | None
    stem: str


class IndexedTrees(NamedTuple):
    """Some trees of an index, by their numbers."""

    path: str
    checksum: int  # of the index that has them
    numbers: list[int]


TreebankContent = FileChunk | list[SentenceChunk] | TreebankFile
Content = TreebankContent | IndexedTrees
"""The trees of a work unit. All but open files can be sent to another process."""


class WorkUnit(NamedTuple):
    """A part of the input, with its number of sentences and the number of input bytes up to its end."""

    content: Content  # an empty list if the prefilter has excluded all sentences
    sentences: int  # 0 for a file, whose sentences are not known before it is read
    position: int


OutputKind = Literal["lines", "contexts", "rows", "keys", "trees", "drawings", "pictures", "nothing", "batches"]
TreeCounts = tuple[str, list[int]]  # the id of a tree, and the number of matches of each query


@dataclass(frozen=True)
class SearchJob:
    """The query to search for and the output to make of its matches; or ``batches`` of an index, without a query.

    If there are ``counted`` queries instead, the results are the ``TreeCounts`` of all trees.
    """

    query: str | None
    output: OutputKind = "nothing"
    punctuation: Punctuation = "keep"
    skip_broken: bool = False
    maximum: int | None = None  # matches
    keys: tuple[str, ...] = ()
    width: int = 0  # characters on each side, of contexts
    counted: tuple[str, ...] = ()


def _ignore(*_: object) -> None:
    """Do nothing; a lambda could not be sent to another process."""


class Hits(NamedTuple):
    """Matches in one tree: their number, and their output, one item for each or one for the tree."""

    matches: int
    items: list[Any]
    is_new_tree: bool


class Outcome(NamedTuple):
    """The results of a work unit from another process, the broken trees that it skipped, and an error that ended it."""

    results: list[Any]
    skipped: list[TreebankError]
    error: DiscotreeError | None
    trees: int  # read


class Worker:
    """Processes work units, in this process (``stream``) or in another one (a call).

    The results are ``Hits``, ``TreeCounts``, or an ``IndexBatch`` for the job ``batches``. The index that was read last
    stays open.
    """

    def __init__(self, job: SearchJob) -> None:
        self.job = job
        self.query = None if job.query is None else Query(job.query)
        self.counted = list(map(Query, job.counted))
        self.keys = [GroupKey(key, self.query) for key in job.keys if self.query]
        self.on_tree: Callable[[], None] = _ignore  # called for every tree of a file
        self.index: Index | None = None
        self.count = 0  # trees read

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        if self.index is not None:
            self.index.__exit__()
        self.index = None

    def open_index(self, path: str, checksum: int | None = None) -> Index:
        """Open an index; it is an error if it is not the one with this checksum."""
        if self.index is None or self.index.path != path:
            self.__exit__()
            self.index = Index(path)
        if checksum not in (None, self.index.checksum):
            raise TreebankError("the index was replaced during the search; search again", path)
        return self.index

    def trees(self, content: TreebankContent, on_error: ErrorHandler = stop) -> Iterator[Tree]:
        """Yield the trees of a work unit of a treebank."""
        trees: Iterator[Tree]
        if isinstance(content, list):
            trees = (tree for chunk in content for tree in chunk.trees(on_error))
        elif isinstance(content, FileChunk):
            trees = content.trees(on_error)
        else:
            path, format, encoding, stem = content
            trees = read(path, format, encoding=encoding, stem=stem, on_error=on_error)
        for tree in trees:
            self.count += 1
            yield transform(tree, punctuation=self.job.punctuation)
            if not isinstance(content, list):
                self.on_tree()

    def views(self, content: Content, on_error: ErrorHandler = stop) -> Iterator[TreeView]:
        """Yield views of the trees of a work unit; the trees of an index are not built for that."""
        if isinstance(content, IndexedTrees):
            return self.open_index(content.path, content.checksum).views(content.numbers)
        return map(TreeView, self.trees(content, on_error))

    def stream(self, content: Content, on_error: ErrorHandler = stop) -> Iterator[Any]:
        """Yield the results of a work unit one by one."""
        if self.counted:
            for view in self.views(content, on_error):
                yield view.id, [sum(1 for _ in query.matches_in(view)) for query in self.counted]
            return
        if self.query is None:
            assert not isinstance(content, IndexedTrees)  # which only a query chooses
            trees = self.trees(content, on_error)
            while batch := list(islice(trees, BATCH)):
                yield index_batch(batch)
            return
        for view in self.views(content, on_error):
            matches = self.query.matches_in(view)
            is_new = True
            while found := list(islice(matches, min(BATCH, self.job.maximum or BATCH))):
                yield Hits(len(found), self._items(found, is_new), is_new)
                is_new = False

    def _items(self, matches: list[Match], is_new_tree: bool) -> list[Any]:
        output, view = self.job.output, matches[0].view
        if output == "lines":
            return [f"{view.id}\t{match.concordance()}" for match in matches]
        if output == "contexts":
            return [(view.id, match.context(self.job.width)) for match in matches]
        if output == "pictures":
            return list(map(_picture, matches))
        if output == "rows":
            return [row(match) for match in matches]
        if output == "keys":
            return [tuple([key.value(match) for key in self.keys]) for match in matches]
        if output == "trees":
            return [view.tree] if is_new_tree else []
        return [f"{view.id}\n{view.tree.draw()}\n"] if output == "drawings" and is_new_tree else []

    def __call__(self, content: Content) -> Outcome:
        """Return the results of a work unit up to the first error."""
        results: list[Any] = []
        skipped: list[TreebankError] = []
        failure: DiscotreeError | None = None
        before = self.count
        try:
            for result in self.stream(content, skipped.append if self.job.skip_broken else stop):
                results.append(result)  # noqa: PERF402 - the results before an error are kept
        except DiscotreeError as error:
            failure = error
        return Outcome(results, skipped, failure, self.count - before)


def _picture(match: Match) -> "PageItem":
    """Return the tree of a match with the nodes of its variables highlighted, below the sentence."""
    from discotree.drawing.svg import PageItem, draw_svg

    left, pieces, right = match.context(sys.maxsize)
    highlight = {name if name.startswith("#") else f"node {name}": nodes for name, nodes in match.nodes.items()}
    svg = draw_svg(match.tree, highlight=highlight or True, style=False)
    return PageItem(match.view.id, f"{left} {bracketed(pieces)} {right}".strip(), svg)


@dataclass
class ParallelSearch:
    """Processes treebank files and indexes, in this process or in several; the results keep the order of the input."""

    paths: Sequence[str]
    job: SearchJob
    stems: Sequence[str] = ("",)
    format: str | None = None
    encoding: str | None = None
    workers: int = 1
    begin: Callable[[], None] = _ignore  # called in every new process
    progress: Callable[[int, int], None] = _ignore  # gets the sentences done since the last call, and the position
    errors: list[TreebankError] | None = None  # collects the errors of broken trees; None: stop at the first one
    position: int = 0  # bytes read so far

    def results(self) -> Generator[Any, None, None]:
        """Yield the results of the workers, one in each process."""
        with Worker(self.job) as worker:
            worker.on_tree = lambda: self.progress(1, self.position)
            units = self.units(worker)
            inline = 0
            for unit in units:
                yield from self._run_inline(worker, unit)
                inline += INLINE_SENTENCES if isinstance(unit.content, TreebankFile) else unit.sentences
                if self.workers > 1 and inline >= INLINE_SENTENCES:
                    yield from self._run_in_processes(worker, units)

    def units(self, worker: Worker) -> Iterator[WorkUnit]:
        """Split the input into work units, without the trees that cannot match."""
        prefilter = BytePrefilter(worker.query) if worker.query else None
        for path, stem in zip(self.paths, self.stems, strict=True):
            if (worker.query or worker.counted) and is_index(path):
                yield from self._index_units(path, worker.query, worker.open_index(path))
            else:
                yield from self._treebank_units(path, stem, prefilter)

    def _index_units(self, path: str, query: Query | None, index: Index) -> Iterator[WorkUnit]:
        start, size, last = self.position, os.path.getsize(path), index.last
        candidates = index.candidates(query) if query else iter(range(1, last + 1))
        while numbers := list(islice(candidates, UNIT_SENTENCES)):
            self.position = start + size * numbers[-1] // last
            yield WorkUnit(IndexedTrees(path, index.checksum, numbers), len(numbers), self.position)
        self.position = start + size

    def _treebank_units(self, path: str, stem: str, prefilter: BytePrefilter | None) -> Iterator[WorkUnit]:
        has_many_files = os.path.isdir(path) or len(self.paths) > 1
        limit = UNIT_SENTENCES if self.workers > 1 else 1  # large enough to be worth sending to another process
        chunks: list[SentenceChunk] = []
        size = sentences = 0
        for chunk in read_chunks(path, self.format, encoding=self.encoding, stem=stem, on_bytes=self._count_bytes):
            if isinstance(chunk, FileChunk):
                if sentences:
                    yield WorkUnit(chunks, sentences, self.position)
                    chunks, size, sentences = [], 0, 0
                content: Content = chunk
                name = chunk.source.name
                if self.workers > 1 and has_many_files and chunk.beginning and os.path.isfile(name):
                    self.position += os.path.getsize(name)
                    content = TreebankFile(name, self.format, self.encoding, chunk.source.stem)
                yield WorkUnit(content, 0, self.position)
                continue
            sentences += 1
            if prefilter is None or prefilter(chunk):
                chunks.append(chunk)
                size += len(chunk.data)
            if len(chunks) >= limit or size > UNIT_BYTES or sentences >= PROGRESS_SENTENCES:
                yield WorkUnit(chunks, sentences, self.position)
                chunks, size, sentences = [], 0, 0
        if sentences:
            yield WorkUnit(chunks, sentences, self.position)

    def _count_bytes(self, count: int) -> None:
        self.position += count

    def _run_inline(self, worker: Worker, unit: WorkUnit) -> Iterator[Any]:
        yield from worker.stream(unit.content, stop if self.errors is None else self.errors.append)
        self.progress(unit.sentences, unit.position)

    def _run_in_processes(self, worker: Worker, units: Iterator[WorkUnit]) -> Iterator[Any]:
        waiting: deque[WorkUnit] = deque()
        failure: DiscotreeError | None = None
        pool: OrderedPool[Content, Outcome]
        with OrderedPool(partial(Worker, self.job), self.workers, self.begin) as pool:
            while True:
                try:
                    unit = next(units, None)
                except DiscotreeError as error:  # raised after the results of the units before it
                    unit, failure = None, error
                if unit is None:
                    break
                if isinstance(unit.content, FileChunk):  # open in this process only
                    yield from self._collect(pool.remaining(), waiting)
                    yield from self._run_inline(worker, unit)
                elif not unit.content:
                    self.progress(unit.sentences, unit.position)
                else:
                    waiting.append(unit)
                    yield from self._collect(pool.results(unit.content), waiting)
            yield from self._collect(pool.remaining(), waiting)
            if failure is not None:
                raise failure

    def _collect(self, outcomes: Iterator[tuple[Content, Outcome]], waiting: deque[WorkUnit]) -> Iterator[Any]:
        for content, outcome in outcomes:
            unit = waiting.popleft()
            yield from outcome.results
            if self.errors is not None:
                self.errors += outcome.skipped
            if outcome.error is not None:
                raise outcome.error
            self.progress(outcome.trees if isinstance(content, TreebankFile) else unit.sentences, unit.position)
