"""Exclude sentences that cannot match a query by their bytes, before they are parsed.

A query that names a word or a label matches only sentences in which the name occurs. Formats encode some characters
(``#LRB#``, ``<dash/>``, ``\\/``), but never letters and digits. So the longest run of letters and digits of a value
must occur in the bytes unchanged, and sentences without it can be skipped. JSON has escapes for letters, so a sentence
with such an escape is never excluded. Labels that readers add (those of roots) and edge labels in Penn brackets, which
lose their indices, are ignored.

`discotree search` for a word in IcePaHC (73,000 trees, one core) takes 3.6 s with the prefilter and 29 s without it.
"""

import re

from discotree.queries.language import Exactly, Feature, Or
from discotree.queries.query import Query
from discotree.treebanks.chunks import SentenceChunk
from discotree.trees.tree import ROOT, ROOT_LABELS

Needles = tuple[bytes, ...]  # at least one of them must occur

_ALPHANUMERIC = re.compile(r"[^\W_]+")
_JSON_ESCAPE = b"\\u"


class BytePrefilter:
    """Tells whether the tree of a sentence may match a query."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.alternatives: dict[tuple[str, str | None], list[list[Needles]] | None] = {}

    def __call__(self, chunk: SentenceChunk) -> bool:
        """Return False if the sentence cannot match, so that it need not be parsed."""
        data, key = chunk.data, (chunk.format, chunk.encoding)
        if key not in self.alternatives:
            self.alternatives[key] = self.needles(*key)
        alternatives = self.alternatives[key]
        if alternatives is None or any(
            all(any(needle in data for needle in needles) for needles in required) for required in alternatives
        ):
            return True
        return (chunk.format == "json" and _JSON_ESCAPE in data) or not _is_decodable(data, chunk.encoding)

    def needles(self, format: str, encoding: str | None) -> list[list[Needles]] | None:
        """Return the needles that each alternative of the query requires; None if one of them requires nothing."""
        alternatives = []
        for plan in self.query.plans:
            features = [feature for step in plan.steps for feature in step.requirements]
            required = [needles for feature in features if (needles := _needles(feature, format, encoding or "utf-8"))]
            if not required:
                return None
            alternatives.append(sorted(required, key=lambda needles: -min(map(len, needles))))  # long ones are rare
        return alternatives


def _needles(requirement: Feature, format: str, encoding: str) -> Needles:
    """Return the needles that a required feature implies; none if its values are not all known."""
    if requirement.name == "edge" and format in ("penn", "psd"):
        return ()
    needles = []
    for choice in requirement.test.parts if isinstance(requirement.test, Or) else (requirement.test,):
        if not isinstance(choice, Exactly) or (requirement.name == "cat" and choice.text in (ROOT, *ROOT_LABELS)):
            return ()
        longest = max(_ALPHANUMERIC.findall(choice.text), key=len, default="")
        try:
            needles.append(longest.encode(encoding))
        except UnicodeEncodeError:
            return ()
    return tuple(needles) if all(needles) else ()


def _is_decodable(data: bytes, encoding: str | None) -> bool:
    """Return whether bytes are text; the reader reports those that are not."""
    if data.isascii():
        return True
    try:
        data.decode(encoding or "utf-8")
    except UnicodeDecodeError:
        return False
    return True
