"""The evaluator gives disco-dop's metrics: its known answers, a naive definition, and bad input."""

import json
import math
import os
import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.scoring import noisy, tree
from support.strategies import random_tree

from discotree import Node, Token, Tree, read
from discotree.errors import EvaluationError
from discotree.evaluation.params import ALL, PROPER, Params
from discotree.evaluation.parseval import Score, evaluate
from discotree.treebanks.source import RunningNumber

NAN = math.nan
# gold, candidate, recall, precision, F1, exact match: what disco-dop printed with proper.prm
VECTORS = [
    (
        "(ROOT (S (NP (NP (NN 0=a) (NN 1=b))) (VV 2=c)))",
        "(ROOT (S (NP (NN 0=a) (NN 1=b)) (VV 2=c)))",
        66.67,
        100,
        80,
        0,
    ),
    (
        "(ROOT (S (NP (NN 0=a) (NN 1=b)) (VV 2=c)))",
        "(ROOT (S (NP (NP (NP (NN 0=a) (NN 1=b)))) (VV 2=c)))",
        100,
        50,
        66.67,
        0,
    ),
    ("(ROOT (S (NP (NN 0=a)) (VV 1=b)))", "(ROOT (S (NN 0=a) (VV 1=b)))", 50, 100, 66.67, 0),
    ("(ROOT (S (NP (NN 0=a) ($, 1=,)) (VV 2=b)))", "(ROOT (S (NP (NN 0=a)) ($, 1=,) (VV 2=b)))", 100, 100, 100, 100),
    ("(ROOT (S (NN 0=a) (VV 2=b)) ($, 1=,))", "(ROOT (S (NN 0=a) (PRN ($, 1=,)) (VV 2=b)))", 100, 100, 100, 100),
    ("(ROOT (S (NN 0=a) (VV 1=b)) ($. 2=.))", "(ROOT (S (NE 0=a) (VV 1=b)) (XY 2=.))", 100, 100, 100, 100),
    (
        "(ROOT (S (NN 0=a) (VV 1=b)) (NP (NN 2=c) (NN 3=d)))",
        "(ROOT (S (NN 0=a) (VV 1=b) (NP (NN 2=c) (NN 3=d))))",
        50,
        50,
        50,
        0,
    ),
    ("(ROOT (S (NN 0=a) (VV 1=b)))", "(ROOT (VROOT (S (NN 0=a) (VV 1=b))))", 100, 100, 100, 100),
    ("(ROOT (S (NN 0=a) (VV 1=b)))", "(NOPARSE (NN 0=a) (VV 1=b))", 0, NAN, NAN, 0),
    ("(ROOT (S (NN 0=a) (VV 1=b)))", "(ROOT (VP (NN 0=a) (VV 1=b)))", 0, 0, NAN, 0),
    ("(ROOT (ADVP (NN 0=a) (VV 1=b)))", "(ROOT (PRT (NN 0=a) (VV 1=b)))", 100, 100, 100, 100),
    ("(ROOT (S (NN 0=a) (VV 2=b)) ($[ 1=--))", "(ROOT (S (NN 0=a) (VV 2=b) ($[ 1=--)))", 100, 100, 100, 100),
    ("(ROOT (S (NN 0=a) (VV 2=b)) (__ 1=--))", "(ROOT (S (NN 0=a) (VV 2=b) (__ 1=--)))", 0, 0, NAN, 0),
]


def scored(gold: str, predicted: str, params: Params = PROPER) -> Score:
    return evaluate(map(Tree.parse, gold.split("\n")), map(Tree.parse, predicted.split("\n")), params)


def shown(value: float) -> str:
    return "nan" if math.isnan(value) else f"{value:.2f}"


@pytest.mark.parametrize(("gold", "predicted", "recall", "precision", "f1", "exact"), VECTORS)
def test_known_answers(gold: str, predicted: str, recall: float, precision: float, f1: float, exact: float) -> None:
    score = scored(gold, predicted)
    metrics = [score.recall, score.precision, score.f1, score.exact_match]
    assert list(map(shown, metrics)) == list(map(shown, [recall, precision, f1, exact]))


def test_distinct_brackets_are_what_disco_dop_displays() -> None:
    gold, predicted, *_ = VECTORS[0]
    assert scored(gold, predicted).counts.gold_distinct == 2
    assert scored(gold, predicted).gold == 3


