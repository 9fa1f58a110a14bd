"""A first look at the bytes of a sentence: can a query be found in it at all?

A query that asks for a word or a label by name is only found where the name stands in the file. Formats write some
characters in codes (``#LRB#``, ``<dash/>``, ``\\/``), but none of these stands for a letter or a digit. So an unbroken
stretch of letters and digits in a value also stands in the bytes as it is, and bytes without it need not be read. JSON
has codes for letters: where there is one, nothing is ruled out.

Not so for labels that readers make up (the root's), and for edge labels in Penn brackets, which lose their indices.
"""

import re
from collections.abc import Sequence

from discotree.queries.language import Exactly, Feature, Or
from discotree.queries.plan import Step
from discotree.queries.query import Query
from discotree.treebanks.pieces import FilePiece, Piece
from discotree.treebanks.traces import MOVEMENT
from discotree.trees.tree import ROOT, ROOT_LABELS

Needles = tuple[bytes, ...]  # one of them has to be there

BRACKETS = ("penn", "psd")
TRACES: Needles = tuple(sorted(kind.encode() for kind in MOVEMENT))  # without them, nothing is discontinuous there
_STRETCH = re.compile(r"[^\W_]+")
_JSON_CODE = b"\\u"


class FirstLook:
    """Tells whether a query may be found in a piece of a treebank."""

    def __init__(self, query: Query, keeps_gaps: bool = True) -> None:
        """``keeps_gaps`` is False if trees are changed before they are searched, so that gaps may arise."""
        self.query = query
        self.keeps_gaps = keeps_gaps
        self.choices: dict[tuple[str, str | None], list[list[Needles]] | None] = {}

    def __call__(self, piece: Piece) -> bool:
        """Return False if the query cannot be found, and the piece need not be read."""
        if isinstance(piece, FilePiece):
            return True
        data, encoding = piece.sentence.data, piece.sentence.encoding
        key = (piece.format, encoding)
        if key not in self.choices:
            self.choices[key] = self.needles(*key)
        choices = self.choices[key]
        if choices is None or any(all(any(n in data for n in ns) for ns in plan) for plan in choices):
            return True
        return (piece.format == "json" and _JSON_CODE in data) or not _is_decodable(data, encoding)

    def needles(self, format: str, encoding: str | None) -> list[list[Needles]] | None:
        """Return what has to be there for each plan of the query; None if one of them is content with anything."""
        choices = []
        for plan in self.query.plans:
            found = [needles for step in plan.steps for needles in self._of_step(step, format, encoding)]
            if not found:
                return None
            choices.append(sorted(found, key=lambda needles: -min(map(len, needles))))  # the rarest first, roughly
        return choices

    def _of_step(self, step: Step, format: str, encoding: str | None) -> list[Needles]:
        found = [_needles(requirement, format, encoding or "utf-8") for requirement in step.requirements]
        if step.is_discontinuous and format in BRACKETS and self.keeps_gaps:
            found.append(TRACES)
        return [needles for needles in found if needles]


def _needles(requirement: Feature, format: str, encoding: str) -> Needles:
    """Return what has to be in the bytes of a sentence where a feature has a value; nothing if that is not known."""
    if requirement.name == "edge" and format in BRACKETS:
        return ()
    choices: Sequence[object] = requirement.test.parts if isinstance(requirement.test, Or) else (requirement.test,)
    found = []
    for choice in choices:
        if not isinstance(choice, Exactly) or (requirement.name == "cat" and choice.text in (ROOT, *ROOT_LABELS)):
            return ()
        stretch = max(_STRETCH.findall(choice.text), key=len, default="")
        try:
            found.append(stretch.encode(encoding))
        except UnicodeEncodeError:
            return ()
    return tuple(found) if all(found) else ()


def _is_decodable(data: bytes, encoding: str | None) -> bool:
    """Return whether bytes are text; what is not is left to the reader, which reports it."""
    if data.isascii():
        return True
    try:
        data.decode(encoding or "utf-8")
    except UnicodeDecodeError:
        return False
    return True
