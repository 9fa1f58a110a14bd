import pytest
from support.helpers import MARK, ONE, TWO, assert_broken, parsed, tree_of, written

from discotree import Node, Token, Tree, TreebankError, read

HEADER = "#FORMAT=WebAnno TSV 3.3\n#T_SP=webanno.custom.Constituent|label|function|node\n\n"


def sentence(number, *rows):
    lines = [f"{number}-{k}\t{2 * k}-{2 * k + 1}\tw{k}\t{row}\t" for k, row in enumerate(rows, 1)]
    return "\n".join([f"\n#Sentence.id=s{number}", f"#Text={'w ' * len(rows)}", *lines, ""])


def only(*rows):
    (tree,) = parsed(HEADER + sentence(1, *rows), "webanno")
    return str(tree)


def test_other_layers_stacks_and_parts_of_words_are_read_past(data):
    first, second = read(data / "small.webanno.tsv")
    assert str(first) == "(ROOT (S (VP (-- 0=Was) (-- 3=sagen😊)) (VMFIN 1=soll) (NP (PIS 2=man))) (_|->* 4=?))"
    assert [node.function for node in first] == [None, None, "OC", "SB"]
    assert first.tokens[2].function == "HD"
    assert [first.id, second.id] == ["s\\1", "2"]
    assert str(second) == "(ROOT (-- 0=Ja))"


def test_spans_without_numbers_are_constituents_of_one_word():
    assert only("NP|A\t*|SB\t*|*", "NP\t*\t*") == "(ROOT (NP (A (-- 0=w1))) (NP (-- 1=w2)))"


def test_of_two_spans_over_the_same_words_the_lower_number_is_higher():
    rows = ("A[1]|B[2]\t*[1]|*[2]\t9[1]|3[2]", "A[1]|B[2]\t*[1]|*[2]\t9[1]|3[2]")
    assert only(*rows) == "(ROOT (B (A (-- 0=w1) (-- 1=w2))))"
    rows = tuple(row.replace("9[1]|3[2]", "*[1]|*[2]") for row in rows)
    assert only(*rows) == "(ROOT (A (B (-- 0=w1) (-- 1=w2))))"


def test_spans_with_the_same_node_are_one_constituent():
    assert only("NP[1]\tSB[1]\tx[1]", "_\t_\t_", "NP[2]\t*[2]\tx[2]") == "(ROOT (NP (-- 0=w1) (-- 2=w3)) (-- 1=w2))"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            ["A[1]\t*[1]\t1[1]", f"A[1]|B[2]\t*[1]|*[2]\t1[1]|2[2]{MARK}", "B[2]\t*[2]\t2[2]"],
            r"'B' crosses 'A' on",
        ),
        ([f"*[1]\tSB[1]\t*[1]{MARK}", "*[1]\tSB[1]\t*[1]"], "a constituent has no label or several labels"),
        (["A[1]\t*[1]\t1[1]", f"B[2]\t*[2]\t1[2]{MARK}"], "a constituent has no label or several labels"),
        (["_\t_\t_", f"_\t_{MARK}"], r"expected number, offsets, word and 3 columns, got '2-2\\t4-5\\tw2"),
        (["_\t_\t_", f"_\t_\t_\t_{MARK}"], "expected number, offsets, word and 3 columns"),
    ],
)
def test_a_broken_sentence_has_an_address(tmp_path, rows, message):
    content = HEADER + sentence(1, "_\t_\t_") + sentence(2, *rows) + sentence(3, "_\t_\t_")
    assert_broken(tmp_path / "x.webanno.tsv", content, message, ["s1", "s3"])


def test_a_row_without_offsets_is_broken(tmp_path):
    content = HEADER + "\n#Text=a\n1-1\ta\t_\t_\t_" + MARK + "\n" + sentence(2, "_\t_\t_")
    assert_broken(tmp_path / "x.webanno.tsv", content, "expected number, offsets", ["s2"])


def test_a_sentence_of_parts_of_words_is_broken(tmp_path):
    content = HEADER + f"\n#Text=a\n1-1.1\t0-1\ta\t_\t_\t_{MARK}\n"
    assert_broken(tmp_path / "x.webanno.tsv", content, "expected number, offsets, word", [])


def test_a_file_without_its_first_line_is_refused(tmp_path):
    assert_broken(tmp_path / "x.webanno.tsv", f"#Text=a{MARK}\n1-1\t0-1\ta\n", "expected #FORMAT=WebAnno TSV", [])


def test_offsets_run_through_the_file_in_units_of_utf_16():
    smile = tree_of("(ROOT (N 0=😊) (N 1=ja))", "1")
    text = written([smile, TWO], "webanno")
    rows = [line.split("\t")[:3] for line in text.splitlines() if line[:1].isdigit()]
    assert rows == [["1-1", "0-2", "😊"], ["1-2", "3-5", "ja"], ["2-1", "6-9", "wir"], ["2-2", "10-15", "gehen"]]


def test_the_blocks_of_a_constituent_are_spans_with_their_own_numbers():
    """INCEpTION extends a span to the last word with its number, which would close the gap."""
    text = written([ONE], "webanno")
    rows = [line.split("\t")[6:9] for line in text.splitlines() if line[:1].isdigit()]
    assert rows == [["NP[1]", "*[1]", "1[1]"], ["_", "_", "_"], ["NP[2]", "*[2]", "1[2]"]]


def test_there_are_two_empty_lines_before_the_first_sentence():
    lines = written([ONE], "webanno").split("\n")
    assert lines[0] == "#FORMAT=WebAnno TSV 3.3"
    assert lines[5:9] == ["", "", "#Sentence.id=cdb/1", "#Text=das hat Haus"]


@pytest.mark.parametrize("value", ["a_b", "a|b", "[1]", "a[1]", "->", "a\\", "\\t", "a\tb", "*", "_", ";", "a\nb"])
def test_reserved_characters_are_escaped(value):
    tree = Tree((Token("x", value, value, value, value),), Node("ROOT", [Node(value, [0], value)]), "1")
    text = written([tree], "webanno")
    assert parsed(text, "webanno") == [tree]
    assert text.count("\n") == 10


def test_words_that_no_row_can_hold_are_refused():
    for word in ("a\tb", "a\nb", "a\x00b"):
        tree = Tree((Token(word),), Node("ROOT", [0]), "7")
        with pytest.raises(TreebankError, match="sentence 7: webanno cannot represent the"):
            written([tree], "webanno")
