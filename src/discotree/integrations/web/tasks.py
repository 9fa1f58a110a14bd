"""Work that needs no network: reading requests, uploads, drawing. Functions from bytes to bytes.

They run in worker processes, which end at a deadline and keep nothing. Texts of an everyday size are read in threads.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from discotree.config import Decoding, Method
from discotree.encoding.head_rules import HeadRules
from discotree.errors import InputError
from discotree.evaluation.pairing import paired
from discotree.evaluation.params import Params
from discotree.evaluation.parseval import evaluate
from discotree.integrations.web.limits import Limits, RequestRefused, check_drawing, count_positions, why_too_large
from discotree.integrations.web.parse_input import ModelTraits, RequestSentence, sentences_of
from discotree.integrations.web.rendering import render_drawing, render_trees
from discotree.integrations.web.schemas import (
    DrawRequest,
    EvaluateRequest,
    ParseRequest,
    TreebankRequest,
    TreeRecord,
    Upload,
)
from discotree.integrations.web.served_treebanks import ServedTreebank
from discotree.integrations.web.uploads import gap_counts, hits, read_leniently, read_one, read_strictly
from discotree.integrations.web.validation import validate
from discotree.models.choice import Candidates, Choice, mismatch
from discotree.text.recognition import sample_of
from discotree.treebanks.json_lines import json_line
from discotree.trees.tree import Tree

MARKED_HEADS = HeadRules.marked()


@dataclass(frozen=True)
class Setup:
    """What every task knows: the limits, the models and the treebanks by name."""

    limits: Limits
    models: Mapping[str, ModelTraits]
    rules: Mapping[str, HeadRules]
    treebanks: Mapping[str, ServedTreebank] = field(default_factory=dict)

    def model(self, name: str) -> str:
        """Return the name of a model that exists."""
        if name not in self.models:
            raise RequestRefused(422, f"there is no model {name[:50]!r}: choose one of {', '.join(self.models)}")
        return name


@dataclass(frozen=True)
class ParseInput:
    """A parse request, checked and tokenised."""

    choice: Choice
    output: str
    k: int
    decode: Method | None
    sentences: Sequence[RequestSentence]

    @property
    def model(self) -> str:
        return self.choice.model

    def decoding(self, own: Decoding) -> Decoding | None:
        """Return the model's own settings with the method of the request; None if there is none."""
        return replace(own, method=self.decode) if self.decode else None


def read_parse_request(setup: Setup, body: bytes) -> ParseInput:
    """Validate and tokenise the body of a parse request."""
    if body.count(b",") > 2 * setup.limits.request_characters:  # cheaper than reading them
        raise RequestRefused(422, "the request has too many values")
    request = validate(ParseRequest, body)
    if request.k and request.decode not in (None, "exact"):
        raise RequestRefused(422, "k-best parsing decodes exactly: leave out decode")
    choice = _choice(setup, request)
    sentences = sentences_of(request, setup.models[choice.model], setup.limits)
    return ParseInput(choice, request.output, request.k, request.decode, sentences)


def _choice(setup: Setup, request: ParseRequest) -> Choice:
    """Return the model for a request: the one that it names, or the one for the language of its text."""
    given = request.tokens or request.text or []
    rows = [given] if isinstance(given, str) else given
    sample = sample_of(row if isinstance(row, str) else " ".join(row) for row in rows)
    if request.model:
        name = setup.model(request.model)
        return Choice(name, warning=mismatch(sample, setup.models[name].language))
    try:
        return Candidates({name: traits.language for name, traits in setup.models.items()}).choose(sample)
    except InputError as error:
        sentences_of(request, next(iter(setup.models.values())), setup.limits)  # refuses what no model can take
        raise RequestRefused(422, str(error)) from None


def parse_response(setup: Setup, given: ParseInput, trees: Sequence[tuple[int, Tree]]) -> bytes:
    """Return the records of parsed trees, which come with the indices of their sentences."""
    check_total_size(setup, [tree for _, tree in trees])
    records = [
        json_line(tree.to_dict(given.sentences[index].offsets) | {"sentence": index + 1}) for index, tree in trees
    ]
    return checked(setup, _with_list(given.choice._asdict(), "trees", records))


def render(setup: Setup, response: bytes, output: str, model: str) -> bytes:
    """Return the trees of a parse response in another format."""
    trees = [Tree.from_dict(record) for record in json.loads(response)["trees"]]
    if output == "text":
        check_drawing(trees, False, setup.limits)
    return checked(setup, render_trees(trees, output, _copy(setup.rules[model])))


