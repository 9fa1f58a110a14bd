"""Measure parsing under constraints: its latency on held-out trees, and its results against all trees.

    DISCOTREE_DATA=FOLDER python benchmarks/constraints.py MODEL … [--words 30] [--sentences 200] [--constraints 10]
    python benchmarks/constraints.py --cases 20000

Sentences of the model's dev set that have about --words words are parsed one by one, without constraints and with
random constituents of the gold tree: --constraints of them, half of them, half of them without labels, and one that the
parser does not find by itself. CPU ms are those of all threads together; on a busy machine they say more.

--cases draws random scores, constraints and gap penalties for sentences of three to five words, and compares the best
tree, or the best three, with an enumeration of all heads and labels.
"""

import argparse
import itertools
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

import discotree as dt
from discotree.decoding.constrained import ConstrainedSearch
from discotree.decoding.gap_penalty import GapPenalties
from discotree.network.arrays import F64, Bool
from discotree.network.scores import Scores, finite, grouped_labeler, legal_arcs
from discotree.parsing.parser import Parser
from discotree.training.data import load_held_out, resolve
from discotree.trees.constraints import Constraint, IsConstituent, NotConstituent, WordHas, constraints_of
from discotree.trees.tree import Token, Tree

ROOT = "ROOT"
LABELS = {3: ["A#1", "B#1", "A#2", "B+C#2", "ROOT#3", "B#3"], 5: ["A#1", "B#1", "A+B#2", "ROOT#3"]}
LABELS[4] = LABELS[3]
PENALTIES = {"A": 1.0, "B": 0.25, "C": 2.5}
WEIGHTS = {3: 0.3, 4: 0.5, 5: 0.2}  # shares of the cases, by the number of words


# Enumeration


class Enumeration:
    """All trees of a sentence: one word on the root, any heads, and one label for all words that join a phrase."""

    def __init__(self, words: int) -> None:
        self.words = words
        labels = LABELS[words]
        levels = [int(label[-1]) for label in labels]
        tokens = tuple(Token(f"w{k}") for k in range(words))
        rows, nodes = [], []
        for heads in itertools.product(range(-1, words), repeat=words):
            if heads.count(-1) != 1 or not _is_tree(heads):
                continue
            choices = [range(1 if head < 0 else len(labels)) for head in heads]  # the label on the root means nothing
            for chosen in itertools.product(*choices):
                phrase_labels: dict[tuple[int, int], int] = {}
                arcs = [(head, levels[label], label) for head, label in zip(heads, chosen, strict=True) if head >= 0]
                if any(phrase_labels.setdefault((head, level), label) != label for head, level, label in arcs):
                    continue
                names = tuple(labels[label] for label in chosen)
                rows.append((heads, chosen))
                nodes.append(list(dt.to_tree(dt.Dependencies(tokens, heads, names, root=ROOT)).nodes()))
        self.heads, self.labels = (np.array(column) for column in zip(*rows, strict=True))  # (trees, words)
        gaps = [[node.label for node in tree if _has_gap(node.positions)] for tree in nodes]
        self.penalties = np.array([sum(PENALTIES.get(label, 0.0) for label in tree) for tree in gaps])
        self._having: dict[tuple[int, str | None], Bool] = {}
        for number, tree in enumerate(nodes):
            for node in tree:
                for key in ((node.mask, node.label), (node.mask, None)):
                    self._having.setdefault(key, np.zeros(len(rows), bool))[number] = True

    def having(self, words: int, label: str | None) -> Bool:
        """Return which trees have a constituent over these words, with this label if one is given."""
        return self._having.get((words, label), np.zeros(len(self.heads), bool))

    def satisfying(self, constraints: Sequence[Constraint]) -> Bool:
        """Return which trees satisfy constraints."""
        fits = np.ones(len(self.heads), bool)
        for one in constraints:
            if isinstance(one, WordHas):
                fits &= self.heads[:, one.position] == one.head
            else:
                fits &= self.having(one.mask, one.label) == isinstance(one, IsConstituent)
        return fits

    def values(self, scores: Scores, constraints: Sequence[Constraint], penalised: bool) -> F64:
        """Return the scores of all trees that satisfy constraints, best first."""
        n = self.words
        words = np.arange(n)
        _, word, column = (index.ravel() for index in np.indices((1, n, n + 1)))
        rows = finite(scores.label_rows(np.zeros_like(word), word, column)).reshape(n, n + 1, -1)
        labels = np.where(self.heads < 0, rows[:, 0].max(1), rows[words, self.heads + 1, self.labels])
        values = (legal_arcs(scores)[0][words, self.heads + 1] + labels).sum(1) - self.penalties * penalised
        return np.sort(values[self.satisfying(constraints)])[::-1]


def _is_tree(heads: Sequence[int]) -> bool:
    for word in range(len(heads)):
        for _ in heads:
            word = heads[word] if word >= 0 else -1
        if word >= 0:
            return False
    return True


def _has_gap(positions: Sequence[int]) -> bool:
    return positions[-1] - positions[0] >= len(positions)


enumeration = cache(Enumeration)


