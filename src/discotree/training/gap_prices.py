"""Prices of gaps, chosen on held-out trees: see ``network.gaps`` for what they do.

There are three candidates: no prices, one price for all phrase labels, and prices by label. Cross-validation decides
between them, by the sum of F1 and discontinuous F1. Prices by label begin with the price for all. A label whose gaps
are rare shares its price with the other rare ones; any other gets its own where that gains more than a margin. Prices
that lower F1 or discontinuous F1 on the held-out trees are never chosen.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from discotree.evaluation.parseval import evaluate
from discotree.network.arborescence import Floats, Ints
from discotree.network.arc_weights import ArcWeights, finite
from discotree.network.assemble import Decisions
from discotree.network.decode import Decoded
from discotree.network.gap_prices import GapPrices, discontinuous, has_gap
from discotree.network.gaps import close_gaps
from discotree.network.scores import Bools, Scores
from discotree.parsing.parser import Parser
from discotree.training.data import Split
from discotree.trees.tree import Tree

GRID = (0.0, 0.1, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)
FOLDS = 5
COMMON = 20  # discontinuous phrases, gold and predicted, that a label needs for a price of its own
MARGIN = 0.1  # points of F1 and discontinuous F1 together that a price of its own has to gain
PASSES = 2  # over all labels, at most

Prices = dict[str, float]  # by phrase label


def fit_gap_prices(parser: Parser, split: Split) -> Prices:
    """Return the best prices for gaps on held-out trees, empty if there are none that help.

    The trees have to be prepared like those that the parser learned from. It parses without the prices that it has.
    """
    return _Fit(Trials.of(parser, split)).best()


def candidates(trials: "Trials") -> dict[str, Prices]:
    """Return the prices of all candidates, by name, and those that are chosen."""
    fit = _Fit(trials)
    everything = np.ones(len(trials.without), bool)
    return {"one price": fit.one_price(everything), "by label": fit.by_label(everything), "chosen": fit.best()}


class Totals:
    """Numbers of gold, predicted and matched brackets, then of discontinuous ones: (6,)."""

    def __init__(self, counts: Ints) -> None:
        self.f1, self.discontinuous_f1 = (_f1(counts[:3]), _f1(counts[3:]))

    @property
    def score(self) -> float:
        return self.f1 + self.discontinuous_f1

    def no_worse_than(self, other: "Totals") -> bool:
        return self.f1 >= other.f1 and self.discontinuous_f1 >= other.discontinuous_f1


def _f1(counts: Ints) -> float:
    gold, predicted, matched = counts.tolist()
    return 200 * matched / (gold + predicted) if matched else 0.0


class Trials:
    """Held-out sentences, and how many brackets of each are right with some prices or others.

    Only sentences whose tree has a gap are looked at. Of each we remember what came out of which prices, as far as the
    search has asked for them.
    """

    def __init__(self, parser: Parser, gold: list[Tree], trees: list[Tree], looks: dict[int, "SecondLook"]) -> None:
        self.phrases = parser.phrases
        self.labels = sorted({name for chain in parser.phrases.chains for name in chain})
        self.without = np.array([_counts(*pair) for pair in zip(gold, trees, strict=True)])  # (sentences, 6)
        self.looks = [looks[number] for number in sorted(looks)]
        self.with_gaps = np.zeros(len(gold), bool)
        self.with_gaps[sorted(looks)] = True
        gaps = [node.label for tree in [*gold, *trees] for node in tree.nodes() if has_gap(node.mask)]
        self.gaps = Counter(gaps)

    @classmethod
    def of(cls, parser: Parser, split: Split) -> "Trials":
        """Parse held-out sentences, and keep the scores of those whose tree has a gap."""
        free = replace(parser.config.decoding, gap_prices={})
        trees: dict[int, Tree] = {}
        looks = {}
        for numbers, scores in parser.scores(parser.corpus(split.inputs)):
            decoded = parser.decode(scores, free)
            gaps = discontinuous(decoded.heads, parser.levels[decoded.labels], scores.mask)
            for row, (number, decisions) in enumerate(
                zip(numbers.tolist(), Decisions.of(decoded, scores), strict=True)
            ):
                trees[number] = parser.assembler.tree(split.inputs[number], decisions)
                if gaps[row]:
                    looks[number] = SecondLook.of(parser, split, number, decisions, decoded, scores, row)
        return cls(parser, split.trees, [trees[number] for number in range(len(split))], looks)

    def counts(self, prices: Mapping[str, float]) -> Ints:
        """Return the numbers of brackets (sentences with gaps, 6) with these prices."""
        priced = self.phrases.priced(prices)
        return np.array([look.counts(priced) for look in self.looks]).reshape(-1, 6)


@dataclass
class SecondLook:
    """A sentence with a gap: its scores, the tree without prices, and what it has become with other ones."""

    parser: Parser
    split: Split
    number: int
    decisions: Decisions
    weights: ArcWeights
    own: Floats  # (1, n)
    asked: list[tuple[dict[int, float], Ints]]  # prices of labels that were asked for, numbers of brackets
    trees: dict[bytes, Ints]  # by heads and labels: numbers of brackets

    @classmethod
    def of(
        cls, parser: Parser, split: Split, number: int, decisions: Decisions, decoded: Decoded, scores: Scores, row: int
    ) -> "SecondLook":
        n = len(decisions.heads)
        alone = Scores(
            scores.lengths[row : row + 1],
            scores.arcs[row : row + 1, :n, : n + 1].copy(),
            scores.dependents[row : row + 1, :n].copy(),
            scores.heads[row : row + 1, : n + 1].copy(),
            scores.labeler,
            {},
        )
        with np.errstate(divide="ignore"):
            arcs = np.log(decoded.arc_probability[row, None, :n]) + np.log(decoded.label_probability[row, None, :n])
        return cls(parser, split, number, decisions, ArcWeights(alone), finite(arcs), [], {})

    def counts(self, prices: GapPrices) -> Ints:
        """Return the numbers of brackets (6,) with these prices."""
        for asked, found in self.asked:
            if all(prices.prices[label] == price for label, price in asked.items()):
                return found
        noted = _Noted(prices.prices)
        heads, labels = np.array([self.decisions.heads]), np.array([self.decisions.labels])
        heads, labels = close_gaps(self.weights, heads, labels, self.own, replace(prices, prices=noted))
        key = heads.tobytes() + labels.tobytes()
        if key not in self.trees:
            decisions = replace(self.decisions, heads=heads[0].tolist(), labels=labels[0].tolist())
            tree = self.parser.assembler.tree(self.split.inputs[self.number], decisions)
            self.trees[key] = _counts(self.split.trees[self.number], tree)
        self.asked.append((noted.asked, self.trees[key]))
        return self.trees[key]


class _Noted(list[float]):
    """Prices that remember which of them somebody asked for."""

    def __init__(self, prices: Sequence[float]) -> None:
        super().__init__(prices)
        self.asked: dict[int, float] = {}

    def __getitem__(self, label: int) -> float:  # type: ignore[override]
        self.asked[label] = price = super().__getitem__(label)
        return price


def _counts(gold: Tree, predicted: Tree) -> Ints:
    (sentence,) = evaluate([gold], [replace(predicted, id=gold.id)]).sentences
    return np.array([*sentence.labelled[:3], *sentence.labelled_discontinuous[:3]])


class _Fit:
    """The choice of prices; a candidate is fitted to some of the sentences, given as a mask (sentences,)."""

    def __init__(self, trials: Trials) -> None:
        self.trials = trials
        self.cache: dict[tuple[float, ...], Ints] = {}
        self.common = [label for label in trials.labels if trials.gaps[label] >= COMMON]
        self.rare = [label for label in trials.labels if trials.gaps[label] < COMMON]

    def best(self) -> Prices:
        """Return the prices of the candidate that cross-validation prefers, fitted to all sentences."""
        sentences = len(self.trials.without)
        everything = np.ones(sentences, bool)
        fold = np.arange(sentences) % FOLDS
        none = self.totals({}, everything)
        chosen, highest = {}, none.score
        for fit in (self.one_price, self.by_label):
            held_out = Totals(np.sum([self.counts(fit(fold != k), fold == k) for k in range(FOLDS)], 0))
            if held_out.score > highest and held_out.no_worse_than(none):
                chosen, highest = fit(everything), held_out.score
        return {label: price for label, price in chosen.items() if price}

    def one_price(self, mask: Bools) -> Prices:
        """Return the best price for all labels."""
        return self.improved({}, [self.trials.labels], mask, 0.0)

    def by_label(self, mask: Bools) -> Prices:
        """Return the best prices by label."""
        prices = self.one_price(mask)
        groups = [self.rare, *([label] for label in sorted(self.common, key=lambda label: -self.trials.gaps[label]))]
        for _ in range(PASSES):
            before = prices
            prices = self.improved(prices, groups, mask, MARGIN)
            if prices == before:
                break
        return prices

    def improved(self, prices: Prices, groups: list[list[str]], mask: Bools, margin: float) -> Prices:
        """Give the labels of one group after the other the price that gains most, if it gains more than the margin."""
        none = self.totals({}, mask)
        for group in groups:
            least, best = self.totals(prices, mask).score + margin, prices
            for price in GRID:
                candidate = prices | dict.fromkeys(group, price)
                totals = self.totals(candidate, mask)
                if totals.score > least and totals.no_worse_than(none):
                    least, best = totals.score, candidate
            prices = best
        return prices

    def totals(self, prices: Prices, mask: Bools) -> Totals:
        return Totals(self.counts(prices, mask))

    def counts(self, prices: Prices, mask: Bools) -> Ints:
        """Return the numbers of brackets (6,) of some sentences with these prices."""
        with_gaps = self.trials.with_gaps
        key = tuple(prices.get(label, 0.0) for label in self.trials.labels)
        if key not in self.cache:
            self.cache[key] = self.trials.counts(prices)
        found: Ints = self.trials.without[mask & ~with_gaps].sum(0) + self.cache[key][mask[with_gaps]].sum(0)
        return found
