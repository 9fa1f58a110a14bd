"""The attributes ``._.`` of a parsed Doc, its spans and its tokens, each a function of this module of the same name.

Reading them on a Doc that was not parsed is an error; a span of whitespace has no constituents. ``render`` draws Docs.
"""

import json
import re
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from spacy.tokens import Doc, Span, Token

from discotree.drawing import draw_page, draw_svg, stylesheet
from discotree.drawing.svg import PageItem, Theme
from discotree.errors import ConfigError, DiscotreeError, TreeError
from discotree.log import logger
from discotree.trees.tree import GAP, ROOT, ROOT_LABELS, Node, Tree, lowest_bit, offsets_of
from discotree.trees.tree import Token as Leaf

MAX_CACHED_SENTENCES = 1024
TITLE = "Trees"
PALETTE = (  # for a light and for a dark page
    ("#b3361c", "#ff9b7a"), ("#0b63b8", "#79b8ff"), ("#7a3fa8", "#d2a8ff"), ("#1a7040", "#7ee2a0"),
    ("#8a5a00", "#e3b341"), ("#b0146b", "#ff8fc7"), ("#00707d", "#6fd6e0"), ("#586a00", "#c5d64f"),
    ("#4b4fc9", "#a9adff"), ("#6b5444", "#d1b8a6"), ("#3d6286", "#a3c9e8"), ("#8f1d1d", "#ffb0a8"),
)  # fmt: skip
_COLOR = re.compile(r"[#\w(), .%-]+")


@dataclass(frozen=True, slots=True)
class StoredParse:
    """A parsed sentence. Nodes are numbered in the order of ``Tree.nodes``; the root is 0."""

    tree: Tree
    starts: tuple[int, ...]  # token offsets in characters from the start of the sentence
    ends: tuple[int, ...]
    nodes: tuple[Node, ...]
    node_parents: tuple[int, ...]  # -1 for the root
    token_parents: tuple[int, ...]

    def ancestors(self, mask: int) -> Iterator[int]:
        """Yield the nodes above the first of some tokens, which include all that cover them, the root last."""
        number = self.token_parents[lowest_bit(mask)] if mask else -1
        while number >= 0:
            yield number
            number = self.node_parents[number]


def to_line(tree: Tree, offsets: Sequence[tuple[int, int]]) -> str:
    """Return the JSON of a tree and the offsets of its tokens in the sentence."""
    return json.dumps(tree.to_dict(offsets), ensure_ascii=False, separators=(",", ":"))


@lru_cache(MAX_CACHED_SENTENCES)
def from_line(line: str) -> StoredParse:
    """Return the parse that a line holds. Docs come from files, so everything is checked."""
    try:
        record = json.loads(line)
        tree = Tree.from_dict(record)
        offsets = offsets_of(record)
        if not offsets:
            raise TreeError("its tokens have no offsets")
    except (ValueError, RecursionError) as error:  # includes TreeError
        raise TreeError(f"cannot read the tree that is stored in the Doc: {error}") from None
    token_parents, nodes = tree.parents()
    return StoredParse(
        tree,
        tuple([start for start, _ in offsets]),
        tuple([end for _, end in offsets]),
        tuple(tree.nodes()),
        (-1, *[parent + 1 for _, _, parent in nodes]),
        tuple([parent + 1 for parent in token_parents]),
    )


