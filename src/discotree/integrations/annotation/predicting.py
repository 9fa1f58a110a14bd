"""Reads and parses sentences in the background, while the first ones are looked at already."""

import hashlib
import logging
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from discotree.errors import SENTENCE_ERRORS, DiscotreeError, TreebankError, first_line
from discotree.integrations.annotation.lines import ModelUse, Prediction
from discotree.integrations.annotation.project import Project
from discotree.models import finding
from discotree.parsing.long_sentences import MAX_WORDS
from discotree.parsing.resilient import Failure, ParseOptions, parse_each
from discotree.parsing.text_input import InputItem, InputLine, InputSentence
from discotree.trees.tree import Node, Token, Tree

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser

MAX_WINDOW = 128  # sentences that are parsed and saved together; the first windows are smaller
T = TypeVar("T")

logger = logging.getLogger("discotree")


class InputDigest:
    """A digest of all sentences so far: all that their trees depend on, and no names of files."""

    def __init__(self) -> None:
        self.hash = hashlib.blake2b(digest_size=12)

    def add(self, item: InputSentence | TreebankError) -> str:
        content = (item.message,) if isinstance(item, TreebankError) else (item.id, item.words, item.tags)
        self.hash.update(f"{content!r}\n".encode(errors="surrogatepass"))
        return self.hash.hexdigest()


def model_use(name: str, folder: Path, who: str) -> ModelUse:
    return ModelUse(name, finding.fingerprint(folder), who=who)


class Predictor:
    """Fills a project with sentences and their trees."""

    def __init__(self, project: Project, parser: "Parser", use: ModelUse) -> None:
        self.project = project
        self.parser = parser
        self.model = project.use_model(use)
        self.problem = ""  # why sentences are missing
        self.is_stopped = threading.Event()
        self.is_done = threading.Event()
        self.digest = InputDigest()

    def skip_known(self, items: Iterable[InputItem]) -> Iterator[InputSentence | TreebankError]:
        """Return the sentences that are not in the project yet; refuse an input whose first sentences are others."""
        sentences = map(_tokenised, items)
        known = len(self.project)
        found, digest = 0, ""
        for sentence in islice(sentences, known):
            found, digest = found + 1, self.digest.add(sentence)
        if found != known or digest != self.project.input_digest:
            raise DiscotreeError(
                f"{self.project.journal.shown} belongs to another input: its first {known:,} sentences were others; "
                "name another journal with --journal to start again"
            )
        return sentences

    def start(self, unread: Iterator[InputSentence | TreebankError] | None) -> None:
        """Parse what another model has parsed, and then the sentences that are not read yet."""
        threading.Thread(target=self._run, args=[unread], name="annotation", daemon=True).start()

    def stop(self, timeout_seconds: float = 10.0) -> None:
        """Stop after the current window."""
        self.is_stopped.set()
        self.is_done.wait(timeout_seconds)

    def _run(self, unread: Iterator[InputSentence | TreebankError] | None) -> None:
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
            entries = [self.project.prediction(number) for number in numbers]
            sentences = [
                InputSentence(
                    entry["tree"].get("id", ""),
                    [token["form"] for token in entry["tree"]["tokens"]],
                    entry.get("where", ""),
                    tags=[token.get("tag", "--") for token in entry["tree"]["tokens"]] if self.parser.has_tags else [],
                )
                for entry in entries
            ]
            self.project.predict(list(zip(numbers, self._predictions(sentences), strict=True)), self.model)

    def parse_unread(self, unread: Iterator[InputSentence | TreebankError]) -> None:
        for window in self._windows(unread):
            digests = map(self.digest.add, window)
            predictions = [
                replace(one, input=digest) for one, digest in zip(self._predictions(window), digests, strict=True)
            ]
            self.project.predict(list(enumerate(predictions, len(self.project) + 1)), self.model)
        if not self.is_stopped.is_set():
            self.project.complete()

    def _windows(self, items: Iterable[T]) -> Iterator[list[T]]:
        iterator, size = iter(items), 1
        while not self.is_stopped.is_set() and (window := list(islice(iterator, size))):
            yield window
            size = min(2 * size, MAX_WINDOW)

    def _predictions(self, window: Sequence[InputSentence | TreebankError]) -> Iterator[Prediction]:
        sentences = [item for item in window if isinstance(item, InputSentence)]
        options = ParseOptions(ids=[sentence.id for sentence in sentences])
        outcomes = parse_each(self.parser, [sentence.tokens for sentence in sentences], options)
        for item in window:
            if isinstance(item, TreebankError):
                yield Prediction(None, failed=first_line(item))
                continue
            outcome = next(outcomes)
            if not isinstance(outcome, Failure):
                yield Prediction(outcome.to_dict(item.offsets), item.where)
            elif 0 < len(item.words) <= MAX_WORDS:  # somebody may still draw its tree
                flat = Tree(tuple(map(Token, item.words)), self._flat(len(item.words)), item.id)
                yield Prediction(flat.to_dict(), item.where, outcome.reason)
            else:
                yield Prediction(None, item.where, outcome.reason)

    def _flat(self, words: int) -> Node:
        return Node(self.parser.vocab.root, range(words))


def _tokenised(item: InputItem) -> InputSentence | TreebankError:
    return item.tokenise(True) if isinstance(item, InputLine) else item
