"""An annotation project: its state, which follows from the journal, and the actions that change it.

Trees stay on the disk. In memory, a sentence takes about thirty bytes, so a project can have millions of sentences;
only the steps of annotators are kept in lists.
"""

import hashlib
import json
import re
import threading
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from discotree.errors import InputError, TreebankError, counted, expected
from discotree.trees.tree import FUNCTION, LEMMA, MORPH, Tree
from discotree.web.annotation.journal import PREDICTED, Action, Entry, Journal, Order, Status, normalise_name, now

STATUSES: tuple[Status, ...] = get_args(Status)
OPEN, ACCEPTED, CORRECTED, SKIPPED, FAILED, DIFFERING, ADJUDICATED = range(len(STATUSES))
# The status after an action
AFTER = {"accept": ACCEPTED, "correct": CORRECTED, "skip": SKIPPED, "reopen": OPEN, "adjudicate": ADJUDICATED}
ACCEPTED_STATUSES = (ACCEPTED, CORRECTED, ADJUDICATED)
NO_TREE = -1.0  # the confidence of a sentence that cannot be read
MAX_COMMENT_CHARACTERS = 10_000
MAX_SENTENCE_CHARACTERS = 100_000  # in all comments on a sentence; everybody who opens it gets them
COMMENT_CHARACTERS = 200  # that a comment takes in addition to its text
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")  # characters that treebank formats cannot represent
Record = dict[str, Any]  # of a tree
PREDICTION_KEYS = ("input", "where", "failed", "tree")  # in this order
Numbers = np.ndarray[Any, np.dtype[np.int64]]


class ConflictError(InputError):
    """The sentence has changed since the annotator opened it."""


