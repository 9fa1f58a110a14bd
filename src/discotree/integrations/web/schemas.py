"""What goes into the API and what comes out of it, as its OpenAPI description shows it."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from discotree.config import Method
from discotree.encoding.head_rules import HeadRules
from discotree.evaluation.params import Params
from discotree.treebanks import TEXT_FORMATS
from discotree.trees.tree import NONE

MAX_TREES = 10  # k
OUTPUTS = ("svg", "arcs", "latex", "text", *TEXT_FORMATS)


def _one_of(names: tuple[str, ...]) -> str:
    return f"^({'|'.join(names)})$"


def _encodable(text: str) -> str:
    """JSON can name halves of a character, which no file and no answer can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("half a surrogate pair is no text") from None
    return text


Text = Annotated[str, AfterValidator(_encodable)]
Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Output = Annotated[str, Field(pattern=_one_of(OUTPUTS))]
Format = Annotated[
    str | None, Field(pattern=_one_of(tuple(TEXT_FORMATS)), description="Found out from name and content if not given.")
]


class Strict(BaseModel):
    """What a client sends: a field that does not exist is a mistake."""

    model_config = ConfigDict(extra="forbid")


class Word(BaseModel):
    """Where the input was text, the word stands at ``text[start:end]``."""

    form: Text
    start: int | None = None
    end: int | None = None


class Phrase(BaseModel):
    label: Annotated[Text, Field(min_length=1)]
    function: Text = NONE
    positions: Annotated[list[Annotated[int, Field(ge=0, le=2**31)]], Field(min_length=1)]
    confidence: Probability | None = None


class Edge(BaseModel):
    """A secondary edge: word ``n``, or for a constituent the number of words plus its place in ``constituents``."""

    label: Text
    child: Annotated[int, Field(ge=0, le=2**31)]
    parent: Annotated[int, Field(ge=0, le=2**31)]


class Record(BaseModel):
    """A tree. Constituents have parents before children and children from left to right; the first is the root."""

    id: Text = ""
    tokens: Annotated[list[Word], Field(min_length=1)]
    tags: list[Text] = []
    lemmas: list[Text] = []
    morph: list[Text] = []
    functions: list[Text] = []
    constituents: Annotated[list[Phrase], Field(min_length=1)]
    secondary: list[Edge] = []
    confidence: Probability | None = None
    discbracket: str = ""


class ParseRequest(Strict):
    text: Annotated[
        Text | list[Text] | None,
        Field(description="Cut into sentences and words; of a list, every item is a sentence."),
    ] = None
    tokens: Annotated[list[Text] | list[list[Text]] | None, Field(description="One sentence of words, or several.")] = (
        None
    )
    tags: Annotated[
        list[Text] | list[list[Text]] | None, Field(description="Of the tokens, for a model that looks at tags.")
    ] = None
    model: Annotated[Text, Field(description="The first one of /api/models if not given.")] = ""
    decode: Annotated[Method | None, Field(description="As the model wants it if not given.")] = None
    k: Annotated[int, Field(ge=0, le=MAX_TREES, description="So many trees for every sentence; searches exactly.")] = 0
    output: Output = "json"

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"text": "Zij heeft het boek gelezen.", "k": 2}]}
    )


class Parsed(Record):
    """A tree that was parsed."""

    sentence: int  # whose tree it is, from 1


class ParseResponse(BaseModel):
    model: str
    trees: list[Parsed]


class Upload(Strict):
    """A treebank file as text."""

    content: Text
    name: Annotated[Text, Field(max_length=255, description="Of the file; only helps to find out the format.")] = ""
    format: Format = None


class TreebankRequest(Upload):
    label: Annotated[Text, Field(description="Trees with a constituent of this label.")] = ""
    gap_degree: Annotated[int, Field(ge=0, le=2**31, description="At least so many gaps in some constituent.")] = 0
    shortest: Annotated[int, Field(ge=0, le=2**31, description="At least so many words.")] = 0
    longest: Annotated[int, Field(ge=0, le=2**31, description="At most so many words; 0: all.")] = 0
    words: Annotated[Text, Field(description="Sentences that contain this, whatever its case.")] = ""
    offset: Annotated[int, Field(ge=0, le=2**31)] = 0
    limit: Annotated[int | None, Field(ge=0, le=2**31)] = None


class TreebankResponse(BaseModel):
    format: str
    trees: int  # that could be read
    matching: int  # that the filter lets through
    broken: int
    problems: list[str]  # the first ones
    is_complete: bool  # whether the file was read to its end
    rows: list[Record]


class EvaluateRequest(Strict):
    gold: Upload
    predicted: Upload
    params: Annotated[str, Field(pattern=_one_of(tuple(Params.names())))] = "proper"


Figures = dict[str, float | int | None]


class Compared(BaseModel):
    """One sentence: which trees were compared, by their places from 0, and how many brackets they share."""

    id: str
    gold_tree: int
    predicted_tree: int
    length: int
    gold: int
    predicted: int
    matched: int


class EvaluateResponse(BaseModel):
    all: Figures
    discontinuous: Figures
    sentences: list[Compared]


class DrawRequest(Strict):
    """One tree in another form: a record as the other calls give it, or a text in any treebank format."""

    tree: Record | Upload
    against: Annotated[Record | Upload | None, Field(description="A predicted tree: marks what differs.")] = None
    output: Output = "svg"
    model: Annotated[Text, Field(description="For dependencies: the head rules that this model learned with.")] = ""
    heads: Annotated[
        str | None, Field(pattern=_one_of(tuple(HeadRules.names())), description="Or these head rules.")
    ] = None
    functions: bool = True
    theme: Literal["auto", "light", "dark"] = "auto"
    style: Annotated[bool, Field(description="Whether a picture has its style sheet in it.")] = True


class Quality(BaseModel):
    """On the test part, in percent."""

    f1: float | None
    discontinuous_f1: float | None


class ModelInfo(BaseModel):
    name: str
    language: Annotated[str, Field(description="Its code; empty where text cannot be cut into words.")]
    title: str
    decode: Method
    needs_tags: bool
    licence: str | None = None
    quality: Quality | None = None


class Health(BaseModel):
    status: Literal["ok"] = "ok"
    version: str
    models: list[str]


class Problem(BaseModel):
    """What went wrong."""

    detail: str
