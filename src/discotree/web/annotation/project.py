"""An annotation project: its state, which follows from the journal, and the actions that change it.

Trees stay on the disk. In memory, a sentence takes about thirty bytes, so a project can have millions of sentences;
only the steps of annotators are kept in lists.
"""

import json
import threading
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from discotree.errors import InputError, TreebankError
from discotree.trees.tree import FUNCTION, LEMMA, MORPH, Tree
from discotree.web.annotation.journal import (
    ACCEPTED_STATUSES,
    AFTER,
    COMMENT_CHARACTERS,
    CONTROL,
    FAILED,
    MAX_SENTENCE_CHARACTERS,
    NO_TREE,
    OPEN,
    PREDICTED,
    STATUSES,
    Action,
    ConflictError,
    Entry,
    Journal,
    Order,
    Record,
    Status,
    normalise_comment,
    normalise_name,
    now,
)

PREDICTION_KEYS = ("input", "where", "failed", "tree")  # in this order
Numbers = np.ndarray[Any, np.dtype[np.int64]]


class Project:
    """Sentences with their trees, status and history. Sentences are counted from 1.

    A change is saved on the disk before it takes effect. All methods may be called from several threads.
    """

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.mutex = threading.RLock()
        self.offsets = array("q")  # of the newest prediction of every sentence
        self.confidences = array("f")
        self.predicted_by = array("H")  # the number of the model
        self.statuses = bytearray()
        self.states = array("q")  # the step that determines the tree and status of a sentence; 0 for the prediction
        self.step_offsets = array("q")
        self.step_statuses = bytearray()  # the status after every step
        self.steps_of: defaultdict[int, list[int]] = defaultdict(list)
        self.commented: Counter[int] = Counter()  # characters of comments by sentence
        self.models: list[Entry] = []
        self.scores: list[Entry] = []
        self.input_digest = ""  # of all sentences
        self.is_complete = False  # whether the whole input was read
        for offset, line in journal.lines():
            self._replay(offset, line)

    @classmethod
    def open(cls, path: str, head: Mapping[str, object] | None = None, read_only: bool = False) -> "Project":
        """Open the journal at a path, or create one with this head."""
        journal = Journal(path, head, read_only)
        try:
            return cls(journal)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
            journal.close()
            raise TreebankError(f"corrupt annotation journal: {error!r:.100}", path) from None
        except BaseException:
            journal.close()
            raise

    def close(self) -> None:
        self.journal.close()

    # Replaying the journal

    def _replay(self, offset: int, line: bytes) -> None:
        if match := PREDICTED.match(line):
            number, model, confidence, digest = match.groups()
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
            self.models.append({key: entry[key] for key in ("name", "fingerprint")})

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
            raise ValueError(f"expected step {step}, got step {entry['step']}")
        if action == "undo":
            restored = entry["restores"]
            self.states[at] = restored
            self.statuses[at] = self.step_statuses[restored - 1] if restored else OPEN
        elif action != "comment":
            self.states[at], self.statuses[at] = step, AFTER[action]
        else:
            self.commented[at + 1] += len(entry["text"]) + COMMENT_CHARACTERS
        self.step_offsets.append(offset)
        self.step_statuses.append(self.statuses[at])
        self.steps_of[at + 1].append(step)

    # Sentences

    def __len__(self) -> int:
        return len(self.offsets)

    def _index(self, number: int) -> int:
        if not 1 <= number <= len(self.offsets):
            raise InputError(f"no sentence {number:,}; the project has {len(self.offsets):,} sentences")
        return number - 1

    def counts(self) -> dict[str, int]:
        """Return the number of sentences with each status."""
        with self.mutex:
            counts = {name: self.statuses.count(code) for code, name in enumerate(STATUSES)}
            return counts | {"commented": len(self.commented)}

    @property
    def accepted_count(self) -> int:
        """The number of sentences that are accepted or corrected."""
        with self.mutex:
            return sum(map(self.statuses.count, ACCEPTED_STATUSES))

    def status(self, number: int) -> Status:
        return STATUSES[self.statuses[self._index(number)]]

    def version(self, number: int) -> str:
        """Return a text that changes with the tree or status of a sentence."""
        at = self._index(number)
        return f"{self.states[at]}.{self.predicted_by[at]}"

    def prediction(self, number: int) -> Entry:
        """Return the newest prediction of a sentence."""
        return self.journal.entry(self.offsets[self._index(number)])

    def step_entry(self, step: int) -> Entry:
        return self.journal.entry(self.step_offsets[step - 1])

    def tree(self, number: int) -> Record | None:
        """Return the current tree of a sentence: the last one that an annotator saved, or else the prediction."""
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
        """Return the steps of a sentence, first to last, with ``has_tree`` instead of the tree."""
        self._index(number)
        entries = [self.step_entry(step) for step in self.steps_of.get(number, ())]
        return [
            {key: value for key, value in entry.items() if key != "tree"} | {"has_tree": "tree" in entry}
            for entry in entries
        ]

    def earlier_tree(self, step: int) -> Record:
        """Return the tree that a step saved."""
        with self.mutex:
            entry = self.step_entry(step) if 1 <= step <= len(self.step_offsets) else {}
        if "tree" not in entry:
            raise InputError(f"step {step:,} has no tree")
        return dict(entry["tree"])

    def detail(self, number: int) -> dict[str, Any]:
        """Return a sentence with its trees, status and history."""
        with self.mutex:
            at = self._index(number)
            prediction = self.prediction(number)
            model = self.predicted_by[at]
            return {
                "sentence": number,
                "version": self.version(number),
                "status": self.status(number),
                "tree": self.tree(number),
                "prediction": prediction.get("tree"),
                "model": self.models[model - 1]["name"] if model else "",
                "history": self.history(number),
                "where": prediction.get("where", ""),
                "failed": prediction.get("failed", ""),
            }

    # Order

    def ordered(self, order: Order, status: Status | None = None) -> Numbers:
        """Return the numbers of sentences, in the order of the input or the least certain first."""
        with self.mutex:
            statuses = np.frombuffer(bytes(self.statuses), np.uint8)
            confidences = np.array(self.confidences, np.float32)
        chosen = np.arange(len(statuses)) if status is None else np.flatnonzero(statuses == STATUSES.index(status))
        if order == "unsure":
            chosen = chosen[np.argsort(confidences[chosen], kind="stable")]
        return chosen + 1

    def next(self, order: Order, taken: Sequence[int] = (), after: int = 0) -> int | None:
        """Return the next open sentence that is not taken; if ``after`` is not 0, the one that follows it."""
        numbers = self.ordered(order, "open")
        if after:
            with self.mutex:
                keys = np.array(self.confidences, np.float32)[numbers - 1] if order == "unsure" else numbers
                key = self.confidences[self._index(after)] if order == "unsure" else after
            is_later = (keys > key) | ((keys == key) & (numbers > after))
            numbers = np.concatenate([numbers[is_later], numbers[~is_later]])
        free = numbers[~np.isin(numbers, np.array([*taken, *([after] if after else [])], np.int64))]
        if len(free):
            return int(free[0])
        return after if after and after in numbers else None

    # Steps of annotators

    def step(
        self, sentence: int, action: Action, who: str, version: str = "", tree: Record | None = None, text: str = ""
    ) -> dict[str, Any]:
        """Save an action of an annotator on the disk and return the sentence as it is then.

        ``version`` is that of the sentence the annotator saw, or "" for any.
        """
        who = normalise_name(who)
        with self.mutex:
            at = self._index(sentence)
            if action == "comment":
                effect: Entry = {"text": normalise_comment(text)}
                if self.commented[sentence] + len(effect["text"]) > MAX_SENTENCE_CHARACTERS:
                    raise InputError(
                        f"the comments on sentence {sentence:,} would exceed {MAX_SENTENCE_CHARACTERS:,} characters"
                    )
            elif self.statuses[at] == FAILED:
                raise InputError(f"cannot {action} sentence {sentence:,}: it could not be read")
            elif version and version != self.version(sentence):
                raise ConflictError(self._conflict(sentence))
            else:
                effect = self._effect(sentence, action, tree)
            number = len(self.step_offsets) + 1
            entry = {"step": number, "sentence": sentence, "action": action, "time": now(), "who": who, **effect}
            (offset,) = self.journal.append([entry])
            self._add_step(entry, offset)
            return self.detail(sentence)

    def _effect(self, number: int, action: Action, record: Record | None) -> Entry:
        """Return the fields of a step that depend on its action."""
        state = self.states[number - 1]
        if action == "undo":
            if not state:
                raise InputError(f"nothing to undo in sentence {number:,}")
            return {"undoes": state, "restores": self.step_entry(state)["replaces"]}
        if action == "reopen" or (action == "skip" and record is None):
            return {"replaces": state}
        tree = self._validate(number, record)
        if action != "skip":
            predicted = Tree.from_dict(self.prediction(number)["tree"])
            action = "accept" if tree == predicted and tree.secondary == predicted.secondary else "correct"
        return {"action": action, "replaces": state, "tree": tree.to_dict()}

    def _validate(self, number: int, record: Record | None) -> Tree:
        """Return the tree to save, without confidences: that of the record, or else the current one."""
        predicted = self.prediction(number)["tree"]
        current = record or self.tree(number) or {}
        tree = Tree.from_dict(current | {"id": predicted.get("id", "")})
        tree = Tree(tree.tokens, tree.root, tree.id, tree.secondary, tree.comment)
        if [token.form for token in tree.tokens] != [token["form"] for token in predicted["tokens"]]:
            raise InputError(f"the words differ from those of sentence {number:,}; a correction must keep them")
        if record is None:
            return tree
        labels = [text for node in tree.nodes() for text in (node.label, node.function)]
        for text in [*labels, *(text for token in tree.tokens for text in (token.tag, token[FUNCTION]))]:
            if not text or not text.isprintable() or " " in text:
                raise InputError(f"invalid label {text!r:.50}; labels must not contain spaces or control characters")
        edges = (edge.label for edge in tree.secondary)
        for text in (*edges, tree.comment, *(text for token in tree.tokens for text in (token[LEMMA], token[MORPH]))):
            if CONTROL.search(text):  # one such tree would make the download of all trees fail
                raise InputError(f"{text!r:.50} contains control characters")
        return tree

    def _conflict(self, number: int) -> str:
        steps = [entry for entry in self.history(number) if entry["action"] != "comment"]
        if not steps or not self.states[number - 1]:
            return f"sentence {number:,} has changed in the meantime"
        last = steps[-1]
        return f"{last['who']} has changed sentence {number:,} in the meantime ({last['action']}, {last['time']})"

    # Predictions and scores

    def use_model(self, name: str, fingerprint: str, who: str = "") -> int:
        """Return the number of a model; add the model if its fingerprint is new."""
        with self.mutex:
            for number, known in enumerate(self.models, 1):
                if known["fingerprint"] == fingerprint:
                    return number
            model = {"name": name, "fingerprint": fingerprint}
            self.journal.append([{"model": len(self.models) + 1, **model, "time": now(), "who": who}])
            self.models.append(model)
            return len(self.models)

    def predict(self, predictions: Iterable[tuple[int, Entry]], model: int) -> None:
        """Save predictions, those for new sentences in their order. Sentences accepted in the meantime are skipped.

        A prediction has a "tree", or "failed", the reason why there is none or only a flat one; also "input", "where".
        """
        with self.mutex:
            entries = []
            for number, fields in predictions:
                if number > len(self) or self.statuses[number - 1] not in ACCEPTED_STATUSES:
                    confidence = float(fields["tree"].get("confidence", 0.0)) if fields.get("tree") else NO_TREE
                    entry: Entry = {"sentence": number, "model": model, "confidence": confidence}
                    entries.append(entry | {key: fields[key] for key in PREDICTION_KEYS if fields.get(key)})
            for entry, offset in zip(entries, self.journal.append(entries), strict=True):
                self._add_prediction(entry["sentence"], model, entry["confidence"], offset, entry.get("input", ""))

    def complete(self) -> None:
        """Record that the whole input was read."""
        with self.mutex:
            if not self.is_complete:
                self.journal.append([{"read": len(self)}])
                self.is_complete = True

    def outdated(self, model: int) -> Iterator[int]:
        """Yield the sentences that are neither accepted nor corrected and that another model has parsed."""
        for number in range(1, len(self) + 1):
            if self.predicted_by[number - 1] != model and self.statuses[number - 1] not in (*ACCEPTED_STATUSES, FAILED):
                yield number

    def add_scores(self, entry: Entry) -> None:
        with self.mutex:
            entry = {**entry, "finished": self.accepted_count, "time": now()}
            self.journal.append([entry])
            self.scores.append(entry)

    def accepted_trees(self) -> Iterator[Tree]:
        """Yield the trees that are accepted or corrected, in the order of the input, with the comments."""
        for number in range(1, len(self) + 1):
            with self.mutex:
                record = self.tree(number) if self.statuses[number - 1] in ACCEPTED_STATUSES else None
                comments = self.comments(number)
            if record is None:
                continue
            tree = Tree.from_dict(record)
            if comments:
                text = "; ".join(" ".join(comment.split()) for comment in [tree.comment, *comments] if comment)
                tree = replace(tree, comment=text)
            yield tree
