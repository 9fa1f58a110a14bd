"""The state of an annotation: what follows from its journal, line by line.

Trees stay on the disk. In memory a sentence takes some thirty bytes, so that a treebank of any size can be annotated;
only the steps of annotators are kept as lists.
"""

import json
import threading
from array import array
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from discotree.errors import InputError
from discotree.integrations.annotation.journal import PREDICTED, Entry, Journal
from discotree.integrations.annotation.lines import (
    AFTER,
    FAILED,
    FINISHED,
    NO_TREE,
    OPEN,
    STATUSES,
    ModelUse,
    Order,
    Record,
    Status,
)

Numbers = np.ndarray[Any, np.dtype[np.int64]]


class ProjectState:
    """Sentences, what became of them, and who did that. Sentences are counted from 1.

    All methods may be called from several threads.
    """

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.mutex = threading.RLock()
        self.offsets = array("q")  # where the newest prediction of every sentence is
        self.confidences = array("f")
        self.predicted_by = array("H")
        self.statuses = bytearray()
        self.states = array("q")  # the step that the state of a sentence comes from; 0: the prediction
        self.step_offsets = array("q")
        self.step_statuses = bytearray()  # the status after every step
        self.steps_of: defaultdict[int, list[int]] = defaultdict(list)
        self.commented: set[int] = set()
        self.models: list[ModelUse] = []
        self.scores: list[Entry] = []
        self.input_digest = ""  # for all sentences
        self.is_complete = False  # whether the input was read to its end
        for offset, line in journal.lines():
            self._recall(offset, line)

    # What the lines say

    def _recall(self, offset: int, line: bytes) -> None:
        if found := PREDICTED.match(line):
            number, model, confidence, digest = found.groups()
            self._add_prediction(int(number), int(model), float(confidence), offset, (digest or b"").decode())
            return
        entry = json.loads(line)
        if "step" in entry:
            self._add_step(entry, offset)
        elif "read" in entry:
            self.is_complete = True
        elif "scores" in entry:
            self.scores.append(entry)
        elif "model" in entry:
            self.models.append(ModelUse(entry["name"], entry["fingerprint"], entry["time"], entry["who"]))

    def _add_prediction(self, number: int, model: int, confidence: float, offset: int, digest: str) -> None:
        if number == len(self.offsets) + 1:
            self.offsets.append(offset)
            self.confidences.append(confidence)
            self.predicted_by.append(model)
            self.statuses.append(FAILED if confidence == NO_TREE else OPEN)
            self.states.append(0)
            self.input_digest = digest
        else:
            at = self._index(number)
            self.offsets[at], self.confidences[at], self.predicted_by[at] = offset, confidence, model

    def _add_step(self, entry: Entry, offset: int) -> None:
        at, step, action = self._index(entry["sentence"]), len(self.step_offsets) + 1, entry["action"]
        if entry["step"] != step:
            raise ValueError(f"step {entry['step']} where step {step} was expected")
        if action == "undo":
            restored = entry["restores"]
            self.states[at] = restored
            self.statuses[at] = self.step_statuses[restored - 1] if restored else OPEN
        elif action != "comment":
            self.states[at], self.statuses[at] = step, AFTER[action]
        else:
            self.commented.add(at + 1)
        self.step_offsets.append(offset)
        self.step_statuses.append(self.statuses[at])
        self.steps_of[at + 1].append(step)

    # Sentences

    def __len__(self) -> int:
        return len(self.offsets)

    def _index(self, number: int) -> int:
        if not 1 <= number <= len(self.offsets):
            raise InputError(f"there is no sentence {number:,}: there are {len(self.offsets):,}")
        return number - 1

    def counts(self) -> dict[str, int]:
        """Return how many sentences there are of every status."""
        with self.mutex:
            found = {name: self.statuses.count(code) for code, name in enumerate(STATUSES)}
            return found | {"commented": len(self.commented)}

    @property
    def finished(self) -> int:
        with self.mutex:
            return sum(map(self.statuses.count, FINISHED))

    def status(self, number: int) -> Status:
        return STATUSES[self.statuses[self._index(number)]]

    def version(self, number: int) -> str:
        """Return what changes with every new tree or status of a sentence."""
        at = self._index(number)
        return f"{self.states[at]}.{self.predicted_by[at]}"

    def prediction(self, number: int) -> Entry:
        """Return the newest prediction of a sentence."""
        return self.journal.entry(self.offsets[self._index(number)])

    def step_entry(self, step: int) -> Entry:
        return self.journal.entry(self.step_offsets[step - 1])

    def tree(self, number: int) -> Record | None:
        """Return the tree of a sentence as it stands: the last one that an annotator left, or the prediction."""
        step = self.states[self._index(number)]
        while step:
            entry = self.step_entry(step)
            if "tree" in entry:
                return dict(entry["tree"])
            step = entry["replaces"]
        return self.prediction(number).get("tree")

    def comments(self, number: int) -> list[str]:
        if number not in self.commented:
            return []
        return [entry["text"] for entry in self.history(number) if entry["action"] == "comment"]

    def history(self, number: int) -> list[Entry]:
        """Return the steps of a sentence, first to last; ``has_tree`` stands for their trees."""
        self._index(number)
        entries = [self.step_entry(step) for step in self.steps_of.get(number, ())]
        return [
            {key: value for key, value in entry.items() if key != "tree"} | {"has_tree": "tree" in entry}
            for entry in entries
        ]

    def earlier_tree(self, step: int) -> Record:
        """Return the tree that a step left, whatever came after it."""
        with self.mutex:
            entry = self.step_entry(step) if 1 <= step <= len(self.step_offsets) else {}
        if "tree" not in entry:
            raise InputError(f"step {step:,} has no tree")
        return dict(entry["tree"])

    def detail(self, number: int) -> dict[str, Any]:
        """Return all that there is to know about a sentence."""
        with self.mutex:
            at = self._index(number)
            predicted = self.prediction(number)
            model = self.predicted_by[at]
            return {
                "sentence": number,
                "version": self.version(number),
                "status": self.status(number),
                "tree": self.tree(number),
                "prediction": predicted.get("tree"),
                "model": self.models[model - 1].name if model else "",
                "history": self.history(number),
                "where": predicted.get("where", ""),
                "failed": predicted.get("failed", ""),
            }

    # Order

    def ordered(self, order: Order, status: Status | None = None) -> Numbers:
        """Return the numbers of sentences: as they stand, or the most uncertain first."""
        with self.mutex:
            statuses = np.frombuffer(bytes(self.statuses), np.uint8)
            confidences = np.array(self.confidences, np.float32)
        chosen = np.arange(len(statuses)) if status is None else np.flatnonzero(statuses == STATUSES.index(status))
        if order == "unsure":
            chosen = chosen[np.argsort(confidences[chosen], kind="stable")]
        return chosen + 1

    def next(self, order: Order, taken: Sequence[int] = (), after: int = 0) -> int | None:
        """Return the next open sentence that nobody else has taken; after ``after`` in this order, if that is given."""
        numbers = self.ordered(order, "open")
        if after:
            with self.mutex:
                keys = np.array(self.confidences, np.float32)[numbers - 1] if order == "unsure" else numbers
                own = self.confidences[self._index(after)] if order == "unsure" else after
            later = (keys > own) | ((keys == own) & (numbers > after))
            numbers = np.concatenate([numbers[later], numbers[~later]])
        free = numbers[~np.isin(numbers, np.array([*taken, *([after] if after else [])], np.int64))]
        if len(free):
            return int(free[0])
        return after if after and after in numbers else None
