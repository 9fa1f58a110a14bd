"""Measures of sentences and texts: hand-computed values, and brute-force definitions on random trees."""

import random
from collections import Counter
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from support.strategies import random_heads, random_tree

import discotree as dt
from discotree.evaluation.analysis import resample
from discotree.evaluation.measures import COUNTS, HEAD_RULES, MEASURES, count, count_dependencies, divide, summarise
from discotree.evaluation.statistics import Statistics
from discotree.trees.labels import CLAUSES, SCHEMES
from discotree.trees.punctuation import is_punctuation

DATA = Path(__file__).parents[1] / "data"
GERMAN = Path(dt.__file__).parent / "treebanks" / "samples" / "german.export"


# Brute force: every definition as it is written in docs/measures.md, over sets of positions


def below(heads, word):
    """Return a word and all words that it dominates."""
    found = {word}
    while True:
        larger = found | {k for k, head in enumerate(heads) if head in found}
        if larger == found:
            return found
        found = larger


def gaps(positions):
    return sum(b - a > 1 for a, b in pairwise(sorted(positions)))


def degree(heads, head, dependent):
    """Return the degree of an arc: components of the words in between that its head does not dominate."""
    between = set(range(min(head, dependent) + 1, max(head, dependent)))
    components = {k: {k} for k in between}
    for k in between:
        if heads[k] in between:
            joined = components[k] | components[heads[k]]
            components.update(dict.fromkeys(joined, joined))
    distinct = {frozenset(component) for component in components.values()}
    roots = [next(k for k in component if heads[k] not in component) for component in distinct]
    return sum(root not in below(heads, head) for root in roots)


def interleave(one, two):
    return any(
        (a in one and b in two and c in one and d in two) or (a in two and b in one and c in two and d in one)
        for a, b, c, d in combinations(sorted(one | two), 4)
    )


def dependency_counts(heads):
    words = range(len(heads))
    yields = [below(heads, word) for word in words]
    arcs = [(heads[k], k) for k in words if heads[k] >= 0]
    disjoint = [(one, two) for one, two in combinations(yields, 2) if not one & two]
    return {
        "dependencies": len(arcs),
        "dependency_length": sum(max(arc) - min(arc) for arc in arcs),
        "dependency_gap_degree": max(map(gaps, yields)),
        "dependency_block_degree": max(map(gaps, yields)) + 1,
        "edge_degree": max([degree(heads, *arc) for arc in arcs], default=0),
        "ill_nested": any(interleave(one, two) for one, two in disjoint),
    }


def constituents(tree):
    """Return the positions of every constituent but the root, without punctuation and renumbered, and its depth."""
    kept = [k for k, token in enumerate(tree.tokens) if not is_punctuation(token)]
    number = {position: k for k, position in enumerate(kept)}
    for node in tree:
        depth, above = 0, node
        while above.parent:
            depth, above = depth + 1, above.parent
        positions = {number[k] for k in node.positions if k in number}
        if depth and positions:
            yield positions, depth


def test_dependencies_are_measured_as_defined():
    rng = random.Random(5)
    seen = Counter()
    for _ in range(1500):
        heads = random_heads(rng, rng.randint(1, 9))
        expected = dependency_counts(heads)
        assert count_dependencies(heads) == expected, heads
        seen.update(ill=expected["ill_nested"], well=not expected["ill_nested"], high=expected["edge_degree"] > 1)
    assert min(seen.values()) > 100


def test_constituents_are_measured_as_defined():
    rng = random.Random(7)
    for _ in range(500):
        tree = random_tree(rng, rng.randint(1, 9))
        words = sum(not is_punctuation(token) for token in tree.tokens)
        counts = count(tree, None)
        found = list(constituents(tree))
        assert counts["words"] == words
        assert counts["depth"] == max([depth for _, depth in found], default=0)
        assert counts["constituents"] == len(found)
        assert counts["discontinuous"] == sum(gaps(positions) > 0 for positions, _ in found)
        assert counts["gap_degree"] == max([gaps(positions) for positions, _ in found], default=0)
        assert counts["block_degree"] == (counts["gap_degree"] + 1 if words else 0)


