"""Requests and responses of the API, which are also its OpenAPI description, and the validation of requests."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from discotree.config.schema import Method
from discotree.encoding.head_rules import HeadRules
from discotree.evaluation.params import Params
from discotree.queries.by_example import ASPECTS, DEFAULT_ASPECTS, Aspect
from discotree.queries.language import MAX_CHARACTERS
from discotree.queries.query import MAX_NODES
from discotree.treebanks import TEXT_FORMATS
from discotree.web.annotation.journal import Action, Order, Status
from discotree.web.annotation.project import MAX_COMMENT_CHARACTERS
from discotree.web.limits import RequestRefused

M = TypeVar("M", bound=BaseModel)
MAX_ERRORS = 100  # more are only counted: unknown fields are the only errors after which validation continues

MISMATCHES = {"string_type", "list_type", "model_type"}
MAX_K = 10
MAX_INT = 2**31
# Coarse bounds, checked while the JSON is read. The limits of the server are checked afterwards.
MAX_CONSTRAINTS = 500  # every two of them are compared
MAX_ROWS = 20_000  # sentences, words, constituents, secondary edges
MAX_FIELD_CHARACTERS = 100_000
RASTERS = ("pdf", "png")
OUTPUTS = ("svg", "arcs", "latex", "text", *TEXT_FORMATS)


def validate(model: type[M], body: bytes) -> M:
    """Return the request in a body. An error names the field, but not its value, which may be long."""
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        if error.error_count() > MAX_ERRORS:
            raise RequestRefused(422, f"the request has {error.error_count():,} unknown fields") from None
        problems = error.errors(include_url=False, include_context=False, include_input=False)
    # If a field allows several types, the type that fits best has the deepest error.
    problem = min(problems, key=lambda one: (_is_mismatch(one["type"], one["loc"]), -len(one["loc"])))
    if problem["type"] == "json_invalid":
        raise RequestRefused(400, problem["msg"])
    field = ".".join(str(step) for step in problem["loc"] if not _is_type(step))
    raise RequestRefused(422, f"{field}: {problem['msg']}" if field else problem["msg"])


def _is_mismatch(problem: str, location: Sequence[int | str]) -> bool:
    """Return whether an error says only that a value, or its first item, is not of one of the allowed types."""
    return problem in MISMATCHES and any(map(_is_type, location[-2:]))


def _is_type(step: int | str) -> bool:
    """Return whether a step of a location names a type, such as list[str] or TreeRecord, and not a field."""
    return isinstance(step, str) and (step == "str" or not step.isidentifier() or not step.islower())


def one_of(names: tuple[str, ...]) -> str:
    return f"^({'|'.join(names)})$"


Word = Annotated[str, Field(max_length=MAX_FIELD_CHARACTERS)]
Name = Annotated[str, Field(max_length=255)]
Words = Annotated[list[Word], Field(max_length=MAX_ROWS, fail_fast=True)]
Sentences = Annotated[list[Words], Field(max_length=MAX_ROWS, fail_fast=True)]
Texts = Annotated[list[str], Field(max_length=MAX_ROWS, fail_fast=True)]
Count = Annotated[int, Field(ge=0, le=MAX_INT)]
Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
OutputName = Annotated[str, Field(pattern=one_of(OUTPUTS))]
FormatName = Annotated[
    str | None,
    Field(pattern=one_of(tuple(TEXT_FORMATS)), description="Detected from the name and the content by default."),
]


def example(body: dict[str, Any]) -> ConfigDict:
    """Return the configuration of a request with this example in the OpenAPI description."""
    return ConfigDict(extra="forbid", json_schema_extra={"examples": [body]})


class RequestModel(BaseModel):
    """The body of a request, in which an unknown field is an error."""

    model_config = ConfigDict(extra="forbid")


class TokenRecord(BaseModel):
    form: Word
    tag: Word | None = None
    lemma: Word | None = None
    morph: Word | None = None
    function: Word | None = None
    start: Annotated[Count | None, Field(description="Offset of the first character in the text.")] = None
    end: Annotated[Count | None, Field(description="Offset after the last character in the text.")] = None


class ConstituentRecord(BaseModel):
    label: Annotated[Word, Field(min_length=1)]
    function: Word | None = None
    positions: Annotated[list[Count], Field(min_length=1, max_length=MAX_ROWS, fail_fast=True)]
    confidence: Probability | None = None


class EdgeRecord(BaseModel):
    """A secondary edge. An end is a token's position, or the number of tokens plus an index into ``constituents``."""

    label: Word
    child: Count
    parent: Count