def test_a_gap_of_punctuation_is_none() -> None:
    line = "(ROOT (S (NP (NN 0=a) (NN 2=b)) ($, 1=,) (VV 3=c)))"
    score = scored(line, line).discontinuous
    assert len(score.counted) == 0
    assert all(math.isnan(x) for x in (score.recall, score.precision, score.f1, score.exact_match))


def test_a_gap_of_untagged_punctuation_is_one() -> None:
    gold, predicted, *_ = VECTORS[-1]
    score = scored(gold, predicted).discontinuous
    assert (score.gold, score.predicted) == (1, 0)


def test_three_sentences_together() -> None:
    gold = (
        "(ROOT (S (NP (NN 0=a) (NN 2=b)) (VP (VV 1=c) (VV 3=d))))\n(ROOT (S (NN 0=a) (VV 1=b)))\n"
        "(ROOT (S (NP (NN 0=a) (NN 2=b)) (VV 1=c)))"
    )
    predicted = (
        "(ROOT (S (PP (NN 0=a) (NN 2=b)) (VP (VV 1=c) (VV 3=d))))\n(ROOT (S (NN 0=a) (VV 1=b)))\n"
        "(ROOT (S (NN 0=a) (NN 2=b) (VV 1=c)))"
    )
    score = scored(gold, predicted)
    assert list(map(shown, [score.recall, score.precision, score.f1, score.exact_match])) == [
        "66.67",
        "80.00",
        "72.73",
        "33.33",
    ]
    score = score.discontinuous
    assert list(map(shown, [score.recall, score.precision, score.f1, score.exact_match])) == [
        "33.33",
        "50.00",
        "40.00",
        "0.00",
    ]
    assert scored(gold, predicted).unlabelled.recall > scored(gold, predicted).recall


# The ten-line definition


def naive_brackets(tree: Tree, gold: Tree, params: Params, disc_only: bool) -> Counter[tuple[str, tuple[int, ...]]]:
    same = lambda label: params.eq_label.get(label, label)  # noqa: E731
    kept = [k for k, (form, tag, *_) in enumerate(gold.tokens)
            if same(tag) not in params.delete_label and form not in params.delete_word]  # fmt: skip
    brackets: Counter[tuple[str, tuple[int, ...]]] = Counter()
    for node in tree.nodes():
        label = same(node.label.split("-")[0] or node.label)
        words = tuple(kept.index(k) for k in node.positions if k in kept)
        gap = bool(words) and words != tuple(range(words[0], words[-1] + 1))
        if words and label not in params.delete_label and (gap or not disc_only):
            brackets[label, words] += 1
    return brackets


@given(st.integers(0, 2**32), st.sampled_from([PROPER, ALL]), st.booleans())
def test_agrees_with_the_definition(seed: int, params: Params, disc_only: bool) -> None:
    """Random pairs with duplicated brackets, unary chains and punctuation."""
    rng = random.Random(seed)
    gold = [random_tree(rng, rng.randint(1, 10)) for _ in range(3)]
    gold = [Tree(t.tokens, t.root, str(k)) for k, t in enumerate(gold, 1)]
    predicted = [noisy(rng, tree) for tree in gold]
    score = evaluate(gold, predicted, params)
    score = score.discontinuous if disc_only else score
    pairs = [
        (naive_brackets(g, g, params, disc_only), naive_brackets(p, g, params, disc_only))
        for g, p in zip(gold, predicted, strict=True)
    ]
    matched = sum((g & p).total() for g, p in pairs)
    golds, predictions = sum(g.total() for g, _ in pairs), sum(p.total() for _, p in pairs)
    assert (score.gold, score.predicted, score.matched) == (golds, predictions, matched)
    counted = [(g, p) for g, p in pairs if g or p or not disc_only]
    assert len(score.counted) == len(counted)
    exact = 100 * sum(g == p for g, p in counted) / len(counted) if counted else math.nan
    assert score.exact_match == pytest.approx(exact, nan_ok=True)
    if matched:
        recall, precision = matched / golds, matched / predictions
        assert score.f1 == pytest.approx(200 * recall * precision / (recall + precision))
    else:
        assert math.isnan(score.f1)