@dataclass(frozen=True, slots=True, repr=False)
class DocConstituent:
    """A constituent of a sentence in a Doc."""

    sent: Span
    number: int  # in the order of Tree.nodes
    parse: StoredParse = field(compare=False)

    @property
    def _node(self) -> Node:
        return self.parse.nodes[self.number]

    @property
    def label(self) -> str:
        return self._node.label

    @property
    def function(self) -> str:
        """Its grammatical function in the parent, ``--`` if unknown."""
        return self._node.function

    @property
    def confidence(self) -> float | None:
        """The parser's probability of this constituent, None if unknown."""
        confidences = self.parse.tree.confidences
        return confidences[self.number] if confidences else None

    @property
    def is_discontinuous(self) -> bool:
        return self._node.is_discontinuous

    @property
    def spans(self) -> list[Span]:
        """Its continuous blocks from left to right; whitespace tokens do not interrupt a block."""
        blocks: list[tuple[int, int]] = []
        for start, end in self._node.spans:
            first, last = self._token_at(self.parse.starts[start]), self._token_at(self.parse.ends[end - 1] - 1)
            if blocks and first <= blocks[-1][1] + 1:  # retokenising has closed the gap
                first = blocks.pop()[0]
            blocks.append((first, last))
        return [self.sent.doc[first : last + 1] for first, last in blocks]

    @property
    def tokens(self) -> list[Token]:
        """Its tokens, without whitespace tokens."""
        return [token for span in self.spans for token in span if not token.is_space]

    @property
    def text(self) -> str:
        """Its text, with `` … `` for every gap."""
        return GAP.join([span.text for span in self.spans])

    @property
    def parent(self) -> "DocConstituent | None":
        number = self.parse.node_parents[self.number]
        return None if number < 0 else DocConstituent(self.sent, number, self.parse)

    @property
    def children(self) -> "list[DocConstituent | Token]":
        """Its constituents and tokens, in the order of their first words."""
        number = self.number + 1
        children: list[DocConstituent | Token] = []
        seen = set()  # a spaCy token may be several tokens of the tree
        for child in self._node.children:
            if isinstance(child, int):
                index = self._token_at(self.parse.starts[child])
                if index not in seen:
                    children.append(self.sent.doc[index])
                seen.add(index)
            else:
                while self.parse.nodes[number] is not child:
                    number += 1
                children.append(DocConstituent(self.sent, number, self.parse))
        return children

    @property
    def tree(self) -> Tree:
        """The subtree of this constituent; its words are renumbered from 0."""
        return self.parse.tree if self.number == 0 else _subtree(self.parse.tree, self._node)

    def _token_at(self, offset: int) -> int:
        """Return the index in the Doc of the token at an offset in the sentence."""
        doc, start, end = self.sent.doc, self.sent.start, self.sent.end
        in_doc = self.sent.start_char + offset
        return max(start, start + bisect_right(range(start, end), in_doc, key=lambda i: doc[i].idx) - 1)

    def __repr__(self) -> str:
        return f"<{self.label}: {self.text}>"


def _subtree(tree: Tree, top: Node) -> Tree:
    """Return a node as a tree of its own; gaps close."""
    new = {position: k for k, position in enumerate(top.positions)}
    done: list[Node] = []
    for node in reversed(list(top.nodes())):  # children before parents, so a node's children are on top of ``done``
        children = [new[child] if isinstance(child, int) else done.pop() for child in node.children]
        done.append(Node(node.label, children, node.function))
    return Tree(tuple([tree.tokens[position] for position in new]), done[0])


STORED = "discotree"  # the only attribute that holds data; all others are computed from it


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
    """Return the tree of a constituent, its words renumbered from 0; None if the span is not a constituent."""
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
    for sent, parse, _, touched in _one_sentence(item):
        for number in parse.ancestors(touched):
            mask = parse.nodes[number].mask
            if mask != touched and not touched & ~mask:
                return DocConstituent(sent, number, parse)
    return None


def children(item: Span | Token) -> list[DocConstituent | Token]:
    """Return the children of the lowest constituent over exactly these words; an empty list if there is none."""
    exact = _exact(item)
    return exact[-1].children if exact else []


def leaf(token: Token) -> Leaf | None:
    """Return the tree's token, with tag, morphology and function; None for whitespace."""
    for _, parse, _, touched in _one_sentence(token):
        if touched:
            return parse.tree.tokens[lowest_bit(touched)]
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
        f"{span.text[:40]!r} has not been parsed: 'discotree' is missing from the pipeline or disabled, "
        "or the sentence boundaries have changed since parsing"
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


def _one_sentence(item: Span | Token) -> list[tuple[Span, StoredParse, int, int]]:
    """Return the sentence of a span, its parse and the tokens as in ``_words``; nothing for parts of several ones."""
    span = _span(item)
    sentences = [(sent, parse, *_words(span, sent, parse)) for sent, parse in parsed_sentences(span)]
    return sentences if len(sentences) == 1 else []


def _exact(item: Span | Token) -> list[DocConstituent]:
    """Return the constituents over exactly these words, topmost first."""
    return [
        DocConstituent(sent, number, parse)
        for sent, parse, whole, touched in _one_sentence(item)
        for number in reversed(list(parse.ancestors(whole)))
        if parse.nodes[number].mask == whole == touched
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
                    "%s._.%s is already registered by another package; call %s.%s instead",
                    kind.__name__,
                    name,
                    __name__,
                    name,
                )