class TreeRecord(BaseModel):
    """The record of a tree, as ``Tree.to_dict`` returns it. Unknown values are left out.

    Constituents are sorted: the root first, parents before children, children from left to right.
    """

    id: Word = ""
    tokens: Annotated[list[TokenRecord], Field(min_length=1, max_length=MAX_ROWS, fail_fast=True)]
    constituents: Annotated[list[ConstituentRecord], Field(min_length=1, max_length=MAX_ROWS, fail_fast=True)]
    secondary: Annotated[list[EdgeRecord], Field(max_length=MAX_ROWS, fail_fast=True)] | None = None
    comment: Word | None = None
    confidence: Probability | None = None


OptionalPositions = Annotated[list[Count] | None, Field(min_length=1, max_length=MAX_ROWS)]
OptionalName = Annotated[str | None, Field(min_length=1, max_length=255)]


class ConstraintRecord(RequestModel):
    """A constraint on a tree. It has one of constituent, not_constituent and word."""

    constituent: Annotated[OptionalPositions, Field(description="Positions of words that form a constituent.")] = None
    not_constituent: Annotated[OptionalPositions, Field(description="Positions of words that form none.")] = None
    word: Annotated[Count | None, Field(description="The position of a word, from 0.")] = None
    label: OptionalName = None
    tag: OptionalName = None
    head: Annotated[int | None, Field(ge=-1, le=MAX_INT, description="A position, or -1 for the dummy root.")] = None
    function: OptionalName = None


ConstraintList = Annotated[list[ConstraintRecord], Field(max_length=MAX_CONSTRAINTS)]


class ParseRequest(RequestModel):
    text: Annotated[
        str | Texts | None,
        Field(description="A text, split into sentences and tokens; in a list, each item is one sentence."),
    ] = None
    tokens: Annotated[Words | Sentences | None, Field(description="The tokens of one sentence, or of several.")] = None
    tags: Annotated[
        Words | Sentences | None, Field(description="The tags of the tokens, for a model that needs them.")
    ] = None
    model: Annotated[Name, Field(description="A name from /api/models; by default the one for the language.")] = ""
    decode: Annotated[Method | None, Field(description="By default, the method of the model.")] = None
    k: Annotated[
        int, Field(ge=0, le=MAX_K, description="Return the k most probable trees per sentence; decodes exactly.")
    ] = 0
    constraints: Annotated[
        ConstraintList | None,
        Field(description="Constraints on the tree, if the request has a single sentence; decodes exactly."),
    ] = None
    output: OutputName = "json"

    model_config = example({"text": "Zij heeft het boek gelezen.", "k": 2, "model": "nl"})


class ParsedTreeRecord(TreeRecord):
    sentence: Annotated[int, Field(description="The number of its sentence, from 1.")]


class ParseResponse(BaseModel):
    model: str
    notice: Annotated[str, Field(description="Why this model was chosen; empty if the request names it.")]
    warning: Annotated[str, Field(description="The text looks like another language; empty if not.")]
    trees: list[ParsedTreeRecord]


class Upload(RequestModel):
    """The text of a treebank file."""

    content: str
    name: Annotated[Name, Field(description="The file name; a hint for detecting the format.")] = ""
    format: FormatName = None


class TreebankFilter(RequestModel):
    """One constituent must match both label and gaps."""

    label: Annotated[Word, Field(description="The label of the constituent.")] = ""
    gap_degree: Annotated[Count, Field(description="The minimum number of gaps of the constituent.")] = 0
    punctuation: Annotated[bool, Field(description="Whether gaps of only punctuation also count.")] = False
    min_words: Count = 0
    max_words: Annotated[Count, Field(description="No maximum if 0.")] = 0
    contains: Annotated[Word, Field(description="The words contain this text; case is ignored.")] = ""


BRACKETS = "(ROOT (S (VP (ADV 0=Darüber) (V 3=gesprochen)) (V 1=hat) (NP 2=niemand)))"


class TreebankRequest(Upload, TreebankFilter):
    model_config = example({"content": BRACKETS, "label": "VP", "gap_degree": 1})

    offset: Annotated[Count, Field(description="Number of matching trees to skip.")] = 0
    limit: Annotated[Count | None, Field(description="Number of trees to return; all by default.")] = None


class TreebankRow(TreeRecord):
    gaps: Annotated[list[int], Field(description="The number of gaps of each constituent.")]
    hits: Annotated[list[int], Field(description="Constituents with the label and the gaps of the filter.")]


