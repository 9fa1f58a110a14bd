"""Pictures of what was parsed, with a colour for each label, for files and for notebooks."""

import re
import zlib
from collections.abc import Iterable, Mapping

from spacy.tokens import Doc, Span

from discotree.drawing import draw_page, draw_svg, stylesheet
from discotree.drawing.markup import Theme
from discotree.drawing.page import Item
from discotree.errors import DiscotreeError
from discotree.integrations.spacy.constituents import Constituent
from discotree.integrations.spacy.extensions import sentences
from discotree.integrations.spacy.extensions import tree as tree_of
from discotree.trees.tree import ROOT_LABELS, Tree

TITLE = "Trees"
PALETTE = (  # on a light page and on a dark one
    ("#b3361c", "#ff9b7a"), ("#0b63b8", "#79b8ff"), ("#7a3fa8", "#d2a8ff"), ("#1a7040", "#7ee2a0"),
    ("#8a5a00", "#e3b341"), ("#b0146b", "#ff8fc7"), ("#00707d", "#6fd6e0"), ("#586a00", "#c5d64f"),
    ("#4b4fc9", "#a9adff"), ("#6b5444", "#d1b8a6"), ("#3d6286", "#a3c9e8"), ("#8f1d1d", "#ffb0a8"),
)  # fmt: skip
_COLOR = re.compile(r"[#\w(), .%-]+")


class Markup(str):
    """SVG or HTML: text that a notebook shows as what it means."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(self)


def render(
    item: Doc | Span | Constituent,
    *,
    colors: Mapping[str, str] | None = None,
    functions: bool = True,
    theme: Theme = "auto",
    page: bool = False,
) -> Markup:
    """Draw trees: of one constituent or sentence as SVG, of several sentences as HTML, as a ``page`` by itself or not.

    A span that is no constituent shows the sentences that it is part of. Labels have colours, those that ``colors``
    gives them or others; the root has none. Discontinuous constituents are known by their boxes, bold lines and dots.
    """
    one, trees = _trees(item)
    rules, scope = _rules({node.label for tree in trees for node in tree.nodes()}, colors or {}, theme)
    style = one and not page
    pictures = [
        draw_svg(tree, functions=functions, theme=theme, style=style).replace(
            'class="discotree"', f'class="discotree {scope}"', 1
        )
        for tree in trees
    ]
    if page:
        items = [Item("", " ".join(tree.words), svg) for tree, svg in zip(trees, pictures, strict=True)]
        return Markup("".join(draw_page(items, TITLE, theme)).replace("</style>", f"{rules}</style>", 1))
    if one:
        return Markup(pictures[0].replace("</style>", f"{rules}</style>", 1))
    shown = "".join([f'<div style="overflow-x:auto">{svg}</div>\n' for svg in pictures])
    return Markup(f"<div>\n<style>\n{stylesheet(theme)}{rules}</style>\n{shown}</div>\n")


def _trees(item: Doc | Span | Constituent) -> tuple[bool, list[Tree]]:
    """What is to be drawn, and whether it is a single thing."""
    if isinstance(item, Constituent):
        return True, [item.tree]
    if not isinstance(item, Doc | Span):
        raise DiscotreeError(f"a Doc, a Span or a Constituent can be drawn, not a {type(item).__name__}")
    if isinstance(item, Span) and (found := tree_of(item)):
        return True, [found]
    trees = [parse.tree for _, parse in sentences(item[:])]
    return isinstance(item, Span) and len(trees) == 1, trees


def _rules(labels: Iterable[str], colors: Mapping[str, str], theme: Theme) -> tuple[str, str]:
    """Rules of CSS for labels, and the class that pictures which follow them have."""
    for color in colors.values():
        if not _COLOR.fullmatch(color):
            raise DiscotreeError(f"{color!r} is not a colour")
    chosen = _chosen(sorted(set(labels) - ROOT_LABELS - colors.keys()))
    scope = f"dt-{zlib.crc32(repr((chosen, sorted(colors.items()), theme)).encode()):08x}"

    def rules(shade: int) -> str:
        both = {**colors, **{label: pair[shade] for label, pair in chosen.items()}}
        return "".join([_rule(scope, label, color) for label, color in both.items()])

    if theme == "auto":
        return f"{rules(0)}@media(prefers-color-scheme:dark){{\n{rules(1)}}}\n", scope
    return rules(theme == "dark"), scope


def _chosen(labels: Iterable[str]) -> dict[str, tuple[str, str]]:
    """A colour for each label, mostly the same in all pictures; different ones in one picture, as long as there are."""
    chosen: dict[str, tuple[str, str]] = {}
    for label in labels:
        first = zlib.crc32(label.encode("utf-8", "replace")) % len(PALETTE)
        turns = PALETTE[first:] + PALETTE[:first]
        chosen[label] = next((pair for pair in turns if pair not in chosen.values()), turns[0])
    return chosen


def _rule(scope: str, label: str, color: str) -> str:
    """All signs that could mean something to CSS, XML or HTML are escaped."""
    quoted = re.sub(r"[^A-Za-z0-9]", lambda sign: f"\\{ord(sign[0]):x} ", label)
    node = f'.{scope} .node[data-label="{quoted}"]'
    return f"{node}>.label{{fill:{color}}}\n{node}>.line,{node}>.box{{stroke:{color}}}\n"
