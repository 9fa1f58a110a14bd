"""Several trees as one file: the call behind the downloads of the page.

Treebank formats, LaTeX, PDF and drawings as text hold any number of trees; PNG shows one.
"""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from discotree.drawing import draw_arcs, draw_svg
from discotree.drawing.raster import convert, convert_pages
from discotree.encoding.head_rules import HeadRules
from discotree.errors import MissingExtraError
from discotree.integrations.web.limits import RequestRefused, check_drawing
from discotree.integrations.web.rendering import marked, render_trees
from discotree.integrations.web.schemas import OUTPUTS, MarkedNodes, Name, RequestModel, TreeRecord
from discotree.integrations.web.tasks import Setup, check_total_size, checked, rules_for, tree_of
from discotree.integrations.web.validation import validate

RASTERS = ("pdf", "png")
MAX_OBJECTS = 100_000  # words, constituents and edges of all trees: a kilobyte of memory each
EXAMPLE: dict[str, Any] = {
    "tokens": [{"form": "Es"}, {"form": "kam"}, {"form": "nichts"}],
    "constituents": [{"label": "ROOT", "positions": [0, 1, 2]}, {"label": "NP", "positions": [0, 2]}],
}


class ConvertRequest(RequestModel):
    """Trees, as records from other calls, and what they become."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"trees": [EXAMPLE], "output": "discbracket"}]}
    )

    trees: Annotated[list[TreeRecord], Field(min_length=1, max_length=1000, fail_fast=True)]
    output: Annotated[
        str,
        Field(
            pattern=f"^({'|'.join([*OUTPUTS, *RASTERS])})$",
            description="A treebank format, latex, text or pdf; svg, arcs and png for one tree.",
        ),
    ] = "json"
    picture: Annotated[Literal["svg", "arcs"], Field(description="For pdf and png: the tree or its dependencies.")] = (
        "svg"
    )
    model: Annotated[Name, Field(description="For arcs and conllu: use this model's head rules.")] = ""
    heads: Annotated[
        str | None,
        Field(pattern=f"^({'|'.join(HeadRules.names())})$", description="For arcs and conllu: the head rules."),
    ] = None
    highlight: MarkedNodes | None = None


def convert_trees(setup: Setup, body: bytes) -> tuple[bytes, str]:
    """Return the trees of a request as a file, and the name of its output."""
    if body.count(b"{") > MAX_OBJECTS:
        raise RequestRefused(422, f"the request has too many values: at most {MAX_OBJECTS:,} objects")
    request = validate(ConvertRequest, body)
    trees = [tree_of(setup, record) for record in request.trees]
    if request.highlight is not None and len(trees) != 1:
        raise RequestRefused(422, f"highlight: the nodes of one tree can stand out, not those of {len(trees)}")
    highlight = marked(trees[0], request.highlight)
    check_total_size(setup, trees)
    rules = rules_for(setup, request.model, request.heads)
    if request.output == "text":
        check_drawing(trees, False, setup.limits)
    if request.output not in RASTERS:
        return checked(setup, render_trees(trees, request.output, rules, highlight)), request.output
    is_arcs = request.picture == "arcs"
    svgs = [
        draw_arcs(tree.dependencies(rules), theme="light")
        if is_arcs
        else draw_svg(tree, theme="light", highlight=highlight)
        for tree in trees
    ]
    try:
        if request.output == "pdf":
            return convert_pages(svgs), request.output
        if len(trees) != 1:
            raise RequestRefused(422, f"a picture shows one tree, not {len(trees)}")
        return convert(svgs[0], "png"), request.output
    except MissingExtraError as error:
        raise RequestRefused(501, f"{error} on the server; or print the page and choose PDF") from None
