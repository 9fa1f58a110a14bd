"""A row's record: what is written for it. ``discotree.read`` makes trees of Parquet files of these again.

    id          string
    tokens      list of strings: the words
    tree        string: discbracket, which holds the words, their tags and the labels
    functions   list of strings: those of the words, then those of the nodes in the order of Tree.nodes
    confidence  double: the probability of the tree
    error       string: why there is no tree; null where there is one

Rows that are documents have a list of each, with an entry for every sentence; an error then names the sentence.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from discotree.errors import first_line
from discotree.treebanks.discbracket import DiscbracketWriter
from discotree.trees.tree import Tree

LONGEST = 200  # characters of an error
MAX_ERRORS = 10  # of a document that are named
Record = dict[str, Any]
FIELDS: dict[str, Any] = {
    "tokens": pa.list_(pa.string()),
    "tree": pa.string(),
    "functions": pa.list_(pa.string()),
    "confidence": pa.float64(),
}


def schema(documents: bool) -> Any:
    fields = [(name, pa.list_(kind) if documents else kind) for name, kind in FIELDS.items()]
    return pa.schema([("id", pa.string()), *fields, ("error", pa.string())])


def failed(id: str, error: Exception) -> Record:
    """The record of a row that has no tree."""
    return {"id": id, **dict.fromkeys(FIELDS), "error": reason(error)}


def reason(error: Exception) -> str:
    """What an error says, in short: some quote a whole sentence."""
    text = first_line(error)
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"


def of_tree(id: str, tree: Tree) -> Record:
    """The record of a sentence; a TreebankError says what discbracket cannot hold, such as a word with a blank."""
    line = DiscbracketWriter().tree(replace(tree, id="", comment=""), 1)
    return {
        "id": id,
        "tokens": list(tree.words),
        "tree": line.rstrip("\n"),
        "functions": [token.function for token in tree.tokens] + [node.function for node in tree.nodes()],
        "confidence": tree.confidence,
        "error": None,
    }


def of_document(id: str, sentences: Sequence[Record]) -> Record:
    """The record of a row with any number of sentences."""
    errors = [f"sentence {number}: {one['error']}" for number, one in enumerate(sentences, 1) if one["error"]]
    columns = {name: [one[name] for one in sentences] for name in FIELDS}
    return {"id": id, **columns, "error": "; ".join(errors[:MAX_ERRORS]) or None}
