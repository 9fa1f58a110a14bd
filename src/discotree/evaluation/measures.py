"""Measures of sentences and texts for research on readability and language learning.

Punctuation is removed first, so words, positions and gaps are counted without it. A constituent is any phrase except
the virtual root. Dependencies are found by the head rules of the annotation scheme.

Every measure is one count divided by another. For a text, both are summed over its sentences first.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, islice, pairwise

from discotree.encoding.dependencies import heads_first, to_dependencies
from discotree.encoding.head_rules import HeadRules
from discotree.evaluation.analysis import percentile_interval, resample
from discotree.trees.labels import CLAUSES, HEAD_RULES, ClauseLabels, find_scheme, guess_scheme
from discotree.trees.punctuation import is_punctuation, remove_punctuation
from discotree.trees.transforms import add_root
from discotree.trees.tree import Tree, mask_spans

MEASURES = {
    "words": ("words", "sentences"),
    "clauses": ("clauses", "with_scheme"),
    "t_units": ("t_units", "with_scheme"),
    "words_per_clause": ("words", "clauses"),
    "words_per_t_unit": ("words", "t_units"),
    "clauses_per_t_unit": ("clauses", "t_units"),
    "depth": ("depth", "sentences"),
    "dependency_length": ("dependency_length", "dependencies"),
    "gap_degree": ("gap_degree", "sentences"),
    "block_degree": ("block_degree", "sentences"),
    "dependency_gap_degree": ("dependency_gap_degree", "with_scheme"),
    "dependency_block_degree": ("dependency_block_degree", "with_scheme"),
    "edge_degree": ("edge_degree", "with_scheme"),
    "ill_nested": ("ill_nested", "with_scheme"),
    "discontinuous": ("discontinuous", "constituents"),
}
"""The two counts of each measure. ``with_scheme`` counts sentences with a known scheme."""

COUNTS = list(dict.fromkeys(chain.from_iterable(MEASURES.values())))

_load_rules = cache(HeadRules.load)


def measure(tree: Tree, scheme: object = None) -> dict[str, float | None]:
    """Return the measures of a sentence by name; those that are undefined or cannot be computed are None.

    ``scheme`` is one that ``explain`` knows, or a model or its name; by default, the one that fits the labels of
    the tree. Example: ``dt.measure(tree)["gap_degree"]``.
    """
    return divide(count(tree, find_scheme(tree if scheme is None else scheme)))


def guess_common_scheme(trees: Iterable[Tree]) -> tuple[str | None, Iterator[Tree]]:
    """Return the scheme of most of the first 100 trees, None if they fit no scheme, and all trees."""
    trees = iter(trees)
    first = list(islice(trees, 100))
    schemes = Counter(filter(None, map(guess_scheme, first)))
    return (schemes.most_common(1)[0][0] if schemes else None), chain(first, trees)


def divide(counts: Counter[str]) -> dict[str, float | None]:
    """Return the measures of a sentence, or those of a text from the sums of its counts."""
    pairs = {name: (counts[count], counts[by]) for name, (count, by) in MEASURES.items()}
    return {name: None if not by else count if by == 1 else count / by for name, (count, by) in pairs.items()}


def summarise(sentences: Iterable[Counter[str]]) -> dict[str, tuple[float | None, float | None, float | None]]:
    """Return the measures of a text, each with its 95 % interval from 1000 bootstrap samples of the sentences."""
    counted = [counts for counts in sentences if counts["sentences"]]
    sums = resample([[counts[name] for name in COUNTS] for counts in counted]) if len(counted) > 1 else ()
    samples = [divide(Counter(dict(zip(COUNTS, row, strict=True)))) for row in sums]
    result = {}
    for name, value in divide(sum(counted, Counter())).items():
        defined = [number for sample in samples if (number := sample[name]) is not None]
        result[name] = (value, *(percentile_interval(defined) if defined else (None, None)))
    return result


def count(tree: Tree, scheme: str | None) -> Counter[str]:
    """Return the counts of a sentence, which are all 0 if it has no words.

    Clauses and dependencies are counted only if the scheme is known.
    """
    if all(map(is_punctuation, tree.tokens)):
        return Counter()
    tree = add_root(remove_punctuation(tree))
    gaps = [node.gap_degree for node in tree.nodes() if node is not tree.root]
    depths = {-1: 0}
    for index, (_, _, parent) in enumerate(tree.parents()[1]):
        depths[index] = depths[parent] + 1
    counts = Counter(sentences=1, words=len(tree), depth=max(depths.values()), constituents=len(gaps))
    counts.update(discontinuous=sum(map(bool, gaps)), gap_degree=max(gaps, default=0))
    counts["block_degree"] = counts["gap_degree"] + 1
    if scheme is not None:
        counts.update(count_clauses(tree, CLAUSES[scheme]))
        counts.update(count_dependencies(to_dependencies(tree, _load_rules(HEAD_RULES[scheme])).heads))
    return counts


def count_clauses(tree: Tree, labels: ClauseLabels) -> dict[str, int]:
    """Count the finite clauses, and the T-units: clauses that are not part of another one."""
    token_parents, nodes = tree.parents()

    def clauses_with(tags: str) -> set[int]:
        """Return the clauses with a word of their own that has one of these tags."""
        found = set()
        for token, parent in zip(tree.tokens, token_parents, strict=True):
            if re.fullmatch(tags, token.tag):
                while parent >= 0 and re.fullmatch(labels.phrases, nodes[parent][0]):
                    parent = nodes[parent][2]
                if parent >= 0 and re.fullmatch(labels.clauses, nodes[parent][0]):
                    found.add(parent)
        return found

    finite = clauses_with(labels.verbs)
    imperatives = clauses_with(labels.imperative) - clauses_with(labels.infinitive)
    clauses = t_units = 0
    inside = {-1: False}  # whether a node is a clause or part of one
    for index, (_, _, parent) in enumerate(nodes):
        is_clause = index in finite or (index in imperatives and not inside[parent])
        clauses += is_clause
        t_units += is_clause and not inside[parent]
        inside[index] = is_clause or inside[parent]
    return {"with_scheme": 1, "clauses": clauses, "t_units": t_units}


def count_dependencies(heads: Sequence[int]) -> dict[str, int]:
    """Count the arcs of a dependency tree and their properties; its root has the head -1."""
    yields = [1 << position for position in range(len(heads))]  # every word with all words below it
    for position in reversed(heads_first(heads)[1]):
        if heads[position] >= 0:
            yields[heads[position]] |= yields[position]
    arcs = [(head, dependent) for dependent, head in enumerate(heads) if head >= 0]
    block_degree = max([len(mask_spans(mask)) for mask in yields])
    return {
        "dependencies": len(arcs),
        "dependency_length": sum([abs(head - dependent) for head, dependent in arcs]),
        "dependency_gap_degree": block_degree - 1,
        "dependency_block_degree": block_degree,
        "edge_degree": max([_edge_degree(*arc, heads, yields) for arc in arcs], default=0),
        "ill_nested": int(_is_ill_nested(yields)),
    }


def _edge_degree(head: int, dependent: int, heads: Sequence[int], yields: Sequence[int]) -> int:
    """Return the number of connected components between the ends of an arc that its head does not dominate."""
    between = range(min(head, dependent) + 1, max(head, dependent))
    if not ~yields[head] & ((1 << between.stop) - (1 << between.start)):
        return 0  # the usual case, which would take half a minute for a flat sentence of 10,000 words
    # The root of a component is the word whose head is outside.
    return sum([heads[k] not in between and not yields[head] >> k & 1 for k in between])


def _is_ill_nested(yields: Sequence[int]) -> bool:
    """Return whether the yields of two words interleave, where neither word dominates the other."""
    gaps = [(mask, (1 << right[0]) - (1 << left[1])) for mask in yields for left, right in pairwise(mask_spans(mask))]
    return any(not mask & other and other & gap and other & ~gap for mask, gap in gaps for other in yields)
