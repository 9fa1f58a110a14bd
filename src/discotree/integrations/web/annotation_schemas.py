"""Requests of the annotation page."""

from typing import Annotated

from pydantic import Field

from discotree.integrations.annotation.lines import MAX_COMMENT_CHARACTERS, Action, Order, Status
from discotree.integrations.web.schemas import Count, FormatName, Name, RequestModel, TreeRecord

Session = Annotated[
    str, Field(min_length=1, max_length=64, pattern=r"^[\w-]+$", description="A random id of the page that asks.")
]
SentenceNumber = Annotated[int, Field(ge=1, le=2**40, description="The number of the sentence, from 1.")]
Annotator = Annotated[Name, Field(description="The name of the annotator.")]


class OpenRequest(RequestModel):
    """Open a sentence: nobody else is handed it for five minutes."""

    sentence: SentenceNumber
    session: Session
    who: Annotator = ""


class NextRequest(RequestModel):
    """Open the next sentence that nobody has decided on or has open."""

    session: Session
    who: Annotator = ""
    order: Annotated[Order | None, Field(description="The project's own by default.")] = None
    after: Annotated[int, Field(ge=0, le=2**40, description="Go on after this sentence; 0: begin with the first.")] = 0
    passed: Annotated[
        list[SentenceNumber],
        Field(
            default_factory=list,
            max_length=1000,
            fail_fast=True,
            description="Sentences to leave for later, if possible.",
        ),
    ]


class StepRequest(RequestModel):
    """Do something with a sentence. The answer comes when it is on the disk."""

    sentence: SentenceNumber
    action: Action
    who: Annotator
    session: Session
    version: Annotated[
        str, Field(max_length=64, description="The version that the annotator saw; another one is a conflict, 409.")
    ] = ""
    tree: Annotated[TreeRecord | None, Field(description="For correct and skip: the tree as it is now.")] = None
    text: Annotated[str, Field(max_length=MAX_COMMENT_CHARACTERS, description="For comment: what to say.")] = ""


class EarlierRequest(RequestModel):
    """Look at the tree that a step left."""

    step: Annotated[int, Field(ge=1, le=2**40, description="The number of the step in the history.")]


class RowsRequest(RequestModel):
    """List sentences."""

    order: Order | None = None
    status: Status | None = None
    offset: Count = 0
    limit: Annotated[int, Field(ge=1, le=100)] = 100


class FinishedRequest(RequestModel):
    """Download the trees that are accepted or corrected."""

    format: FormatName = "export"
