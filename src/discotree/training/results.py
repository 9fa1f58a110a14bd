"""The results of a run: scores on dev and test, their summary over several runs, and results.json."""

import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from discotree.config import Decoding, Method
from discotree.evaluation.parseval import evaluate
from discotree.files.writing import writable
from discotree.network.batch import HEAD, LABEL, Corpus, Ints
from discotree.network.shapes import outputs
from discotree.parsing.parser import Parser
from discotree.training.data import Split
from discotree.trees.tree import Tree

SOURCES = "sources"  # key of the scores of single sources


def attachment(parser: Parser, corpus: Corpus, decoding: Decoding | None = None) -> dict[str, float]:
    """Return the labelled and unlabelled attachment scores and the accuracies of the auxiliary heads, in percent.

    Heads are decoded exactly unless told otherwise, whatever the recipe says: that is the cheapest way.
    """
    return percentages(corpus, right_words(parser, corpus, decoding or Decoding()), np.arange(len(corpus)))


def right_words(parser: Parser, corpus: Corpus, decoding: Decoding) -> dict[str, Ints]:
    """Return how many words of every sentence get the right head (uas), with its label (las), and the right classes."""
    names = ("las", "uas", *outputs(parser.config.network, parser.vocab))
    right = {name: np.zeros(len(corpus), np.int64) for name in names}
    for sentences, scores in parser.scores(corpus):
        decoded = parser.decode(scores, decoding)
        gold = corpus.batch(sentences).gold
        inside = gold[HEAD] >= 0
        heads = inside & (decoded.heads + 1 == gold[HEAD])
        right["uas"][sentences] = heads.sum(1)
        right["las"][sentences] = (heads & (decoded.labels == gold[LABEL])).sum(1)
        for head, values in scores.auxiliary.items():
            right[head][sentences] = (inside & (values.classes == gold[head])).sum(1)
    return right


def percentages(corpus: Corpus, right: dict[str, Ints], sentences: Ints) -> dict[str, float]:
    """Return the percentages of right words in these sentences; a head without any gold there has none."""
    found = {}
    for name, counts in right.items():
        scored = sentences[corpus.annotated[name][sentences]] if name in corpus.annotated else sentences
        if len(scored) or not len(sentences):
            found[name] = 100 * int(counts[scored].sum()) / max(1, int(corpus.lengths[scored].sum()))
    return found


def score_split(parser: Parser, split: Split, corpus: Corpus, compare: bool = False) -> dict[str, Any]:
    """Return attachment and the evaluator's metrics, for sources with a name also apart.

    With ``compare``, F1 of every decoding method too.
    """
    decoding = parser.config.decoding
    right = right_words(parser, corpus, decoding)
    trees, _ = parse_split(parser, split, decoding)

    def scores_of(numbers: Sequence[int]) -> dict[str, Any]:
        score = evaluate([split.trees[number] for number in numbers], [trees[number] for number in numbers])
        return {
            "attachment": percentages(corpus, right, np.array(numbers, np.int64)),
            "all": score.metrics(),
            "discontinuous": score.discontinuous.metrics(),
        }

    scores = scores_of(range(len(split)))
    named = split.named()
    if named:
        scores[SOURCES] = {name: scores_of(numbers) for name, numbers in named.items()}
    if compare:
        scores["decoding"] = compare_decoding(parser, split)
    return scores


def compare_decoding(parser: Parser, split: Split) -> dict[str, dict[str, float]]:
    """Return F1 and seconds of every decoding method, with and without consistent labels."""
    found = {}
    for consistent in (False, True):
        for method in get_args(Method):
            decoding = replace(parser.config.decoding, method=method, consistent=consistent)
            trees, seconds = parse_split(parser, split, decoding)
            score = evaluate(split.trees, trees)
            name = f"{method}, consistent" if consistent else method
            found[name] = {"f1": score.f1, "discontinuous_f1": score.discontinuous.f1, "seconds": seconds}
    return found


def parse_split(parser: Parser, split: Split, decoding: Decoding) -> tuple[list[Tree], float]:
    """Parse the sentences of a split; return their trees and the seconds that parsing took."""
    began = time.perf_counter()
    trees = parser.parse_tokens(split.inputs, decoding, [tree.id for tree in split.trees])
    return trees, time.perf_counter() - began


def summarize(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return mean and standard deviation of F1 over runs, for all and for discontinuous constituents."""
    summary: dict[str, Any] = {}
    for split, scores in runs[0]["scores"].items():
        summary[split] = _spread([run["scores"][split] for run in runs])
        for name in scores.get(SOURCES, ()):
            spread = _spread([run["scores"][split][SOURCES][name] for run in runs])
            summary[split].setdefault(SOURCES, {})[name] = spread
    return summary


def _spread(scores: Sequence[dict[str, Any]]) -> dict[str, Any]:
    spread = {}
    for kind in ("all", "discontinuous"):
        f1 = [run[kind]["f1"] or 0.0 for run in scores]
        deviation = statistics.stdev(f1) if len(f1) > 1 else 0.0
        spread[kind] = {"mean": statistics.mean(f1), "deviation": deviation, "f1": f1}
    return spread


def write_results(path: Path, results: dict[str, Any]) -> None:
    """Write the results as JSON, whole or not at all."""
    with writable(str(path)) as stream:
        stream.write((json.dumps(results, indent=1, ensure_ascii=False) + "\n").encode())
