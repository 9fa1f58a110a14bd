"""Trees as text: pictures, LaTeX documents, treebank formats."""

from collections.abc import Mapping, Sequence

from discotree.drawing import draw_arcs, draw_comparison, draw_comparison_text, draw_svg, draw_text
from discotree.drawing.highlights import Highlight
from discotree.drawing.latex import latex_document
from discotree.encoding.head_rules import HeadRules
from discotree.integrations.web.limits import RequestRefused
from discotree.integrations.web.schemas import DrawRequest
from discotree.treebanks import TEXT_FORMATS, WriterOptions
from discotree.trees.tree import Tree

MEDIA_TYPES = {
    "json": "application/json",
    "svg": "image/svg+xml",
    "arcs": "image/svg+xml",
    "latex": "application/x-tex",
    "tigerxml": "application/xml",
    "alpino": "application/xml",
    "pdf": "application/pdf",
    "png": "image/png",
}
PLAIN_TEXT = "text/plain; charset=utf-8"


def media_type(output: str) -> str:
    return MEDIA_TYPES.get(output, PLAIN_TEXT)


def render_trees(trees: Sequence[Tree], output: str, rules: HeadRules, highlight: Highlight = True) -> str:
    """Return parsed trees in a treebank format, or as one picture or document; ``highlight`` is for SVG and LaTeX."""
    if output in ("svg", "arcs"):
        if len(trees) != 1:
            raise RequestRefused(422, f"a picture shows one tree, not {len(trees)}: ask for json and draw each tree")
        return draw_svg(trees[0], highlight=highlight) if output == "svg" else draw_arcs(trees[0].dependencies(rules))
    if output == "latex":
        return latex_document(trees, highlight=highlight)
    if output == "text":
        return "".join([f"{tree.id}\n{draw_text(tree)}\n\n" for tree in trees])
    return "".join(TEXT_FORMATS[output].write(trees, WriterOptions(heads=rules)))


def marked(tree: Tree, nodes: Mapping[str, Sequence[int]] | None) -> Highlight:
    """Return what stands out in a picture: the nodes of a request, or else discontinuous constituents."""
    if nodes is None:
        return True
    size = len(tree) + sum(1 for _ in tree.nodes())
    for name, addresses in nodes.items():
        if any(address >= size for address in addresses):
            raise RequestRefused(422, f"highlight: {name}: the tree has {size} words and constituents")
    return nodes


def render_drawing(tree: Tree, against: Tree | None, request: DrawRequest, rules: HeadRules) -> str:
    """Return one tree, or the differences between two, with the options of the request."""
    output, functions, theme, style = request.output, request.functions, request.theme, request.style
    if against is not None:
        if output == "svg":
            return draw_comparison(tree, against, functions=functions, theme=theme, style=style)
        if output == "text":
            return draw_comparison_text(tree, against, functions=functions)
        raise RequestRefused(422, f"two trees cannot be compared as {output}, only as svg or text")
    if output == "svg":
        return draw_svg(tree, functions=functions, theme=theme, style=style, highlight=marked(tree, request.highlight))
    if output == "arcs":
        return draw_arcs(tree.dependencies(rules), theme=theme, style=style)
    if output == "latex":
        return latex_document([tree], functions=functions, highlight=marked(tree, request.highlight))
    if output == "text":
        return draw_text(tree, functions=functions) + "\n"
    return render_trees([tree], output, rules)