class TreebankResponse(BaseModel):
    format: str
    trees: Annotated[int, Field(description="Number of trees in the file, without broken ones.")]
    matching: Annotated[int, Field(description="Number of trees that pass the filter.")]
    broken: Annotated[int, Field(description="Number of trees that cannot be read or are too large.")]
    problems: Annotated[list[str], Field(description="The errors of the first broken trees.")]
    is_complete: Annotated[bool, Field(description="Whether the whole file was read.")]
    rows: list[TreebankRow]


class EvaluateRequest(RequestModel):
    model_config = example({"gold": {"content": BRACKETS}, "predicted": {"content": BRACKETS}})

    gold: Upload
    predicted: Upload
    params: Annotated[str, Field(pattern=one_of(tuple(Params.names())))] = "proper"


Metrics = dict[str, float | int | None]


class SentenceComparison(BaseModel):
    """The number of gold, predicted and shared brackets of a sentence."""

    id: str
    gold_tree: Annotated[int, Field(description="Index of its tree in the gold file.")]
    predicted_tree: Annotated[int, Field(description="Index of its tree in the predicted file.")]
    length: int
    gold: int
    predicted: int
    matched: int


class EvaluateResponse(BaseModel):
    all: Metrics
    discontinuous: Metrics
    sentences: list[SentenceComparison]


HighlightedNodes = Annotated[
    dict[Annotated[str, Field(max_length=100)], Annotated[list[Annotated[int, Field(ge=0)]], Field(max_length=1000)]],
    Field(
        max_length=MAX_NODES,
        description="Words and constituents to highlight in SVG or LaTeX, by name, such as a variable of a query. A "
        "node is the position of a word, or the number of words + k for the k-th constituent, counted from 0.",
    ),
]


class RenderRequest(RequestModel):
    """The options that drawing and conversion share."""

    model: Annotated[Name, Field(description="For arcs and conllu: use the head rules of this model.")] = ""
    heads: Annotated[
        str | None, Field(pattern=one_of(tuple(HeadRules.names())), description="For arcs and conllu: the head rules.")
    ] = None
    functions: Annotated[
        bool, Field(description="Whether pictures show functions. If not, arcs show the network's labels.")
    ] = True
    highlight: HighlightedNodes | None = None


class DrawRequest(RenderRequest):
    """One tree, as a record from another call or as the text of a treebank file."""

    model_config = example({"tree": {"content": BRACKETS}, "output": "text"})

    tree: TreeRecord | Upload
    against: Annotated[
        TreeRecord | Upload | None, Field(description="A predicted tree, whose differences from the first are marked.")
    ] = None
    output: OutputName = "svg"
    theme: Literal["auto", "light", "dark"] = "auto"
    style: Annotated[bool, Field(description="Whether an SVG contains its style sheet.")] = True


class LabelsRequest(RequestModel):
    model_config = example({"tree": {"content": BRACKETS}})

    tree: TreeRecord | Upload


EXAMPLE_TREE: dict[str, Any] = {
    "tokens": [{"form": "Es"}, {"form": "kam"}, {"form": "nichts"}],
    "constituents": [{"label": "ROOT", "positions": [0, 1, 2]}, {"label": "NP", "positions": [0, 2]}],
}


class ReparseRequest(RequestModel):
    model_config = example(
        {
            "before": EXAMPLE_TREE | {"constituents": EXAMPLE_TREE["constituents"][:1]},
            "tree": EXAMPLE_TREE,
            "model": "nl",
        }
    )

    tree: Annotated[TreeRecord, Field(description="The tree after a correction.")]
    before: Annotated[TreeRecord, Field(description="The tree before the correction.")]
    constraints: Annotated[ConstraintList, Field(description="The constraints of earlier corrections.")] = []
    model: Annotated[Name, Field(description="A name from /api/models.")]


class ReparseResponse(BaseModel):
    tree: Annotated[TreeRecord | None, Field(description="The proposal; null if nothing else would change.")]
    problem: Annotated[str, Field(description="Why the rest could not be parsed again; empty if it could.")]
    constraints: Annotated[list[ConstraintRecord], Field(description="Those of all corrections, for the next one.")]
    if_left: Annotated[
        list[ConstraintRecord],
        Field(description="The constraints if the proposal is rejected, so that it is not repeated."),
    ]


