"""The record of a tree: plain dicts, lists, strings and numbers, ready for JSON.

    {"id": "7",
     "tokens": [{"form": "Es", "tag": "PPER", "start": 0, "end": 2}, …],
     "constituents": [{"label": "ROOT", "positions": [0, 1, 2]}, {"label": "NP", "function": "SB", …}, …]}

record.schema.json describes every field. Keys are left out where nothing is known (``--``); unknown keys are ignored,
so a record may carry more than a tree. Constituents come in the order of ``Tree.nodes``: the root first, parents
before children, children from left to right.

Records come from files and from the network: whatever they hold, reading one gives a tree's parts or a TreeError.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from reprlib import Repr
from typing import Any, NamedTuple

from discotree.errors import TreeError
from discotree.trees.node import NONE, Constituent, SecondaryEdge, Token, lowest_bit

PROBABILITY_DIGITS = 6
Offsets = Sequence[tuple[int, int]]


class Parts(NamedTuple):
    """Everything that a tree is built from, as ``Tree.from_parents`` takes it."""

    tokens: list[Token]
    token_parents: list[int]
    nodes: list[tuple[str, str, int]]  # without the root
    root: tuple[str, str]
    id: str
    secondary: list[SecondaryEdge]
    comment: str
    confidence: float | None
    confidences: tuple[float, ...]


def rounded(probability: float | None) -> float | None:
    """Return a probability with the digits that mean something."""
    return None if probability is None else float(f"{probability:.{PROBABILITY_DIGITS}g}")


# Tree → record


def to_record(
    id: str,
    tokens: Sequence[Token],
    constituents: Iterable[Constituent],
    secondary: Iterable[SecondaryEdge] = (),
    comment: str = "",
    confidence: float | None = None,
    offsets: Offsets = (),
) -> dict[str, Any]:
    """Return a tree's record; ``offsets`` are the (start, end) of its tokens in a text."""
    if offsets and len(offsets) != len(tokens):
        raise TreeError(f"there are {len(offsets)} offsets for {len(tokens)} tokens")
    records = [_token_record(token) for token in tokens]
    for token, (start, end) in zip(records, offsets, strict=False):
        token["start"], token["end"] = start, end
    record: dict[str, Any] = {
        "id": str(id),
        "tokens": records,
        "constituents": [_constituent_record(constituent) for constituent in constituents],
    }
    edges = [{"label": label, "child": child, "parent": parent} for label, child, parent in secondary]
    if edges:
        record["secondary"] = edges
    if comment:
        record["comment"] = comment
    if _is_probability(confidence):
        record["confidence"] = rounded(confidence)
    return record


def _token_record(token: Token) -> dict[str, Any]:
    form, tag, lemma, morph, function = token
    record = {"form": form}
    if tag != NONE:
        record["tag"] = tag
    if lemma != NONE:
        record["lemma"] = lemma
    if morph != NONE:
        record["morph"] = morph
    if function != NONE:
        record["function"] = function
    return record


def _constituent_record(constituent: Constituent) -> dict[str, Any]:
    label, function, positions, confidence = constituent
    record: dict[str, Any] = {"label": label}
    if function != NONE:
        record["function"] = function
    record["positions"] = list(positions)
    if _is_probability(confidence):
        record["confidence"] = rounded(confidence)
    return record


def _is_probability(value: float | None) -> bool:
    return value is not None and 0 <= value <= 1  # NaN is neither


# Record → tree


def from_record(record: object) -> Parts:
    """Return the parts of the tree that a record describes."""
    if not isinstance(record, Mapping):
        raise TreeError(f"expected an object with the fields of a tree, got {shown(record)}")
    if "constituents" not in record and isinstance(record.get("error"), str):
        raise TreeError(f"there is no tree, only an error: {record['error'][:200]}")
    tokens = [_token(item, f"token {k}") for k, item in enumerate(_list(record, "tokens", "the record"))]
    items = _list(record, "constituents", "the record")
    labels, masks, positions, confidences = [], [], [], []
    for k, item in enumerate(items):
        where = f"constituent {k}"
        if not isinstance(item, Mapping):
            raise TreeError(f"{where}: expected an object, got {shown(item)}")
        labels.append((_text(item, "label", where), _text(item, "function", where, NONE)))
        positions.append(_list(item, "positions", where))
        masks.append(_mask(positions[-1], len(tokens), where))
        confidences.append(_probability(item, where))
    token_parents, parents = _parents(masks, positions, len(tokens))
    known = tuple([confidence for confidence in confidences if confidence is not None])
    return Parts(
        tokens,
        token_parents,
        [(label, function, parent) for (label, function), parent in zip(labels[1:], parents, strict=True)],
        labels[0],
        _text(record, "id", "the record", ""),
        _secondary(record, len(tokens), len(items)),
        _text(record, "comment", "the record", ""),
        _probability(record, "the record"),
        known if len(known) == len(items) else (),
    )


