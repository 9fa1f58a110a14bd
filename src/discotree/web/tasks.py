"""Work that needs no parser: reading requests, drawing, converting, filtering and comparing uploaded trees.

Tasks run in worker processes (``workers``) and take the body of a request. Short texts to parse are read in threads.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from discotree.config.schema import Method
from discotree.drawing import draw_arcs, draw_comparison, draw_comparison_text, draw_svg, draw_text
from discotree.drawing.latex import draw_latex, latex_pages
from discotree.drawing.options import Highlight
from discotree.drawing.raster import convert, convert_pages
from discotree.encoding.dependencies import DUMMY_ROOT
from discotree.encoding.head_rules import HeadRules
from discotree.errors import InputError, MissingExtraError
from discotree.evaluation.params import Params
from discotree.evaluation.parseval import evaluate, pair_trees
from discotree.models.finding import Candidates, Choice, mismatch
from discotree.text import sentences as split_text
from discotree.text.recognition import sample_of
from discotree.treebanks import TEXT_FORMATS
from discotree.treebanks.json_lines import json_line
from discotree.trees.constraints import Constraint, IsConstituent, NotConstituent, WordHas, check_constraints
from discotree.trees.corrections import corrections, proposal, secondary_ends
from discotree.trees.labels import Kind, explain, guess_scheme
from discotree.trees.tree import NONE, Token, Tree
from discotree.web.limits import MAX_WORD_CHARACTERS, Limits, RequestRefused, size_problem
from discotree.web.schemas import (
    RASTERS,
    ConstraintRecord,
    ConvertRequest,
    DrawRequest,
    EvaluateRequest,
    LabelsRequest,
    ParseRequest,
    ReparseRequest,
    TreebankRequest,
    TreeRecord,
    Upload,
    validate,
)
from discotree.web.served_treebanks import ServedTreebank
from discotree.web.uploads import gap_counts, matching_constituents, read_one, read_upload

WORD_CHARACTERS = 20  # a text may have this many characters for each word that it may have
MAX_REQUEST_SENTENCES = 1000
MAX_K_BEST_WORDS = 100  # memory grows with the square of the sentence length
MARKED_HEADS = HeadRules.marked()
CONSTRAINTS: dict[str, Any] = {"constituent": IsConstituent, "not_constituent": NotConstituent, "word": WordHas}
JSON = "application/json"
MEDIA_TYPES = {
    "json": JSON,
    "svg": "image/svg+xml",
    "arcs": "image/svg+xml",
    "latex": "application/x-tex",
    "tigerxml": "application/xml",
    "alpino": "application/xml",
    "folia": "application/xml",
    "pdf": "application/pdf",
    "png": "image/png",
    "csv": "text/csv; charset=utf-8",
    "tsv": "text/tab-separated-values; charset=utf-8",
    "jsonl": "application/jsonl; charset=utf-8",
}


class Reply(NamedTuple):
    """The content of a response."""

    content: bytes
    media_type: str = JSON
    headers: dict[str, str] | None = None


class ModelTraits(NamedTuple):
    """The properties of a model that are needed to read a request."""

    language: str
    has_tags: bool


@dataclass(frozen=True)
class WorkerContext:
    """The limits, models and treebanks of the server, known to every task."""

    limits: Limits
    models: Mapping[str, ModelTraits]
    rules: Mapping[str, HeadRules]
    treebanks: Mapping[str, ServedTreebank] = field(default_factory=dict)

    def check_model(self, name: str) -> str:
        """Return the name of a model if the server has it."""
        if name not in self.models:
            raise RequestRefused(422, f"unknown model {name[:50]!r}; available models: {', '.join(self.models)}")
        return name

    def head_rules(self, model: str, name: str | None) -> HeadRules:
        """Return the head rules of a model, or those with a name, or else the heads that are marked in the trees.

        The copy has its own cache, so the labels of a request do not stay in memory.
        """
        rules = self.rules[self.check_model(model)] if model else HeadRules.load(name) if name else MARKED_HEADS
        return HeadRules(rules.rules, marked_first=rules.marked_first)


def media_type(output: str) -> str:
    return MEDIA_TYPES.get(output, "text/plain; charset=utf-8")


def limit_response(context: WorkerContext, text: str) -> bytes:
    """Return a response as bytes; refuse it if it is too large."""
    content = text.encode()
    if len(content) > context.limits.response_bytes:
        size, maximum = f"{len(content):,}", f"{context.limits.response_bytes:,}"
        raise RequestRefused(413, f"the response has {size} bytes, more than the maximum of {maximum}; request less")
    return content


# Parsing


class RequestSentence(NamedTuple):
    """A sentence to parse; ``offsets`` are the start and the end of each token if the request has a text."""

    tokens: list[Token]
    offsets: Sequence[tuple[int, int]] = ()


class ParseInput(NamedTuple):
    """A parse request, validated and tokenised."""

    choice: Choice
    output: str
    k: int
    decode: Method | None
    sentences: Sequence[RequestSentence]
    constraints: Sequence[Constraint] = ()  # on the only sentence


def read_parse_request(context: WorkerContext, body: bytes) -> ParseInput:
    """Validate and tokenise the body of a parse request."""
    max_characters = WORD_CHARACTERS * context.limits.request_words
    if body.count(b",") > 2 * max_characters:  # cheaper than parsing the values
        raise RequestRefused(422, "the request has too many values")
    request = validate(ParseRequest, body)
    if request.k and request.decode not in (None, "exact"):
        raise RequestRefused(422, "k cannot be combined with decode: k-best parsing is always exact")
    choice = _choose_model(context, request)
    sentences = sentences_of(request, context.models[choice.model], context.limits)
    if request.constraints and len(sentences) > 1:
        raise RequestRefused(422, f"constraints require a single sentence; the request has {len(sentences):,}")
    constraints = constraints_from(request.constraints or [])
    return ParseInput(choice, request.output, request.k, request.decode, sentences, constraints)


def constraints_from(records: Sequence[ConstraintRecord]) -> list[Constraint]:
    """Return the constraints of a request."""
    constraints: list[Constraint] = []
    for number, record in enumerate(records):
        fields = record.model_dump(exclude_none=True)
        name = next((name for name in CONSTRAINTS if name in fields), "word")
        try:
            constraints.append(CONSTRAINTS[name](fields.pop(name), **fields))
        except (KeyError, TypeError):
            expected = "a constituent (label, function), a not_constituent (label) or a word (tag, head, function)"
            raise RequestRefused(422, f"constraints.{number}: expected {expected}") from None
    return constraints


def constraint_records(constraints: Sequence[Constraint]) -> list[dict[str, Any]]:
    """Return the records of constraints; the inverse of ``constraints_from``."""
    names = {kind: name for name, kind in CONSTRAINTS.items()}
    records = []
    for constraint in constraints:
        (_, place), *fields = vars(constraint).items()
        records.append({names[type(constraint)]: place, **{name: value for name, value in fields if value is not None}})
    return records


class Correction(NamedTuple):
    """A request to parse a corrected tree again."""

    model: str
    corrected: Tree
    constraints: list[Constraint]  # of all corrections
    required: list[Constraint]  # the same, and the ends of secondary edges


def read_correction(context: WorkerContext, body: bytes) -> Correction:
    """Validate a request to parse a corrected tree again, and derive the constraints."""
    request = validate(ReparseRequest, body)
    before, corrected = tree_of(context, request.before), tree_of(context, request.tree)
    if before.words != corrected.words:
        raise RequestRefused(422, "tree and before must have the same words")
    earlier = constraints_from(request.constraints)
    check_constraints(earlier, corrected.words)
    found = corrections(before, corrected, earlier)
    return Correction(context.check_model(request.model), corrected, found, found + secondary_ends(corrected))


def reparse_response(context: WorkerContext, request: Correction, parsed: Tree | None, problem: str) -> bytes:
    """Return the proposal after a correction, and the constraints for the next one."""
    corrected, constraints = request.corrected, request.constraints
    proposed = proposal(parsed, corrected, request.required) if parsed else None
    if_left = corrections(proposed, corrected, constraints) if proposed else constraints
    response = {
        "tree": proposed.to_dict() if proposed else None,
        "problem": problem,
        "constraints": constraint_records(constraints),
        "if_left": constraint_records(if_left),
    }
    return limit_response(context, json_line(response))


def _choose_model(context: WorkerContext, request: ParseRequest) -> Choice:
    """Return the model that a request names, or the one for the language of its text."""
    text = request.tokens or request.text or []
    rows = [text] if isinstance(text, str) else text
    sample = sample_of(row if isinstance(row, str) else " ".join(row) for row in rows)
    if request.model:
        name = context.check_model(request.model)
        return Choice(name, warning=mismatch(sample, context.models[name].language))
    try:
        return Candidates({name: traits.language for name, traits in context.models.items()}).choose(sample)
    except InputError as error:
        # Errors that do not depend on the model come first.
        sentences_of(request, next(iter(context.models.values())), context.limits)
        raise RequestRefused(422, str(error)) from None


def sentences_of(request: ParseRequest, model: ModelTraits, limits: Limits) -> list[RequestSentence]:
    """Return the sentences of a request; refuse one that is contradictory or too large."""
    if (request.text is None) == (request.tokens is None):
        raise RequestRefused(422, "pass either text or tokens")
    if request.tokens is None and request.tags is not None:
        raise RequestRefused(422, "tags require tokens")
    characters = sum(map(_count_characters, (request.text, request.tokens, request.tags)))
    _check_amount(characters, WORD_CHARACTERS * limits.request_words, "characters")
    sentences = _from_text(request.text, model.language) if request.text is not None else _from_tokens(request)
    if model.has_tags and request.tags is None:
        raise RequestRefused(422, "this model requires tags; pass tokens and tags")
    if not model.has_tags and request.tags is not None:
        raise RequestRefused(422, "this model does not use tags; omit them")
    if not sentences:
        raise RequestRefused(422, "the request contains no words")
    _check_amount(len(sentences), MAX_REQUEST_SENTENCES, "sentences")
    max_words = min(limits.sentence_words, MAX_K_BEST_WORDS) if request.k else limits.sentence_words
    for number, (tokens, _) in enumerate(sentences, 1):
        if not tokens:
            raise RequestRefused(422, f"sentence {number} has no words")
        longest = max(max(len(token.form), len(token.tag)) for token in tokens)
        if len(tokens) > max_words:
            raise RequestRefused(422, f"sentence {number} has {len(tokens):,} words; at most {max_words:,} are allowed")
        if longest > MAX_WORD_CHARACTERS:
            maximum = f"at most {MAX_WORD_CHARACTERS:,} are allowed"
            raise RequestRefused(422, f"sentence {number} has a word of {longest:,} characters; {maximum}")
    _check_amount(sum(len(sentence.tokens) for sentence in sentences), limits.request_words, "words")
    return sentences


def _check_amount(amount: int, maximum: int, unit: str) -> None:
    if amount > maximum:
        raise RequestRefused(422, f"the request has {amount:,} {unit}; at most {maximum:,} are allowed")


def _count_characters(value: str | list[str] | list[list[str]] | None) -> int:
    return sum(map(_count_characters, value)) if isinstance(value, list) else len(value or "")


def _from_text(text: str | list[str], language: str) -> list[RequestSentence]:
    if not language:
        raise RequestRefused(422, "this model cannot tokenise text; pass tokens")
    if isinstance(text, str):
        rows = [row for row in split_text(text, language) if row]
    else:
        rows = [[word for row in split_text(item, language) for word in row] for item in text]
    return [
        RequestSentence([Token(word.form) for word in row], [(word.start, word.end) for word in row]) for row in rows
    ]


def _from_tokens(request: ParseRequest) -> list[RequestSentence]:
    rows = _nest(request.tokens or [])
    if any(not form for row in rows for form in row):
        raise RequestRefused(422, "tokens must not be empty")
    if request.tags is None:
        return [RequestSentence([Token(form) for form in row]) for row in rows]
    tags = _nest(request.tags)
    if [len(row) for row in tags] != [len(row) for row in rows]:
        raise RequestRefused(422, "tags must have one tag for each token")
    return [
        RequestSentence([Token(*pair) for pair in zip(*pairs, strict=True)]) for pairs in zip(rows, tags, strict=True)
    ]


def _nest(rows: list[str] | list[list[str]]) -> list[list[str]]:
    """Return a list of sentences, also for a single one."""
    flat = [row for row in rows if isinstance(row, str)]
    return [flat] if flat else [row for row in rows if isinstance(row, list)]


def parse_response(context: WorkerContext, request: ParseInput, trees: Sequence[tuple[int, Tree]]) -> bytes:
    """Return the records of parsed trees, each given with the index of its sentence."""
    records = [
        json_line(tree.to_dict(request.sentences[index].offsets) | {"sentence": index + 1}) for index, tree in trees
    ]
    return limit_response(context, with_list(request.choice._asdict(), "trees", records))


def render(context: WorkerContext, response: bytes, output: str, model: str) -> bytes:
    """Return the trees of a parse response in another format."""
    trees = [Tree.from_dict(record) for record in json.loads(response)["trees"]]
    return limit_response(context, render_trees(trees, output, context.head_rules(model, None)))


# Drawing and conversion


def draw(context: WorkerContext, body: bytes) -> Reply:
    """Draw or convert the tree of a request, or the differences between two trees."""
    request = validate(DrawRequest, body)
    rules = context.head_rules(request.model, request.heads)
    tree = tree_of(context, request.tree)
    if request.against is not None:
        text = _draw_differences(tree, tree_of(context, request.against), request)
    else:
        text = _draw_tree(tree, request, rules)
    return Reply(limit_response(context, text), media_type(request.output))


def _draw_differences(tree: Tree, other: Tree, request: DrawRequest) -> str:
    if request.output == "svg":
        return draw_comparison(tree, other, functions=request.functions, theme=request.theme, style=request.style)
    if request.output == "text":
        return draw_comparison_text(tree, other, functions=request.functions)
    raise RequestRefused(422, f"cannot compare two trees as {request.output}; use svg or text")


def _draw_tree(tree: Tree, request: DrawRequest, rules: HeadRules) -> str:
    highlight, functions = resolve_highlight(tree, request.highlight), request.functions
    if request.output == "svg":
        return draw_svg(tree, functions=functions, theme=request.theme, style=request.style, highlight=highlight)
    if request.output == "arcs":
        return draw_dependencies(tree, rules, functions, theme=request.theme, style=request.style)
    if request.output == "latex":
        return draw_latex(tree, functions=functions, highlight=highlight)
    if request.output == "text":
        return draw_text(tree, functions=functions) + "\n"
    return render_trees([tree], request.output, rules)


def convert_trees(context: WorkerContext, body: bytes) -> Reply:
    """Convert the trees of a request to one file."""
    request = validate(ConvertRequest, body)
    trees = [tree_of(context, record) for record in request.trees]
    if request.highlight is not None and len(trees) != 1:
        raise RequestRefused(422, f"highlight requires exactly one tree; the request has {len(trees)}")
    highlight = resolve_highlight(trees[0], request.highlight)
    rules = context.head_rules(request.model, request.heads)
    if request.output not in RASTERS:
        content = limit_response(context, render_trees(trees, request.output, rules, highlight))
        return Reply(content, media_type(request.output))
    svgs = [
        draw_dependencies(tree, rules, request.functions, theme="light")
        if request.picture == "arcs"
        else draw_svg(tree, functions=request.functions, theme="light", highlight=highlight)
        for tree in trees
    ]
    try:
        if request.output == "pdf":
            return Reply(convert_pages(svgs), media_type("pdf"))
        _check_single(trees)
        return Reply(convert(svgs[0], "png"), media_type("png"))
    except MissingExtraError as error:
        raise RequestRefused(501, f"{error} on the server; or print the page and choose PDF") from None


def render_trees(trees: Sequence[Tree], output: str, rules: HeadRules, highlight: Highlight = True) -> str:
    """Return trees in a treebank format, or as one picture or document; ``highlight`` applies to SVG and LaTeX."""
    if output in ("svg", "arcs"):
        _check_single(trees)
        return draw_svg(trees[0], highlight=highlight) if output == "svg" else draw_dependencies(trees[0], rules)
    if output == "latex":
        return latex_pages([draw_latex(tree, standalone=False, highlight=highlight) for tree in trees])
    if output == "text":
        return "".join([f"{tree.id}\n{draw_text(tree)}\n\n" for tree in trees])
    return "".join(TEXT_FORMATS[output].writer(rules).file(trees))


def draw_dependencies(tree: Tree, rules: HeadRules, functions: bool = True, **options: Any) -> str:
    """Draw arcs with functions; without them, or if the tree has none, with the labels that the network predicts."""
    dependencies = tree.dependencies(rules)
    spines = dependencies.functions or [()] * len(tree)
    roles = [spine[-1] if spine else token.function or NONE for spine, token in zip(spines, tree.tokens, strict=True)]
    if functions and set(roles) != {NONE}:
        root = dependencies.heads.index(DUMMY_ROOT)
        roles[root] = dependencies.labels[root]
        dependencies = replace(dependencies, labels=tuple(roles))
    return draw_arcs(dependencies, **options)


def name_labels(context: WorkerContext, body: bytes) -> Reply:
    """Return the names of the labels, functions and tags of a tree, such as "participle clause" for ppart."""
    tree = tree_of(context, validate(LabelsRequest, body).tree)
    scheme = guess_scheme(tree)
    pairs: list[tuple[Kind, str, str]] = [("constituent", node.label, node.function) for node in tree.nodes()]
    pairs += [("tag", token.tag, token.function or NONE) for token in tree.tokens]
    names: dict[str, dict[str, str | None]] = {"constituent": {}, "function": {}, "tag": {}}
    for kind, label, function in pairs if scheme else ():
        names[kind][label] = explain(label, scheme, kind)
        names["function"][function] = explain(function, scheme, "function")
    return Reply(limit_response(context, json_line(names)))


def _check_single(trees: Sequence[Tree]) -> None:
    if len(trees) != 1:
        message = f"a picture shows one tree, but there are {len(trees)}; request json and draw each tree"
        raise RequestRefused(422, message)


def resolve_highlight(tree: Tree, nodes: Mapping[str, Sequence[int]] | None) -> Highlight:
    """Return the nodes to highlight: those of the request, or all discontinuous constituents."""
    if nodes is None:
        return True
    size = len(tree) + sum(1 for _ in tree.nodes())
    for name, addresses in nodes.items():
        if any(address >= size for address in addresses):
            raise RequestRefused(422, f"highlight: {name}: the tree has only {size} words and constituents")
    return nodes


def tree_of(context: WorkerContext, source: TreeRecord | Upload) -> Tree:
    """Return the tree of a record or an upload; refuse one that is too large."""
    if isinstance(source, Upload):
        return read_one(source, context.limits)
    tree = Tree.from_dict(source.model_dump(exclude_none=True))
    if problem := size_problem(tree, context.limits):
        raise RequestRefused(413, problem)
    return tree


# Uploaded treebanks


def filter_treebank(context: WorkerContext, body: bytes) -> Reply:
    """Return the trees of an uploaded treebank that pass a filter."""
    request = validate(TreebankRequest, body)
    treebank = read_upload(request, context.limits)
    rows = ((tree, gap_counts(tree, request.punctuation)) for tree in treebank.trees)
    matching = [(*row, hits) for row in rows if (hits := matching_constituents(*row, request)) is not None]
    end = None if request.limit is None else request.offset + request.limit
    page = matching[request.offset : end]
    summary = {
        "format": treebank.format,
        "trees": len(treebank.trees),
        "matching": len(matching),
        "broken": treebank.broken,
        "problems": treebank.problems,
        "is_complete": treebank.is_complete,
    }
    records = [json_line(tree.to_dict() | {"gaps": gaps, "hits": hits}) for tree, gaps, hits in page]
    return Reply(limit_response(context, with_list(summary, "rows", records)))


def compare_treebanks(context: WorkerContext, body: bytes) -> Reply:
    """Return the metrics of two uploaded treebanks."""
    request = validate(EvaluateRequest, body)
    gold, predicted = (
        read_upload(upload, context.limits, strict=True).trees for upload in (request.gold, request.predicted)
    )
    score = evaluate(gold, predicted, Params.load(request.params))
    index = {id(tree): k for k, tree in enumerate(predicted)}
    partner = {number: index[id(tree)] for number, _, tree in pair_trees(gold, predicted)}
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
        "all": _without_none(score.metrics()),
        "discontinuous": _without_none(score.discontinuous.metrics()),
        "sentences": comparisons,
    }
    return Reply(limit_response(context, json_line(response)))


def with_list(summary: Mapping[str, Any], name: str, records: Sequence[str]) -> str:
    """Return a JSON object with a list of records that are JSON already, which takes less memory than objects."""
    return f'{json_line(summary).rstrip()[:-1]}, "{name}": [{",".join(records)}]}}\n'


def _without_none(metrics: Mapping[str, float | int | None]) -> dict[str, float | int]:
    return {name: value for name, value in metrics.items() if value is not None}
