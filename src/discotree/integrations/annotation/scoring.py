"""Scores of models on held-out trees, kept in the journal: how much did the annotation help?"""

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from discotree.evaluation.parseval import evaluate
from discotree.evaluation.score import Score
from discotree.integrations.annotation.journal import Entry
from discotree.integrations.annotation.project import Project
from discotree.parsing.resilient import Failure, ParseOptions, parse_each
from discotree.trees.tree import Token, Tree

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser


def gold_digest(gold: Sequence[Tree]) -> str:
    """Return what tells held-out trees from others."""
    digest = hashlib.blake2b(digest_size=12)
    for tree in gold:
        digest.update(f"{tree.id!r} {tree}\n".encode(errors="surrogatepass"))
    return digest.hexdigest()


def is_scored(project: Project, model: int, digest: str) -> bool:
    return any((entry["model"], entry["gold"]) == (model, digest) for entry in project.scores)


def score_held_out(project: Project, parser: "Parser", model: int, gold: Sequence[Tree], name: str) -> None:
    """Score a model on held-out trees and save the scores, unless they are there already."""
    digest = gold_digest(gold)
    if is_scored(project, model, digest):
        return
    sentences = [_input(tree, parser.has_tags) for tree in gold]
    options = ParseOptions(ids=[tree.id for tree in gold])
    outcomes = parse_each(parser, sentences, options)
    score = Score()
    for tree, found in zip(gold, outcomes, strict=True):
        predicted = [] if isinstance(found, Failure) else [found]
        score.sentences += evaluate([tree], predicted, missing_as_empty=True).sentences
    project.add_scores(entry_of(score, model, name, digest))


def _input(tree: Tree, with_tags: bool) -> list[Token]:
    return [Token(token.form, token.tag) if with_tags else Token(token.form) for token in tree.tokens]


def entry_of(score: Score, model: int, name: str, digest: str) -> Entry:
    """Return the line of a journal that holds scores: percentages, None where there is nothing to count."""
    found, discontinuous = score.metrics(), score.discontinuous.metrics()
    return {
        "scores": {
            "f1": found["f1"],
            "discontinuous_f1": discontinuous["f1"],
            "exact": found["exact_match"],
            "tags": found["pos_accuracy"],
            "functions": found["function_accuracy"],
            "sentences": found["sentences"],
        },
        "model": model,
        "held_out": name,
        "gold": digest,
    }
