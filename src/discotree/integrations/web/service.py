"""The calls of the API, one method each."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fastapi.responses import Response
from pydantic import BaseModel

from discotree import __version__
from discotree.encoding.head_rules import HeadRules
from discotree.errors import ModelError
from discotree.evaluation.params import Params
from discotree.evaluation.parseval import evaluate, paired
from discotree.integrations.web import outputs
from discotree.integrations.web.batching import Batcher, Manner, Trees
from discotree.integrations.web.desk import Desk, in_time
from discotree.integrations.web.limits import Limits, Refused, oversize, positions_of
from discotree.integrations.web.records import Places, fields_of, record_of, tree_of
from discotree.integrations.web.schemas import (
    Compared,
    DrawRequest,
    EvaluateRequest,
    EvaluateResponse,
    Health,
    ModelInfo,
    Parsed,
    ParseRequest,
    ParseResponse,
    Quality,
    Record,
    TreebankRequest,
    TreebankResponse,
    Upload,
)
from discotree.integrations.web.uploads import read_leniently, read_one, read_strictly
from discotree.models.finding import Card
from discotree.text import sentences as sentences_of
from discotree.trees.tree import Token, Tree

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser

MARKED_HEADS = HeadRules({}, marked_first=True)


@dataclass(frozen=True, slots=True)
class Sentence:
    tokens: list[Token]
    places: Places = ()  # in the text, if it was one


class Service:
    """The models that were configured, and what can be done with them."""

    def __init__(
        self, parsers: "Mapping[str, Parser]", limits: Limits, batching: bool, cards: Mapping[str, Card]
    ) -> None:
        if not parsers:
            raise ModelError("a server needs a model")
        self.parsers = parsers
        self.limits = limits
        self.cards = cards
        self.desk = Desk(limits, limits.desk)
        self.counter = Desk(limits, limits.clients)  # for small things: what parsing needs
        self.easel = Desk(limits, limits.clients)  # for pictures, which may take longer
        self.batchers = {
            name: Batcher(parser, limits.queued_words, batching, limits.retry) for name, parser in parsers.items()
        }
        self.rules = {name: parser.head_rules for name, parser in parsers.items()}

    def close(self) -> None:
        self.desk.close()
        self.counter.close()
        self.easel.close()
        for batcher in self.batchers.values():
            batcher.close()

    async def health(self) -> Health:
        """Whether the server answers, and with which models."""
        return Health(version=__version__, models=list(self.parsers))

    async def models(self) -> list[ModelInfo]:
        """The models that can be asked for; the first one is the default."""
        return [self._info(name, parser) for name, parser in self.parsers.items()]

    def _info(self, name: str, parser: "Parser") -> ModelInfo:
        card = self.cards.get(name)
        test = card.scores.test if card else None
        return ModelInfo(
            name=name,
            language=parser.config.language,
            title=card.language if card else name,
            decode=parser.config.decoding.method,
            needs_tags=parser.has_tags,
            licence=card.licence if card else None,
            quality=Quality(f1=test.f1, discontinuous_f1=test.discontinuous_f1) if test else None,
        )

    async def parse(self, request: ParseRequest) -> Response:
        """Parse text or tokens: as JSON with everything, in a treebank format, or as a picture."""
        name = self._named(request.model)
        if request.k and request.decode not in (None, "exact"):
            raise Refused(422, "several trees are searched for exactly: leave out decode")
        sentences = await self.counter(self._sentences, request, self.parsers[name])
        queued = self.batchers[name].submit(
            [sentence.tokens for sentence in sentences], Manner(request.decode, request.k)
        )
        found = await in_time(asyncio.wrap_future(queued), self.limits)
        content = await self.counter(self._answer, request, name, sentences, found)
        return Response(content, media_type=outputs.media_type(request.output))

    def _named(self, name: str) -> str:
        name = name or next(iter(self.parsers))
        if name not in self.parsers:
            raise Refused(422, f"there is no model {name[:50]!r}; there are {', '.join(self.parsers)}")
        return name

    def _sentences(self, request: ParseRequest, parser: "Parser") -> list[Sentence]:
        """The sentences of a request, no more and no longer ones than the limits allow."""
        if (request.text is None) == (request.tokens is None):
            raise Refused(422, "give either text or tokens")
        if request.tokens is None and request.tags is not None:
            raise Refused(422, "tags need tokens")
        limits = self.limits
        longest = limits.sentence_words_k if request.k else limits.sentence_words
        if (characters := sum(map(_characters, (request.text, request.tokens, request.tags)))) > limits.characters:
            many = f"{characters:,} characters are too many for one request"
            raise Refused(422, f"{many}: at most {limits.characters:,}")
        found = _of_text(request.text, parser) if request.text is not None else _of_tokens(request)
        if parser.has_tags != (request.tags is not None):
            hint = "give it tokens and tags" if parser.has_tags else "leave them out"
            raise Refused(422, f"this model looks at {'tags' if parser.has_tags else 'no tags'}: {hint}")
        if not found:
            raise Refused(422, "there are no words")
        if len(found) > limits.sentences:
            raise Refused(422, f"{len(found):,} sentences are too many for one request: at most {limits.sentences:,}")
        for number, sentence in enumerate(found, 1):
            if not sentence.tokens:
                raise Refused(422, f"sentence {number} has no words")
            if len(sentence.tokens) > longest:
                raise Refused(422, f"sentence {number} has {len(sentence.tokens):,} words: at most {longest:,}")
        words = sum(len(sentence.tokens) for sentence in found)
        if words > limits.words:
            raise Refused(422, f"{words:,} words are too many for one request: at most {limits.words:,}")
        return found

    def _answer(self, request: ParseRequest, model: str, sentences: Sequence[Sentence], found: Trees) -> bytes:
        rows = [
            (number, sentence, replace(tree, id=f"{number}.{rank}" if request.k else str(number)))
            for number, (sentence, trees) in enumerate(zip(sentences, found, strict=True), 1)
            for rank, tree in enumerate(trees, 1)
        ]
        if request.output != "json":
            return outputs.written([tree for _, _, tree in rows], request.output, _fresh(self.rules[model])).encode()
        self._check_sum([tree for _, _, tree in rows])
        parsed = [Parsed(sentence=number, **fields_of(tree, given.places)) for number, given, tree in rows]
        return _json(ParseResponse(model=model, trees=parsed))

    async def treebank(self, request: TreebankRequest) -> Response:
        """Read an uploaded treebank file and choose among its trees. Nothing of it is kept."""
        return _answered(await self.desk(self._treebank, request))

    def _treebank(self, request: TreebankRequest) -> bytes:
        read = read_leniently(request, self.limits)
        matching = [tree for tree in read.trees if _matches(tree, request)]
        end = None if request.limit is None else request.offset + request.limit
        shown = matching[request.offset : end]
        self._check_sum(shown)
        return _json(
            TreebankResponse(
                format=read.format,
                trees=len(read.trees),
                matching=len(matching),
                broken=read.broken,
                problems=read.problems,
                is_complete=read.is_complete,
                rows=[record_of(tree) for tree in shown],
            )
        )

    def _check_sum(self, trees: Sequence[Tree]) -> None:
        if sum(map(positions_of, trees)) > self.limits.all_positions:
            raise Refused(413, "these trees are too much for one answer: ask for fewer")

    async def evaluate(self, request: EvaluateRequest) -> Response:
        """Compare two treebank files with the evaluator's figures, in percent."""
        return _answered(await self.desk(self._evaluate, request))

    def _evaluate(self, request: EvaluateRequest) -> bytes:
        gold, predicted = (read_strictly(upload, self.limits) for upload in (request.gold, request.predicted))
        score = evaluate(gold, predicted, Params.load(request.params))
        place = {id(tree): number for number, tree in enumerate(predicted)}
        partner = {position: place[id(tree)] for position, _, tree in paired(gold, predicted)}
        compared = [
            Compared(
                id=sentence.id,
                gold_tree=number,
                predicted_tree=partner[number + 1],
                length=sentence.length,
                gold=sentence.labelled.gold,
                predicted=sentence.labelled.predicted,
                matched=sentence.labelled.matched,
            )
            for number, sentence in enumerate(score.sentences)
        ]
        return _json(
            EvaluateResponse(all=score.figures(), discontinuous=score.discontinuous.figures(), sentences=compared)
        )

    async def draw(self, request: DrawRequest) -> Response:
        """One tree as a picture or in another format; or two trees and what differs."""
        content = await self.easel(self._draw, request)
        return Response(content, media_type=outputs.media_type(request.output))

    def _draw(self, request: DrawRequest) -> bytes:
        rules = MARKED_HEADS
        if request.model:
            rules = self.rules[self._named(request.model)]
        elif request.heads:
            rules = HeadRules.load(request.heads)
        tree = self._given(request.tree)
        against = self._given(request.against) if request.against is not None else None
        if request.output == "json" and against is None:
            return _json(record_of(tree))
        return outputs.drawn(tree, against, request, _fresh(rules)).encode()

    def _given(self, given: Record | Upload) -> Tree:
        if isinstance(given, Upload):
            return read_one(given, self.limits)
        if len(given.tokens) > self.limits.sentence_words:
            raise Refused(413, f"{len(given.tokens):,} words are too many: at most {self.limits.sentence_words:,}")
        inside = sum(len(phrase.positions) for phrase in given.constituents)
        if inside > self.limits.positions or len(given.constituents) > self.limits.constituents:
            raise Refused(413, "there are too many constituents")
        tree = tree_of(given)
        if problem := oversize(tree, self.limits):
            raise Refused(413, problem)
        return tree


