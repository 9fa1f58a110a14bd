"""Count the corrections of simulated annotators, with and without parsing again after every correction.

    DISCOTREE_DATA=FOLDER python benchmarks/annotate.py MODEL[:SOURCE] … [--sentences 300] [--threads 2]

The sentences are drawn at random from the model's dev set, or from its files with SOURCE in their names, such as
en:craft. The annotator starts from the tree of the parser, knows the gold tree, and makes one correction after the
other until the constituents, functions and tags are those of the gold tree. A correction is one operation of the
editor, with everything that is selected for it:

- join words and constituents to a new constituent with a label;
- dissolve a constituent;
- give a constituent another label;
- attach words and constituents to another constituent;
- give a constituent or word another function, or a word another tag.

The annotator works from the largest constituents to the smallest, and from left to right: the first constituent that
only one of the trees has is corrected by the operation after which the fewest constituents differ. Functions and tags
come last. The order is the same with and without parsing again. After a correction of constituents, the rest is parsed
again as in the editor. If the proposal has fewer differences from the gold tree than the corrected tree, the annotator
takes it, and otherwise leaves it. Both are one key and are counted separately from corrections.

The latency is the time to derive the constraints, parse and compare, for sentences of 25 to 35 words.
"""

import argparse
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

import discotree as dt
from discotree.parsing.parser import QUICK_STEPS, Failure, ParseOptions, parse_each
from discotree.training.data import load_held_out, resolve
from discotree.trees.constraints import Constraint
from discotree.trees.corrections import corrections, proposal, secondary_ends
from discotree.trees.tree import NONE, Tree

KINDS = ("join", "dissolve", "relabel", "attach", "function", "tag")
KEYS = ("take", "leave")
WORDS = range(25, 36)  # of the sentences whose latency is reported


class Phrase(NamedTuple):
    """A constituent; bit i of ``mask`` is set if it has word i."""

    mask: int
    label: str
    function: str = NONE

    @property
    def key(self) -> tuple[int, str]:
        return self.mask, self.label


Phrases = list[Phrase]  # of a tree, without the root: parents before children


def phrases_of(tree: Tree) -> Phrases:
    return [Phrase(node.mask, node.label, node.function) for node in tree.nodes() if node is not tree.root]


def tree_of(phrases: Phrases, like: Tree) -> Tree:
    """Return the tree with these constituents, and with the words and the root of another one."""
    token_parents = [-1] * len(like)
    for number, phrase in enumerate(phrases):
        token_parents = [number if phrase.mask >> k & 1 else parent for k, parent in enumerate(token_parents)]
    parents = [parent_of(phrases, number) for number in range(len(phrases))]
    return like.rebuild(token_parents, [(one.label, one.function, k) for one, k in zip(phrases, parents, strict=True)])


# The operations of the editor


def in_order(phrases: Phrases) -> Phrases:
    """Return constituents without empty ones, the largest first."""
    return sorted((one for one in phrases if one.mask), key=lambda one: -one.mask.bit_count())


def join(phrases: Phrases, mask: int, label: str) -> Phrases:
    """Make a constituent over words; other constituents that have some of them, but not all, lose them."""
    others = [one if _nested(one.mask, mask) else one._replace(mask=one.mask & ~mask) for one in phrases]
    return in_order([Phrase(mask, label), *others])


def attach(phrases: Phrases, mask: int, target: int) -> Phrases:
    """Attach words, with the constituents that have no others, to a constituent, or to the root (-1)."""
    goal = phrases[target].mask
    result = []
    for number, one in enumerate(phrases):
        if number <= target and one.mask & goal == goal:  # the constituent, or one above it
            result.append(one._replace(mask=one.mask | mask))
        else:
            result.append(one if one.mask & ~mask == 0 else one._replace(mask=one.mask & ~mask))
    return in_order(result)


def _nested(a: int, b: int) -> bool:
    return a & b in (0, a, b)


