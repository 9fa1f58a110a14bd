"""Fit the gap penalties of a model on held-out trees.

A gap penalty lowers the score of trees with discontinuous phrases of a label. Candidates are one penalty for all
labels, penalties by label, and penalties for those labels alone whose predicted gaps are mostly wrong; cross-validation
chooses between them and none at all.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from discotree.decoding.decode import Decoded
from discotree.decoding.gap_penalty import GapPenalties, has_gap, rerank_discontinuous
from discotree.evaluation.parseval import evaluate
from discotree.network.arrays import I64, Bool
from discotree.network.scores import ArcWeights, Auxiliary, Scores, finite
from discotree.parsing.parser import Parser
from discotree.training.data import Split
from discotree.trees.tree import Tree

GRID = (0.0, 0.1, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)
FOLDS = 5
COMMON = 20  # discontinuous phrases, gold and predicted, that a label needs for its own penalty
SUSPECT = 5  # predicted discontinuous phrases of a label, of which fewer than a quarter are right: mostly wrong
MARGIN = 0.1  # points of F1 plus discontinuous F1 that a label's own penalty must gain
PASSES = 2  # over all labels, at most
MAX_TRIALS = 1000  # sentences that are parsed with a gap; if there are more, only every nth sentence is used

Penalties = dict[str, float]  # by phrase label


def fit_gap_penalties(
    parser: Parser, split: Split, only_mostly_wrong: bool = False, largest: float = math.inf
) -> Penalties:
    """Return the best gap penalties on held-out trees; empty if none of them helps.

    The trees must be prepared like the training trees of the parser. Its present penalties are ignored. If gaps are
    predicted in more than ``MAX_TRIALS`` sentences, which take about ten minutes, only every nth sentence is used.

    If the parser is used on text unlike these trees, two limits help: with ``only_mostly_wrong``, other labels have no
    penalty, and no penalty is above the ``largest``, so that gaps that are rare in these trees but certain in others
    stay open.
    """
    fit = GapPenaltyFit(parser, split, largest)
    step = math.ceil(len(fit.trials) / MAX_TRIALS)
    if step > 1:
        del fit  # its trials hold the scores of many sentences
        fit = GapPenaltyFit(parser, Split(split.trees[::step], inputs=split.inputs[::step]), largest)
    return fit.best([fit.mostly_wrong]) if only_mostly_wrong else fit.best()


class GapPenaltyFit:
    """Chooses penalties for held-out sentences. A candidate is fitted to some of them, given as a mask (sentences,).

    Only sentences whose tree has a gap are decoded again.
    """

    def __init__(self, parser: Parser, split: Split, largest: float = math.inf) -> None:
        self.grid = [penalty for penalty in GRID if penalty <= largest]
        self.phrases = parser._phrases
        self.labels = sorted({name for chain in parser._phrases.chains for name in chain})
        self.all = np.ones(len(split), bool)
        self.cache: dict[tuple[float, ...], I64] = {}
        unpenalised = replace(parser.config.decoding, gap_penalties={})
        trees: dict[int, Tree] = {}
        trials: dict[int, GapTrial] = {}
        for numbers, scores in parser._scores(parser._corpus(split.inputs)):
            decoded = parser._decode(scores, unpenalised)
            batch_trees = parser._tree_builder.trees([split.inputs[number] for number in numbers], decoded, scores)
            trees.update(zip(numbers.tolist(), batch_trees, strict=True))
            for row, (number, n) in enumerate(zip(numbers.tolist(), scores.lengths.tolist(), strict=True)):
                if parser._phrases.has_gaps(decoded.heads[row, :n].tolist(), decoded.labels[row, :n].tolist()):
                    trials[number] = GapTrial(parser, split, number, decoded, scores, row)
        self.without = np.array([_counts(gold, trees[k]) for k, gold in enumerate(split.trees)])  # (sentences, 6)
        self.trials = [trials[number] for number in sorted(trials)]
        self.with_gaps = ~self.all
        self.with_gaps[sorted(trials)] = True
        nodes = (node for tree in [*split.trees, *trees.values()] for node in tree.nodes())
        self.gaps = Counter(node.label for node in nodes if has_gap(node.mask))
        gold, predicted = (
            [Counter((node.label, node.mask) for node in tree.nodes() if has_gap(node.mask)) for tree in some]
            for some in (split.trees, [trees[number] for number in range(len(split))])
        )
        self.predicted = [Counter(label for label, _ in found.elements()) for found in predicted]  # by sentence
        self.right = [
            Counter(label for label, _ in (found & wanted).elements())
            for found, wanted in zip(predicted, gold, strict=True)
        ]
        self.common = [label for label in self.labels if self.gaps[label] >= COMMON]
        self.rare = [label for label in self.labels if self.gaps[label] < COMMON]

    def best(self, candidates: Sequence[Callable[[Bool], Penalties]] = ()) -> Penalties:
        """Return the penalties of the candidate that cross-validation prefers, fitted to all sentences."""
        fold = np.arange(len(self.all)) % FOLDS
        none = self.scores({}, self.all)
        chosen, highest = {}, sum(none)
        for fit in candidates or (self.uniform, self.by_label, self.mostly_wrong):
            counts = [self.counts(fit(fold != k), fold == k) for k in range(FOLDS)]
            held_out = f1_scores(np.sum(counts, 0))
            if sum(held_out) > highest and no_worse(held_out, none):
                chosen, highest = fit(self.all), sum(held_out)
        return {label: penalty for label, penalty in chosen.items() if penalty}

    def uniform(self, mask: Bool) -> Penalties:
        """Return the best single penalty for all labels."""
        return self.improve({}, [self.labels], mask, 0.0)

    def by_label(self, mask: Bool) -> Penalties:
        """Return the best penalties by label."""
        penalties = self.uniform(mask)
        groups = [self.rare, *([label] for label in sorted(self.common, key=lambda label: -self.gaps[label]))]
        for _ in range(PASSES):
            before = penalties
            penalties = self.improve(penalties, groups, mask, MARGIN)
            if penalties == before:
                break
        return penalties

    def mostly_wrong(self, mask: Bool) -> Penalties:
        """Return the best penalties for labels whose predicted gaps are mostly wrong, and none for the others."""
        chosen = np.flatnonzero(mask)
        predicted: Counter[str] = sum((self.predicted[k] for k in chosen), Counter())
        right: Counter[str] = sum((self.right[k] for k in chosen), Counter())
        groups = [[name] for name, count in predicted.most_common() if count >= SUSPECT and 4 * right[name] < count]
        return self.improve({}, groups, mask, 0.0)

    def improve(self, penalties: Penalties, groups: list[list[str]], mask: Bool, margin: float) -> Penalties:
        """Set the penalty of one group of labels after the other to the best one, if it gains more than the margin."""
        none = self.scores({}, mask)
        for group in groups:
            least, best = sum(self.scores(penalties, mask)) + margin, penalties
            for penalty in self.grid:
                candidate = penalties | dict.fromkeys(group, penalty)
                scores = self.scores(candidate, mask)
                if sum(scores) > least and no_worse(scores, none):
                    least, best = sum(scores), candidate
            penalties = best
        return penalties

    def scores(self, penalties: Penalties, mask: Bool) -> tuple[float, float]:
        return f1_scores(self.counts(penalties, mask))

    def counts(self, penalties: Penalties, mask: Bool) -> I64:
        """Return the numbers of brackets (6,) of some sentences with these penalties."""
        key = tuple(penalties.get(label, 0.0) for label in self.labels)
        if key not in self.cache:
            gap_penalties = self.phrases.with_penalties(penalties)
            self.cache[key] = np.array([trial.counts(gap_penalties) for trial in self.trials]).reshape(-1, 6)
        total: I64 = self.without[mask & ~self.with_gaps].sum(0) + self.cache[key][mask[self.with_gaps]].sum(0)
        return total


class GapTrial:
    """A sentence with a gap: its scores, the tree without penalties, and the results with penalties so far.

    Arrays are copied, because a view would keep the scores of all sentences of its batch in memory.
    """

    def __init__(
        self,
        parser: Parser,
        split: Split,
        number: int,
        decoded: Decoded,
        scores: Scores,
        row: int,
    ) -> None:
        self.gold, self.tokens, self.builder = split.trees[number], split.inputs[number], parser._tree_builder
        n = len(self.tokens)
        part = slice(row, row + 1)
        self.decoded = Decoded(
            decoded.heads[part, :n].copy(),
            decoded.labels[part, :n].copy(),
            decoded.arc_probability[part, :n].copy(),
            decoded.label_probability[part, :n].copy(),
            decoded.log_probability[part].copy(),
        )
        self.scores = Scores(
            scores.lengths[part].copy(),
            scores.arcs[part, :n, : n + 1].copy(),
            scores.dependents[part, :n].copy(),
            scores.heads[part, : n + 1].copy(),
            scores.labeler,
            {
                head: Auxiliary(found.classes[part, :n].copy(), found.log_probability[part, :n].copy())
                for head, found in scores.auxiliary.items()
            },
        )
        with np.errstate(divide="ignore"):
            arcs = np.log(self.decoded.arc_probability) + np.log(self.decoded.label_probability)
        self.weights, self.arc_scores = ArcWeights(self.scores), finite(arcs)
        self.results: list[tuple[dict[int, float], I64]] = []  # the penalties that mattered, and numbers of brackets
        self.known: dict[bytes, I64] = {}  # numbers of brackets by heads and labels

    def counts(self, penalties: GapPenalties) -> I64:
        """Return the numbers of brackets (6,) with these penalties."""
        for used, counts in self.results:
            if all(penalties.penalties[label] == penalty for label, penalty in used.items()):
                return counts
        recorder = _Recorder(penalties.penalties)
        heads, labels = rerank_discontinuous(
            self.weights,
            self.decoded.heads,
            self.decoded.labels,
            self.arc_scores,
            replace(penalties, penalties=recorder),
        )
        key = heads.tobytes() + labels.tobytes()
        if key not in self.known:
            (tree,) = self.builder.trees([self.tokens], replace(self.decoded, heads=heads, labels=labels), self.scores)
            self.known[key] = _counts(self.gold, tree)
        self.results.append((recorder.used, self.known[key]))
        return self.known[key]


class _Recorder(list[float]):
    """Penalties by label that record which of them are used."""

    def __init__(self, penalties: Sequence[float]) -> None:
        super().__init__(penalties)
        self.used: dict[int, float] = {}

    def __getitem__(self, label: int) -> float:  # type: ignore[override]
        self.used[label] = penalty = super().__getitem__(label)
        return penalty


def _counts(gold: Tree, predicted: Tree) -> I64:
    """Return the numbers of gold, predicted and matched brackets, then of discontinuous ones: (6,)."""
    (sentence,) = evaluate([gold], [replace(predicted, id=gold.id)]).sentences
    return np.array([*sentence.labelled[:3], *sentence.labelled_discontinuous[:3]])


def f1_scores(counts: I64) -> tuple[float, float]:
    """Return the F1 of all and of discontinuous brackets, given their numbers (6,)."""
    pairs = [(200 * matched, gold + predicted) for gold, predicted, matched in counts.reshape(2, 3).tolist()]
    every, discontinuous = (doubled / total if doubled else 0.0 for doubled, total in pairs)
    return every, discontinuous


def no_worse(scores: tuple[float, float], others: tuple[float, float]) -> bool:
    return scores[0] >= others[0] and scores[1] >= others[1]
