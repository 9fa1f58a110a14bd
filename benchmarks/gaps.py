"""What to do about gaps that should not be there: candidates compared on held-out trees.

    DISCOTREE_DATA=FOLDER python benchmarks/gaps.py MODEL [TREEBANK …] [--split dev] [--every 1] [--prices FILE.json]

Without TREEBANK, the trees are the model's own dev set, or --split test. Prices are fitted to them unless --prices
names a file with some. --every 5 takes every fifth sentence only. Seconds are those of decoding, without the network.

baseline      the most probable tree
lone words    a word that is the whole gap of a phrase joins that phrase, whatever the scores say
minimum risk  the tree with the most words on the right head that is to be expected, from exact marginals of arcs
one price     a second look, with the same price for the gaps of all phrases
by label      a second look, with a price for each phrase label
chosen        a second look, with the prices that cross-validation chose: what the model would get
k best        the 20 most probable trees, ranked with those prices
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path

import numpy as np

import discotree as dt
from discotree.evaluation.parseval import evaluate
from discotree.network.assemble import Decisions, decoded_candidates, ranked
from discotree.network.decode import Decoded, decode
from discotree.network.gap_prices import GapPrices, discontinuous, has_gap
from discotree.network.k_best import k_best
from discotree.network.marginals import marginals
from discotree.network.scores import Scores
from discotree.parsing.parser import Parser
from discotree.training.data import Split, load_held_out, resolve, treebank_split
from discotree.training.gap_prices import Prices, Trials, candidates
from discotree.trees.tree import Tree

K = 20
PER_WORD = ("heads", "labels", "arc_probability", "label_probability")  # fields of Decoded
SCALE = 1000.0  # marginals outweigh labels, which only break ties
Decide = Callable[[Scores], Iterator[Decoded]]  # one for each sentence


def held_out(parser: Parser, treebanks: list[str], name: str, every: int) -> Split:
    """Read the trees, prepared as the model's own settings say."""
    data = parser.config.data
    if treebanks:
        split = treebank_split((tree for file in treebanks for tree in dt.read(file)), data)
    else:
        split = load_held_out(resolve(data), name)
    return Split(split.trees[::every], inputs=split.inputs[::every])


def with_marginals(scores: Scores) -> Scores:
    """Replace the scores of arcs by their marginals."""
    return replace(scores, arcs=(SCALE * (marginals(scores) - 1)).astype(np.float32))


def without_lone_gaps(tree: Tree) -> Tree:
    """Move each word that is the whole gap of a phrase into the largest such phrase."""
    token_parents, nodes = tree.parents()
    masks = [node.mask for node in tree.nodes()][1:]
    for number, mask in enumerate(masks):
        gap = ((1 << mask.bit_length()) - (mask & -mask)) & ~mask
        if gap.bit_count() == 1:
            word = gap.bit_length() - 1
            siblings = token_parents.count(token_parents[word]) + sum(up == token_parents[word] for *_, up in nodes)
            if siblings > 1:
                token_parents[word] = number
    root = (tree.root.label, tree.root.function)
    return Tree.from_parents(tree.tokens, token_parents, nodes, root=root, id=tree.id)


