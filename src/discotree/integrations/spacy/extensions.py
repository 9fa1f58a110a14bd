"""The attributes ``._.`` of a parsed Doc, its spans and its tokens, each a function of this module of the same name.

Reading them on a Doc that was not parsed is an error; a span of whitespace has no constituents.
"""

import logging
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import Any

from spacy.tokens import Doc, Span, Token

from discotree.errors import DiscotreeError
from discotree.integrations.spacy.constituents import DocConstituent
from discotree.integrations.spacy.storage import StoredParse, from_line
from discotree.trees.node import Token as Leaf
from discotree.trees.tree import ROOT, Node, Tree

STORED = "discotree"  # the only attribute that holds data; all others are computed from it

logger = logging.getLogger("discotree")


def trees(doc: Doc) -> list[Tree]:
    """Return the trees of the sentences; a sentence of whitespace has none."""
    return [parse.tree for _, parse in parsed_sentences(doc[:])]


def constituents(item: Doc | Span | Token) -> list[DocConstituent]:
    """Return the constituents that lie completely inside, parents before children."""
    span = _span(item)
    inside = []
    for sent, parse in parsed_sentences(span):
        whole, _ = _words(span, sent, parse)
        inside += [DocConstituent(sent, k, parse) for k, node in enumerate(parse.nodes) if not node.mask & ~whole]
    return inside


def labels(item: Span | Token) -> tuple[str, ...]:
    """Return the labels of the constituents over exactly these words, topmost first."""
    return tuple([constituent.label for constituent in _exact(item)])


def tree(item: Span | Token) -> Tree | None:
    """Return the tree of a constituent, its words renumbered from 0; None if the span is no constituent."""
    exact = _exact(item)
    return exact[0].tree if exact else None


def parse_string(item: Span | Token) -> str:
    """Return the discbracket of a constituent, or of a token and its tag; an empty string for any other span."""
    if subtree := tree(item):
        return str(subtree)
    word = leaf(item) if isinstance(item, Token) else None
    if word is None:
        return ""
    return str(Tree((word,), Node(ROOT, [0]))).removeprefix(f"({ROOT} ").removesuffix(")")


def parent(item: Span | Token) -> DocConstituent | None:
    """Return the smallest constituent that covers this and more words; None if its sentence has none."""
    span = _span(item)
    sentences = [*parsed_sentences(span)]
    if len(sentences) != 1:
        return None
    ((sent, parse),) = sentences
    _, touched = _words(span, sent, parse)
    for number in _ancestors(parse, touched):
        mask = parse.nodes[number].mask
        if mask != touched and not touched & ~mask:
            return DocConstituent(sent, number, parse)
    return None


def children(item: Span | Token) -> list[DocConstituent | Token]:
    """Return the children of the lowest constituent over exactly these words; none if there is no such one."""
    exact = _exact(item)
    return exact[-1].children if exact else []


def leaf(token: Token) -> Leaf | None:
    """Return the tree's token, with tag, morphology and function; None for whitespace."""
    for sent, parse in parsed_sentences(_span(token)):
        _, touched = _words(_span(token), sent, parse)
        if touched:
            return parse.tree.tokens[_first(touched)]
    return None


def parsed_sentences(span: Span) -> Iterator[tuple[Span, StoredParse]]:
    """Yield the sentences that a span overlaps, with their parses; skip those of whitespace."""
    if not span.doc.has_annotation("SENT_START"):
        raise _unparsed(span)
    for sent in span.sents:  # type: ignore[attr-defined]  # missing in spaCy's stubs
        line = sent._.get(STORED)
        if line is not None:
            yield sent, from_line(str(line))
        elif sent.text.strip():
            raise _unparsed(sent)


def _unparsed(span: Span) -> DiscotreeError:
    return DiscotreeError(
        f"{span.text[:40]!r} has no tree: 'discotree' is not in the pipeline or is disabled, or the sentence "
        "boundaries have changed since it was parsed"
    )


def _span(item: Doc | Span | Token) -> Span:
    if isinstance(item, Token):
        return item.doc[item.i : item.i + 1]
    return item[:] if isinstance(item, Doc) else item


def _words(span: Span, sent: Span, parse: StoredParse) -> tuple[int, int]:
    """Return the tree's tokens in a span as two bit sets: those completely inside, and those that overlap it.

    The two differ only if the tree has other tokens than spaCy.
    """
    start, end = span.start_char - sent.start_char, span.end_char - sent.start_char
    whole = _bits(bisect_left(parse.starts, start), bisect_right(parse.ends, end))
    return whole, _bits(bisect_right(parse.ends, start), bisect_left(parse.starts, end))


def _bits(first: int, end: int) -> int:
    return (1 << end) - (1 << first) if first < end else 0


def _first(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


def _ancestors(parse: StoredParse, mask: int) -> list[int]:
    """Return the nodes above the first of some tokens, which include every node that covers all of them."""
    return parse.ancestors(_first(mask)) if mask else []


def _exact(item: Span | Token) -> list[DocConstituent]:
    """Return the constituents over exactly these words, topmost first."""
    span = _span(item)
    sentences = [*parsed_sentences(span)]
    if len(sentences) != 1:
        return []
    ((sent, parse),) = sentences
    whole, touched = _words(span, sent, parse)
    if whole != touched:
        return []
    return [
        DocConstituent(sent, number, parse)
        for number in reversed(_ancestors(parse, whole))
        if parse.nodes[number].mask == whole
    ]


Getter = Callable[[Any], Any]
ATTRIBUTES: dict[Any, tuple[Getter, ...]] = {
    Doc: (trees, constituents),
    Span: (constituents, labels, tree, parse_string, parent, children),
    Token: (constituents, labels, parse_string, parent, leaf),
}


def register() -> None:
    """Register the attributes with spaCy, except names that another package has taken."""
    Span.set_extension(STORED, default=None, force=True)
    for kind, getters in ATTRIBUTES.items():
        for getter in getters:
            name = getter.__name__
            other = kind.get_extension(name)[2] if kind.has_extension(name) else getter
            if getattr(other, "__module__", "") == __name__:
                kind.set_extension(name, getter=getter, force=True)
            else:
                logger.warning(
                    "%s._.%s belongs to another package: call %s.%s instead", kind.__name__, name, __name__, name
                )


register()