def parent_of(phrases: Phrases, number: int) -> int:
    """Return the number of the constituent above one, -1 for the root."""
    mask = phrases[number].mask
    return next((k for k in range(number - 1, -1, -1) if phrases[k].mask & mask == mask), -1)


# The annotator


def unmatched(phrases: Phrases, gold: Phrases) -> tuple[list[int], Phrases]:
    """Return the numbers of the constituents that gold does not have, and the gold ones that are missing."""
    left = Counter(one.key for one in gold)
    extra = []
    for number, one in enumerate(phrases):
        if left[one.key]:
            left[one.key] -= 1
        else:
            extra.append(number)
    missing = []
    for one in gold:
        if left[one.key]:
            left[one.key] -= 1
            missing.append(one)
    return extra, missing


def candidates(phrases: Phrases, extra: list[int], missing: Phrases) -> Iterator[tuple[str, Phrases]]:
    """Yield the operations that correct the first difference, each with its result."""

    def order(mask: int) -> tuple[int, int]:
        return -mask.bit_count(), mask & -mask

    first = min([order(phrases[number].mask) for number in extra] + [order(one.mask) for one in missing])
    wanted = [one for one in missing if order(one.mask) == first]
    wrong = [number for number in extra if order(phrases[number].mask) == first]
    for number in extra:
        for one in missing:
            old = phrases[number]
            if number not in wrong and one not in wanted:
                continue
            if old.mask == one.mask:
                yield "relabel", [*phrases[:number], old._replace(label=one.label), *phrases[number + 1 :]]
            elif old.label == one.label and old.mask & one.mask == old.mask:
                yield "attach", attach(phrases, one.mask & ~old.mask, number)
            elif old.label == one.label and old.mask & one.mask == one.mask:
                yield "attach", attach(phrases, old.mask & ~one.mask, parent_of(phrases, number))
    for one in wanted:
        yield "join", join(phrases, one.mask, one.label)
    for number in wrong:
        yield "dissolve", [*phrases[:number], *phrases[number + 1 :]]


def differing(phrases: Phrases, gold: Phrases) -> int:
    extra, missing = unmatched(phrases, gold)
    return len(extra) + len(missing)


def correct(phrases: Phrases, gold: Phrases) -> tuple[str, Phrases] | None:
    """Return the next operation on constituents and its result, or None if all of them are right."""
    extra, missing = unmatched(phrases, gold)
    if not extra and not missing:
        return None
    return min(candidates(phrases, extra, missing), key=lambda option: differing(option[1], gold))


def function_differences(phrases: Phrases, gold: Phrases) -> int:
    return (Counter(gold) - Counter(phrases)).total()


def word_differences(tree: Tree, gold: Tree) -> tuple[int, int]:
    """Return how many words have another function, and how many another tag."""
    pairs = list(zip(tree.tokens, gold.tokens, strict=True))
    return sum(a.function != b.function for a, b in pairs), sum(a.tag != b.tag for a, b in pairs)


def distance(tree: Tree, gold: Tree) -> int:
    """Return the number of differences from the gold tree."""
    ours, theirs = phrases_of(tree), phrases_of(gold)
    return differing(ours, theirs) + function_differences(ours, theirs) + word_differences(tree, gold)[0]


Reparse = Callable[[Tree, Tree, Sequence[Constraint]], tuple[Tree | None, list[Constraint]]]


def annotate(tree: Tree, gold: Tree, reparse: Reparse | None) -> Counter[str]:
    """Return the number of actions of every kind from a tree to the gold tree."""
    actions: Counter[str] = Counter()
    constraints: list[Constraint] = []
    target = phrases_of(gold)
    while option := correct(phrases_of(tree), target):
        kind, phrases = option
        actions[kind] += 1
        corrected = tree_of(phrases, tree)
        if reparse:
            proposed, constraints = reparse(tree, corrected, constraints)
            if proposed and distance(proposed, gold) < distance(corrected, gold):
                actions["take"] += 1
                corrected = proposed
            elif proposed:
                actions["leave"] += 1
                constraints = corrections(proposed, corrected, constraints)
        tree = corrected
    functions, tags = word_differences(tree, gold)
    actions["function"] += function_differences(phrases_of(tree), target) + functions
    actions["tag"] += tags
    return actions