register()


# Pictures for files and notebooks, with a colour for each label


class Markup(str):
    """SVG or HTML text, which a notebook renders."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(self)


def render(
    item: Doc | Span | DocConstituent,
    *,
    colors: Mapping[str, str] | None = None,
    functions: bool = True,
    theme: Theme = "auto",
    page: bool = False,
) -> Markup:
    """Draw one sentence or constituent as SVG, several sentences as HTML; with ``page`` as a complete HTML page.

    A span that is not a constituent shows the sentences it overlaps. Each label except the root has a colour;
    ``colors`` overrides the default ones. Discontinuous constituents have boxes, bold lines and dots.
    """
    is_single, shown = _trees(item)
    rules, scope = _rules({node.label for tree in shown for node in tree.nodes()}, colors or {}, theme)
    style = is_single and not page
    pictures = [
        draw_svg(tree, functions=functions, theme=theme, style=style).replace(
            'class="discotree"', f'class="discotree {scope}"', 1
        )
        for tree in shown
    ]
    if page:
        items = [PageItem("", " ".join(tree.words), svg) for tree, svg in zip(shown, pictures, strict=True)]
        return Markup("".join(draw_page(items, TITLE, theme)).replace("</style>", f"{rules}</style>", 1))
    if is_single:
        return Markup(pictures[0].replace("</desc>", f"</desc>\n<style>\n{rules}</style>", 1))
    blocks = "".join([f'<div style="overflow-x:auto">{svg}</div>\n' for svg in pictures])
    return Markup(f"<div>\n<style>\n{stylesheet(theme)}{rules}</style>\n{blocks}</div>\n")


def _trees(item: Doc | Span | DocConstituent) -> tuple[bool, list[Tree]]:
    """Return the trees to draw, and whether they are one picture."""
    if isinstance(item, DocConstituent):
        return True, [item.tree]
    if not isinstance(item, Doc | Span):
        raise TypeError(f"expected a Doc, a Span or a DocConstituent, got a {type(item).__name__}")
    if isinstance(item, Span) and (subtree := tree(item)):
        return True, [subtree]
    overlapping = [parse.tree for _, parse in parsed_sentences(item[:])]
    return isinstance(item, Span) and len(overlapping) == 1, overlapping


def _rules(labels: Iterable[str], colors: Mapping[str, str], theme: Theme) -> tuple[str, str]:
    """Return the CSS rules of the labels, and the class that scopes them to one set of pictures."""
    for color in colors.values():
        if not _COLOR.fullmatch(color):
            raise ConfigError(f"colors: expected a CSS colour, got {color!r}")
    chosen = _choose_colors(sorted(set(labels) - ROOT_LABELS - colors.keys()))
    scope = f"dt-{zlib.crc32(repr((chosen, sorted(colors.items()), theme)).encode()):08x}"

    def rules(shade: int) -> str:
        both = {**colors, **{label: pair[shade] for label, pair in chosen.items()}}
        return "".join([_rule(scope, label, color) for label, color in both.items()])

    if theme == "auto":
        return f"{rules(0)}@media(prefers-color-scheme:dark){{\n{rules(1)}}}\n", scope
    return rules(theme == "dark"), scope


def _choose_colors(labels: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Give each label a colour of its own while there are any left, mostly the same one in all pictures."""
    chosen: dict[str, tuple[str, str]] = {}
    for label in labels:
        first = zlib.crc32(label.encode("utf-8", "replace")) % len(PALETTE)
        candidates = PALETTE[first:] + PALETTE[:first]
        chosen[label] = next((pair for pair in candidates if pair not in chosen.values()), candidates[0])
    return chosen


def _rule(scope: str, label: str, color: str) -> str:
    """Return the rules of one label, with every character escaped that means something in CSS, XML or HTML."""
    quoted = re.sub(r"[^A-Za-z0-9]", lambda match: f"\\{ord(match[0]):x} ", label)
    node = f'.{scope} .node[data-label="{quoted}"]'
    return f"{node}>.label{{fill:{color}}}\n{node}>.line,{node}>.box{{stroke:{color}}}\n"
