"""Compare ways to avoid spurious gaps on held-out trees.

    DISCOTREE_DATA=FOLDER python benchmarks/gaps.py MODEL [TREEBANK …] [--split dev] [--every 1] [--penalties FILE.json]

Without TREEBANK, the trees are the model's own dev set, or --split test. Penalties are fitted to them, or read from the
file of --penalties. --every 5 uses every fifth sentence only. Seconds are those of decoding, without the network.

baseline      the most probable tree
lone words    a word that is the whole gap of a phrase joins that phrase, regardless of scores
uniform       one gap penalty for all labels
by label      a gap penalty for each phrase label
chosen        the penalties that cross-validation chooses, as calibration does
k best        the 20 most probable trees, ranked with the chosen penalties
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path

import discotree as dt
from discotree.decoding.decode import Decoded, decode
from discotree.decoding.gap_penalty import GapPenalties, has_gap
from discotree.decoding.k_best import k_best, rank_with_penalties
from discotree.evaluation.parseval import evaluate
from discotree.network.scores import Scores
from discotree.parsing.parser import Parser
from discotree.training.data import Split, load_held_out, resolve, treebank_split
from discotree.training.fit_gap_penalty import GapPenaltyFit, Penalties
from discotree.trees.tree import Tree

K = 20
PER_WORD = ("heads", "labels", "arc_probability", "label_probability")  # fields of Decoded
Decide = Callable[[Scores], Iterator[Decoded]]  # one for each sentence


def held_out(parser: Parser, treebanks: list[str], name: str, every: int) -> Split:
    """Read the trees, prepared as the model's own settings say."""
    data = parser.config.data
    if treebanks:
        split = treebank_split((tree for file in treebanks for tree in dt.read(file)), data)
    else:
        split = load_held_out(resolve(data), name)
    return Split(split.trees[::every], inputs=split.inputs[::every])


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


def deciders(parser: Parser, penalties: dict[str, Penalties]) -> dict[str, tuple[Decide, Callable[[Tree], Tree]]]:
    """Return the candidates: from scores to prediction, and from trees to trees."""
    levels = parser._levels if parser.config.decoding.consistent else None

    def same(tree: Tree) -> Tree:
        return tree

    def penalised(penalties: GapPenalties | None) -> Decide:
        return lambda scores: rows(decode(scores, levels=levels, penalties=penalties))

    def of_k(penalties: GapPenalties) -> Decide:
        def decide(scores: Scores) -> Iterator[Decoded]:
            first = decode(scores, levels=levels)
            for b, best in enumerate(rows(first)):
                alone = sentence_of(scores, b)
                best = cut(best, int(scores.lengths[b]))
                has_gaps = penalties.has_gaps(best.heads[0].tolist(), best.labels[0].tolist())
                others = k_best(alone, K) if has_gaps else ()
                yield rank_with_penalties([best, *others], penalties)[0]

        return decide

    ways: dict[str, tuple[Decide, Callable[[Tree], Tree]]] = {
        "baseline": (penalised(None), same),
        "lone words": (penalised(None), without_lone_gaps),
    }
    for name, chosen in penalties.items():
        ways[name] = (penalised(parser._phrases.with_penalties(chosen)), same)
    ways["k best"] = (of_k(parser._phrases.with_penalties(list(penalties.values())[-1])), same)
    return ways


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


def candidates(fit: GapPenaltyFit) -> dict[str, Penalties]:
    """Return the penalties of all candidates, by name, and the chosen ones."""
    return {"uniform": fit.uniform(fit.all), "by label": fit.by_label(fit.all), "chosen": fit.best()}


def compare(parser: Parser, split: Split, fixed: Penalties | None) -> None:
    batches = list(parser._scores(parser._corpus(split.inputs)))
    penalties = {"penalties": fixed} if fixed is not None else candidates(GapPenaltyFit(parser, split))
    print(f"  {'':14}{'F1':>7}{'disc. P':>9}{'disc. R':>9}{'disc. F1':>10}{'seconds':>9}")
    for name, (decide, mend) in deciders(parser, penalties).items():
        start = time.process_time()
        trees: dict[int, Tree] = {}
        for numbers, scores in batches:
            for b, (number, decoded) in enumerate(zip(numbers.tolist(), decide(scores), strict=True)):
                alone, n = sentence_of(scores, b), int(scores.lengths[b])
                one, id = cut(decoded, n), split.trees[number].id
                (tree,) = parser._tree_builder.trees([split.inputs[number]], one, alone, [id])
                trees[number] = mend(tree)
        took = time.process_time() - start
        score = evaluate(split.trees, [trees[number] for number in range(len(split))])
        gaps = score.discontinuous
        print(
            f"  {name:14}{score.f1:7.2f}{gaps.precision:9.1f}{gaps.recall:9.1f}{gaps.f1:10.2f}{took:9.1f}", flush=True
        )
    for name, by_label in penalties.items():
        print(f"  {name}: {json.dumps(by_label)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("treebank", nargs="*")
    parser.add_argument("--split", choices=("dev", "test"), default="dev")
    parser.add_argument("--every", type=int, default=1, metavar="N")
    parser.add_argument("--penalties", type=Path, metavar="FILE")
    options = parser.parse_args()
    model = dt.load(options.model, "cpu")
    split = held_out(model, options.treebank, options.split, options.every)
    with_gaps = sum(any(has_gap(node.mask) for node in tree.nodes()) for tree in split.trees)
    print(f"{options.model}: {len(split):,} sentences, {with_gaps:,} with a gap")
    compare(model, split, json.loads(options.penalties.read_text("utf-8")) if options.penalties else None)


if __name__ == "__main__":
    main()
