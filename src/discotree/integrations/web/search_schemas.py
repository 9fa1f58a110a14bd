"""Requests and responses of the calls that search treebanks, as the OpenAPI description shows them."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from discotree.integrations.web.schemas import (
    BRACKETS,
    Count,
    Name,
    Problem,
    RequestModel,
    TreeRecord,
    Upload,
    one_of,
)
from discotree.queries.lexer import MAX_CHARACTERS
from discotree.treebanks import TEXT_FORMATS

MAX_HITS = 100  # in a response with trees
MAX_DOWNLOADED_HITS = 10_000
MAX_WIDTH = 1000
MAX_GROUP_KEYS = 2
MAX_GROUPS = 10_000
SEARCH_OUTPUTS = ("json", "concordance", "csv", "tsv", *(name for name in TEXT_FORMATS if name != "json"), "jsonl")

QueryText = Annotated[str, Field(max_length=MAX_CHARACTERS, description="A query in the language of TIGERSearch.")]
EXAMPLE_QUERY = '#vp:[cat="VP"] & discontinuous(#vp)'


class SearchSource(RequestModel):
    """What to search: a treebank that the server has opened, or an upload."""

    treebank: Annotated[Name, Field(description="A name from /api/treebanks.")] = ""
    upload: Annotated[Upload | None, Field(description="The text of a treebank file, in place of a name.")] = None


class QueryRequest(RequestModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"query": EXAMPLE_QUERY}]})

    query: QueryText


class QueryResponse(BaseModel):
    """What a match binds."""

    variables: Annotated[list[str], Field(description="In the order of the query; 1, 2, … in one without variables.")]
    nodes: Annotated[list[str], Field(description="Those that stand for nodes, not for values.")]


class QueryProblem(Problem):
    """What is wrong with a query, and where."""

    message: Annotated[str | None, Field(description="What was expected.")] = None
    offset: Annotated[int | None, Field(description="Index of the character in the query, from 0.")] = None


class ExamplesRequest(SearchSource):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"upload": {"content": BRACKETS}}]})


class ExampleQuery(BaseModel):
    scheme: Annotated[str, Field(description="The annotation scheme that it is written for.")]
    construction: str
    description: str
    query: str


class SearchRequest(SearchSource):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"query": EXAMPLE_QUERY, "upload": {"content": BRACKETS}}]}
    )

    query: QueryText
    output: Annotated[
        str,
        Field(
            pattern=one_of(SEARCH_OUTPUTS),
            description="json, or a download: concordance, csv, tsv, or a treebank format (jsonl: records).",
        ),
    ] = "json"
    start: Annotated[Count, Field(ge=1, description="The number of the tree to start at; from next.")] = 1
    skip: Annotated[Count, Field(description="Number of matches to leave out in this tree; from next.")] = 0
    limit: Annotated[
        int, Field(ge=1, le=MAX_DOWNLOADED_HITS, description=f"Number of matches; with json at most {MAX_HITS}.")
    ] = 20
    focus: Annotated[Name, Field(description="The variable in the middle of a line; the first one by default.")] = ""
    width: Annotated[int, Field(ge=0, le=MAX_WIDTH, description="Characters on both sides of it.")] = 60


class ContextPiece(BaseModel):
    text: str
    is_gap: Annotated[bool, Field(description="Whether these words stand between those that were found.")]


class BoundNode(BaseModel):
    """The word or constituent that a variable stands for."""

    node: Annotated[int | None, Field(description="Index into the constituents of the tree; null for a word.")]
    label: str
    edge: str
    positions: list[int]


class Hit(BaseModel):
    """A match: a line of words, and what every variable stands for."""

    id: str
    number: Annotated[int, Field(description="The number of its tree in the treebank, from 1.")]
    tree: Annotated[int | None, Field(description="Index into trees; null if the tree is too large to show.")]
    left: str
    words: list[ContextPiece]
    right: str
    bindings: Annotated[
        dict[str, BoundNode | str | None],
        Field(description="A node, a value, or null in an alternative that was not taken."),
    ]


class Cursor(BaseModel):
    """Where to go on."""

    start: int
    skip: int = 0


class SearchResponse(BaseModel):
    variables: list[str]
    hits: list[Hit]
    trees: Annotated[list[TreeRecord], Field(description="The trees of the hits, once each.")]
    size: Annotated[int, Field(description="Number of trees in the treebank.")]
    searched: Annotated[int, Field(description="Number of trees that have been searched by now.")]
    next: Annotated[Cursor | None, Field(description="Where the next matches are; null at the end of the treebank.")]


class CountsRequest(SearchSource):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"query": EXAMPLE_QUERY, "upload": {"content": BRACKETS}, "group_by": ["#vp.gaps"]}]
        },
    )

    query: QueryText
    group_by: list[Name] = Field(
        default_factory=list,
        max_length=MAX_GROUP_KEYS,
        description="Features of variables (#n.cat, #n.word, #n.gaps …); two for a cross-table.",
    )
    start: Annotated[Count, Field(ge=1, description="The number of the tree to start at; from next.")] = 1


class Group(BaseModel):
    values: list[str]
    matches: int


class CountsResponse(BaseModel):
    """Counts of the trees that have been searched; add those of the next response to them."""

    matches: int
    trees: Annotated[int, Field(description="Number of trees with a match.")]
    groups: Annotated[list[Group], Field(description="Matches by value, the most frequent first.")]
    others: Annotated[int, Field(description=f"Matches of groups beyond the first {MAX_GROUPS:,}.")]
    size: Annotated[int, Field(description="Number of trees in the treebank.")]
    searched: Annotated[int, Field(description="Number of trees that have been searched by now.")]
    next: Annotated[Cursor | None, Field(description="Where to go on; null at the end of the treebank.")]


class TreebankInfo(BaseModel):
    """A treebank that can be searched by its name."""

    name: str
    trees: int
    is_sample: Annotated[bool, Field(description="Whether it is one of discotree's own small samples.")]
