"""Doc → sentences → the tokens to parse, with their offsets."""

from bisect import bisect_left
from collections.abc import Iterator

import numpy
from spacy.tokens import Doc, Span

from discotree import text
from discotree.errors import InputError
from discotree.trees.tree import Token

TokensAndOffsets = tuple[list[Token], list[tuple[int, int]]]


def sentences_of(doc: Doc, language: str) -> Iterator[Span]:
    """Yield the sentences of a Doc; set their boundaries first if no other component has."""
    is_split = doc.has_annotation("SENT_START") if len(doc) > 1 else all(token.is_sent_start for token in doc)
    if not is_split:
        if not language:
            raise InputError(
                "the Doc has no sentence boundaries, and the model has no language to find them with: "
                'add nlp.add_pipe("sentencizer", first=True)'
            )
        _set_boundaries(doc, language)
    yield from doc.sents


def _set_boundaries(doc: Doc, language: str) -> None:
    """Split a Doc as the treebank of the language would."""
    token_starts = [token.idx for token in doc]
    offsets = [words[0].start for words in text.sentences(doc.text, language) if words]
    starts = [bisect_left(token_starts, offset) for offset in offsets]
    sent_starts = numpy.full(len(doc), -1)
    sent_starts[[0, *(start for start in starts[1:] if start < len(doc))]] = 1
    doc.from_array(["SENT_START"], sent_starts.astype(numpy.uint64))  # type: ignore[arg-type]


def spacy_tokens(sent: Span, with_tags: bool) -> TokensAndOffsets:
    """Return spaCy's tokens of a sentence, without whitespace tokens, and their offsets in it."""
    tokens = [token for token in sent if token.text.strip()]
    offsets = [(token.idx - sent.start_char, token.idx - sent.start_char + len(token)) for token in tokens]
    if not with_tags:
        return [Token(token.text) for token in tokens], offsets
    for token in tokens:
        if not token.tag_:
            raise InputError(
                f"the model needs tags, and {token.text!r} has none: add a component that sets Token.tag "
                "before discotree"
            )
    return [Token(token.text, token.tag_) for token in tokens], offsets


def model_tokens(sent: Span, language: str) -> TokensAndOffsets:
    """Return the tokens of a sentence as the treebank of the language has them, and their offsets in it."""
    words = [word for line in text.sentences(sent.text, language) for word in line]
    return [Token(word.form) for word in words], [(word.start, word.end) for word in words]