class ConvertRequest(RenderRequest):
    """Trees, as records from other calls, and the format to convert them to."""

    model_config = example({"trees": [EXAMPLE_TREE], "output": "discbracket"})

    trees: Annotated[list[TreeRecord], Field(min_length=1, max_length=1000, fail_fast=True)]
    output: Annotated[
        str,
        Field(
            pattern=one_of((*OUTPUTS, *RASTERS)),
            description="A treebank format, latex, text or pdf; svg, arcs and png for one tree.",
        ),
    ] = "json"
    picture: Annotated[Literal["svg", "arcs"], Field(description="For pdf and png: the tree or its dependencies.")] = (
        "svg"
    )


class Quality(BaseModel):
    """Percentages on the test split."""

    f1: float | None
    discontinuous_f1: float | None


class Inventory(BaseModel):
    """The labels, tags and functions of a model or a treebank, the most frequent first."""

    labels: list[str]
    tags: list[str]
    functions: list[str]


class HeadRuleTable(BaseModel):
    """Head rules by parent, each a direction and labels; see the documentation of head rules."""

    rules: dict[str, list[tuple[str, list[str]]]]
    marked_first: bool


class ModelInfo(BaseModel):
    name: str
    language: Annotated[str, Field(description="The language code; empty if the model takes tokens only.")]
    title: str
    decode: Method
    needs_tags: bool
    licence: str | None = None
    quality: Quality | None = None
    inventory: Inventory
    head_rules: HeadRuleTable


class Health(BaseModel):
    status: Literal["ok"] = "ok"
    version: str
    models: list[str]


class Problem(BaseModel):
    """The reason why a request failed."""

    detail: str


MAX_HITS = 100  # in a response with trees
MAX_DOWNLOADED_HITS = 10_000
MAX_WIDTH = 1000
MAX_GROUP_KEYS = 2
MAX_GROUPS = 10_000
SEARCH_OUTPUTS = ("json", "concordance", "csv", "tsv", *(name for name in TEXT_FORMATS if name != "json"), "jsonl")

QueryText = Annotated[str, Field(max_length=MAX_CHARACTERS, description="A query in the language of TIGERSearch.")]
EXAMPLE_QUERY = '#vp:[cat="VP"] & discontinuous(#vp)'


class SearchSource(RequestModel):
    """A treebank of the server, or an upload."""

    treebank: Annotated[Name, Field(description="A name from /api/treebanks.")] = ""
    upload: Annotated[Upload | None, Field(description="The text of a treebank file, instead of a name.")] = None


class TreebankQuery(SearchSource):
    query: QueryText
    punctuation: Annotated[bool, Field(description="Whether gaps of only punctuation also count.")] = False
    start: Annotated[Count, Field(ge=1, description="The number of the tree to start at; from next.")] = 1


class QueryRequest(RequestModel):
    model_config = example({"query": EXAMPLE_QUERY})

    query: QueryText


class QueryResponse(BaseModel):
    """The variables of a query."""

    variables: Annotated[list[str], Field(description="In the order of the query; 1, 2, … if it has none.")]
    nodes: Annotated[list[str], Field(description="The variables that stand for nodes, not for values.")]


class QueryFromRequest(RequestModel):
    """A tree, and the nodes of it that the query is to find."""

    model_config = example({"tree": {"content": BRACKETS}, "nodes": [0, 2], "same": ["label", "order"]})

    tree: TreeRecord | Upload
    nodes: Annotated[
        list[Count],
        Field(
            min_length=1,
            max_length=MAX_NODES,
            description="Positions of words, or the number of words + k for the k-th constituent, counted from 0.",
        ),
    ]
    same: list[Aspect] = Field(
        default=[*DEFAULT_ASPECTS],
        max_length=len(ASPECTS),
        description=f"What a match must have in common with the nodes: {', '.join(ASPECTS)}.",
    )


class QueryFromResponse(BaseModel):
    query: str
    variables: Annotated[dict[str, int], Field(description="The variables of the query, with the node of each.")]


class QueryProblem(Problem):
    """The error in a query, and its position."""

    message: Annotated[str | None, Field(description="What was expected.")] = None
    offset: Annotated[int | None, Field(description="Index of the character in the query, from 0.")] = None


class ExamplesRequest(SearchSource):
    model_config = example({"upload": {"content": BRACKETS}})


class ExampleQuery(BaseModel):
    scheme: Annotated[str, Field(description="The annotation scheme that the query is written for.")]
    construction: str
    description: str
    query: str


