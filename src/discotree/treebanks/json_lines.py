"""JSON lines: the record of a tree (``Tree.to_dict``) on every line. It holds everything that a tree has.

Lines end in a line feed and hold no other character that anything takes for a line end.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from discotree.errors import TreeError
from discotree.treebanks.source import RunningNumber, Source
from discotree.treebanks.writer import Writer
from discotree.trees.tree import Offsets, Tree

# Line ends that JSON does not escape, and halves of characters, which no encoding holds.
_UNSAFE = re.compile("[\x85\u2028\u2029\ud800-\udfff]")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {max(keys, key=keys.count)!r:.50} occurs twice")
    return record


_decode = json.JSONDecoder(object_pairs_hook=_unique).decode


def read_json(source: Source) -> Iterator[Tree]:
    seen = source.seen
    for number, line in source.lines():
        if not line.strip():
            continue
        seen += 1
        if source.is_damaged():
            continue
        try:
            record = _decode(line)
        except (ValueError, RecursionError) as error:
            source.broken(number, f"expected a JSON object on one line: {_reason(error)}")
            continue
        sentences = record.get("sentences") if isinstance(record, Mapping) else None
        for sentence in sentences if isinstance(sentences, list) and sentences else [record]:
            try:
                if isinstance(sentence, Mapping) and not sentence.get("id"):
                    sentence = {**sentence, "id": RunningNumber(seen)}
                tree = Tree.from_dict(sentence)
            except TreeError as error:
                source.broken(number, str(error))
            else:
                yield tree


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg.removesuffix(' at')} at column {error.colno}"
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


class JsonWriter(Writer):
    def tree(self, tree: Tree, number: int, offsets: Offsets = ()) -> str:
        """``offsets`` are the (start, end) of the tree's tokens in a text."""
        record = tree.to_dict(offsets)
        record["id"] = record["id"] or str(number)
        return json_line(record)


def json_line(record: Mapping[str, Any]) -> str:
    """Return a record as one line of JSON, line end included."""
    line = json.dumps(record, ensure_ascii=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", line) + "\n"
