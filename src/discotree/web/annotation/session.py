"""An open annotation project: reserved sentences, predictions and scores in the background, and the output file.

``AnnotationSession`` is what the calls of the page use; its methods return values that are ready for JSON.
"""

import hashlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from discotree.encoding.head_rules import HeadRules
from discotree.errors import SENTENCE_ERRORS, DiscotreeError, TreebankError, counted, first_line
from discotree.evaluation.parseval import Score, evaluate
from discotree.log import logger
from discotree.parsing.inputs import InputItem, InputSentence
from discotree.parsing.parser import MAX_WORDS, Failure, ParseOptions, parse_each
from discotree.treebanks import FORMATS, write
from discotree.trees.tree import Node, Token, Tree
from discotree.web.annotation.journal import Action, Entry, Order, Status
from discotree.web.annotation.project import Project

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser

LEASE_SECONDS = 300.0  # the page renews its lease every minute
MAX_SESSIONS = 1000  # beyond this number, the oldest lease is dropped
DELAY_SECONDS = 1.0  # between a step and writing the file, so that several steps are written together
MAX_WRITING_SHARE = 0.1  # of the time, however large the file is
MAX_WINDOW = 128  # sentences that are parsed and saved together; the first windows are smaller
MAX_TEXT_CHARACTERS = 200  # lists show the beginnings of sentences

T = TypeVar("T")
Sentence = InputSentence | TreebankError