class SearchRequest(TreebankQuery):
    model_config = example({"query": EXAMPLE_QUERY, "upload": {"content": BRACKETS}})

    output: Annotated[
        str,
        Field(
            pattern=one_of(SEARCH_OUTPUTS),
            description="json, or a download: concordance, csv, tsv, or a treebank format (jsonl: records).",
        ),
    ] = "json"
    skip: Annotated[Count, Field(description="Number of matches to skip in this tree; from next.")] = 0
    limit: Annotated[
        int, Field(ge=1, le=MAX_DOWNLOADED_HITS, description=f"Number of matches; with json at most {MAX_HITS}.")
    ] = 20
    focus: Annotated[Name, Field(description="The variable in the middle of a line; the first one by default.")] = ""
    width: Annotated[int, Field(ge=0, le=MAX_WIDTH, description="Characters on both sides of the variable.")] = 60


class ContextPiece(BaseModel):
    text: str
    is_gap: Annotated[bool, Field(description="Whether these words are in a gap of the match.")]


class BoundNode(BaseModel):
    """The word or constituent that a variable stands for."""

    node: Annotated[int | None, Field(description="Index into the constituents of the tree; null for a word.")]
    label: str
    edge: str
    positions: list[int]


class Hit(BaseModel):
    """A match: its words in context, and the value of every variable."""

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
    """Where to continue."""

    start: int
    skip: int = 0


class SearchProgress(BaseModel):
    size: Annotated[int, Field(description="Number of trees in the treebank.")]
    searched: Annotated[int, Field(description="Number of trees searched so far.")]
    next: Annotated[Cursor | None, Field(description="Where to continue; null at the end of the treebank.")]


class SearchResponse(SearchProgress):
    variables: list[str]
    explanation: Annotated[list[str], Field(description="At the end of a search without hits, the reasons, if known.")]
    hits: list[Hit]
    trees: Annotated[list[TreeRecord], Field(description="The trees of the hits, once each.")]


class CountsRequest(TreebankQuery):
    model_config = example({"query": EXAMPLE_QUERY, "upload": {"content": BRACKETS}, "group_by": ["#vp.gaps"]})

    group_by: list[Name] = Field(
        default_factory=list,
        max_length=MAX_GROUP_KEYS,
        description="Features of variables (#n.cat, #n.word, #n.gaps …); two for a cross-table.",
    )


class Group(BaseModel):
    values: list[str]
    matches: int


class CountsResponse(SearchProgress):
    """Counts for the trees searched by this request; add those of the next response."""

    matches: int
    trees: Annotated[int, Field(description="Number of trees with a match.")]
    groups: Annotated[list[Group], Field(description="Matches by value, the most frequent first.")]
    others: Annotated[int, Field(description=f"Matches of groups beyond the first {MAX_GROUPS:,}.")]


class TreebankInfo(BaseModel):
    """A treebank that can be searched by name."""

    name: str
    trees: int
    is_sample: Annotated[bool, Field(description="Whether it is a small sample that comes with discotree.")]
    inventory: Inventory


# Requests of the annotation page, which are not part of the OpenAPI description

SentenceNumber = Annotated[int, Field(ge=1, le=2**40)]  # from 1


class PageRequest(RequestModel):
    session: Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[\w-]+$")]  # a random id of the page
    who: Name = ""


class OpenRequest(PageRequest):
    """Open a sentence, which reserves it for five minutes."""

    sentence: SentenceNumber


class NextRequest(PageRequest):
    """Open the next sentence with a status that nobody else has reserved.

    ``after`` is the sentence to continue after, or 0; those in ``passed`` are returned only if there are no others.
    """

    order: Order | None = None
    status: Literal["open", "differing"] = "open"
    after: Annotated[int, Field(ge=0, le=2**40)] = 0
    passed: Annotated[list[SentenceNumber], Field(default_factory=list, max_length=1000, fail_fast=True)]


class StepRequest(PageRequest):
    """Accept, correct, skip, reopen, adjudicate or comment a sentence, or undo a step.

    The response is sent once the step is saved.

    ``version`` is the version that the annotator saw; if the sentence has another one, the response is a 409.
    """

    sentence: SentenceNumber
    action: Action
    version: Annotated[str, Field(max_length=64)] = ""
    tree: TreeRecord | None = None
    text: Annotated[str, Field(max_length=MAX_COMMENT_CHARACTERS)] = ""


class EarlierRequest(RequestModel):
    """Return the tree that a step saved."""

    who: Name = ""
    step: Annotated[int, Field(ge=1, le=2**40)]


class RowsRequest(RequestModel):
    """List sentences."""

    who: Name = ""
    order: Order | None = None
    status: Status | None = None
    offset: Count = 0
    limit: Annotated[int, Field(ge=1, le=100)] = 100


class AcceptedTreesRequest(RequestModel):
    """Download the trees that are accepted or corrected."""

    format: FormatName = "export"