@pytest.mark.data
def test_the_real_evaluator_says_the_same() -> None:
    """24 pairs of files that disco-dop itself has scored: every metric, in both modes."""
    folder = Path(os.environ.get("DISCOTREE_ORACLE", "nowhere")) / "evaluation"
    if not folder.is_dir():
        pytest.skip("DISCOTREE_ORACLE does not lead to disco-dop's metrics")
    for name, expected in json.loads((folder / "expected.json").read_text()).items():
        score = evaluate(read(folder / f"{name}.gold.dbr"), read(folder / f"{name}.cand.dbr"))
        disc = score.discontinuous
        for mode, part in (("all", score), ("disconly", disc)):
            counts = part.counts
            assert expected[mode] == {
                "number of sentences": str(len(part.counted)),
                "longest sentence": str(part.longest),
                "gold brackets (disc.)": [str(counts.gold_distinct), str(disc.gold)],
                "cand. brackets (disc.)": [str(counts.predicted_distinct), str(disc.predicted)],
                "labeled recall": shown(part.recall),
                "labeled precision": shown(part.precision),
                "labeled f-measure": shown(part.f1),
                "exact match": shown(part.exact_match),
                "pos accuracy": shown(score.pos_accuracy),  # disco-dop has only that of all sentences
            }, (name, mode)


# Sums, columns, tags, functions


def test_scores_of_parts_add_up() -> None:
    rng = random.Random(1)
    gold = [Tree(t.tokens, t.root, str(k)) for k in range(1, 9) for t in [random_tree(rng, 6)]]
    predicted = [noisy(rng, tree) for tree in gold]
    whole = evaluate(gold, predicted)
    parts = sum([evaluate(gold[:3], predicted[:3]), evaluate(gold[3:], predicted[3:])])
    assert parts.metrics() == whole.metrics()
    with pytest.raises(EvaluationError, match="cannot add scores of different modes"):
        whole + whole.discontinuous


def test_the_cutoff_column_counts_short_sentences_only() -> None:
    short = "(ROOT (S (NN 0=a) (VV 1=b)))"
    score = scored(
        f"{short}\n(ROOT (S (NP (NN 0=a) (NN 1=b)) (VV 2=c)))", f"{short}\n(ROOT (S (NN 0=a) (NN 1=b) (VV 2=c)))"
    )
    assert score.upto(2).f1 == 100
    assert score.f1 < 100


def test_tags_are_compared_over_what_is_not_deleted() -> None:
    assert scored("(ROOT (S (NN 0=a) (VV 1=b) ($. 2=.)))", "(ROOT (S (NE 0=a) (VV 1=b) (XY 2=.)))").pos_accuracy == 50


def test_the_tags_of_discontinuous_sentences_are_theirs() -> None:
    gold = "(ROOT (S (NP (NN 0=a) (NN 2=b)) (VV 1=c)))\n(ROOT (S (NN 0=a) (VV 1=b)))"
    score = scored(gold, gold.replace("(NN 0=a) (VV 1=b)", "(NE 0=a) (VV 1=b)"))
    assert (score.pos_accuracy, score.discontinuous.pos_accuracy) == (80, 100)


def test_functions_are_compared_where_the_prediction_has_any() -> None:
    tokens = (Token("a", "NN", function="SB"), Token("b", "VV", function="HD"))
    gold = Tree(tokens, Node("ROOT", [Node("S", [0, 1], "OC")]), "1")
    wrong = Tree((tokens[0], tokens[1]._replace(function="NK")), Node("ROOT", [Node("S", [0, 1], "OC")]), "1")
    bare = Tree((Token("a", "NN"), Token("b", "VV")), Node("ROOT", [Node("S", [0, 1])]), "1")
    assert evaluate([gold], [gold]).function_accuracy == 100
    assert evaluate([gold], [wrong]).function_accuracy == pytest.approx(200 / 3)
    assert math.isnan(evaluate([gold], [bare]).function_accuracy)
    assert evaluate([gold, gold], [gold, bare]).function_accuracy == 50  # one of them shows that it can


# Files that do not match


def test_other_order_is_matched_by_id() -> None:
    gold = [tree("s1", "a"), tree("s2", "b"), tree("s3", "c")]
    assert evaluate(gold, [gold[2], gold[0], gold[1]]).f1 == 100