class Project:
    """Sentences with their trees, status and history. Sentences are counted from 1.

    A change is saved on the disk before it takes effect. All methods may be called from several threads.

    A sentence for two annotators is *blind* until both have accepted or corrected its tree: everybody sees only their
    own steps. Methods with an argument ``who`` return the sentence as this annotator sees it.
    """

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.mutex = threading.RLock()
        self.offsets = array("q")  # of the newest prediction of every sentence
        self.confidences = array("f")
        self.predicted_by = array("H")  # the number of the model
        self.statuses = bytearray()
        self.states = array("q")  # the step that determines the tree and status of a sentence; 0 for the prediction
        self.double = float(journal.head.get("double", 0))  # the share of sentences for two annotators
        self.branches: defaultdict[int, dict[str, int]] = defaultdict(dict)  # the states of their annotators, by name
        self.annotators: set[str] = set()
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
        number, step, action, who = entry["sentence"], len(self.step_offsets) + 1, entry["action"], entry["who"]
        at = self._index(number)
        if entry["step"] != step:
            raise ValueError(f"expected step {step}, got step {entry['step']}")
        is_blind = self.is_blind(number)
        unannotated = DIFFERING if self.is_double(number) and not is_blind else OPEN
        state, status = self._state(number, who)
        if action == "undo":
            state = entry["restores"]
            status = self.step_statuses[state - 1] if state else unannotated
        elif action != "comment":
            state, status = step, unannotated if action == "reopen" else AFTER[action]
        else:
            self.commented[number] += len(entry["text"]) + COMMENT_CHARACTERS
        self.step_offsets.append(offset)
        self.step_statuses.append(status)
        self.steps_of[number].append(step)
        self.annotators.add(who)
        if action != "comment" and is_blind:
            self.branches[number][who] = state
            if "agrees" in entry:  # both annotators have finished
                self.states[at], self.statuses[at] = (state, status) if entry["agrees"] else (0, DIFFERING)
        elif action != "comment":
            self.states[at], self.statuses[at] = state, status

    # Sentences

    def __len__(self) -> int:
        return len(self.offsets)

    def _index(self, number: int) -> int:
        if not 1 <= number <= len(self.offsets):
            raise InputError(f"no sentence {number:,}; the project has {counted(len(self.offsets), 'sentence')}")
        return number - 1

    def counts(self) -> dict[str, int]:
        """Return the number of sentences with each status."""
        with self.mutex:
            return {name: self.statuses.count(code) for code, name in enumerate(STATUSES)}

    @property
    def accepted_count(self) -> int:
        """The number of sentences that are accepted or corrected."""
        with self.mutex:
            return sum(map(self.statuses.count, ACCEPTED_STATUSES))

    def is_double(self, number: int) -> bool:
        """Return whether a sentence is for two annotators."""
        return self.double > 0 and is_double(number, self.double)

    def is_blind(self, number: int) -> bool:
        """Return whether a sentence is for two annotators and waits for one of them."""
        return self.statuses[self._index(number)] in (OPEN, FAILED) and self.is_double(number)

    def branch_steps(self, number: int) -> dict[str, int]:
        """Return the names of annotators who have finished a sentence for two, and the steps with their trees."""
        branches = self.branches.get(number, {}).items()
        return {who: step for who, step in branches if step and self.step_statuses[step - 1] in ACCEPTED_STATUSES}

    def _state(self, number: int, who: str) -> tuple[int, int]:
        """Return the step that determines the tree and status of a sentence, and the status."""
        at = self._index(number)
        if not self.is_blind(number):
            return self.states[at], self.statuses[at]
        step = self.branches.get(number, {}).get(who, 0)
        return step, self.step_statuses[step - 1] if step else self.statuses[at]

    def status(self, number: int, who: str = "") -> Status:
        return STATUSES[self._state(number, who)[1]]

    def version(self, number: int, who: str = "") -> str:
        """Return a text that changes with the tree or status of a sentence."""
        state, status = self._state(number, who)
        return f"{state}.{self.predicted_by[number - 1]}{'.d' if status == DIFFERING else ''}"

    def prediction(self, number: int) -> Entry:
        """Return the newest prediction of a sentence."""
        return self.journal.entry(self.offsets[self._index(number)])

    def step_entry(self, step: int) -> Entry:
        return self.journal.entry(self.step_offsets[step - 1])

    def tree(self, number: int, who: str = "") -> Record | None:
        """Return the current tree of a sentence: the last one that an annotator saved, or else the prediction."""
        step, status = self._state(number, who)
        if not step and status == DIFFERING:
            step = next(iter(self.branch_steps(number).values()))
        return self._tree_after(number, step)

    def _tree_after(self, number: int, step: int) -> Record | None:
        while step:
            entry = self.step_entry(step)
            if "tree" in entry:
                return dict(entry["tree"])
            step = entry["replaces"]
        return self.prediction(number).get("tree")

    def comments(self, number: int, who: str = "") -> list[str]:
        if number not in self.commented:
            return []
        return [entry["text"] for entry in self.history(number, who) if entry["action"] == "comment"]

    def history(self, number: int, who: str = "") -> list[Entry]:
        """Return the steps of a sentence, first to last, with ``has_tree`` instead of the tree."""
        self._index(number)
        entries = [self.step_entry(step) for step in self.steps_of.get(number, ())]
        is_blind = self.is_blind(number)
        return [
            {key: value for key, value in entry.items() if key != "tree"} | {"has_tree": "tree" in entry}
            for entry in entries
            if not is_blind or entry["who"] == who
        ]

    def earlier_tree(self, step: int, who: str = "") -> Record:
        """Return the tree that a step saved."""
        with self.mutex:
            entry = self.step_entry(step) if 1 <= step <= len(self.step_offsets) else {}
            is_hidden = bool(entry) and self.is_blind(entry["sentence"]) and entry["who"] != who
        if "tree" not in entry or is_hidden:
            raise InputError(f"step {step:,} has no tree")
        return dict(entry["tree"])

    def detail(self, number: int, who: str = "") -> dict[str, Any]:
        """Return a sentence with its trees, status and history."""
        with self.mutex:
            at = self._index(number)
            prediction = self.prediction(number)
            model = self.predicted_by[at]
            steps = {} if self.is_blind(number) else self.branch_steps(number)
            return {
                "sentence": number,
                "version": self.version(number, who),
                "status": self.status(number, who),
                "tree": self.tree(number, who),
                "annotations": [{"who": name, "tree": self.step_entry(step)["tree"]} for name, step in steps.items()],
                "prediction": prediction.get("tree"),
                "model": self.models[model - 1]["name"] if model else "",
                "history": self.history(number, who),
                "where": prediction.get("where", ""),
                "failed": prediction.get("failed", ""),
            }

    # Order

    def ordered(self, order: Order, status: Status | None = None, who: str = "") -> Numbers:
        """Return the numbers of sentences, in the order of the input or the least certain first."""
        with self.mutex:
            statuses = np.array(self.statuses, np.uint8)
            for number, branches in self.branches.items():
                if self.statuses[number - 1] == OPEN and branches.get(who):
                    statuses[number - 1] = self.step_statuses[branches[who] - 1]
            confidences = np.array(self.confidences, np.float32)
        chosen = np.arange(len(statuses)) if status is None else np.flatnonzero(statuses == STATUSES.index(status))
        if order == "unsure":
            chosen = chosen[np.argsort(confidences[chosen], kind="stable")]
        return chosen + 1

    def next(
        self, order: Order, taken: Sequence[int] = (), after: int = 0, who: str = "", status: Status = "open"
    ) -> int | None:
        """Return the next sentence with this status that is not taken; if ``after`` is not 0, the one after it."""
        numbers = self.ordered(order, status, who)
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
            elif version and version != self.version(sentence, who):
                raise ConflictError(self._conflict(sentence, who))
            else:
                effect = self._effect(sentence, action, tree, who)
            number = len(self.step_offsets) + 1
            entry = {"step": number, "sentence": sentence, "action": action, "time": now(), "who": who, **effect}
            (offset,) = self.journal.append([entry])
            self._add_step(entry, offset)
            return self.detail(sentence, who)

    def _effect(self, number: int, action: Action, record: Record | None, who: str) -> Entry:
        """Return the fields of a step that depend on its action."""
        state, _ = self._state(number, who)
        steps = self.branch_steps(number)
        is_adjudicated = action == "adjudicate" or (action == "undo" and state not in (0, *steps.values()))
        if len(steps) == 2 and not is_adjudicated and action != "reopen":
            raise InputError(f"sentence {number:,} has the trees of {' and '.join(steps)}; adjudicate it to change it")
        if action == "adjudicate" and len(steps) < 2:
            raise InputError(f"cannot adjudicate sentence {number:,}: it does not have the trees of two annotators")
        if action == "undo":
            if not state:
                raise InputError(f"nothing to undo in sentence {number:,}")
            restored = self.step_entry(state)["replaces"]
            is_finished = restored > 0 and self.step_statuses[restored - 1] in ACCEPTED_STATUSES
            effect: Entry = {"undoes": state, "restores": restored}
            return effect | (self._agreement(number, who, self._tree_after(number, restored)) if is_finished else {})
        if action == "reopen" or (action == "skip" and record is None):
            return {"replaces": state}
        tree = self._validate(number, record, who)
        effect = {"replaces": state, "tree": tree.to_dict()}
        if action in ("skip", "adjudicate"):
            return effect
        predicted = self.prediction(number)["tree"]
        effect["action"] = "accept" if _is_same(tree, predicted) else "correct"
        return effect | self._agreement(number, who, effect["tree"])

    def _agreement(self, number: int, who: str, record: Record | None) -> Entry:
        """Return whether a tree agrees with that of the other annotator, if it completes a sentence for two."""
        others = [step for name, step in self.branch_steps(number).items() if name != who]
        if not others or not self.is_blind(number):
            return {}
        return {"agrees": _is_same(Tree.from_dict(record), self.step_entry(others[0])["tree"])}

    def _validate(self, number: int, record: Record | None, who: str) -> Tree:
        """Return the tree to save, without confidences: that of the record, or else the current one."""
        predicted = self.prediction(number)["tree"]
        current = record or self.tree(number, who) or {}
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

    def _conflict(self, number: int, who: str) -> str:
        steps = [entry for entry in self.history(number, who) if entry["action"] != "comment"]
        if not steps or not self._state(number, who)[0]:
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
        """Save predictions, those for new sentences in their order. Sentences annotated in the meantime are skipped.

        A prediction has a "tree", or "failed", the reason why there is none or only a flat one; also "input", "where".
        """
        with self.mutex:
            entries = []
            for number, fields in predictions:
                if number > len(self) or not self._is_annotated(number):
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
        """Yield the sentences that nobody has annotated and that another model has parsed."""
        for number in range(1, len(self) + 1):
            is_outdated = self.predicted_by[number - 1] != model and self.statuses[number - 1] != FAILED
            if is_outdated and not self._is_annotated(number):
                yield number

    def _is_annotated(self, number: int) -> bool:
        """Return whether a sentence keeps its prediction; both annotators of a sentence start with the same one."""
        return self.statuses[number - 1] in ACCEPTED_STATUSES or number in self.branches

    def add_scores(self, entry: Entry) -> None:
        with self.mutex:
            entry = {**entry, "finished": self.accepted_count, "time": now()}
            self.journal.append([entry])
            self.scores.append(entry)

    def accepted_trees(self, who: str | None = None) -> Iterator[Tree]:
        """Yield the trees that are accepted, corrected or adjudicated, in the order of the input, with the comments.

        With a name, yield the trees of this annotator, which may have been overruled by adjudication.
        """
        if who is not None and (who := normalise_name(who)) not in self.annotators:
            raise InputError(f"{self.journal.name} has no annotator {who!r}{expected(who, sorted(self.annotators))}")
        for number in range(1, len(self) + 1):
            with self.mutex:
                step = self.states[number - 1]
                if who and self.is_double(number):
                    step = self.branch_steps(number).get(who, 0)
                is_finished = step > 0 and self.step_statuses[step - 1] in ACCEPTED_STATUSES
                if is_finished and who:
                    is_finished = self.step_entry(step)["who"] == who
                record = self._tree_after(number, step) if is_finished else None
                comments = self.comments(number, who or "")
            if record is None:
                continue
            tree = Tree.from_dict(record)
            if comments:
                text = "; ".join(" ".join(comment.split()) for comment in [tree.comment, *comments] if comment)
                tree = replace(tree, comment=text)
            yield tree


def _is_same(tree: Tree, record: Record) -> bool:
    other = Tree.from_dict(record)
    return tree == other and tree.secondary == other.secondary


def is_double(number: int, share: float) -> bool:
    """Return whether a sentence belongs to the share of sentences that two annotators annotate."""
    digest = hashlib.blake2b(str(number).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") < share * 2**64


def normalise_comment(text: str) -> str:
    """Return a comment without control characters; raise an InputError if it is empty or too long."""
    text = "\n".join(CONTROL.sub(" ", line).rstrip() for line in text.strip().splitlines())
    if not text or len(text) > MAX_COMMENT_CHARACTERS:
        raise InputError(f"a comment must have 1 to {MAX_COMMENT_CHARACTERS:,} characters")
    return text