SYMBOLS = {  # labels of clauses, of phrases that may stand between a clause and its verb, other labels; tags
    "alpino": (["smain", "sv1", "ssub"], ["conj", "mwu"], ["np", "cp", "rel"], ["ww", "n", "vnw", "let"]),
    "tiger": (["S"], [], ["NP", "VP", "CS"], ["VVFIN", "VAIMP", "VVPP", "NN", "$,"]),
    "penn": (["S", "SINV", "SQ"], ["VP"], ["NP", "SBAR"], ["VBZ", "MD", "VB", "TO", "VBN", "NN", ","]),
    "icepahc": (["IP"], ["VP", "VBPI"], ["NP", "CP"], ["VBPI", "BEDS", "VBI", "VB", "VAN", "N-A", ","]),
    "mcvf": (["IP"], ["VP", "VJ"], ["NP", "CP"], ["VJ", "EJ", "VX", "VPP", "NCS", "PON"]),
    "ppchy": (["IP"], ["VP", "VBF"], ["NP", "CP"], ["VBF", "BEF", "VBI", "VB", "N", "PUNC"]),
    "n1904": (["CL"], ["VP"], ["NP", "CP"], ["verb", "noun", "conj", "punct"]),
    "squoia-es": (["S"], ["SVC"], ["NP", "CS"], ["VM", "VA", "NC", "F"]),
}
FINITE = {"ww", "VVFIN", "VAIMP", "VBZ", "MD", "VBPI", "BEDS", "VBI", "VJ", "EJ", "VBF", "BEF", "verb", "VM", "VA"}


def own_tags(node, phrases):
    """Return the tags of the words right below a node, or below phrases that lead to it without a break."""
    for child in node.children:
        if isinstance(child, dt.Token):
            yield child.tag
        elif child.label in phrases:
            yield from own_tags(child, phrases)


def naive_clauses(tree, scheme):
    """Return the number of clauses, and of those that no other one contains."""
    labels, phrases, _, _ = SYMBOLS[scheme]
    clauses = []
    outermost = 0
    for node in tree:  # parents before children
        above = [clause for clause in clauses if clause.node is not node.node and node.node in clause.node.nodes()]
        tags = set(own_tags(node, phrases))
        is_imperative = scheme == "penn" and "VB" in tags and "TO" not in tags and not above
        if node.label in labels and (tags & FINITE or is_imperative):
            clauses.append(node)
            outermost += not above
    return len(clauses), outermost


@pytest.mark.parametrize("scheme", SCHEMES)
def test_clauses_are_counted_as_defined(scheme):
    rng = random.Random(11)
    labels, phrases, others, tags = SYMBOLS[scheme]
    total = Counter()
    for _ in range(400):
        tree = random_tree(rng, rng.randint(1, 9))
        token_parents, nodes = tree.parents()
        kinds = [rng.choice(labels * 2 + phrases + others) for _ in nodes]
        tree = tree.rebuild(
            token_parents,
            [(kind, "--", parent) for kind, (_, _, parent) in zip(kinds, nodes, strict=True)],
            [token._replace(tag=rng.choice(tags)) for token in tree.tokens],
        )
        counts = count(tree, scheme)
        assert (counts["clauses"], counts["t_units"]) == naive_clauses(tree, scheme), tree
        total += counts
    assert total["clauses"] > total["t_units"] > 100


# By hand