class Leases:
    """Reserved sentences, at most one for each session, which is a page in a browser."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.sessions: dict[str, tuple[int, str, float]] = {}  # the sentence, its annotator and the end, oldest first

    def take(self, session: str, sentence: int, who: str) -> None:
        self.release(session)
        self.sessions[session] = sentence, who, self.clock() + LEASE_SECONDS
        if len(self.sessions) > MAX_SESSIONS:
            self.release(next(iter(self.sessions)))

    def release(self, session: str) -> None:
        self.sessions.pop(session, None)

    def of_others(self, session: str) -> dict[int, list[str]]:
        """Return the sentences that other sessions have reserved, with the names of their annotators."""
        now = self.clock()
        sentences: dict[int, list[str]] = {}
        for other, (sentence, who, end) in self.sessions.items():
            if other != session and end > now:
                sentences.setdefault(sentence, []).append(who)
        return sentences


# Accepted trees


def write_accepted(
    project: Project, path: str, format: str | None = None, heads: HeadRules | None = None, who: str | None = None
) -> tuple[int, list[str]]:
    """Write the accepted trees; return their number, and the errors of trees that the format cannot represent.

    With a name, write the trees of this annotator.
    """
    errors: list[TreebankError] = []
    count = write(project.accepted_trees(who), path, format, heads=heads, on_error=errors.append)
    return count, [first_line(error) for error in errors]


class AcceptedTreesFile:
    """A treebank of the accepted trees, written at the start, soon after every step, and at the end."""

    def __init__(self, project: Project, path: str, format: str | None, heads: HeadRules | None) -> None:
        self.project = project
        self.path = path
        self.format = format
        self.heads = heads
        self.problem = ""  # the last error
        self.delay_seconds = DELAY_SECONDS
        self.changed = threading.Event()
        self.closing = threading.Event()
        self.write()
        self.thread = threading.Thread(target=self._follow, name="annotation output", daemon=True)
        self.thread.start()

    def write(self) -> None:
        begin = time.monotonic()
        _, problems = write_accepted(self.project, self.path, self.format, self.heads)
        self.delay_seconds = max(DELAY_SECONDS, (time.monotonic() - begin) / MAX_WRITING_SHARE)
        self.problem = f"{self.path}: left out {counted(len(problems), 'tree')}: {problems[0]}" if problems else ""

    def _follow(self) -> None:
        is_last = False
        while not is_last:
            self.changed.wait()
            self.closing.wait(self.delay_seconds)
            self.changed.clear()
            is_last = self.closing.is_set()  # checked before writing, so that the last step is not missed
            try:
                self.write()
            except DiscotreeError as error:
                self.problem = first_line(error)

    def close(self) -> None:
        """Write the last steps."""
        self.closing.set()
        self.changed.set()
        self.thread.join()


# Predictions


class Predictor:
    """Reads and parses the sentences of a project in the background, while the first ones are annotated."""

    def __init__(self, project: Project, parser: "Parser", model: int) -> None:
        self.project = project
        self.parser = parser
        self.model = model  # its number in the project
        self.problem = ""  # the error that ended the thread
        self.is_stopped = threading.Event()
        self.is_done = threading.Event()
        self.hash = hashlib.blake2b(digest_size=12)  # of all sentences so far

    def _add_to_hash(self, sentence: Sentence) -> str:
        """Return the checksum of all sentences so far, which does not depend on the names of files."""
        if isinstance(sentence, TreebankError):
            content: tuple[object, ...] = (sentence.message,)
        else:
            content = (sentence.id, sentence.words, sentence.tags)
        self.hash.update(f"{content!r}\n".encode(errors="surrogatepass"))
        return self.hash.hexdigest()

    def skip_known(self, items: Iterable[InputItem]) -> Iterator[Sentence]:
        """Return the sentences that are not in the project yet; raise an error if the others differ from it."""
        sentences = iter(items)
        known = len(self.project)
        count, digest = 0, ""
        for sentence in islice(sentences, known):
            count, digest = count + 1, self._add_to_hash(sentence)
        if count != known or digest != self.project.input_digest:
            raise DiscotreeError(
                f"{self.project.journal.name} was started with another input: this one differs within the first "
                f"{counted(known, 'sentence')}; pass --journal with another name to start again"
            )
        return sentences

    def start(self, unread: Iterator[Sentence] | None) -> None:
        """Parse open sentences that another model has parsed, and then the sentences that are not read yet."""
        threading.Thread(target=self._run, args=[unread], name="annotation", daemon=True).start()

    def stop(self, timeout_seconds: float = 10.0) -> None:
        """Stop after the current window."""
        self.is_stopped.set()
        self.is_done.wait(timeout_seconds)

    def _run(self, unread: Iterator[Sentence] | None) -> None:
        try:
            self.parse_again()
            if unread is not None:
                self.parse_unread(unread)
        except SENTENCE_ERRORS as error:
            self.problem = first_line(error)
            logger.warning("%s", self.problem)
        finally:
            self.is_done.set()

    def parse_again(self) -> None:
        """Parse open sentences that another model has parsed."""
        for numbers in self._windows(self.project.outdated(self.model)):
            sentences = [self._recover(self.project.prediction(number)) for number in numbers]
            self.project.predict(zip(numbers, self._predictions(sentences), strict=True), self.model)

    def _recover(self, entry: Entry) -> InputSentence:
        """Return the sentence of an earlier prediction."""
        tokens = entry["tree"]["tokens"]
        tags = [token.get("tag", "--") for token in tokens] if self.parser.has_tags else []
        words = [token["form"] for token in tokens]
        return InputSentence(entry["tree"].get("id", ""), words, entry.get("where", ""), tags=tags)

    def parse_unread(self, unread: Iterator[Sentence]) -> None:
        for window in self._windows(unread):
            predictions = [
                prediction | {"input": self._add_to_hash(sentence)}
                for sentence, prediction in zip(window, self._predictions(window), strict=True)
            ]
            self.project.predict(enumerate(predictions, len(self.project) + 1), self.model)
        if not self.is_stopped.is_set():
            self.project.complete()

    def _windows(self, items: Iterable[T]) -> Iterator[list[T]]:
        iterator, size = iter(items), 1
        while not self.is_stopped.is_set() and (window := list(islice(iterator, size))):
            yield window
            size = min(2 * size, MAX_WINDOW)

    def _predictions(self, window: Sequence[Sentence]) -> Iterator[Entry]:
        sentences = [item for item in window if isinstance(item, InputSentence)]
        options = ParseOptions(ids=[sentence.id for sentence in sentences])
        outcomes = parse_each(self.parser, [sentence.tokens for sentence in sentences], options)
        for item in window:
            if isinstance(item, TreebankError):
                yield {"failed": first_line(item)}
                continue
            outcome = next(outcomes)
            if not isinstance(outcome, Failure):
                yield {"where": item.where, "tree": outcome.to_dict(item.offsets)}
                continue
            prediction: Entry = {"where": item.where, "failed": outcome.reason}
            if 0 < len(item.words) <= MAX_WORDS:  # an annotator can still build the tree from a flat one
                root = Node(self.parser.vocab.root, range(len(item.words)))
                prediction["tree"] = Tree(tuple(map(Token, item.words)), root, item.id).to_dict()
            yield prediction


# Scores


def score_held_out(project: Project, parser: "Parser", model: int, gold: Sequence[Tree], name: str) -> None:
    """Score a model on held-out trees and save the scores, unless the project has them already."""
    hashed = hashlib.blake2b(digest_size=12)
    for tree in gold:
        hashed.update(f"{tree.id!r} {tree}\n".encode(errors="surrogatepass"))
    digest = hashed.hexdigest()
    if any((entry["model"], entry["gold"]) == (model, digest) for entry in project.scores):
        return
    sentences = [
        [Token(token.form, token.tag) if parser.has_tags else Token(token.form) for token in tree.tokens]
        for tree in gold
    ]
    outcomes = parse_each(parser, sentences, ParseOptions(ids=[tree.id for tree in gold]))
    score = Score()
    for tree, outcome in zip(gold, outcomes, strict=True):
        predicted = [] if isinstance(outcome, Failure) else [outcome]
        score.sentences += evaluate([tree], predicted, missing_as_empty=True).sentences
    metrics = score.metrics()
    scores = {
        "f1": metrics["f1"],
        "discontinuous_f1": score.discontinuous.metrics()["f1"],
        "exact": metrics["exact_match"],
        "tags": metrics["pos_accuracy"],
        "functions": metrics["function_accuracy"],
        "sentences": metrics["sentences"],
    }
    project.add_scores({"scores": scores, "model": model, "held_out": name, "gold": digest})


@dataclass
class AnnotationSession:
    """An open project with its parser and its output."""

    project: Project
    parser: "Parser"
    model: str  # the public name of the parser's model
    predictor: Predictor
    output: AcceptedTreesFile | None = None
    order: Order = "unsure"
    annotator: str = ""
    title: str = ""
    leases: Leases = field(default_factory=Leases)
    problem: str = ""  # the error that prevented scores

    def __post_init__(self) -> None:
        self.inventory = self.parser.vocab.inventory()

    def score(self, gold: Sequence[Tree], name: str) -> None:
        """Score the model on held-out trees in the background."""

        def work() -> None:
            try:
                score_held_out(self.project, self.parser, self.predictor.model, gold, name)
            except SENTENCE_ERRORS as error:
                self.problem = f"cannot score the model on {name}: {first_line(error)}"
                logger.warning("%s", self.problem)

        threading.Thread(target=work, name="annotation scores", daemon=True).start()

    def close(self) -> None:
        self.predictor.stop()
        if self.output:
            self.output.close()
        self.project.close()

    def overview(self) -> dict[str, Any]:
        """Return the progress of the annotation, the scores, and the properties of the project."""
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
                | {"model": project.models[entry["model"] - 1]["name"]}
                for entry in list(project.scores)
            ],
            "inventory": self.inventory,
        }

    def open(self, sentence: int, session: str, who: str) -> dict[str, Any]:
        """Return a sentence and reserve it."""
        with self.project.mutex:
            detail = self.project.detail(sentence, who)
            others = [] if self.project.is_blind(sentence) else self.leases.of_others(session).get(sentence, [])
            self.leases.take(session, sentence, who)
            return detail | {"opened_by": ", ".join(others)}

    def next(
        self,
        session: str,
        who: str,
        order: Order | None = None,
        after: int = 0,
        passed: Sequence[int] = (),
        status: Status = "open",
    ) -> dict[str, Any]:
        """Return and reserve the next sentence with this status that nobody else has reserved, or {"sentence": None}.

        If ``after`` is not 0, it is the next one after that sentence. One of ``passed`` is returned only if there are
        no others. A sentence for two annotators may be reserved by one other annotator.
        """
        order = order or self.order
        with self.project.mutex:
            leases = self.leases.of_others(session)
            taken = [sentence for sentence, names in leases.items() if not self._has_room(sentence, who, names)]
            number = self.project.next(order, [*taken, *passed], after, who, status)
            number = number or self.project.next(order, taken, after, who, status)
            if number is None:
                self.leases.release(session)
                return {"sentence": None}
            return self.open(number, session, who)

    def _has_room(self, sentence: int, who: str, reserved_by: Sequence[str]) -> bool:
        """Return whether an annotator can have a sentence that others have reserved."""
        if not self.project.is_blind(sentence) or who in reserved_by:
            return False
        return len({*reserved_by, *self.project.branch_steps(sentence)}) < 2

    def step(self, sentence: int, action: Action, who: str, session: str, **fields: Any) -> dict[str, Any]:
        """Save a step on the disk and return the sentence as it is then."""
        detail = self.project.step(sentence, action, who, **fields)
        if self.output and action != "comment":
            self.output.changed.set()
        with self.project.mutex:
            self.leases.take(session, sentence, who)
        return detail | {"opened_by": ""}

    def earlier(self, step: int, who: str) -> dict[str, Any]:
        """Return the tree that a step saved."""
        return {"tree": self.project.earlier_tree(step, who)}

    def rows(self, order: Order | None, status: Status | None, offset: int, limit: int, who: str) -> dict[str, Any]:
        """Return a page of the list of sentences."""
        numbers = self.project.ordered(order or self.order, status, who)
        page = numbers[offset : offset + limit].tolist()
        return {"matching": len(numbers), "rows": [self._row(number, who) for number in page]}

    def _row(self, number: int, who: str) -> dict[str, Any]:
        prediction = self.project.prediction(number)
        tree = prediction.get("tree", {"tokens": []})
        text = " ".join(token["form"] for token in tree["tokens"]) or prediction.get("failed", "")
        row: dict[str, Any] = {
            "sentence": number,
            "id": tree.get("id", ""),
            "text": text[:MAX_TEXT_CHARACTERS],
            "words": len(tree["tokens"]),
            "status": self.project.status(number, who),
            "comments": len(self.project.comments(number, who)),
        }
        return row | {"confidence": tree["confidence"]} if "confidence" in tree else row

    def trees(self, format: str) -> Iterator[bytes]:
        """Yield the accepted trees in a format, as parts of a file."""
        for part in FORMATS[format].writer(self.parser.head_rules).file(self.project.accepted_trees()):
            yield part if isinstance(part, bytes) else part.encode()
