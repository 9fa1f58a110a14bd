"""What stands on the lines of a journal. The first key of a line tells its kind.

    {"discotree": "0.3.0", "annotation": 1, …}                           the first line
    {"model": 1, "name": "nl", "fingerprint": …, "time": …, "who": …}    from here on, this model parses
    {"sentence": 7, "model": 1, "confidence": 0.8, "input": …, "tree": {…}}    a sentence as the parser has it
    {"step": 12, "sentence": 7, "action": "correct", "time": …, "who": …, "replaces": 0, "tree": {…}}
    {"read": 4000}                                                       the input ends after so many sentences
    {"scores": {…}, "model": 1, "held_out": …, "gold": …, "finished": 100, "time": …}

Sentences, models and steps are counted from 1. A sentence that another model parses again has a second line. "input" is
a digest of all sentences up to this one. "replaces" is the step before this one that the state of the sentence came
from, 0 the prediction; undoing a step restores that one.
"""

import re
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Literal

from discotree.errors import InputError

Action = Literal["accept", "correct", "skip", "reopen", "comment", "undo"]
Status = Literal["open", "accepted", "corrected", "skipped", "failed"]
Order = Literal["unsure", "given"]
STATUSES: tuple[Status, ...] = ("open", "accepted", "corrected", "skipped", "failed")
OPEN, ACCEPTED, CORRECTED, SKIPPED, FAILED = range(5)
AFTER = {"accept": ACCEPTED, "correct": CORRECTED, "skip": SKIPPED, "reopen": OPEN}  # the status after an action
FINISHED = (ACCEPTED, CORRECTED)
NO_TREE = -1.0  # the confidence of a sentence that cannot be read
MAX_NAME_CHARACTERS = 100
MAX_COMMENT_CHARACTERS = 10_000
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")  # characters that treebank formats cannot hold

Record = dict[str, Any]


class ConflictError(InputError):
    """Somebody else was faster: the sentence is no longer what the annotator saw."""


@dataclass(frozen=True, slots=True)
class AnnotationStep:
    """What somebody does with a sentence. ``version`` is what the annotator saw; "" takes whatever is there."""

    sentence: int
    action: Action
    who: str
    version: str = ""
    tree: Record | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A sentence as the parser has it; ``tree`` is None where the input cannot be read."""

    tree: Record | None
    where: str = ""
    failed: str = ""  # why there is no tree, or only a flat one
    input: str = ""

    def entry(self, number: int, model: int) -> Record:
        confidence = NO_TREE if self.tree is None else float(self.tree.get("confidence", 0.0))
        entry: Record = {"sentence": number, "model": model, "confidence": confidence}
        for key in ("input", "where", "failed", "tree"):
            if value := getattr(self, key):
                entry[key] = value
        return entry


@dataclass(frozen=True, slots=True)
class ModelUse:
    """A model that parsed sentences from some time on."""

    name: str
    fingerprint: str
    time: str = field(default_factory=lambda: now())
    who: str = ""


def now() -> str:
    """Return the time in UTC as journals write it."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def checked_name(who: str) -> str:
    """Return the name of an annotator, or raise an error for what is none."""
    name = " ".join(who.split())
    if not name or len(name) > MAX_NAME_CHARACTERS or not name.isprintable():
        raise InputError(f"who are you? Give a name of at most {MAX_NAME_CHARACTERS} characters")
    return name


def checked_comment(text: str) -> str:
    """Return a comment, or raise an error for what is none."""
    text = "\n".join(CONTROL.sub(" ", line).rstrip() for line in text.strip().splitlines())
    if not text or len(text) > MAX_COMMENT_CHARACTERS:
        raise InputError(f"a comment needs 1 to {MAX_COMMENT_CHARACTERS:,} characters")
    return text
