"""Pictures of parsed Docs for files and notebooks, with a colour for each label."""

import re
import zlib
from collections.abc import Iterable, Mapping

from spacy.tokens import Doc, Span

from discotree.drawing import draw_page, draw_svg, stylesheet
from discotree.drawing.markup import Theme
from discotree.drawing.page import PageItem
from discotree.errors import ConfigError
from discotree.integrations.spacy.constituents import DocConstituent
from discotree.integrations.spacy.extensions import parsed_sentences
from discotree.integrations.spacy.extensions import tree as tree_of
from discotree.trees.tree import ROOT_LABELS, Tree

TITLE = "Trees"
PALETTE = (  # for a light and for a dark page
    ("#b3361c", "#ff9b7a"), ("#0b63b8", "#79b8ff"), ("#7a3fa8", "#d2a8ff"), ("#1a7040", "#7ee2a0"),
    ("#8a5a00", "#e3b341"), ("#b0146b", "#ff8fc7"), ("#00707d", "#6fd6e0"), ("#586a00", "#c5d64f"),
    ("#4b4fc9", "#a9adff"), ("#6b5444", "#d1b8a6"), ("#3d6286", "#a3c9e8"), ("#8f1d1d", "#ffb0a8"),
)  # fmt: skip
_COLOR = re.compile(r"[#\w(), .%-]+")


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

    A span that is no constituent shows the sentences it overlaps. Each label except the root has a colour; ``colors``
    overrides the default ones. Discontinuous constituents have boxes, bold lines and dots.
    """
    is_single, trees = _trees(item)
    rules, scope = _rules({node.label for tree in trees for node in tree.nodes()}, colors or {}, theme)
    style = is_single and not page
    pictures = [
        draw_svg(tree, functions=functions, theme=theme, style=style).replace(
            'class="discotree"', f'class="discotree {scope}"', 1
        )
        for tree in trees
    ]
    if page:
        items = [PageItem("", " ".join(tree.words), svg) for tree, svg in zip(trees, pictures, strict=True)]
        return Markup("".join(draw_page(items, TITLE, theme)).replace("</style>", f"{rules}</style>", 1))
    if is_single:
        return Markup(pictures[0].replace("</style>", f"{rules}</style>", 1))
    blocks = "".join([f'<div style="overflow-x:auto">{svg}</div>\n' for svg in pictures])
    return Markup(f"<div>\n<style>\n{stylesheet(theme)}{rules}</style>\n{blocks}</div>\n")


def _trees(item: Doc | Span | DocConstituent) -> tuple[bool, list[Tree]]:
    """Return the trees to draw, and whether they are one picture."""
    if isinstance(item, DocConstituent):
        return True, [item.tree]
    if not isinstance(item, Doc | Span):
        raise TypeError(f"expected a Doc, a Span or a DocConstituent, got a {type(item).__name__}")
    if isinstance(item, Span) and (found := tree_of(item)):
        return True, [found]
    trees = [parse.tree for _, parse in parsed_sentences(item[:])]
    return isinstance(item, Span) and len(trees) == 1, trees


def _rules(labels: Iterable[str], colors: Mapping[str, str], theme: Theme) -> tuple[str, str]:
    """Return the CSS rules of the labels, and the class that scopes them to one set of pictures."""
    for color in colors.values():
        if not _COLOR.fullmatch(color):
            raise ConfigError(f"colors: {color!r} is not a colour")
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
