import pytest
from support.helpers import MARK, assert_broken, brackets_of, parsed, through, tree_of, written

from discotree import HeadRules, Node, Token, Tree, TreebankError, read, write


def test_a_file(data):
    first, second = read(data / "small.conllu")
    assert brackets_of([first, second]) == [
        "(ROOT (S (NP (PPER 0=Es) (NP (PIS 2=nichts) (NN 3=Interessantes))) (VVFIN 1=kam)) ($. 4=.))",
        "(ROOT (AVP (NP (NM (CARD 0=50) (NP (NN 1=%)))) (ADV 2=mehr)))",
    ]
    assert [first.id, second.id] == ["figure/1", "figure/2"]
    assert first.tokens[0] == Token("Es", "PPER", "es", "3.Sg.Neut.Nom", "PH")


def test_figure_1_as_conllu(data, tmp_path):
    write(read(data / "figure1.export"), tmp_path / "figure1.conllu", heads=HeadRules.load("negra"))
    assert (tmp_path / "figure1.conllu").read_text("utf-8") == (
        "# sent_id = 1\n"
        "# text = Es kam nichts Interessantes .\n"
        "# root = ROOT\n"
        "1\tEs\tes\t_\tPPER\t_\t4\tNP#2\t_\tMorph=3.Sg.Neut.Nom|Function=PH\n"
        "2\tkam\tkommen\t_\tVVFIN\t_\t0\tROOT\t_\tMorph=3.Sg.Past.Ind|Function=HD\n"
        "3\tnichts\tnichts\t_\tPIS\t_\t4\tNP#1\t_\tMorph=Neut.Nom.Sg|Function=NK\n"
        "4\tInteressantes\tinteressant\t_\tNN\t_\t2\tS#1\t_\tMorph=Neut.Nom.Sg|Function=NK|Spine=RE,SB\n"
        "5\t.\t.\t_\t$.\t_\t2\tROOT#2\t_\t_\n"
        "\n"
    )


def test_without_rules_a_marked_child_is_the_head(tmp_path):
    tree = Tree((Token("a"), Token("b", function="HD")), Node("ROOT", [0, 1]), "1")
    write([tree], tmp_path / "x.conllu")
    assert "\n2\tb\t_\t_\t_\t_\t0\tROOT" in (tmp_path / "x.conllu").read_text("utf-8")


def test_characters_that_would_break_a_column_are_encoded():
    tree = Tree((Token("a b", "x|y", "1\t2", "p=q,r"), Token("100 %", "_", "_")), Node("a+b c", [0, 1]), "1")
    text = written([tree], "conllu")
    assert "\t100%20;%25;\t%5F;\t_\t%5F;\t" in text
    assert "a%20;b" in text
    assert parsed(text, "conllu") == [tree]


def test_a_file_from_elsewhere_is_read_as_it_stands():
    text = (
        "# text = 100%20; x\n"
        "1-2\t100%20;\t_\t_\t_\t_\t_\t_\t_\t_\n"
        "1\t100%20;\thundred\tNUM\t_\tCase=Nom\t2\tnummod\t_\tSpaceAfter=No\n"
        "2\tx\t_\tNOUN\tNN\t_\t0\troot\t_\t_\n"
        "2.1\ty\t_\t_\t_\t_\t_\t_\t_\t_\n"
    )
    (tree,) = parsed(text, "conllu")
    assert tree.tokens == (Token("100%20;", "NUM", "hundred", "Case=Nom"), Token("x", "NN"))
    assert repr(tree.root) == "(ROOT (nummod 0 1))"
    assert tree.id == "1"


def test_sentences_without_an_id_get_their_number():
    row = "1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n"
    assert [tree.id for tree in parsed(f"{row}\n# only a comment\n\n{row}\n\n\n{row}", "conllu")] == ["1", "2", "3"]


# Broken sentences

