"""Tables, confusions, worst sentences, arcs and the bootstrap, on trees whose errors are known."""

import random

import pytest
from support.scoring import GOLD, PREDICTED, noisy, tree
from support.strategies import random_tree

from discotree import HeadRules, Tree
from discotree.errors import EvaluationError
from discotree.evaluation.analysis import NOTHING, Analysis, bootstrap
from discotree.evaluation.params import PROPER
from discotree.evaluation.parseval import evaluate
from discotree.evaluation.score import total
from discotree.treebanks.discbracket import parse_discbracket


def analysed(**options: bool) -> Analysis:
    analysis = Analysis(PROPER, **options)
    evaluate(GOLD, PREDICTED, observe=analysis)
    return analysis


def test_by_label() -> None:
    label = analysed().tables["label"]
    assert list(label) == ["NP", "S", "VP", "PP"]
    assert (label["NP"].gold, label["NP"].predicted, label["NP"].matched) == (2, 1, 0)
    assert label["VP"].f1 == 100


def test_by_gap_degree_length_and_sentence() -> None:
    tables = analysed().tables
    assert {key: c.gold for key, c in tables["gap"].items()} == {"0": 3, "1": 2}
    assert {key: c.gold for key, c in tables["length"].items()} == {"2": 3, "3": 1, "4": 1}
    assert list(tables["sentence"]) == ["1–10"]


def test_every_table_sums_to_the_score() -> None:
    rng = random.Random(3)
    gold = [Tree(t.tokens, t.root, str(k)) for k in range(1, 30) for t in [random_tree(rng, 9)]]
    predicted = [noisy(rng, t) for t in gold]
    for disc_only in (False, True):
        analysis = Analysis(PROPER, disc_only=disc_only)
        score = evaluate(gold, predicted, observe=analysis)
        wanted = (score.discontinuous if disc_only else score).counts[:3]
        for table in analysis.tables.values():
            assert total(table.values())[:3] == wanted


def test_gap_degrees_ignore_deleted_words() -> None:
    line = "(ROOT (S (NP (NN 0=a) (NN 2=b) (NN 4=c)) ($, 1=,) (VV 3=d)))"
    analysis = Analysis()
    evaluate([parse_discbracket(line)], [parse_discbracket(line)], observe=analysis)
    assert {key: c.gold for key, c in analysis.tables["gap"].items()} == {"0": 1, "1": 1}


def test_confusions_pair_labels_over_the_same_words() -> None:
    assert analysed().confusions == {("NP", "PP"): 1, ("NP", NOTHING): 1, (NOTHING, "NP"): 1}


def test_the_worst_sentences_come_first_with_their_errors() -> None:
    first, second = analysed().worst
    assert (first.id, first.errors, first.missing, first.spurious) == ("1", 2, ("NP: a … b",), ("PP: a … b",))
    assert (second.id, second.errors) == ("2", 2)


def test_only_so_many_worst_sentences_are_kept() -> None:
    analysis = Analysis(worst=1)
    evaluate(GOLD, PREDICTED, observe=analysis)
    assert [worst.id for worst in analysis.worst] == ["1"]


def test_unlabelled() -> None:
    table = analysed(labelled=False).tables["label"]
    assert table["any"].matched == 4


def test_arcs_of_equal_trees_are_all_right() -> None:
    analysis = Analysis(rules=HeadRules.load("negra"))
    evaluate(GOLD, GOLD, observe=analysis)
    assert (analysis.arcs.uas, analysis.arcs.las) == (100, 100)
    analysis = Analysis(rules=HeadRules.load("negra"))
    evaluate(GOLD, PREDICTED, observe=analysis)
    assert analysis.arcs.las < analysis.arcs.uas < 100


def test_a_missing_parse_has_no_arc_right() -> None:
    analysis = Analysis(rules=HeadRules.load("negra"))
    evaluate(GOLD, GOLD[:1], observe=analysis, missing_as_empty=True)
    assert analysis.arcs.uas == pytest.approx(100 * 4 / 7)


def test_the_bootstrap_sees_a_difference_and_sees_none() -> None:
    rng = random.Random(5)
    gold = [Tree(t.tokens, t.root, str(k)) for k in range(1, 200) for t in [random_tree(rng, 9)]]
    worse = evaluate(gold, [noisy(rng, t) for t in gold])
    better = evaluate(gold, [noisy(rng, t) if k % 2 else t for k, t in enumerate(gold)])
    seen = bootstrap(worse, better, samples=300)
    assert seen.difference == pytest.approx(better.f1 - worse.f1)
    assert 0 < seen.low < seen.difference < seen.high
    assert seen.p < 0.01
    none = bootstrap(worse, worse, samples=300)
    assert (none.difference, none.low, none.high, none.p) == (0, 0, 0, 1)
    assert bootstrap(worse, better, samples=300) == seen  # the same draws every time
    assert bootstrap(worse, better, samples=300, discontinuous=True).first == pytest.approx(worse.discontinuous.f1)


def test_the_bootstrap_wants_the_same_sentences() -> None:
    one, two = evaluate([tree("s1", "a")], [tree("s1", "a")]), evaluate([tree("s2", "a")], [tree("s2", "a")])
    with pytest.raises(EvaluationError, match="same sentences"):
        bootstrap(one, two)
