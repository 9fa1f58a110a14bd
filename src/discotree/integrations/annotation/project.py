"""An annotation project: what annotators and the parser add to its journal."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from discotree.errors import InputError, TreebankError
from discotree.integrations.annotation.journal import Entry, Journal
from discotree.integrations.annotation.lines import (
    CONTROL,
    FAILED,
    FINISHED,
    AnnotationStep,
    ConflictError,
    ModelUse,
    Prediction,
    Record,
    checked_comment,
    checked_name,
    now,
)
from discotree.integrations.annotation.state import ProjectState
from discotree.trees.tree import Tree


class Project(ProjectState):
    """The state, and all that changes it: on the disk first, then in memory."""

    @classmethod
    def open(cls, path: str, facts: Mapping[str, object] | None = None, read_only: bool = False) -> "Project":
        """Open the journal at a path, or begin one with these facts."""
        journal = Journal(path, facts, read_only)
        try:
            return cls(journal)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
            journal.close()
            raise TreebankError(f"this is not the journal that we wrote: {error!r:.100}", path) from None
        except BaseException:
            journal.close()
            raise

    def close(self) -> None:
        self.journal.close()

    # Steps

    def step(self, step: AnnotationStep) -> dict[str, Any]:
        """Save what somebody did, and return the sentence as it is then; it is on the disk."""
        who = checked_name(step.who)
        with self.mutex:
            at = self._index(step.sentence)
            if self.statuses[at] == FAILED and step.action != "comment":
                raise InputError(f"sentence {step.sentence:,} cannot be read, so there is no tree to decide on")
            if step.action != "comment" and step.version and step.version != self.version(step.sentence):
                raise ConflictError(self._conflict(step.sentence))
            entry: Entry = {
                "step": len(self.step_offsets) + 1,
                "sentence": step.sentence,
                "action": step.action,
                "time": now(),
                "who": who,
                **self._consequence(step),
            }
            (offset,) = self.journal.append([entry])
            self._add_step(entry, offset)
            return self.detail(step.sentence)

    def _consequence(self, step: AnnotationStep) -> Entry:
        """Return what a step adds to the common fields."""
        state = self.states[step.sentence - 1]
        if step.action == "comment":
            return {"text": checked_comment(step.text)}
        if step.action == "undo":
            if not state:
                raise InputError(f"there is nothing to undo in sentence {step.sentence:,}")
            return {"undoes": state, "restores": self.step_entry(state)["replaces"]}
        if step.action == "reopen":
            return {"replaces": state}
        if step.action == "skip" and step.tree is None:
            return {"replaces": state}
        tree = self._checked(step.sentence, step.tree)
        if step.action == "skip":
            return {"replaces": state, "tree": tree.to_dict()}
        predicted = Tree.from_dict(self.prediction(step.sentence)["tree"])
        action = "accept" if tree == predicted and tree.secondary == predicted.secondary else "correct"
        return {"action": action, "replaces": state, "tree": tree.to_dict()}

    def _checked(self, number: int, given: Record | None) -> Tree:
        """Return the tree of a decision, which has the words of the sentence and no confidence."""
        predicted = self.prediction(number)["tree"]
        record = given or self.tree(number) or {}
        bare = {key: value for key, value in record.items() if key != "confidence"} | {"id": predicted.get("id", "")}
        tree = Tree.from_dict(bare)
        if [token.form for token in tree.tokens] != [token["form"] for token in predicted["tokens"]]:
            raise InputError(f"the words of sentence {number:,} are others: a correction keeps them")
        if given is None:
            return _bare(tree)
        texts = [text for node in tree.nodes() for text in (node.label, node.function)]
        for text in [*texts, *(text for token in tree.tokens for text in (token.tag, token.function))]:
            if not text or not text.isprintable() or " " in text:
                raise InputError(f"{text!r:.50} is no label: labels have neither spaces nor control characters")
        edges = (edge.label for edge in tree.secondary)
        for text in (*edges, tree.comment, *(text for token in tree.tokens for text in (token.lemma, token.morph))):
            if CONTROL.search(text):  # one such tree would spoil a download of all
                raise InputError(f"{text!r:.50} has control characters")
        return _bare(tree)

    def _conflict(self, number: int) -> str:
        steps = [entry for entry in self.history(number) if entry["action"] != "comment"]
        if not steps or not self.states[number - 1]:
            return f"sentence {number:,} has changed in the meantime"
        last = steps[-1]
        return f"{last['who']} has changed sentence {number:,} in the meantime ({last['action']}, {last['time']})"

    # The parser

    def use_model(self, use: ModelUse) -> int:
        """Return the number of a model, which is new if its fingerprint is."""
        with self.mutex:
            for number, known in enumerate(self.models, 1):
                if known.fingerprint == use.fingerprint:
                    return number
            self.journal.append([{"model": len(self.models) + 1, **asdict(use)}])
            self.models.append(use)
            return len(self.models)

    def predict(self, predictions: Sequence[tuple[int, Prediction]], model: int) -> None:
        """Save the trees of sentences; new sentences come in their order, others may be finished by now."""
        with self.mutex:
            wanted = [(n, p) for n, p in predictions if n > len(self) or self.statuses[n - 1] not in FINISHED]
            entries = [prediction.entry(number, model) for number, prediction in wanted]
            for entry, offset in zip(entries, self.journal.append(entries), strict=True):
                digest = entry.get("input", "")
                self._add_prediction(entry["sentence"], model, entry["confidence"], offset, digest)

    def complete(self) -> None:
        """Note that there are no more sentences."""
        with self.mutex:
            if not self.is_complete:
                self.journal.append([{"read": len(self)}])
                self.is_complete = True

    def outdated(self, model: int) -> Iterator[int]:
        """Yield the sentences that are not finished and that another model has parsed."""
        for number in range(1, len(self) + 1):
            if self.predicted_by[number - 1] != model and self.statuses[number - 1] not in (*FINISHED, FAILED):
                yield number

    def add_scores(self, entry: Entry) -> None:
        with self.mutex:
            entry = {**entry, "finished": self.finished, "time": now()}
            self.journal.append([entry])
            self.scores.append(entry)


def _bare(tree: Tree) -> Tree:
    """Return a tree without confidences."""
    return Tree(tree.tokens, tree.root, tree.id, tree.secondary, tree.comment)