@pytest.mark.parametrize(
    ("text", "scheme", "clauses", "t_units"),
    [
        ("(ROOT (smain (vnw 0=Hij) (ww 1=zegt) (cp (vg 2=dat) (ssub (vnw 3=ze) (ww 4=komt)))))", "alpino", 2, 1),
        ("(ROOT (whq (vnw 0=Wie) (sv1 (ww 1=komt))))", "alpino", 1, 1),
        ("(ROOT (conj (smain (vnw 0=Zij) (ww 1=zingt)) (vg 2=en) (smain (vnw 3=hij) (ww 4=danst))))", "alpino", 2, 2),
        ("(ROOT (smain (vnw 0=Hij) (conj (ww 1=zingt) (vg 2=en) (ww 3=danst))))", "alpino", 1, 1),
        ("(ROOT (conj (smain (n 0=Ad) (ww 1=eet) (n 2=vis)) (vg 3=en) (smain (n 4=Els) (n 5=brood))))", "alpino", 1, 1),
        ("(ROOT (smain (vnw 0=Zij) (ww 1=probeert) (ti (comp 2=te) (ww 3=slapen))))", "alpino", 1, 1),
        ("(ROOT (CS (S (PPER 0=Er) (VVFIN 1=singt)) (KON 2=und) (S (VVFIN 3=tanzt))))", "tiger", 2, 2),
        ("(ROOT (S (VVIMP 0=Geh) (ADV 1=heim)))", "tiger", 1, 1),
        ("(ROOT (NP (ART 0=Der) (NN 1=Mann) (S (PRELS 2=der) (VVFIN 3=kam))))", "tiger", 1, 1),
        ("(ROOT (S (NP (PRP 0=They)) (VP (VP (VBP 1=sing)) (CC 2=and) (VP (VBP 3=dance)))))", "penn", 1, 1),
        ("(ROOT (S (S (NP (PRP 0=I)) (VP (VBP 1=go))) (CC 2=or) (S (NP (PRP 3=you)) (VP (VBP 4=go)))))", "penn", 2, 2),
        ("(ROOT (S (NP (PRP 0=It)) (VP (VBZ 1=helps) (S (VP (TO 2=to) (VP (VB 3=read)))))))", "penn", 1, 1),
        ("(ROOT (SBARQ (SQ (VP (WHNP (WP 0=What)) (VB 3=paint)) (VBD 1=did) (NP (PRP 2=she)))))", "penn", 1, 1),
        ("(ROOT (S (VP (VB 0=Let) (S (NP (PRP 1=him)) (VP (VB 2=go))))))", "penn", 1, 1),
        ("(ROOT (S (VP (TO 0=To) (VP (VB 1=be)))))", "penn", 0, 0),
        ("(ROOT (NP (DT 0=The) (NN 1=end)))", "penn", 0, 0),
        ("(ROOT (IP (NP (PRO-N 0=Hún) (CP (C 2=sem) (IP (VBPI 3=les)))) (VBPI 1=sefur)))", "icepahc", 2, 1),
        ("(ROOT (CP (IP (WNP (WPRO-A 0=Hvað)) (MDPI 1=vill) (NP (PRO-N 2=hún)) (VB 3=lesa))))", "icepahc", 1, 1),
        ("(ROOT (IP (NP (PRO-N 0=Hann)) (VBPI (VBPI 1=les) (CONJ 2=og) (VBPI 3=sefur))))", "icepahc", 1, 1),
        ("(ROOT (IP (IP (VBPI 0=Les) (NP (PRO-N 1=hún))) (CONJP (CONJ 2=og) (IP (VBDI 3=svaf)))))", "icepahc", 2, 2),
    ],
)  # fmt: skip
def test_clauses_and_t_units_of_each_scheme(text, scheme, clauses, t_units):
    measures = dt.measure(dt.Tree.parse(text), scheme)
    assert (measures["clauses"], measures["t_units"]) == (clauses, t_units)


def test_a_sentence_by_hand():
    tree = list(dt.read(GERMAN))[2]  # Er hat den Mann getroffen, der das Haus verkauft.
    heads = tree.dependencies("negra").heads
    assert heads == (1, -1, 3, 4, 1, 1, 9, 8, 9, 3, 1)  # the comma and the full stop do not count
    assert dt.measure(tree) == {
        "words": 9,
        "clauses": 2,
        "t_units": 1,
        "words_per_clause": 4.5,
        "words_per_t_unit": 9,
        "clauses_per_t_unit": 2,
        "depth": 5,  # S VP NP S NP
        "dependency_length": (1 + 1 + 1 + 3 + 3 + 1 + 1 + 5) / 8,
        "gap_degree": 1,
        "block_degree": 2,
        "dependency_gap_degree": 1,
        "dependency_block_degree": 2,
        "edge_degree": 1,  # getroffen, between Mann and verkauft
        "ill_nested": 0,
        "discontinuous": 1 / 5,
    }