def draw(setup: Setup, body: bytes) -> tuple[bytes, str]:
    """Draw or convert the tree of a request, or the differences between two; return the name of the output, too."""
    limits = setup.limits
    max_objects = 4 * (limits.sentence_words + limits.tree_constituents + limits.tree_edges)  # two trees, and odd words
    if body.count(b"{") > max_objects:  # cheaper than reading them: a kilobyte of memory each
        raise RequestRefused(422, f"the request has too many values: at most {max_objects:,} objects")
    request = validate(DrawRequest, body)
    rules = rules_for(setup, request.model, request.heads)
    tree = tree_of(setup, request.tree)
    against = tree_of(setup, request.against) if request.against is not None else None
    if request.output == "text":
        check_drawing([tree] if against is None else [tree, against], request.functions, setup.limits)
    if request.output == "json" and against is None:
        return checked(setup, json_line(tree.to_dict())), request.output
    return checked(setup, render_drawing(tree, against, request, rules)), request.output


def rules_for(setup: Setup, model: str, heads: str | None) -> HeadRules:
    """Return the head rules that a request asks for: those of a model, named ones, or what the trees mark."""
    if model:
        return _copy(setup.rules[setup.model(model)])
    return _copy(HeadRules.load(heads) if heads else MARKED_HEADS)


def tree_of(setup: Setup, source: TreeRecord | Upload) -> Tree:
    if isinstance(source, Upload):
        return read_one(source, setup.limits)
    limits = setup.limits
    if len(source.tokens) > limits.sentence_words:
        message = f"{len(source.tokens):,} words are too many: at most {limits.sentence_words:,}"
        raise RequestRefused(413, message)
    positions = sum(len(constituent.positions) for constituent in source.constituents)
    if positions > limits.tree_positions or len(source.constituents) > limits.tree_constituents:
        raise RequestRefused(413, "the tree has too many constituents")
    if len(source.secondary or []) > limits.tree_edges:
        raise RequestRefused(413, f"the tree has too many secondary edges: at most {limits.tree_edges:,}")
    tree = Tree.from_dict(source.model_dump(exclude_none=True))
    if problem := why_too_large(tree, limits):
        raise RequestRefused(413, problem)
    return tree


def filter_treebank(setup: Setup, body: bytes) -> bytes:
    """Return the trees of an uploaded treebank that pass a filter."""
    request = validate(TreebankRequest, body)
    treebank = read_leniently(request, setup.limits)
    rows = ((tree, gap_counts(tree, request.punctuation)) for tree in treebank.trees)
    matching = [(*row, found) for row in rows if (found := hits(*row, request)) is not None]
    end = None if request.limit is None else request.offset + request.limit
    chosen = matching[request.offset : end]
    check_total_size(setup, [tree for tree, _, _ in chosen])
    summary = {
        "format": treebank.format,
        "trees": len(treebank.trees),
        "matching": len(matching),
        "broken": treebank.broken,
        "problems": treebank.problems,
        "is_complete": treebank.is_complete,
    }
    records = [json_line(tree.to_dict() | {"gaps": gaps, "hits": found}) for tree, gaps, found in chosen]
    return checked(setup, _with_list(summary, "rows", records))


def compare_treebanks(setup: Setup, body: bytes) -> bytes:
    """Return the metrics of two uploaded treebanks."""
    request = validate(EvaluateRequest, body)
    gold, predicted = (read_strictly(upload, setup.limits) for upload in (request.gold, request.predicted))
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
    response = {
        "all": _known(score.metrics()),
        "discontinuous": _known(score.discontinuous.metrics()),
        "sentences": comparisons,
    }
    return checked(setup, json_line(response))


def check_total_size(setup: Setup, trees: Sequence[Tree]) -> None:
    """Refuse trees whose records would fill the memory."""
    positions, maximum = sum(map(count_positions, trees)), setup.limits.response_positions
    if positions > maximum:
        message = f"the constituents of these trees have {positions:,} words, at most {maximum:,}: ask for fewer trees"
        raise RequestRefused(413, message)


def _with_list(summary: Mapping[str, Any], name: str, records: Sequence[str]) -> str:
    """Return a JSON object with a list of records that are JSON already: all of them as objects would be large."""
    return f'{json_line(summary).rstrip()[:-1]}, "{name}": [{",".join(records)}]}}\n'


def checked(setup: Setup, text: str) -> bytes:
    """Return a response as bytes, or refuse it for its size."""
    content = text.encode()
    if len(content) > setup.limits.response_bytes:
        message = f"the response has {len(content):,} bytes, at most {setup.limits.response_bytes:,}: ask for less"
        raise RequestRefused(413, message)
    return content


def _copy(rules: HeadRules) -> HeadRules:
    """Return the same rules with a cache of their own, so that labels of one request do not stay in memory."""
    return HeadRules(rules.rules, marked_first=rules.marked_first)


def _known(metrics: Mapping[str, float | int | None]) -> dict[str, float | int]:
    return {name: value for name, value in metrics.items() if value is not None}
