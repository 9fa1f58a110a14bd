"""The sentences of a parse request, checked against the limits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from discotree.integrations.web.limits import Limits, RequestRefused
from discotree.integrations.web.schemas import ParseRequest
from discotree.text import sentences as split_text
from discotree.trees.tree import Token


class ModelTraits(NamedTuple):
    """What reading a request needs to know about a model."""

    language: str
    has_tags: bool


Offsets = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class RequestSentence:
    tokens: list[Token]
    offsets: Offsets = ()  # start and end of each token in the text, if there was one


def sentences_of(request: ParseRequest, traits: ModelTraits, limits: Limits) -> list[RequestSentence]:
    """Return the sentences of a request; refuse one that is contradictory or too large."""
    if (request.text is None) == (request.tokens is None):
        raise RequestRefused(422, "give either text or tokens")
    if request.tokens is None and request.tags is not None:
        raise RequestRefused(422, "tags need tokens")
    characters = sum(map(_count_characters, (request.text, request.tokens, request.tags)))
    if characters > limits.request_characters:
        _refuse_excess(f"{characters:,} characters", limits.request_characters)
    sentences = _from_text(request.text, traits) if request.text is not None else _from_tokens(request)
    if traits.has_tags and request.tags is None:
        raise RequestRefused(422, "this model needs tags: give tokens and tags")
    if not traits.has_tags and request.tags is not None:
        raise RequestRefused(422, "this model takes no tags: leave them out")
    _check_size(sentences, limits, limits.k_best_sentence_words if request.k else limits.sentence_words)
    return sentences


def _check_size(sentences: Sequence[RequestSentence], limits: Limits, sentence_words: int) -> None:
    if not sentences:
        raise RequestRefused(422, "there are no words")
    if len(sentences) > limits.request_sentences:
        _refuse_excess(f"{len(sentences):,} sentences", limits.request_sentences)
    for number, sentence in enumerate(sentences, 1):
        if not sentence.tokens:
            raise RequestRefused(422, f"sentence {number} has no words")
        if len(sentence.tokens) > sentence_words:
            message = f"sentence {number} has {len(sentence.tokens):,} words: at most {sentence_words:,}"
            raise RequestRefused(422, message)
        longest = max(max(len(token.form), len(token.tag)) for token in sentence.tokens)
        if longest > limits.word_characters:
            message = f"sentence {number} has a word of {longest:,} characters: at most {limits.word_characters:,}"
            raise RequestRefused(422, message)
    words = sum(len(sentence.tokens) for sentence in sentences)
    if words > limits.request_words:
        _refuse_excess(f"{words:,} words", limits.request_words)


def _refuse_excess(amount: str, maximum: int) -> None:
    raise RequestRefused(422, f"{amount} are too many for one request: at most {maximum:,}")


def _count_characters(given: str | list[str] | list[list[str]] | None) -> int:
    return sum(map(_count_characters, given)) if isinstance(given, list) else len(given or "")


def _from_text(text: str | list[str], traits: ModelTraits) -> list[RequestSentence]:
    language = traits.language
    if not language:
        raise RequestRefused(422, "this model has no language to tokenise text with: give tokens")
    if isinstance(text, str):
        rows = [row for row in split_text(text, language) if row]
    else:
        rows = [[word for row in split_text(item, language) for word in row] for item in text]
    return [
        RequestSentence([Token(word.form) for word in row], [(word.start, word.end) for word in row]) for row in rows
    ]


def _from_tokens(request: ParseRequest) -> list[RequestSentence]:
    rows = _nested(request.tokens or [])
    if any(not form for row in rows for form in row):
        raise RequestRefused(422, "a token is empty")
    if request.tags is None:
        return [RequestSentence([Token(form) for form in row]) for row in rows]
    tags = _nested(request.tags)
    if [len(row) for row in tags] != [len(row) for row in rows]:
        raise RequestRefused(422, "give a tag for every token")
    return [
        RequestSentence([Token(*pair) for pair in zip(*pairs, strict=True)]) for pairs in zip(rows, tags, strict=True)
    ]


def _nested(rows: list[str] | list[list[str]]) -> list[list[str]]:
    """Return a list of sentences, also for a single one."""
    flat = [row for row in rows if isinstance(row, str)]
    return [flat] if flat else [row for row in rows if isinstance(row, list)]
