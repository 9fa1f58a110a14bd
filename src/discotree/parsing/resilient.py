"""Parse what can be parsed: a sentence that fails does not take the others with it."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from discotree.config import Decoding
from discotree.errors import SENTENCE_ERRORS, InputError, ModelError, first_line
from discotree.trees.tree import NONE, Token, Tree

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser
    from discotree.parsing.sentences import Sentence

MAX_SENTENCES = 10_000  # parsed together, however short they are
PROBE = "."  # a sentence that every parser can parse

notices = logging.getLogger("discotree")


@dataclass(frozen=True)
class Failure:
    """Why a sentence has no tree."""

    error: Exception

    @property
    def reason(self) -> str:
        """The first line of the error."""
        return first_line(self.error)


@dataclass(frozen=True)
class ParseOptions:
    """How sentences are parsed."""

    decoding: Decoding | None = None  # None: as the model's own settings say
    k: int = 0  # for k_best_each: how many trees per sentence; 0 is the one that decoding finds
    ids: Sequence[str] = ()  # one id per sentence; () keeps the ids that sentences come with


class _Item(NamedTuple):
    tokens: list[Token]
    id: str


def parse_each(
    parser: "Parser", sentences: "Iterable[Sentence]", options: ParseOptions | None = None
) -> Iterator[Tree | Failure]:
    """Yield for every sentence its tree, or why there is none.

    Sentences are parsed in batches. If a batch fails, halving finds the sentences that are to blame. A parser that
    cannot parse anything any more (a GPU that is gone) raises a ModelError instead of blaming the sentences.
    """
    for outcome in k_best_each(parser, sentences, options):
        yield outcome if isinstance(outcome, Failure) else outcome[0]


def k_best_each(
    parser: "Parser", sentences: "Iterable[Sentence]", options: ParseOptions | None = None
) -> Iterator[list[Tree] | Failure]:
    """Yield for every sentence its k best trees (or the only one), or why there are none; see ``parse_each``."""
    options = options or ParseOptions()
    group: list[_Item | Failure] = []
    words = 0
    for number, sentence in enumerate(sentences):
        item = _item(parser, sentence, options.ids[number] if options.ids else "")
        group.append(item)
        words += 0 if isinstance(item, Failure) else len(item.tokens)
        if words >= parser.window_words or len(group) >= MAX_SENTENCES:
            yield from _outcomes(parser, group, options)
            group, words = [], 0
    yield from _outcomes(parser, group, options)


def _item(parser: "Parser", sentence: "Sentence", id: str) -> _Item | Failure:
    """Return the tokens of a sentence, or why it cannot be parsed where that is known without trying."""
    try:
        tokens = parser.tokens(sentence)
        if problem := parser.problem(tokens):
            raise InputError(f"the sentence {problem}")
    except SENTENCE_ERRORS as error:
        return Failure(error)
    return _Item(tokens, id or (sentence.id if isinstance(sentence, Tree) else ""))


def _outcomes(
    parser: "Parser", group: Sequence[_Item | Failure], options: ParseOptions
) -> Iterator[list[Tree] | Failure]:
    parsed = iter(_by_halves(parser, [item for item in group if isinstance(item, _Item)], options))
    for item in group:
        yield item if isinstance(item, Failure) else next(parsed)


def _by_halves(parser: "Parser", items: Sequence[_Item], options: ParseOptions) -> list[list[Tree] | Failure]:
    if not items:
        return []
    try:
        if options.k:
            return [parser.k_best(tokens, options.k, id) for tokens, id in items]
        trees = parser.parse_tokens([item.tokens for item in items], options.decoding, [item.id for item in items])
        return [[tree] for tree in trees]
    except SENTENCE_ERRORS as error:
        if len(items) == 1:
            notices.debug("a sentence of %d words cannot be parsed", len(items[0].tokens), exc_info=True)
            _check_parser(parser, error)
            return [Failure(error)]
    half = len(items) // 2
    return _by_halves(parser, items[:half], options) + _by_halves(parser, items[half:], options)


def _check_parser(parser: "Parser", error: Exception) -> None:
    """Raise a ModelError if the parser cannot even parse a full stop: the sentence is not to blame."""
    tags = parser.vocab.tags.symbols
    try:
        parser.parse_tokens([[Token(PROBE, tags[0] if tags else NONE)]])
    except SENTENCE_ERRORS:
        raise ModelError(f"the parser does not work any more: {first_line(error)}") from error
