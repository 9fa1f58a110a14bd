"""The results of a run: scores on dev and test, and results.json."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discotree.config.schema import Decoding
from discotree.evaluation.parseval import evaluate
from discotree.files.writing import write_bytes
from discotree.network.arrays import I64
from discotree.network.batch import HEAD, LABEL, Corpus
from discotree.parsing.parser import Parser
from discotree.training.data import Split
from discotree.trees.tree import LEMMA, NONE, Tree

SOURCES = "sources"  # key of the scores of single sources


def attachment(parser: Parser, corpus: Corpus) -> dict[str, float]:
    """Return the labelled and unlabelled attachment scores and the accuracies of the auxiliary heads, in percent.

    Heads are decoded exactly, regardless of the recipe: that is the fastest method.
    """
    return percentages(corpus, count_correct(parser, corpus, Decoding()), np.arange(len(corpus)))


def count_correct(parser: Parser, corpus: Corpus, decoding: Decoding) -> dict[str, I64]:
    """Count the words of every sentence with the right head (uas), head and label (las), and auxiliary classes."""
    names = ("las", "uas", *parser.vocab.class_counts(parser.config.network.auxiliary_heads))
    right = {name: np.zeros(len(corpus), np.int64) for name in names}
    for sentences, scores in parser._scores(corpus):
        decoded = parser._decode(scores, decoding)
        gold = corpus.batch(sentences).gold
        inside = gold[HEAD] >= 0
        heads = inside & (decoded.heads + 1 == gold[HEAD])
        right["uas"][sentences] = heads.sum(1)
        right["las"][sentences] = (heads & (decoded.labels == gold[LABEL])).sum(1)
        for head, values in scores.auxiliary.items():
            right[head][sentences] = (inside & (values.classes == gold[head])).sum(1)
    return right


def percentages(corpus: Corpus, right: dict[str, I64], sentences: I64) -> dict[str, float]:
    """Return the percentages of right words in these sentences, without auxiliary heads that have no gold there."""
    result = {}
    for name, counts in right.items():
        scored = sentences[corpus.annotated[name][sentences]] if name in corpus.annotated else sentences
        if len(scored) or not len(sentences):
            result[name] = 100 * int(counts[scored].sum()) / max(1, int(corpus.lengths[scored].sum()))
    return result


def lemma_accuracy(gold: Iterable[Tree], predicted: Iterable[Tree]) -> dict[str, float]:
    """Return the percentage of the words with a gold lemma that have it, as "lemma"; {} if one side has no lemmas."""
    pairs = [
        (token[LEMMA], other[LEMMA])
        for tree, parsed in zip(gold, predicted, strict=True)
        for token, other in zip(tree.tokens, parsed.tokens, strict=True)
        if token[LEMMA] != NONE
    ]
    if all(other == NONE for _, other in pairs):
        return {}
    return {"lemma": 100 * sum(lemma == other for lemma, other in pairs) / len(pairs)}


def score_split(parser: Parser, split: Split, corpus: Corpus) -> dict[str, Any]:
    """Return attachment scores, accuracies and the evaluator's metrics, overall and for each named source."""
    decoding = parser.config.decoding
    right = count_correct(parser, corpus, decoding)
    trees = parser._parse_tokens(split.inputs, decoding, [tree.id for tree in split.trees])

    def scores_of(numbers: Sequence[int]) -> dict[str, Any]:
        gold, predicted = [split.trees[number] for number in numbers], [trees[number] for number in numbers]
        score = evaluate(gold, predicted)
        accuracies = percentages(corpus, right, np.array(numbers, np.int64)) | lemma_accuracy(gold, predicted)
        return {
            "attachment": accuracies,
            "all": score.metrics(),
            "discontinuous": score.discontinuous.metrics(),
        }

    scores = scores_of(range(len(split)))
    named = split.by_source_name()
    if named:
        scores[SOURCES] = {name: scores_of(numbers) for name, numbers in named.items()}
    return scores


def write_results(path: Path, results: dict[str, Any]) -> None:
    """Write the results as JSON, atomically."""
    write_bytes(path, (json.dumps(results, indent=1, ensure_ascii=False) + "\n").encode())
