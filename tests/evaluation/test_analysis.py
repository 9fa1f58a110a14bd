"""Tables, confusions, worst sentences and arcs, on trees whose errors are known."""

import random
from dataclasses import replace

import pytest
from support.scoring import GOLD, PREDICTED, noisy
from support.strategies import random_tree

from discotree import HeadRules, Tree
from discotree.evaluation.analysis import NOTHING, Analysis
from discotree.evaluation.params import PROPER, Params
from discotree.evaluation.parseval import evaluate, total


def analysed(params: Params = PROPER) -> Analysis:
    analysis = Analysis(params)
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
        analysis = Analysis(replace(PROPER, disc_only=disc_only))
        score = evaluate(gold, predicted, observe=analysis)
        wanted = (score.discontinuous if disc_only else score).counts[:3]
        for table in analysis.tables.values():
            assert total(table.values())[:3] == wanted


def test_gap_degrees_ignore_deleted_words() -> None:
    line = "(ROOT (S (NP (NN 0=a) (NN 2=b) (NN 4=c)) ($, 1=,) (VV 3=d)))"
    analysis = Analysis()
    evaluate([Tree.parse(line)], [Tree.parse(line)], observe=analysis)
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
    table = analysed(replace(PROPER, labelled=False)).tables["label"]
    assert table["any"].matched == 4


def test_arcs_of_equal_trees_are_all_right() -> None:
    analysis = Analysis(rules=HeadRules.load("negra"))
    evaluate(GOLD, GOLD, observe=analysis)
    assert analysis.attachment == {"uas": 100, "las": 100}
    analysis = Analysis(rules=HeadRules.load("negra"))
    evaluate(GOLD, PREDICTED, observe=analysis)
    assert analysis.attachment["las"] < analysis.attachment["uas"] < 100


def test_a_missing_parse_has_no_arc_right() -> None:
    analysis = Analysis(rules=HeadRules.load("negra"))
    evaluate(GOLD, GOLD[:1], observe=analysis, missing_as_empty=True)
    assert analysis.attachment["uas"] == pytest.approx(100 * 4 / 7)