@dataclass(frozen=True)
class Case:
    """A random problem."""

    words: int
    scores: Scores
    constraints: list[Constraint]
    penalised: bool
    k: int

    @classmethod
    def random(cls, seed: int, words: int) -> "Case":
        rng = np.random.default_rng(seed)
        arcs = rng.normal(size=(1, words, words + 1)) * rng.choice([0.5, 2, 8])
        arcs -= np.log(np.exp(arcs).sum(-1, keepdims=True))
        features = [rng.normal(size=(1, words + k, 3)).astype(np.float32) * rng.choice([0.5, 2]) for k in (0, 1)]
        matrix = rng.normal(size=(3, 3 * len(LABELS[words]))).astype(np.float32)
        labeler = grouped_labeler(lambda heads: heads @ matrix, len(LABELS[words]))
        scores = Scores(np.array([words]), arcs.astype(np.float32), *features, labeler, {})

        def words_of_phrase() -> list[int]:
            return list(map(int, rng.choice(words, rng.integers(2, words + 1), replace=False)))

        def label() -> str | None:
            return [None, None, "A", "B", "C"][rng.integers(5)]

        constraints: list[Constraint] = [IsConstituent(words_of_phrase(), label()) for _ in range(rng.integers(4))]
        constraints += [NotConstituent(words_of_phrase(), label()) for _ in range(rng.integers(4))]
        word, *others = map(int, rng.permutation(words))
        constraints += [WordHas(word, head=int(rng.choice([-1, *others])))] * int(rng.integers(2))
        return cls(words, scores, constraints, bool(rng.integers(2)), int(rng.choice([1, 3])))

    def search(self) -> ConstrainedSearch:
        return ConstrainedSearch(self.scores, GapPenalties.for_labels(LABELS[self.words], ROOT, PENALTIES), ROOT)

    def found(self) -> list[float]:
        """Return the scores of the best trees."""
        search = self.search()
        decoded = search.best(self.constraints, self.k, penalise=self.penalised)
        assert not search.exhausted
        trees = [(float(tree.log_probability[0]), tree.heads[0].tolist(), tree.labels[0].tolist()) for tree in decoded]
        return [value - self.penalised * search.penalties.total(heads, labels) for value, heads, labels in trees]

    def expected(self) -> list[float]:
        """Return the scores of the best trees by enumeration."""
        values = enumeration(self.words).values(self.scores, self.constraints, self.penalised)
        return values[: self.k].tolist()


def cases(count: int, weights: dict[int, float]) -> Iterator[Case]:
    """Yield random cases; ``weights`` are the shares of each number of words."""
    words = np.random.default_rng(0).choice(list(weights), count, p=list(weights.values()))
    return (Case.random(seed, int(n)) for seed, n in enumerate(words))


def compare(count: int, weights: dict[int, float]) -> tuple[int, int]:
    """Compare random cases with the enumeration; return how many differ, and how many have no tree."""
    wrong = impossible = 0
    for case in cases(count, weights):
        expected, found = case.expected(), case.found()
        impossible += not expected
        wrong += len(found) != len(expected) or not np.allclose(found, expected, atol=1e-4)
    return wrong, impossible


# Latency


def constituents(tree: Tree) -> list[IsConstituent]:
    """Return the constituents of a tree as constraints, without functions."""
    return [IsConstituent(one.words, one.label) for one in constraints_of(tree) if isinstance(one, IsConstituent)]


def measure(parser: Parser, trees: Sequence[Tree], count: int) -> None:
    """Print the milliseconds of a parse with several kinds of constraints."""
    rng = random.Random(0)

    def half(gold: list[IsConstituent]) -> list[IsConstituent]:
        return rng.sample(gold, len(gold) // 2)

    kinds: dict[str, Callable[[Tree, list[IsConstituent]], list[IsConstituent]]] = {
        "no constraints": lambda _tree, _gold: [],
        f"{count} constituents": lambda _tree, gold: rng.sample(gold, min(count, len(gold))),
        "half of them": lambda _tree, gold: half(gold),
        "half, without labels": lambda _tree, gold: [IsConstituent(one.words) for one in half(gold)],
        "one correction": lambda tree, gold: [one for one in gold if one not in constituents(parser(tree.words))][:1],
    }
    parser(trees[0].words)
    print(f"  {'':24}{'sentences':>10}{'p50 ms':>8}{'p95 ms':>8}{'max ms':>8}{'p95 CPU ms':>12}")
    for name, choose in kinds.items():
        took, used = [], []
        for tree in trees:
            constraints = choose(tree, constituents(tree))
            start, cpu = time.perf_counter(), time.process_time()
            parser(tree.words, constraints)
            took.append(1000 * (time.perf_counter() - start))
            used.append(1000 * (time.process_time() - cpu))
        p50, p95, most = np.percentile(took, [50, 95, 100])
        cpu = np.percentile(used, 95)
        print(f"  {name:24}{len(took):>10}{p50:>8.0f}{p95:>8.0f}{most:>8.0f}{cpu:>12.0f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--words", type=int, default=30)
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--constraints", type=int, default=10)
    parser.add_argument("--cases", type=int, default=0)
    options = parser.parse_args()
    if options.cases:
        start = time.perf_counter()
        wrong, impossible = compare(options.cases, WEIGHTS)
        seconds = time.perf_counter() - start
        print(f"{options.cases:,} cases, {impossible:,} of them impossible: {wrong} differ ({seconds:.0f} s)")
    for name in options.models:
        model = dt.load(name, "cpu")
        trees = load_held_out(resolve(model.config.data), "dev").trees
        near = sorted(trees, key=lambda tree: abs(len(tree.tokens) - options.words))[: options.sentences]
        sizes = [len(tree.tokens) for tree in near]
        print(f"{name}: sentences of {min(sizes)} to {max(sizes)} words")
        measure(model, near, options.constraints)


if __name__ == "__main__":
    main()