# The parser


class Reparser:
    """Parsing again as in the editor, with its latency."""

    def __init__(self, parser: dt.Parser) -> None:
        self.parser = parser
        self.milliseconds: list[float] = []
        self.processor_milliseconds: list[float] = []
        self.failures = 0

    def __call__(
        self, before: Tree, corrected: Tree, earlier: Sequence[Constraint]
    ) -> tuple[Tree | None, list[Constraint]]:
        start, processor_start = time.perf_counter(), time.process_time()
        constraints = corrections(before, corrected, earlier)
        required = [*constraints, *secondary_ends(corrected)]
        options = ParseOptions(constraints=[required], max_steps=QUICK_STEPS)
        (parsed,) = parse_each(self.parser, [corrected.words], options)
        self.failures += isinstance(parsed, Failure)
        proposed = None if isinstance(parsed, Failure) else proposal(parsed, corrected, required)
        if len(corrected) in WORDS:
            self.milliseconds.append(1000 * (time.perf_counter() - start))
            self.processor_milliseconds.append(1000 * (time.process_time() - processor_start))
        return proposed, constraints


def gold_trees(name: str, parser: dt.Parser, source: str, count: int) -> list[Tree]:
    """Return random trees of the dev set."""
    split = load_held_out(resolve(parser.config.data), "dev")
    trees = [tree for tree, one in zip(split.trees, split.sources, strict=True) if source in one.file]
    if not trees:
        raise SystemExit(f"{name}: no file of the dev set has {source!r} in its name")
    return random.Random(0).sample(trees, min(count, len(trees)))


def measure(name: str, count: int, threads: int) -> None:
    """Print the actions for one model and its dev set."""
    model, _, source = name.partition(":")
    parser = dt.load(model, "cpu", threads=threads)
    gold = gold_trees(name, parser, source, count)
    reparser = Reparser(parser)
    totals = {"by hand": Counter[str](), "parsed again": Counter[str]()}
    for tree in gold:
        predicted = parser(tree.words)
        totals["by hand"] += annotate(predicted, tree, None)
        totals["parsed again"] += annotate(predicted, tree, reparser)
    print(f"\n{name}: {len(gold)} sentences, {sum(map(len, gold)) / len(gold):.1f} words on average")
    print(f"  {'per sentence':14}" + "".join(f"{kind:>10}" for kind in (*KINDS, "sum", *KEYS)))
    for way, actions in totals.items():
        counts = [*(actions[kind] for kind in KINDS), corrections_in(actions), *(actions[key] for key in KEYS)]
        print(f"  {way:14}" + "".join(f"{number / len(gold):>10.2f}" for number in counts))
    by_hand, again = totals.values()
    print(f"  corrections: {corrections_in(again) / corrections_in(by_hand):.1%} of those by hand; ", end="")
    print(f"with the keys that take and leave proposals {again.total() / by_hand.total():.1%}")
    print(
        f"  {reparser.failures} corrections cannot be parsed; 25 to 35 words: {len(reparser.milliseconds)} parses, ",
        end="",
    )
    times = {"elapsed": reparser.milliseconds, "processor time": reparser.processor_milliseconds}
    for kind, milliseconds in times.items():
        p50, p95, most = np.percentile(milliseconds or [0], [50, 95, 100])
        print(f"{kind} p50 {p50:.0f}, p95 {p95:.0f}, max {most:.0f} ms", end="; ", flush=True)
    print()


def corrections_in(actions: Counter[str]) -> int:
    return sum(actions[kind] for kind in KINDS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL[:SOURCE]")
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    for name in options.models:
        measure(name, options.sentences, options.threads)


if __name__ == "__main__":
    main()
