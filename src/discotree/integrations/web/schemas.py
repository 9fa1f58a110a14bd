"""Requests and responses of the API, as its OpenAPI description shows them."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from discotree.config import Method
from discotree.encoding.head_rules import HeadRules
from discotree.evaluation.params import Params
from discotree.queries.query import MAX_NODES
from discotree.treebanks import TEXT_FORMATS

MAX_K = 10
MAX_INT = 2**31
# Coarse bounds for every request, checked while the JSON is read. The limits of the server are checked afterwards.
MAX_ROWS = 20_000  # sentences, words, constituents, secondary edges
MAX_WORD_CHARACTERS = 100_000
OUTPUTS = ("svg", "arcs", "latex", "text", *TEXT_FORMATS)


def one_of(names: tuple[str, ...]) -> str:
    return f"^({'|'.join(names)})$"


Word = Annotated[str, Field(max_length=MAX_WORD_CHARACTERS)]
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


class RequestModel(BaseModel):
    """A body that clients send: an unknown field is an error."""

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
    """The record of a tree, as ``Tree.to_dict`` returns it. Fields that are unknown are left out.

    Constituents are sorted: the root first, parents before children, children from left to right.
    """

    id: Word = ""
    tokens: Annotated[list[TokenRecord], Field(min_length=1, max_length=MAX_ROWS, fail_fast=True)]
    constituents: Annotated[list[ConstituentRecord], Field(min_length=1, max_length=MAX_ROWS, fail_fast=True)]
    secondary: Annotated[list[EdgeRecord], Field(max_length=MAX_ROWS, fail_fast=True)] | None = None
    comment: Word | None = None
    confidence: Probability | None = None


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
    decode: Annotated[Method | None, Field(description="The model's own method by default.")] = None
    k: Annotated[
        int, Field(ge=0, le=MAX_K, description="Return the k most probable trees per sentence; decodes exactly.")
    ] = 0
    output: OutputName = "json"

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"text": "Zij heeft het boek gelezen.", "k": 2, "model": "nl"}]}
    )


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
    """Label and gaps are asked of one and the same constituent."""

    label: Annotated[Word, Field(description="The label of the constituent.")] = ""
    gap_degree: Annotated[Count, Field(description="Its minimal number of gaps.")] = 0
    punctuation: Annotated[bool, Field(description="Whether punctuation alone makes a gap, too.")] = False
    min_words: Count = 0
    max_words: Annotated[Count, Field(description="0: no maximum.")] = 0
    contains: Annotated[Word, Field(description="The words contain this text; case is ignored.")] = ""


BRACKETS = "(ROOT (S (VP (ADV 0=Darüber) (V 3=gesprochen)) (V 1=hat) (NP 2=niemand)))"


class TreebankRequest(Upload, TreebankFilter):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"content": BRACKETS, "label": "VP", "gap_degree": 1}]}
    )

    offset: Annotated[Count, Field(description="Number of matching trees to leave out first.")] = 0
    limit: Annotated[Count | None, Field(description="Number of trees to return; all by default.")] = None


class TreebankRow(TreeRecord):
    gaps: Annotated[list[int], Field(description="The number of gaps of each constituent.")]
    hits: Annotated[list[int], Field(description="Constituents with the label and the gaps of the filter.")]


class TreebankResponse(BaseModel):
    format: str
    trees: Annotated[int, Field(description="Number of trees in the file, without broken ones.")]
    matching: Annotated[int, Field(description="Number of trees that pass the filter.")]
    broken: Annotated[int, Field(description="Number of trees that cannot be read or are too large.")]
    problems: Annotated[list[str], Field(description="What is wrong with the first broken trees.")]
    is_complete: Annotated[bool, Field(description="Whether the file was read to its end.")]
    rows: list[TreebankRow]


class EvaluateRequest(RequestModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"gold": {"content": BRACKETS}, "predicted": {"content": BRACKETS}}]},
    )

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


MarkedNodes = Annotated[
    dict[Annotated[str, Field(max_length=100)], Annotated[list[Annotated[int, Field(ge=0)]], Field(max_length=1000)]],
    Field(
        max_length=MAX_NODES,
        description="Names, such as a query's variables, of words and constituents that stand out in a picture or in "
        "LaTeX: the position of a word, or the number of words + k for the k-th constituent, counted from 0.",
    ),
]


class DrawRequest(RequestModel):
    """One tree, as a record from another call or as the text of a treebank file."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"tree": {"content": BRACKETS}, "output": "text"}]}
    )

    tree: TreeRecord | Upload
    against: Annotated[
        TreeRecord | Upload | None, Field(description="A predicted tree, to mark where it differs from the first.")
    ] = None
    output: OutputName = "svg"
    model: Annotated[Name, Field(description="For arcs and conllu: use this model's head rules.")] = ""
    heads: Annotated[
        str | None, Field(pattern=one_of(tuple(HeadRules.names())), description="For arcs and conllu: the head rules.")
    ] = None
    functions: bool = True
    theme: Literal["auto", "light", "dark"] = "auto"
    style: Annotated[bool, Field(description="Whether an SVG contains its style sheet.")] = True
    highlight: MarkedNodes | None = None


class Quality(BaseModel):
    """Percentages on the test split."""

    f1: float | None
    discontinuous_f1: float | None


class Inventory(BaseModel):
    """What the trees that a model learnt from are annotated with, frequent symbols first."""

    labels: list[str]
    tags: list[str]
    functions: list[str]


class ModelInfo(BaseModel):
    name: str
    language: Annotated[str, Field(description="The language code; empty if the model takes tokens only.")]
    title: str
    decode: Method
    needs_tags: bool
    licence: str | None = None
    quality: Quality | None = None
    inventory: Inventory


class Health(BaseModel):
    status: Literal["ok"] = "ok"
    version: str
    models: list[str]


class Problem(BaseModel):
    """The reason why a request failed."""

    detail: str
