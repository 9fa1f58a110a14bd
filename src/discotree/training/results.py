"""The results of a run: scores on dev and test, their summary over several runs, and results.json."""

import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from discotree.config import Decoding, Method
from discotree.evaluation.parseval import evaluate
from discotree.evaluation.score import Score
from discotree.files.writing import writable
from discotree.network.batch import HEAD, LABEL, Corpus
from discotree.network.shapes import outputs
from discotree.parsing.parser import Parser
from discotree.training.data import Split


def attachment(parser: Parser, corpus: Corpus, decoding: Decoding | None = None) -> dict[str, float]:
    """Return the labelled and unlabelled attachment scores and the accuracies of the auxiliary heads, in percent.

    Heads are decoded exactly unless told otherwise, whatever the recipe says: that is the cheapest way.
    """
    right = {"las": 0, "uas": 0, **dict.fromkeys(outputs(parser.config.network, parser.vocab), 0)}
    for sentences, scores in parser.scores(corpus):
        decoded = parser.decode(scores, decoding or Decoding())
        gold = corpus.batch(sentences).gold
        inside = gold[HEAD] >= 0
        heads = inside & (decoded.heads + 1 == gold[HEAD])
        right["uas"] += int(heads.sum())
        right["las"] += int((heads & (decoded.labels == gold[LABEL])).sum())
        for head, values in scores.auxiliary.items():
            right[head] += int((inside & (values.classes == gold[head])).sum())
    words = max(1, int(corpus.lengths.sum()))
    return {name: 100 * count / words for name, count in right.items()}


def score_split(parser: Parser, split: Split, corpus: Corpus, compare: bool = False) -> dict[str, Any]:
    """Return attachment and the evaluator's metrics; with ``compare``, F1 of every decoding method too."""
    decoding = parser.config.decoding
    score, _ = score_trees(parser, split, decoding)
    scores: dict[str, Any] = {
        "attachment": attachment(parser, corpus, decoding),
        "all": score.metrics(),
        "discontinuous": score.discontinuous.metrics(),
    }
    if compare:
        scores["decoding"] = compare_decoding(parser, split)
    return scores


def compare_decoding(parser: Parser, split: Split) -> dict[str, dict[str, float]]:
    """Return F1 and seconds of every decoding method, with and without consistent labels."""
    found = {}
    for consistent in (False, True):
        for method in get_args(Method):
            decoding = replace(parser.config.decoding, method=method, consistent=consistent)
            score, seconds = score_trees(parser, split, decoding)
            name = f"{method}, consistent" if consistent else method
            found[name] = {"f1": score.f1, "discontinuous_f1": score.discontinuous.f1, "seconds": seconds}
    return found


def score_trees(parser: Parser, split: Split, decoding: Decoding) -> tuple[Score, float]:
    """Parse the sentences of a split; return the score of the trees and the seconds that parsing took."""
    began = time.perf_counter()
    trees = parser.parse_tokens(split.inputs, decoding, [tree.id for tree in split.trees])
    seconds = time.perf_counter() - began
    return evaluate(split.trees, trees), seconds


def summarize(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return mean and standard deviation of F1 over runs, for all and for discontinuous constituents."""
    summary: dict[str, Any] = {}
    for split in runs[0]["scores"]:
        for kind in ("all", "discontinuous"):
            f1 = [run["scores"][split][kind]["f1"] or 0.0 for run in runs]
            deviation = statistics.stdev(f1) if len(f1) > 1 else 0.0
            summary.setdefault(split, {})[kind] = {"mean": statistics.mean(f1), "deviation": deviation, "f1": f1}
    return summary


def write_results(path: Path, results: dict[str, Any]) -> None:
    """Write the results as JSON, whole or not at all."""
    with writable(str(path)) as stream:
        stream.write((json.dumps(results, indent=1, ensure_ascii=False) + "\n").encode())