def _characters(given: str | list[str] | list[list[str]] | None) -> int:
    return sum(map(_characters, given)) if isinstance(given, list) else len(given or "")


def _of_text(text: str | list[str], parser: "Parser") -> list[Sentence]:
    language = parser.config.language
    if not language:
        raise Refused(422, "this model has no language to cut a text by: give it tokens")
    if isinstance(text, str):
        rows = [row for row in sentences_of(text, language) if row]
    else:
        rows = [[word for row in sentences_of(item, language) for word in row] for item in text]
    return [Sentence([Token(word.form) for word in row], [(word.start, word.end) for word in row]) for row in rows]


def _of_tokens(request: ParseRequest) -> list[Sentence]:
    rows = _several(request.tokens or [])
    if any(not form for row in rows for form in row):
        raise Refused(422, "a token is empty")
    if request.tags is None:
        return [Sentence([Token(form) for form in row]) for row in rows]
    tags = _several(request.tags)
    if [len(row) for row in tags] != [len(row) for row in rows]:
        raise Refused(422, "there must be a tag for every token")
    return [Sentence([Token(*pair) for pair in zip(*pairs, strict=True)]) for pairs in zip(rows, tags, strict=True)]


def _several(rows: list[str] | list[list[str]]) -> list[list[str]]:
    """One sentence, or several, as several."""
    alone = [row for row in rows if isinstance(row, str)]
    return [alone] if alone else [row for row in rows if isinstance(row, list)]


def _matches(tree: Tree, wanted: TreebankRequest) -> bool:
    return (
        len(tree) >= wanted.shortest
        and (not wanted.longest or len(tree) <= wanted.longest)
        and (not wanted.label or any(node.label == wanted.label for node in tree.nodes()))
        and (not wanted.words or wanted.words.casefold() in " ".join(tree.words).casefold())
        and (not wanted.gap_degree or tree.gap_degree >= wanted.gap_degree)
    )


def _fresh(rules: HeadRules) -> HeadRules:
    """The same rules: they remember the trees that they have seen, which is nobody else's business."""
    return HeadRules(rules.rules, marked_first=rules.marked_first)


def _json(answer: BaseModel) -> bytes:
    return answer.model_dump_json(exclude_none=True).encode()


def _answered(content: bytes) -> Response:
    return Response(content, media_type="application/json")
