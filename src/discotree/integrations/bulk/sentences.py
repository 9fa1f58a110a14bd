"""Split what a row holds into sentences of words, or say why it holds none."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Literal

from discotree.errors import DiscotreeError
from discotree.integrations.bulk.plan import Shard
from discotree.integrations.bulk.rows import MAX_ROW_BYTES, RowError, brief, rows
from discotree.parsing.long_sentences import MAX_WORDS
from discotree.text import Word, sentences, tokenised
from discotree.text.recognition import sample_of

RowKind = Literal["lines", "tokens", "text"]
MAX_SAMPLED_SHARDS, MAX_SAMPLED_ROWS = 3, 200  # looked at to recognise the language

Words = list[str]


def sentences_of(content: object, kind: RowKind, language: str) -> list[Words]:
    """Return the sentences of a row: one, unless rows are texts."""
    if isinstance(content, RowError):
        raise content
    if kind == "tokens" and isinstance(content, list):
        found = [[_text(word, "a word") for word in content]]
        if "" in found[0]:
            raise RowError("a word is empty")
    elif kind == "text":
        found = [_forms([words]) for words in sentences(_text(content), language)]
    elif kind == "lines":
        found = [_forms(sentences(_text(content), language, lines=True))]
    else:
        found = [_forms(tokenised(_text(content)))]
    found = [words for words in found if words]
    if not found:
        raise RowError("there are no words")
    for words in found:
        if len(words) > MAX_WORDS:
            raise RowError(f"a sentence of {len(words):,} words is too long: at most {MAX_WORDS:,}")
    return found


def sample_of_rows(shards: Iterable[Shard], column: str, id_column: str) -> str:
    """Return the text that the input begins with, to recognise its language by."""
    return sample_of(
        text for shard in islice(shards, MAX_SAMPLED_SHARDS) for text in _beginning(shard, column, id_column)
    )


def _beginning(shard: Shard, column: str, id_column: str) -> Iterator[str]:
    with suppress(DiscotreeError, OSError):  # a shard that cannot be read is reported when it is parsed
        for row in islice(rows(shard, column, id_column), MAX_SAMPLED_ROWS):
            if isinstance(row.content, bytes):
                yield row.content.decode(errors="replace")
            elif isinstance(row.content, list):
                yield " ".join(word for word in row.content if isinstance(word, str))
            elif isinstance(row.content, str):
                yield row.content


def _forms(lines: Iterable[list[Word]]) -> Words:
    return [word.form for line in lines for word in line]


def _text(content: object, expected: str = "text") -> str:
    """Return content as text, if UTF-8 can hold it."""
    if isinstance(content, (str, bytes)) and len(content) > MAX_ROW_BYTES:
        raise RowError(f"a row of {len(content):,} bytes is too long: at most {MAX_ROW_BYTES:,}")
    try:
        if isinstance(content, bytes):
            return content.decode()
        if isinstance(content, str):
            content.encode()
            return content
    except UnicodeDecodeError as error:
        raise RowError(f"byte {error.object[error.start]:#04x} at {error.start} is not UTF-8") from None
    except UnicodeEncodeError as error:
        raise RowError(f"{error.object[error.start]!r} at {error.start} is no character") from None
    raise RowError(f"expected {expected}, got {brief(content)}")