def offsets_of(record: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Return the (start, end) of every token of a record in its text, or nothing where a token has none."""
    offsets: list[tuple[int, int]] = []
    for k, token in enumerate(_list(record, "tokens", "the record")):
        if not isinstance(token, Mapping):
            raise TreeError(f"token {k}: expected an object, got {shown(token)}")
        start, end = token.get("start"), token.get("end")
        if start is None or end is None:
            return []
        if type(start) is not int or type(end) is not int or not 0 <= start <= end:
            raise TreeError(f"token {k}: expected 0 ≤ start ≤ end, got {shown(start)} and {shown(end)}")
        offsets.append((start, end))
    if any(left[0] > right[0] or left[1] > right[1] for left, right in pairwise(offsets)):
        raise TreeError("the offsets of the tokens are not in order")
    return offsets


def _token(item: object, where: str) -> Token:
    if not isinstance(item, Mapping):
        raise TreeError(f'{where}: expected an object like {{"form": "Haus"}}, got {shown(item)}')
    return Token(
        _text(item, "form", where),
        _text(item, "tag", where, NONE),
        _text(item, "lemma", where, NONE),
        _text(item, "morph", where, NONE),
        _text(item, "function", where, NONE),
    )


def _mask(positions: list[Any], n: int, where: str) -> int:
    """Return a constituent's positions as a bit set."""
    if set(map(type, positions)) != {int} or min(positions) < 0 or max(positions) >= n:
        wrong = next(p for p in positions if type(p) is not int or not 0 <= p < n)
        raise TreeError(f"{where}: expected positions of tokens (0 to {n - 1}), got {shown(wrong)}")
    first: int = positions[0]
    if positions == list(range(first, first + len(positions))):  # most have no gap
        return ((1 << len(positions)) - 1) << first
    mask = 0
    for position in positions:
        mask |= 1 << position
    if mask.bit_count() != len(positions):
        raise TreeError(f"{where} has a position twice")
    return mask


def _parents(masks: list[int], positions: list[list[int]], n: int) -> tuple[list[int], list[int]]:
    """Return the parent of every token and of every node but the root, which is -1; refuse what is no tree."""
    if masks[0] != (1 << n) - 1:
        raise TreeError("the first constituent has to be the root, with the positions of all tokens")
    token_parents = [-1] * n
    parents: list[int] = []
    covered = [0] * len(masks)  # tokens of the children so far
    latest = [-1] * len(masks)  # first position of the latest child
    path = [0]  # from the root down to the constituent before
    for k in range(1, len(masks)):
        mask = masks[k]
        while mask & ~masks[path[-1]]:
            path.pop()
        parent = path[-1]
        if mask & covered[parent]:
            raise TreeError(f"constituent {k} overlaps one before it, or comes after its own child")
        first = lowest_bit(mask)
        if first < latest[parent]:
            raise TreeError(f"constituent {k} comes too late: siblings go from left to right")
        covered[parent] |= mask
        latest[parent] = first
        parents.append(parent - 1)
        path.append(k)
        for position in positions[k]:
            token_parents[position] = k - 1
    return token_parents, parents


def _secondary(record: Mapping[str, Any], n: int, nodes: int) -> list[SecondaryEdge]:
    edges = []
    for k, item in enumerate(_list(record, "secondary", "the record", optional=True)):
        where = f"secondary edge {k}"
        if not isinstance(item, Mapping):
            raise TreeError(f"{where}: expected an object, got {shown(item)}")
        label, child, parent = _text(item, "label", where), item.get("child"), item.get("parent")
        if type(child) is not int or not 0 <= child < n + nodes:
            raise TreeError(f"{where}: expected a child among 0 to {n + nodes - 1}, got {shown(child)}")
        if type(parent) is not int or not n <= parent < n + nodes:
            raise TreeError(f"{where}: expected a parent among {n} to {n + nodes - 1}, got {shown(parent)}")
        edges.append(SecondaryEdge(label, child, parent))
    return edges


# Fields


def _list(record: Mapping[str, Any], key: str, where: str, optional: bool = False) -> list[Any]:
    value = record.get(key)
    if value is None and optional:
        return []
    if not isinstance(value, (list, tuple)) or not (value or optional):
        raise TreeError(f"{where}: expected {key} as a list{'' if optional else ' that is not empty'}, {_got(value)}")
    return list(value)


def _text(record: Mapping[str, Any], key: str, where: str, default: str | None = None) -> str:
    value = record.get(key)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise TreeError(f"{where}: expected {key} as a string, {_got(value)}")
    return value


def _probability(record: Mapping[str, Any], where: str) -> float | None:
    value = record.get("confidence")
    if value is None:
        return None
    if type(value) not in (int, float) or not 0 <= value <= 1:
        raise TreeError(f"{where}: expected confidence as a number from 0 to 1, {_got(value)}")
    return float(value)


_REPR = Repr()
_REPR.maxstring = _REPR.maxother = 50


def _got(value: object) -> str:
    return "but there is none" if value is None else f"got {shown(value)}"


def shown(value: object) -> str:
    """Return a short repr of anything, however large or deep."""
    try:
        return _REPR.repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits has none
        return f"a very large {type(value).__name__}"
