"""What is written for a row: the record of its tree (``Tree.to_dict``, or the treebank's Parquet columns) and an error.

    JSON     {"id": …, "tokens": […], "constituents": […], "confidence": …, "error": null}
    Parquet  id, words, tags, lemmas, morph, functions, parents, constituents, secondary, comment, confidence, error

``error`` says why there is no tree, and is null where there is one. A row that is a text has ``id``, ``sentences``, a
list of such records, and ``error``, which names the sentences without a tree. ``discotree.read`` reads all of these.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from discotree.errors import first_line
from discotree.treebanks import columns
from discotree.trees.tree import Tree

MAX_ERROR_CHARACTERS = 200
MAX_NAMED_ERRORS = 10  # errors of one text that are named


@dataclass(frozen=True)
class ParsedRow:
    """A row with what its sentences became: trees with ids of their own, or why there is none."""

    id: str
    sentences: list[Tree | str] = field(default_factory=list)
    problem: str = ""  # why the row has no sentences

    @property
    def trees(self) -> list[Tree]:
        return [outcome for outcome in self.sentences if isinstance(outcome, Tree)]

    @property
    def error(self) -> str | None:
        """Why the row, or the first sentences of it that failed, have no tree."""
        if len(self.sentences) == 1 and isinstance(self.sentences[0], str):
            return self.sentences[0]
        outcomes = enumerate(self.sentences, 1)
        failed = [f"sentence {number}: {reason}" for number, reason in outcomes if isinstance(reason, str)]
        return self.problem or "; ".join(failed[:MAX_NAMED_ERRORS]) or None


def shorten(error: Exception) -> str:
    """Return the first line of an error, shortened: some errors quote a whole sentence."""
    text, half = first_line(error), MAX_ERROR_CHARACTERS // 2
    return text if len(text) <= MAX_ERROR_CHARACTERS else f"{text[:half]} … {text[-half:]}"


def sentence_id(row: str, number: int) -> str:
    """Return the id of the ``number``-th sentence of a text."""
    return f"{row}/{number}"


# JSON


def to_record(row: ParsedRow, documents: bool) -> dict[str, Any]:
    """Return what JSON lines hold for a row."""
    if not documents:
        tree = row.trees[0].to_dict() if row.trees else {}
        return {**tree, "id": row.id, "error": row.error}
    sentences = [
        {**outcome.to_dict(), "error": None}
        if isinstance(outcome, Tree)
        else {"id": sentence_id(row.id, number), "error": outcome}
        for number, outcome in enumerate(row.sentences, 1)
    ]
    return {"id": row.id, "sentences": sentences, "error": row.error}


# Parquet


@lru_cache
def schema(documents: bool) -> Any:
    """Return the columns of a shard."""
    sentence = columns.schema().append(pa.field("error", pa.string()))
    if not documents:
        return sentence
    return pa.schema(
        [("id", pa.string()), (columns.SENTENCES, pa.list_(pa.struct(list(sentence)))), ("error", pa.string())]
    )


def to_batch(rows: Sequence[ParsedRow], documents: bool) -> Any:
    """Return the rows of a shard as one record batch."""
    if not documents:
        outcomes = [row.trees[0] if row.trees else (row.error or "") for row in rows]
        return _sentences([row.id for row in rows], outcomes)
    ids = [sentence_id(row.id, number) for row in rows for number, _ in enumerate(row.sentences, 1)]
    inner = _sentences(ids, [outcome for row in rows for outcome in row.sentences])
    offsets = pa.array(accumulate((len(row.sentences) for row in rows), initial=0), pa.int32())
    kind = schema(True).field(columns.SENTENCES).type
    struct = pa.StructArray.from_arrays(inner.columns, fields=list(inner.schema))
    sentences = pa.ListArray.from_arrays(offsets, struct).cast(kind)
    arrays = [pa.array([row.id for row in rows], pa.string()), sentences, _texts(row.error for row in rows)]
    return pa.record_batch(arrays, schema=schema(True))


def _sentences(ids: Sequence[str], outcomes: Sequence[Tree | str]) -> Any:
    """Return trees and errors, each in its place: a row without a tree is null everywhere else."""
    trees = [outcome for outcome in outcomes if isinstance(outcome, Tree)]
    positions = accumulate((isinstance(outcome, Tree) for outcome in outcomes), initial=0)
    taken = [k if isinstance(outcome, Tree) else None for k, outcome in zip(positions, outcomes, strict=False)]
    batch = columns.to_batch(trees)
    if len(trees) < len(outcomes):
        batch = batch.take(pa.array(taken, pa.int32()))
    arrays = [pa.array(ids, pa.string()), *batch.columns[1:]]
    errors = _texts(outcome if isinstance(outcome, str) else None for outcome in outcomes)
    return pa.record_batch([*arrays, errors], schema=schema(False))


def _texts(values: Any) -> Any:
    return pa.array(list(values), pa.string())
