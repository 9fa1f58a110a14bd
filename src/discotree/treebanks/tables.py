"""Trees as tables: a row for every constituent, or for every token.

    constituents(read("negra.export")).to_pandas().groupby("label")["is_discontinuous"].mean()

A table is a stream of rows: iterate over it, read it in record batches, or convert it to a data frame.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from os import PathLike, fspath
from typing import Any, Generic, NamedTuple, TypeVar, get_type_hints

from discotree.encoding.head_rules import HeadRules
from discotree.errors import TreeError
from discotree.files.writing import writable
from discotree.treebanks.arrow import COMPRESSION, arrow
from discotree.trees.tree import GAP, Node, Tree

__all__ = ["ConstituentRow", "Table", "TokenRow", "constituents", "tokens"]

BATCH = 10_000  # rows


class ConstituentRow(NamedTuple):
    """A constituent. Head and head word need head rules; the confidence comes from a parser."""

    id: str  # id of the sentence
    number: int  # index in the order of Tree.nodes: 0 is the root
    label: str
    function: str
    parent: int  # its number; -1 for the root
    parent_label: str | None
    depth: int  # 0 for the root
    start: int
    end: int  # position after the last word
    length: int  # in words
    is_discontinuous: bool
    gap_degree: int
    positions: tuple[int, ...]
    text: str
    head: int | None  # position of the head word
    head_word: str | None
    confidence: float | None


class TokenRow(NamedTuple):
    """A token. Head and relation are those of the augmented dependencies and need head rules."""

    id: str  # id of the sentence
    position: int
    form: str
    tag: str
    lemma: str
    morph: str
    function: str
    parent: int  # number of its parent constituent
    parent_label: str
    depth: int
    head: int | None  # position of its head; -1 for the head of the sentence
    relation: str | None


Row = TypeVar("Row", bound=tuple[Any, ...])


class Table(Generic[Row]):
    """A stream of rows. A table over a stream of trees can be used once."""

    def __init__(
        self,
        columns: Mapping[str, Any],
        items: Iterable[Any],
        rows_of: Callable[[Any], Iterable[Row]] = lambda row: (row,),
    ) -> None:
        """``columns`` are the names of the columns, and their types in Python; ``rows_of`` an item are in the table."""
        if isinstance(items, Tree):  # which is an iterable of constituents
            raise TypeError("expected an iterable of trees, got a single Tree: pass [tree]")
        self.columns = dict(columns)
        self.items = items
        self.rows_of = rows_of

    def __iter__(self) -> Iterator[Row]:
        return (row for item in self.items for row in self.rows_of(item))

    @property
    def schema(self) -> Any:
        """The Arrow schema of the columns."""
        pa = arrow()
        types = {
            str: pa.string(),
            str | None: pa.string(),
            int: pa.int32(),
            int | None: pa.int32(),
            bool: pa.bool_(),
            float | None: pa.float64(),
            tuple[int, ...]: pa.list_(pa.int32()),
            tuple[int, ...] | None: pa.list_(pa.int32()),
        }
        return pa.schema([(name, types[kind]) for name, kind in self.columns.items()])

    def batches(self) -> Iterator[Any]:
        """Yield the table as record batches, one at a time in memory."""
        schema = self.schema
        rows = iter(self)
        while batch := list(islice(rows, BATCH)):
            try:
                columns = [
                    arrow().array(values, field.type)
                    for field, values in zip(schema, zip(*batch, strict=True), strict=True)
                ]
            except UnicodeEncodeError as error:
                raise TreeError(f"{error.object!r:.50} contains a lone surrogate, which Arrow cannot store") from None
            yield arrow().record_batch(columns, schema=schema)

    def to_arrow(self) -> Any:
        """Return a ``pyarrow.Table``."""
        return arrow().Table.from_batches(self.batches(), schema=self.schema)

    def to_parquet(self, path: str | PathLike[str]) -> int:
        """Write a Parquet file, batch by batch, and return the number of rows. It appears when it is complete."""
        arrow()
        from pyarrow.parquet import ParquetWriter  # type: ignore[import-untyped]

        batches = iter(self.batches())
        first = next(batches, None)  # an input that cannot be read leaves the output file unchanged
        count = 0
        options = {"compression": COMPRESSION, "write_page_checksum": True}
        with writable(fspath(path)) as stream, ParquetWriter(stream, self.schema, **options) as writer:
            for batch in chain([first] if first is not None else [], batches):
                writer.write_batch(batch)
                count += batch.num_rows
        return count

    def to_pandas(self) -> Any:
        """Return a ``pandas.DataFrame``."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return a ``polars.DataFrame``."""
        import polars

        return polars.from_arrow(self.to_arrow())


def constituents(trees: Iterable[Tree], heads: HeadRules | str | None = None) -> Table[ConstituentRow]:
    """Return one row for every constituent, the root included; ``heads`` are head rules or their name."""
    rules = None if heads is None else HeadRules.of(heads)
    return Table(get_type_hints(ConstituentRow), trees, lambda tree: _constituents(tree, rules))


def tokens(trees: Iterable[Tree], heads: HeadRules | str | None = None) -> Table[TokenRow]:
    """Return one row for every token; ``heads`` are head rules or their name."""
    rules = None if heads is None else HeadRules.of(heads)
    return Table(get_type_hints(TokenRow), trees, lambda tree: _tokens(tree, rules))


def _constituents(tree: Tree, rules: HeadRules | None) -> Iterator[ConstituentRow]:
    words = tree.words
    nodes = list(tree.nodes())
    parents, depths = _parents_and_depths(tree)
    heads = _heads(tree, nodes, rules) if rules else [None] * len(nodes)
    confidences = tree.confidences if len(tree.confidences) == len(nodes) else [None] * len(nodes)
    for number, node in enumerate(nodes):
        parent, head, positions, spans = parents[number], heads[number], node.positions, node.spans
        yield ConstituentRow(
            tree.id,
            number,
            node.label,
            node.function,
            parent,
            nodes[parent].label if number else None,
            depths[number],
            positions[0],
            positions[-1] + 1,
            len(positions),
            len(spans) > 1,
            len(spans) - 1,
            positions,
            GAP.join([" ".join(words[start:end]) for start, end in spans]),
            head,
            None if head is None else words[head],
            confidences[number],
        )


def _parents_and_depths(tree: Tree) -> tuple[list[int], list[int]]:
    """Return the number of every node's parent, and its depth."""
    parents, depths = [-1], [0]
    for _, _, parent in tree.parents()[1]:
        parents.append(parent + 1)  # the root is node 0
        depths.append(depths[parent + 1] + 1)
    return parents, depths


def _heads(tree: Tree, nodes: list[Node], rules: HeadRules) -> list[int | None]:
    """Return the positions of the head words."""
    heads: dict[int, int] = {}
    for node in reversed(nodes):  # children before parents
        child = node.children[rules.head_child(node, tree.tokens)]
        heads[id(node)] = child if isinstance(child, int) else heads[id(child)]
    return [heads[id(node)] for node in nodes]


def _tokens(tree: Tree, rules: HeadRules | None) -> Iterator[TokenRow]:
    labels = [node.label for node in tree.nodes()]
    _, depths = _parents_and_depths(tree)
    arcs = tree.dependencies(rules) if rules else None
    for position, (token, parent) in enumerate(zip(tree.tokens, tree.parents()[0], strict=True)):
        yield TokenRow(
            tree.id,
            position,
            *token,
            parent + 1,
            labels[parent + 1],
            depths[parent + 1] + 1,
            arcs.heads[position] if arcs else None,
            arcs.labels[position] if arcs else None,
        )