def test_an_ill_nested_sentence_by_hand():
    """Two words with interleaved dependents: 0 ← 2, 1 ← 3, and 4 heads both."""
    counts = count_dependencies((2, 3, 4, 4, -1))
    assert (counts["ill_nested"], counts["dependency_gap_degree"], counts["edge_degree"]) == (1, 1, 1)


def test_a_sentence_of_one_word_has_no_dependency_length():
    measures = dt.measure(dt.Tree.parse("(ROOT (S (VVIMP 0=Komm)) ($. 1=!))"))
    assert (measures["words"], measures["dependency_length"], measures["depth"]) == (1, None, 1)


def test_a_sentence_of_punctuation_has_no_measures():
    tree = dt.Tree.parse("(ROOT ($. 0=...))")
    assert set(dt.measure(tree, "tiger").values()) == {None}
    assert summarise([count(tree, "tiger")] * 3)["words"] == (None, None, None)


def test_a_tree_without_a_virtual_root_is_measured_like_one_with_it():
    bare, rooted = "(S (PPER 0=Er) (VVFIN 1=kam))", "(ROOT (S (PPER 0=Er) (VVFIN 1=kam)))"
    assert dt.measure(dt.Tree.parse(bare)) == dt.measure(dt.Tree.parse(rooted))


def test_an_unknown_scheme_leaves_only_measures_of_constituents():
    measures = dt.measure(dt.Tree.parse("(ROOT (A (x 0=a) (B (y 1=b) (y 3=d))) (z 2=c))"))
    missing = {name for name, value in measures.items() if value is None}
    assert missing == MEASURES.keys() - {"words", "depth", "gap_degree", "block_degree", "discontinuous"}


def test_alpino_trees_without_functions_have_the_same_dependencies():
    trees = list(dt.read(DATA / "alpino_many.xml"))
    plain = [dt.Tree.parse(str(tree)) for tree in trees]
    assert not any(token.function for tree in plain for token in tree.tokens)
    assert list(map(dt.measure, plain)) == list(map(dt.measure, trees))


def test_an_unknown_scheme_by_name_is_an_error():
    with pytest.raises(dt.InputError, match="unknown scheme 'ud'"):
        dt.measure(dt.Tree.parse("(ROOT (S (V 0=a)))"), "ud")


# Texts


def test_a_text_pools_its_sentences():
    trees = list(dt.read(GERMAN))
    counts = [count(tree, "tiger") for tree in trees]
    measures = {name: value for name, (value, _, _) in summarise(counts).items()}
    assert measures["words"] == pytest.approx(81 / 12)
    assert measures["clauses_per_t_unit"] == pytest.approx(17 / 12)
    statistics = Statistics.from_trees(trees).summary()
    percent = statistics["discontinuous_constituents_without_punctuation_percent"]
    assert 100 * measures["discontinuous"] == pytest.approx(percent)


def test_intervals_are_the_middle_of_the_samples():
    trees = list(dt.read(GERMAN))
    counts = [count(tree, "tiger") for tree in trees]
    intervals = summarise(counts)
    assert intervals == summarise(counts)  # the same samples every time
    rng = random.Random(0)
    means = sorted(sum(c["words"] for c in rng.choices(counts, k=12)) / 12 for _ in range(1000))
    assert intervals["words"] == (81 / 12, means[24], means[975])
    for name, (value, low, high) in intervals.items():
        assert low <= value <= high, name


def test_a_single_sentence_has_no_interval():
    tree = next(dt.read(GERMAN))
    assert summarise([count(tree, "tiger")])["words"] == (6, None, None)
    assert summarise([])["words"] == (None, None, None)


def test_samples_add_up_whole_rows():
    rows = [(1, 10), (2, 20), (3, 30)]
    sums = list(resample(rows, samples=50))
    assert all(ten == 10 * one and 3 <= one <= 9 for one, ten in sums)
    assert len({one for one, _ in sums}) > 3


def test_every_scheme_has_clauses_and_head_rules():
    assert set(CLAUSES) == set(HEAD_RULES) == set(SCHEMES)
    assert set(HEAD_RULES.values()) == set(dt.HeadRules.names())
    assert set(divide(Counter())) == set(MEASURES)
    assert {name for pair in MEASURES.values() for name in pair} == set(COUNTS)
