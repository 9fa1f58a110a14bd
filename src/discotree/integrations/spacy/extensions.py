"""The attributes ``._.`` of a parsed Doc, its spans and its tokens. Each is a function of this module of the same name.

Asking a Doc that nobody has parsed is an error; a span of spaces has no constituents.
"""

import logging
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import Any

from spacy.tokens import Doc, Span, Token

from discotree.errors import DiscotreeError
from discotree.integrations.spacy.constituents import Constituent
from discotree.integrations.spacy.storage import Parse, unpacked
from discotree.treebanks.discbracket import format_discbracket
from discotree.trees.node import Token as Leaf
from discotree.trees.tree import ROOT, Node, Tree

STORED = "discotree"  # the attribute of a sentence that is kept; all others are computed

notices = logging.getLogger("discotree")


def trees(doc: Doc) -> list[Tree]:
    """The trees of the sentences; one of spaces alone has none."""
    return [parse.tree for _, parse in sentences(doc[:])]


def constituents(item: Doc | Span | Token) -> list[Constituent]:
    """The constituents that lie wholly inside, parents before children."""
    span = _span(item)
    found = []
    for sent, parse in sentences(span):
        whole, _ = _words(span, sent, parse)
        found += [Constituent(sent, k, parse) for k, node in enumerate(parse.nodes) if not node.mask & ~whole]
    return found


def labels(item: Span | Token) -> tuple[str, ...]:
    """The labels of the constituents that are exactly this, the topmost first; none where it is no constituent."""
    return tuple([constituent.label for constituent in _exactly(item)])


def tree(item: Span | Token) -> Tree | None:
    """The tree of a constituent, with its words alone; None where it is no constituent."""
    found = _exactly(item)
    return found[0].tree if found else None


def parse_string(item: Span | Token) -> str:
    """The tree of a constituent in discbracket; of a token that is none, just its tag and itself; otherwise nothing."""
    if found := tree(item):
        return format_discbracket(found)
    word = leaf(item) if isinstance(item, Token) else None
    if word is None:
        return ""
    return format_discbracket(Tree((word,), Node(ROOT, [0]))).removeprefix(f"({ROOT} ").removesuffix(")")


def parent(item: Span | Token) -> Constituent | None:
    """The smallest constituent that covers this and more; None where there is no such one in the sentence."""
    span = _span(item)
    found = [*sentences(span)]
    if len(found) != 1:
        return None
    ((sent, parse),) = found
    _, touched = _words(span, sent, parse)
    for number in _way_up(parse, touched):
        mask = parse.nodes[number].mask
        if mask != touched and not touched & ~mask:
            return Constituent(sent, number, parse)
    return None


def children(item: Span | Token) -> list[Constituent | Token]:
    """What the constituent that is exactly this, the lowest of them, is made of; nothing where it is none."""
    found = _exactly(item)
    return found[-1].children if found else []


def leaf(token: Token) -> Leaf | None:
    """What the tree says about a word: its tag, morphology, function; None for a space."""
    for sent, parse in sentences(_span(token)):
        _, touched = _words(_span(token), sent, parse)
        if touched:
            return parse.tree.tokens[_first(touched)]
    return None


def sentences(span: Span) -> Iterator[tuple[Span, Parse]]:
    """The parsed sentences that a span is part of; those of spaces alone are left out."""
    if not span.doc.has_annotation("SENT_START"):
        raise _unparsed(span)
    for sent in span.sents:  # type: ignore[attr-defined]  # spaCy's stubs forget it
        stored = sent._.get(STORED)
        if stored is not None:
            yield sent, unpacked(str(stored))
        elif sent.text.strip():
            raise _unparsed(sent)


def _unparsed(span: Span) -> DiscotreeError:
    return DiscotreeError(
        f"{span.text[:40]!r} has no tree: 'discotree' is not in the pipeline, or was disabled, or the sentence has had "
        "other boundaries since"
    )


def _span(item: Doc | Span | Token) -> Span:
    if isinstance(item, Token):
        return item.doc[item.i : item.i + 1]
    return item[:] if isinstance(item, Doc) else item


def _words(span: Span, sent: Span, parse: Parse) -> tuple[int, int]:
    """The words of a sentence that lie in a span, as bit sets: those with all of their characters, those with any.

    The two differ only where words are not spaCy's tokens.
    """
    start, end = span.start_char - sent.start_char, span.end_char - sent.start_char
    whole = _bits(bisect_left(parse.starts, start), bisect_right(parse.ends, end))
    return whole, _bits(bisect_right(parse.ends, start), bisect_left(parse.starts, end))


def _bits(first: int, end: int) -> int:
    return (1 << end) - (1 << first) if first < end else 0


def _first(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


def _way_up(parse: Parse, mask: int) -> list[int]:
    """The nodes over the first of some words: whatever covers all of them is among these."""
    return parse.way_up(_first(mask)) if mask else []


def _exactly(item: Span | Token) -> list[Constituent]:
    """The constituents over exactly these words, the topmost first."""
    span = _span(item)
    found = [*sentences(span)]
    if len(found) != 1:
        return []
    ((sent, parse),) = found
    whole, touched = _words(span, sent, parse)
    if whole != touched:
        return []
    return [
        Constituent(sent, number, parse)
        for number in reversed(_way_up(parse, whole))
        if parse.nodes[number].mask == whole
    ]


Getter = Callable[[Any], Any]
ATTRIBUTES: dict[Any, tuple[Getter, ...]] = {
    Doc: (trees, constituents),
    Span: (constituents, labels, tree, parse_string, parent, children),
    Token: (constituents, labels, parse_string, parent, leaf),
}


def register() -> None:
    """Tell spaCy; what another package has given one of the names to is left to it."""
    Span.set_extension(STORED, default=None, force=True)
    for kind, getters in ATTRIBUTES.items():
        for getter in getters:
            name = getter.__name__
            other = kind.get_extension(name)[2] if kind.has_extension(name) else getter
            if getattr(other, "__module__", "") == __name__:
                kind.set_extension(name, getter=getter, force=True)
            else:
                notices.warning(
                    "%s._.%s belongs to another package: ours is the function %s.%s",
                    kind.__name__,
                    name,
                    __name__,
                    name,
                )


register()