ROW = "{0}\ta\t_\t_\t_\t_\t{1}\tX#1\t_\t_\n"
GOOD = "# sent_id = {}\n# root = ROOT\n" + ROW.format(1, 0) + ROW.format(2, 1) + "\n"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        pytest.param("◀1\ta\t_\n", "expected 10 columns, got 3", id="columns"),
        pytest.param("◀1 a _ _ _ _ 0 X _ _\n", "expected 10 columns, got 1", id="no tabs"),
        pytest.param(ROW.format(1, 0) + MARK + ROW.format(3, 1), "expected word 2, got '3'", id="missing token"),
        pytest.param(ROW.format(1, 0) + MARK + ROW.format(1, 1), "expected word 2, got '1'", id="duplicate"),
        pytest.param(MARK + ROW.format(2, 0), "expected word 1, got '2'", id="first token missing"),
        pytest.param(MARK + ROW.format(1, "_"), "expected the number of a head, got '_'", id="no head"),
        pytest.param(MARK + ROW.format(1, "-1"), "expected the number of a head, got '-1'", id="negative head"),
        pytest.param(MARK + ROW.format(1, "²"), "expected the number of a head", id="no digit"),
        pytest.param(MARK + ROW.format(1, 9), "token 0 has the head 8, outside -1..0", id="dangling"),
        pytest.param(MARK + ROW.format(1, 1), "token 0 is part of a cycle", id="own head"),
        pytest.param(MARK + ROW.format(1, 2) + ROW.format(2, 1), "token 0 is part of a cycle", id="cycle"),
        pytest.param(MARK + ROW.format(1, 0).replace("a", ""), "the word is empty", id="no word"),
    ],
)
def test_a_broken_sentence_is_refused_with_its_line_and_can_be_skipped(tmp_path, rows, message):
    content = GOOD.format("one") + rows + "\n" + GOOD.format("three")
    assert_broken(tmp_path / "broken.conllu", content, message, ["one", "three"])


def test_a_truncated_file_is_refused_at_the_row_that_is_cut(tmp_path):
    content = GOOD.format("one") + ROW.format(1, 0) + MARK + "2\ta\t_"
    assert_broken(tmp_path / "cut.conllu", content, "expected 10 columns, got 3", ["one"])


def test_a_sentence_of_nothing_but_multi_word_tokens_is_refused(tmp_path):
    content = GOOD.format("one") + MARK + "1-2\ta\t_\t_\t_\t_\t_\t_\t_\t_\n\n" + GOOD.format("three")
    assert_broken(tmp_path / "broken.conllu", content, "no tokens", ["one", "three"])


def test_a_broken_byte_is_an_error_with_its_line(file):
    path = file("broken.conllu", ROW.format(1, 0).encode() + b"\n1\t\xe4\t_\t_\t_\t_\t0\tX\t_\t_\n")
    with pytest.raises(TreebankError, match="byte 0xe4 is not utf-8") as caught:
        list(read(path))
    assert (caught.value.path, caught.value.line) == (str(path), 3)


def test_encoded_characters_beyond_unicode_stay_as_they_are():
    (tree,) = parsed("# root = ROOT\n1\ta%FFFFFF;b\t_\t_\t_\t_\t0\tX\t_\t_\n", "conllu")
    assert tree.words == ("a%FFFFFF;b",)


def test_what_was_read_can_be_written():
    """Half of a surrogate pair is no character: no encoding can hold it."""
    errors = []
    for tree in parsed("# root = ROOT\n1\ta%D800;b\t_\t_\t_\t_\t0\tX\t_\t_\n", "conllu", errors.append):
        assert through("conllu", tree) == tree


# What cannot be written


def test_an_empty_word_is_refused():
    tree = Tree((Token(""),), Node("ROOT", [0]), "1")
    with pytest.raises(TreebankError):
        written([tree], "conllu")


def test_an_id_with_a_line_end_is_refused():
    with pytest.raises(TreebankError):
        written([tree_of("(ROOT (N 0=a))", "a\nb")], "conllu")