def deciders(parser: Parser, prices: dict[str, Prices]) -> dict[str, tuple[Decide, Callable[[Tree], Tree]]]:
    """Return the candidates: from scores to decisions, and from trees to trees."""
    levels = parser.levels if parser.config.decoding.consistent else None

    def same(tree: Tree) -> Tree:
        return tree

    def priced(prices: GapPrices | None) -> Decide:
        return lambda scores: rows(decode(scores, levels=levels, prices=prices))

    def least_risk(scores: Scores) -> Iterator[Decoded]:
        return rows(decode(with_marginals(scores), levels=levels))

    def of_k(prices: GapPrices) -> Decide:
        def decide(scores: Scores) -> Iterator[Decoded]:
            first = decode(scores, levels=levels)
            gaps = discontinuous(first.heads, parser.levels[first.labels], scores.mask)
            for b, best in enumerate(rows(first)):
                alone = sentence_of(scores, b)
                more = decoded_candidates(k_best(alone, K)[0], alone) if gaps[b] else ()
                n = int(scores.lengths[b])
                yield ranked([cut(best, n), *more], prices)[0]

        return decide

    found: dict[str, tuple[Decide, Callable[[Tree], Tree]]] = {
        "baseline": (priced(None), same),
        "lone words": (priced(None), without_lone_gaps),
        "minimum risk": (least_risk, same),
    }
    for name, chosen in prices.items():
        found[name] = (priced(parser.phrases.priced(chosen)), same)
    found["k best"] = (of_k(parser.phrases.priced(list(prices.values())[-1])), same)
    return found


def rows(decoded: Decoded) -> Iterator[Decoded]:
    """Yield the sentences of a batch."""
    for b in range(len(decoded.heads)):
        yield Decoded(*(getattr(decoded, field.name)[b : b + 1] for field in fields(Decoded)))


def cut(decoded: Decoded, n: int) -> Decoded:
    """Return one sentence without its padding."""
    return replace(decoded, **{name: getattr(decoded, name)[:, :n] for name in PER_WORD})


def sentence_of(scores: Scores, b: int) -> Scores:
    """Return one sentence of a batch."""
    n, part = int(scores.lengths[b]), slice(b, b + 1)
    auxiliary = {
        head: replace(found, classes=found.classes[part, :n], log_probability=found.log_probability[part, :n])
        for head, found in scores.auxiliary.items()
    }
    arcs, dependents = scores.arcs[part, :n, : n + 1], scores.dependents[part, :n]
    return Scores(scores.lengths[part], arcs, dependents, scores.heads[part, : n + 1], scores.labeler, auxiliary)


def compare(parser: Parser, split: Split, given: Prices | None) -> None:
    batches = list(parser.scores(parser.corpus(split.inputs)))
    prices = {"prices": given} if given is not None else candidates(Trials.of(parser, split))
    print(f"  {'':14}{'F1':>7}{'disc. P':>9}{'disc. R':>9}{'disc. F1':>10}{'seconds':>9}")
    for name, (decide, mend) in deciders(parser, prices).items():
        start = time.process_time()
        trees: dict[int, Tree] = {}
        for numbers, scores in batches:
            for b, (number, decoded) in enumerate(zip(numbers.tolist(), decide(scores), strict=True)):
                alone, n = sentence_of(scores, b), int(scores.lengths[b])
                (decisions,) = Decisions.of(cut(decoded, n), alone)
                trees[number] = mend(parser.assembler.tree(split.inputs[number], decisions, split.trees[number].id))
        took = time.process_time() - start
        score = evaluate(split.trees, [trees[number] for number in range(len(split))])
        gaps = score.discontinuous
        print(
            f"  {name:14}{score.f1:7.2f}{gaps.precision:9.1f}{gaps.recall:9.1f}{gaps.f1:10.2f}{took:9.1f}", flush=True
        )
    for name, found in prices.items():
        print(f"  {name}: {json.dumps(found)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("treebank", nargs="*")
    parser.add_argument("--split", choices=("dev", "test"), default="dev")
    parser.add_argument("--every", type=int, default=1, metavar="N")
    parser.add_argument("--prices", type=Path, metavar="FILE")
    options = parser.parse_args()
    model = dt.load(options.model, "cpu")
    split = held_out(model, options.treebank, options.split, options.every)
    with_gaps = sum(any(has_gap(node.mask) for node in tree.nodes()) for tree in split.trees)
    print(f"{options.model}: {len(split):,} sentences, {with_gaps:,} with a gap")
    compare(model, split, json.loads(options.prices.read_text("utf-8")) if options.prices else None)


if __name__ == "__main__":
    main()