def test_other_order_is_matched_by_id_where_ids_are_numbers() -> None:
    """NEGRA and TIGER count their sentences: those are ids like any other."""
    gold = [tree("1", "a"), tree("2", "a", "b"), tree("3", "c")]
    assert evaluate(gold, [gold[1], gold[0], gold[2]]).f1 == 100
    assert [s.id for s in evaluate(gold, [gold[1], gold[0], gold[2]]).sentences] == ["1", "2", "3"]
    assert evaluate(gold, [gold[0], gold[2]], missing_as_empty=True).matched == 2


def test_without_ids_the_order_counts() -> None:
    gold = [tree("s5", "a"), tree("s6", "b")]
    nameless = [Tree.parse("(ROOT (S (NN 0=a)))", RunningNumber(1)), Tree.parse("(ROOT (S (NN 0=b)))")]
    assert evaluate(gold, nameless).f1 == 100
    assert evaluate(nameless, gold).f1 == 100


def test_lemmas_are_compared_where_both_sides_have_any() -> None:
    def sentence(*lemmas: str) -> Tree:
        tags = ("NN", "VV", "$.")
        return Tree(tuple(map(Token, "ab.", tags, lemmas)), Node("ROOT", [Node("S", [0, 1]), 2]), "1")

    gold = sentence("A", "B", ".")
    assert evaluate([gold], [gold]).lemma_accuracy == 100
    assert evaluate([gold], [sentence("A", "C", "x")]).lemma_accuracy == 50  # punctuation is deleted
    assert evaluate([gold], [sentence("A", "--", "--")]).lemma_accuracy == 50
    assert evaluate([sentence("A", "--", "--")], [gold]).lemma_accuracy == 100
    for one, other in ((gold, sentence("--", "--", "--")), (sentence("--", "--", "--"), gold)):
        assert math.isnan(evaluate([one], [other]).lemma_accuracy)
        assert evaluate([one], [other]).metrics()["lemma_accuracy"] is None


def test_functions_in_labels_do_not_count() -> None:
    assert scored("(ROOT (NP-SBJ (NN 0=a)) (-- (NN 1=b)))", "(ROOT (NP=2 (NN 0=a)) (-- (NN 1=b)))").f1 == 100
    assert scored("(ROOT (-- (NN 0=a)))", "(ROOT (-X- (NN 0=a)))").matched == 0


@pytest.mark.parametrize(
    ("predicted", "message"),
    [
        ([tree("s1", "a", "b"), tree("s2", "x")], r"sentence s2: word 1 is 'c' in the gold file, but 'x' is predicted"),
        ([tree("s1", "a"), tree("s2", "c")], "sentence s1: 2 words in the gold file, 1 predicted"),
        ([tree("s1", "a", "b", "c"), tree("s2", "c")], "sentence s1: 2 words in the gold file, 3 predicted"),
        ([tree("s1", "a", "b")], "1 gold sentences have no prediction: s2"),
        ([tree("s2", "c")], "1 gold sentences have no prediction: s1"),
        (
            [tree("s1", "a", "b"), tree("s2", "c"), tree("s9", "z")],
            "1 predicted sentences are not in the gold file: s9",
        ),
        (
            [tree("s2", "c"), tree("s8", "z"), tree("s8", "z"), tree("s1", "a")],
            "duplicate sentence id 's8' in the predicted file",
        ),
    ],
)
def test_files_that_do_not_match_are_refused(predicted: list[Tree], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        evaluate([tree("s1", "a", "b"), tree("s2", "c")], predicted)


def test_a_missing_parse_can_count_as_empty() -> None:
    gold = [tree("s1", "a", "b"), tree("s2", "c")]
    score = evaluate(gold, [gold[1]], missing_as_empty=True)
    assert (score.gold, score.predicted, score.matched) == (2, 1, 1)
    assert score.pos_accuracy == pytest.approx(100 / 3)


def test_a_prediction_may_leave_out_what_is_deleted() -> None:
    gold = Tree.parse("(ROOT (S (NP (NN 0=a) ($, 1=,) (NN 2=b)) (VV 3=c)) ($. 4=.))", "1")
    assert evaluate([gold], [Tree.parse("(ROOT (S (NP (NN 0=a) (NN 1=b)) (VV 2=c)))", "1")]).f1 == 100
    with pytest.raises(EvaluationError):
        evaluate([gold], [Tree.parse("(ROOT (S (NP (NN 0=a)) (VV 1=c)))", "1")])
