"""What the page needs: sentences that nobody else has open, steps, lists and an overview. Values are ready for JSON."""

import logging
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discotree.errors import SENTENCE_ERRORS, first_line
from discotree.integrations.annotation.finished import FinishedFile, finished_trees
from discotree.integrations.annotation.leases import Leases
from discotree.integrations.annotation.lines import AnnotationStep, Order, Status
from discotree.integrations.annotation.predicting import Predictor
from discotree.integrations.annotation.project import Project
from discotree.integrations.annotation.scoring import score_held_out
from discotree.treebanks import FORMATS, WriterOptions
from discotree.trees.tree import Tree

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser

MAX_ROWS = 100
MAX_TEXT_CHARACTERS = 200  # lists show the beginnings of sentences

logger = logging.getLogger("discotree")


@dataclass
class AnnotationService:
    """A project that is open, with its parser and its output."""

    project: Project
    parser: "Parser"
    model: str  # the name of the parser's model on this server
    predictor: Predictor
    output: FinishedFile | None = None
    order: Order = "unsure"
    annotator: str = ""
    title: str = ""
    leases: Leases = field(default_factory=Leases)
    problem: str = ""  # why there are no scores

    def __post_init__(self) -> None:
        self.inventory = self.parser.vocab.inventory()

    def follow(self, path: str, format: str | None) -> None:
        """Keep the finished trees in a file."""
        self.output = FinishedFile(self.project, path, format, self.parser.head_rules)

    def score(self, gold: Sequence[Tree], name: str) -> None:
        """Score the model on held-out trees in the background."""

        def work() -> None:
            try:
                score_held_out(self.project, self.parser, self.predictor.model, gold, name)
            except SENTENCE_ERRORS as error:
                self.problem = f"no scores on {name}: {first_line(error)}"
                logger.warning("%s", self.problem)

        threading.Thread(target=work, name="annotation scores", daemon=True).start()

    def close(self) -> None:
        self.predictor.stop()
        if self.output:
            self.output.close()
        self.project.close()

    def overview(self) -> dict[str, Any]:
        """Return how far the annotation is, and what does not change."""
        project = self.project
        problems = [self.predictor.problem, self.problem, self.output.problem if self.output else ""]
        return {
            "title": self.title,
            "model": self.model,
            "order": self.order,
            "annotator": self.annotator,
            "needs_tags": self.parser.has_tags,
            "sentences": len(project),
            "counts": project.counts(),
            "is_parsing": not self.predictor.is_done.is_set(),
            "is_complete": project.is_complete,
            "problems": [problem for problem in problems if problem],
            "scores": [
                {**entry["scores"], **{key: entry[key] for key in ("held_out", "gold", "finished", "time")}}
                | {"model": project.models[entry["model"] - 1].name}
                for entry in list(project.scores)
            ],
            "inventory": self.inventory,
        }

    def open(self, number: int, session: str, who: str) -> dict[str, Any]:
        """Return a sentence, and keep it from being handed to others."""
        with self.project.mutex:
            detail = self.project.detail(number)
            others = self.leases.of_others(session)
            self.leases.take(session, number, who)
            return detail | {"opened_by": others.get(number, "")}

    def next(
        self, session: str, who: str, order: Order | None = None, after: int = 0, passed: Sequence[int] = ()
    ) -> dict[str, Any] | None:
        """Return the next open sentence that nobody else has open; None if there is none.

        It comes after ``after`` in this order, if that is given, and is none of ``passed`` unless nothing else is left.
        """
        order = order or self.order
        with self.project.mutex:
            taken = list(self.leases.of_others(session))
            number = self.project.next(order, [*taken, *passed], after) or self.project.next(order, taken, after)
            if number is None:
                self.leases.release(session)
                return None
            return self.open(number, session, who)

    def step(self, step: AnnotationStep, session: str) -> dict[str, Any]:
        """Save a step; it is on the disk when this returns."""
        detail = self.project.step(step)
        if self.output and step.action != "comment":
            self.output.changed.set()
        with self.project.mutex:
            self.leases.take(session, step.sentence, step.who)
        return detail | {"opened_by": ""}

    def rows(self, order: Order | None, status: Status | None, offset: int, limit: int) -> dict[str, Any]:
        """Return a part of the list of sentences."""
        numbers = self.project.ordered(order or self.order, status)
        chosen = numbers[offset : offset + min(limit, MAX_ROWS)].tolist()
        return {"matching": len(numbers), "rows": [self._row(number) for number in chosen]}

    def _row(self, number: int) -> dict[str, Any]:
        detail = self.project.prediction(number)
        tree = detail.get("tree", {"tokens": []})
        text = " ".join(token["form"] for token in tree["tokens"]) or detail.get("failed", "")
        row: dict[str, Any] = {
            "sentence": number,
            "id": tree.get("id", ""),
            "text": text[:MAX_TEXT_CHARACTERS],
            "words": len(tree["tokens"]),
            "status": self.project.status(number),
            "comments": len(self.project.comments(number)),
        }
        return row | {"confidence": tree["confidence"]} if "confidence" in tree else row

    def trees(self, format: str) -> Iterator[bytes]:
        """Return the finished trees in a format, in pieces."""
        chosen = FORMATS[format]
        options = WriterOptions(self.parser.head_rules)
        pieces = chosen.write(finished_trees(self.project), options)
        return (piece if isinstance(piece, bytes) else piece.encode() for piece in pieces)
