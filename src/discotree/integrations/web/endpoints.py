"""The calls of the API, one method each."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fastapi.responses import Response

from discotree import __version__
from discotree.encoding.head_rules import HeadRules
from discotree.errors import ConfigError
from discotree.evaluation.pairing import paired
from discotree.evaluation.params import Params
from discotree.evaluation.parseval import evaluate
from discotree.integrations.web.batching import Batcher, TreeLists
from discotree.integrations.web.limits import Limits, RequestRefused, count_positions, why_too_large
from discotree.integrations.web.parse_input import RequestSentence, sentences_of
from discotree.integrations.web.rendering import media_type, render_drawing, render_trees
from discotree.integrations.web.schemas import (
    DrawRequest,
    EvaluateRequest,
    Health,
    ModelInfo,
    ParseRequest,
    Quality,
    TreebankRequest,
    TreeRecord,
    Upload,
)
from discotree.integrations.web.thread_pool import BoundedPool, with_timeout
from discotree.integrations.web.uploads import gap_counts, hits, read_leniently, read_one, read_strictly
from discotree.models.card import Card
from discotree.parsing.resilient import ParseOptions
from discotree.treebanks.json_lines import json_line
from discotree.trees.tree import Tree

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser

MARKED_HEADS = HeadRules.marked()


class Endpoints:
    """The served models, and a method for each call."""

    def __init__(
        self, parsers: "Mapping[str, Parser]", limits: Limits, batching: bool, cards: Mapping[str, Card]
    ) -> None:
        if not parsers:
            raise ConfigError("a server needs at least one model")
        self.parsers = parsers
        self.limits = limits
        self.cards = cards
        self.batchers = {
            name: Batcher(parser, limits.queued_words, batching, limits.retry_seconds)
            for name, parser in parsers.items()
        }
        self.rules = {name: parser.head_rules for name, parser in parsers.items()}
        # Three pools: neither large uploads nor drawings hold up parsing.
        self.uploads = BoundedPool(limits, limits.queued_uploads)
        self.texts = BoundedPool(limits, limits.clients)
        self.drawings = BoundedPool(limits, limits.clients)

    def close(self) -> None:
        for pool in (self.uploads, self.texts, self.drawings):
            pool.close()
        for batcher in self.batchers.values():
            batcher.close()

    async def health(self) -> Health:
        """Report that the server is up, and the names of its models."""
        return Health(version=__version__, models=list(self.parsers))

    async def models(self) -> list[ModelInfo]:
        """List the models; the first one is the default."""
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
        """Parse text or tokens. The response is JSON, a treebank format or a picture."""
        model = self._model(request.model)
        if request.k and request.decode not in (None, "exact"):
            raise RequestRefused(422, "k-best parsing decodes exactly: leave out decode")
        sentences = await self.texts.run(sentences_of, request, self.parsers[model], self.limits)
        decoding = replace(self.parsers[model].config.decoding, method=request.decode) if request.decode else None
        queued = self.batchers[model].submit(
            [sentence.tokens for sentence in sentences], ParseOptions(decoding, request.k)
        )
        trees = await with_timeout(asyncio.wrap_future(queued), self.limits)
        content = await self.texts.run(self._parse_content, request, model, sentences, trees)
        return Response(content, media_type=media_type(request.output))

    def _model(self, name: str) -> str:
        """Return the name of a model that exists, the default one for an empty name."""
        name = name or next(iter(self.parsers))
        if name not in self.parsers:
            raise RequestRefused(422, f"there is no model {name[:50]!r}: choose one of {', '.join(self.parsers)}")
        return name

    def _parse_content(
        self, request: ParseRequest, model: str, sentences: Sequence[RequestSentence], tree_lists: TreeLists
    ) -> bytes:
        rows = [
            (number, sentence, replace(tree, id=f"{number}.{rank}" if request.k else str(number)))
            for number, (sentence, trees) in enumerate(zip(sentences, tree_lists, strict=True), 1)
            for rank, tree in enumerate(trees, 1)
        ]
        trees = [tree for _, _, tree in rows]
        if request.output != "json":
            return render_trees(trees, request.output, _copy(self.rules[model])).encode()
        self._check_total_size(trees)
        records = [tree.to_dict(sentence.offsets) | {"sentence": number} for number, sentence, tree in rows]
        return _to_json({"model": model, "trees": records})

    async def treebank(self, request: TreebankRequest) -> Response:
        """Read an uploaded treebank and return the trees that pass a filter. The upload is not stored."""
        return _json_response(await self.uploads.run(self._treebank_content, request))

    def _treebank_content(self, request: TreebankRequest) -> bytes:
        treebank = read_leniently(request, self.limits)
        rows = ((tree, gap_counts(tree, request.punctuation)) for tree in treebank.trees)
        matching = [(*row, found) for row in rows if (found := hits(*row, request)) is not None]
        end = None if request.limit is None else request.offset + request.limit
        chosen = matching[request.offset : end]
        self._check_total_size([tree for tree, _, _ in chosen])
        return _to_json(
            {
                "format": treebank.format,
                "trees": len(treebank.trees),
                "matching": len(matching),
                "broken": treebank.broken,
                "problems": treebank.problems,
                "is_complete": treebank.is_complete,
                "rows": [tree.to_dict() | {"gaps": gaps, "hits": found} for tree, gaps, found in chosen],
            }
        )

    def _check_total_size(self, trees: Sequence[Tree]) -> None:
        if sum(map(count_positions, trees)) > self.limits.response_positions:
            raise RequestRefused(413, "these trees are too large for one response: ask for fewer")

    async def evaluate(self, request: EvaluateRequest) -> Response:
        """Compare two uploaded treebanks. Metrics are percentages."""
        return _json_response(await self.uploads.run(self._evaluate_content, request))

    def _evaluate_content(self, request: EvaluateRequest) -> bytes:
        gold, predicted = (read_strictly(upload, self.limits) for upload in (request.gold, request.predicted))
        score = evaluate(gold, predicted, Params.load(request.params))
        index = {id(tree): k for k, tree in enumerate(predicted)}
        partner = {number: index[id(tree)] for number, _, tree in paired(gold, predicted)}
        comparisons = [
            {
                "id": sentence.id,
                "gold_tree": k,
                "predicted_tree": partner[k + 1],
                "length": sentence.length,
                "gold": sentence.labelled.gold,
                "predicted": sentence.labelled.predicted,
                "matched": sentence.labelled.matched,
            }
            for k, sentence in enumerate(score.sentences)
        ]
        return _to_json(
            {
                "all": _known(score.metrics()),
                "discontinuous": _known(score.discontinuous.metrics()),
                "sentences": comparisons,
            }
        )

    async def draw(self, request: DrawRequest) -> Response:
        """Draw one tree, convert it to another format, or draw the differences between two trees."""
        content = await self.drawings.run(self._draw_content, request)
        return Response(content, media_type=media_type(request.output))

    def _draw_content(self, request: DrawRequest) -> bytes:
        rules = MARKED_HEADS
        if request.model:
            rules = self.rules[self._model(request.model)]
        elif request.heads:
            rules = HeadRules.load(request.heads)
        tree = self._tree(request.tree)
        against = self._tree(request.against) if request.against is not None else None
        if request.output == "json" and against is None:
            return _to_json(tree.to_dict())
        return render_drawing(tree, against, request, _copy(rules)).encode()

    def _tree(self, source: TreeRecord | Upload) -> Tree:
        if isinstance(source, Upload):
            return read_one(source, self.limits)
        limits = self.limits
        if len(source.tokens) > limits.sentence_words:
            message = f"{len(source.tokens):,} words are too many: at most {limits.sentence_words:,}"
            raise RequestRefused(413, message)
        positions = sum(len(constituent.positions) for constituent in source.constituents)
        if positions > limits.tree_positions or len(source.constituents) > limits.tree_constituents:
            raise RequestRefused(413, "the tree has too many constituents")
        tree = Tree.from_dict(source.model_dump(exclude_none=True))
        if problem := why_too_large(tree, limits):
            raise RequestRefused(413, problem)
        return tree


def _copy(rules: HeadRules) -> HeadRules:
    """Return the same rules with a cache of their own, so that labels of one request do not stay in memory."""
    return HeadRules(rules.rules, marked_first=rules.marked_first)


def _known(metrics: Mapping[str, float | int | None]) -> dict[str, float | int]:
    return {name: value for name, value in metrics.items() if value is not None}


def _to_json(response: Mapping[str, Any]) -> bytes:
    return json_line(response).encode()


def _json_response(content: bytes) -> Response:
    return Response(content, media_type="application/json")
