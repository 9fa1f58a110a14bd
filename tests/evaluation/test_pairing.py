import pytest
from support.helpers import tree_of

from discotree import FORMATS, EvaluationError, Tree, evaluate, read, write
from discotree.evaluation.parseval import common_trees, pair_trees
from discotree.treebanks.source import RunningNumber


def trees(*sentences: tuple[str, str]) -> list[Tree]:
    """Trees of one word each, from ids and words."""
    return [tree_of(f"(ROOT (S (NN 0={word})))", id) for id, word in sentences]


def ids(gold: list[Tree], predicted: list[Tree]) -> list[tuple[str, str]]:
    return [(g.id, p.id) for _, g, p in pair_trees(gold, predicted) if p is not None]


GOLD = trees(("cdb/7", "a"), ("cdb/9", "b"), ("cdb/8", "c"))


@pytest.mark.parametrize("format", FORMATS)
def test_running_numbers_in_a_file_match_by_order(tmp_path, format):
    write(trees(("1", "a"), ("2", "b"), ("3", "c")), tmp_path / "predicted", format)
    write(GOLD, tmp_path / "gold", format)
    gold, predicted = list(read(tmp_path / "gold", format)), list(read(tmp_path / "predicted", format))
    assert evaluate(gold, predicted).f1 == 100
    assert evaluate(predicted, gold).f1 == 100


def test_numbers_may_begin_at_0():
    assert ids(GOLD, trees(("0", "a"), ("1", "b"), ("2", "c"))) == [("cdb/7", "0"), ("cdb/9", "1"), ("cdb/8", "2")]


def test_a_folder_of_files_without_ids_matches_by_order(tmp_path):
    (tmp_path / "predicted").mkdir()
    (tmp_path / "predicted" / "a.dbr").write_text("(ROOT (S (NN 0=a)))\n(ROOT (S (NN 0=b)))\n")
    (tmp_path / "predicted" / "b.dbr").write_text("(ROOT (S (NN 0=c)))\n")
    assert evaluate(GOLD, read(tmp_path / "predicted")).f1 == 100


def test_numbers_that_are_ids_of_the_other_file_match_by_id():
    gold = trees(("3", "c"), ("1", "a"), ("2", "b"))
    assert sorted(ids(gold, trees(("1", "a"), ("2", "b"), ("3", "c")))) == [("1", "1"), ("2", "2"), ("3", "3")]


def test_the_words_decide_between_numbers_that_are_ids_and_numbers_that_only_count():
    gold = trees(("2", "a"), ("3", "b"), ("4", "c"))
    assert ids(gold, trees(("1", "a"), ("2", "b"), ("3", "c"))) == [("2", "1"), ("3", "2"), ("4", "3")]
    shuffled = trees(("3", "a"), ("1", "b"), ("2", "c"))
    assert ids(shuffled, trees(("1", "a"), ("2", "b"), ("3", "c"))) == [("3", "1"), ("1", "2"), ("2", "3")]


def test_a_prediction_that_is_missing_among_numbers_is_noticed():
    gold = trees(("1", "a"), ("2", "b"), ("3", "c"))
    with pytest.raises(EvaluationError, match="1 gold sentences have no prediction: 2"):
        ids(gold, trees(("1", "a"), ("3", "c")))
    with pytest.raises(EvaluationError, match="1 gold sentences have no prediction: cdb/8"):
        ids(GOLD, trees(("1", "a"), ("2", "b")))


def test_other_words_in_the_same_order_are_named():
    with pytest.raises(EvaluationError, match="sentence cdb/9: word 1 is 'b' in the gold file, but 'x' is predicted"):
        evaluate(GOLD, trees(("1", "a"), ("2", "x"), ("3", "c")))


def test_a_list_of_ids_that_is_cut_ends_in_dots():
    gold = trees(*((f"s{k}", "a") for k in range(7)))
    with pytest.raises(EvaluationError, match=r"6 gold .*: s1, s2, s3, s4, s5, …$"):
        ids(gold, gold[:1])
    with pytest.raises(EvaluationError, match=r"1 predicted sentences are not in the gold file: s6$"):
        ids(gold[:6], gold)


def test_common_sentences_are_matched_by_id_or_words():
    gold = trees(("x1", "a"), ("x2", "b"), ("x3", "c"), ("x4", "a"))
    by_id, by_words = trees(("x3", "c"), ("x9", "y"), ("x1", "a")), trees(("1", "c"), ("2", "a"), ("3", "a"))
    words = [[tree.words[0] for tree in row] for row in common_trees([gold, by_id, by_words])]
    assert words == [["a"] * 3, ["c"] * 3]
    short = [tree_of("(ROOT (S (NN 0=b)))", "long"), tree_of("(ROOT (S (NN 0=b)))", "7")]
    longer = [tree_of("(ROOT (S (NN 0=b) ($. 1=.)))", id) for id in ("7", "long")]
    assert [row[0].id for row in common_trees([longer, short])] == ["long"]
    assert [[tree.id for tree in row] for row in common_trees([gold, by_words])] == [["x1"] * 2, ["x3"] * 2, ["x4"] * 2]


def test_ids_that_stop_counting_are_matched_by_id():
    gold = trees(("1", "a"), ("b", "b"), ("2", "c"))
    assert sorted(ids(gold, trees(("1", "a"), ("2", "c"), ("b", "b")))) == [("1", "1"), ("2", "2"), ("b", "b")]


def test_files_with_equal_ids_are_matched_as_they_are_read():
    def endless():
        number = 0
        while True:
            number += 1
            yield tree_of("(ROOT (S (NN 0=a)))", RunningNumber(number))

    pairs = pair_trees(endless(), endless())
    assert [next(pairs)[0] for _ in range(3)] == [1, 2, 3]


def test_a_path_is_not_a_list_of_trees():
    with pytest.raises(TypeError, match=r"dt\.read\(path\) for a file"):
        evaluate("gold.export", "predicted.export")
