import random
import re
from dataclasses import replace

import pytest
from support.helpers import assert_broken, brackets_of, parsed, through, tree_of, written
from support.mutants import mutate
from support.strategies import random_tree

from discotree import Node, Token, Tree, TreebankError, TreeError, read
from discotree.trees.tree import parse_brackets, parse_line, tree_of_columns

FIGURE_1 = "(ROOT (S (NP (PPER 0=Es) (NP (PIS 2=nichts) (NN 3=Interessantes))) (VVFIN 1=kam)) ($. 4=.))"


def test_a_line_is_written_as_it_was_read():
    tree = Tree.parse(FIGURE_1)
    assert tree.words == ("Es", "kam", "nichts", "Interessantes", ".")
    assert tree.tokens[4] == Token(".", "$.")
    assert str(tree) == FIGURE_1


def test_a_file(data):
    first, second, third = read(data / "small.dbr")
    assert [first.id, second.id, third.id] == ["negra/1", "2", "3"]
    assert [first.comment, second.comment, third.comment] == ["", "", "two words"]
    assert second.words == ("3", "(", "drei=III", ")")
    lines = (data / "small.dbr").read_text("utf-8").splitlines()
    assert brackets_of([first, second, third]) == [line.partition("\t")[0] for line in lines]


def test_brackets_in_words_are_escaped_and_in_tags_become_square():
    tree = Tree((Token("(", "$("), Token("a)b", "N(x)")), Node("NP(y)", [0, 1]))
    assert str(tree) == "(NP[y] ($[ 0=#LRB#) (N[x] 1=a#RRB#b))"
    assert Tree.parse(str(tree)).tokens == (Token("(", "$("), Token("a)b", "N[x]"))


@pytest.mark.parametrize(("tag", "label"), [("N(x)", "NP"), ("$[", "NP"), ("A$(", "NP"), ("N", "NP(y)")])
def test_tags_and_labels_that_would_change_are_refused(tag, label):
    with pytest.raises(TreebankError, match="discbracket cannot represent"):
        written([Tree((Token("[", tag),), Node("ROOT", [Node(label, [0])]), "1")], "discbracket")
    tree = Tree((Token("[", "$("), Token("(", "N[x]")), Node("ROOT", [Node("NP[y]", [0, 1])]), "1")
    assert through("discbracket", tree) == tree


def test_children_may_stand_in_any_order_with_any_spaces():
    assert Tree.parse("(ROOT (V 1=hat)   (NP (N 2=Haus) (D 0=das) ) )") == tree_of(
        "(ROOT (NP (D 0=das) (N 2=Haus)) (V 1=hat))"
    )


def test_the_root_keeps_its_label():
    for label in ("ROOT", "VROOT", "S", "TOP"):
        assert Tree.parse(f"({label} (N 0=a))").root.label == label


def test_words_with_equals_signs_and_odd_spaces():
    for word in ("=", "1=2", "a\u00a0b", "\u3000", "--", "#"):
        tree = Tree((Token(word, "N"),), Node("ROOT", [0]), "1")
        assert through("discbracket", tree) == tree


def test_words_are_written_so_that_disco_dop_can_read_them():
    """Its reader splits at any Unicode whitespace and turns #LRB# and #RRB# into brackets, nothing else."""
    tokens = (Token("10\u00a0000", "N"), Token("\u3000", "N"), Token("a\x85b\x1cc", "N"), Token("#(", "N"))
    line = str(Tree(tokens, Node("ROOT", [0, 1, 2, 3])))
    assert line == "(ROOT (N 0=10#U+00A0#000) (N 1=#U+3000#) (N 2=a#U+0085#b#U+001C#c) (N 3=##LRB#))"
    assert len(re.findall(r"[^\s()]+", line)) == 9
    assert Tree.parse(line).tokens == tokens


def test_words_that_look_like_codes_survive():
    for word in ("#LRB#", "#HASH#", "#U+00A0#", "#LRB(", "##LRB#", "#U+00A0(", "#HASH#LRB#"):
        tree = Tree((Token(word, "N"),), Node("ROOT", [0]), "1")
        assert through("discbracket", tree) == tree, word
    assert Tree.parse("(ROOT (N 0=#U+0041#))").words == ("#U+0041#",)  # no whitespace, so nobody wrote it as a code


def test_lemmas_morphology_and_functions_have_no_place():
    tree = Tree((Token("a", "N", "lem", "m", "SB"),), Node("ROOT", [Node("NP", [0], "SB")]), "1")
    assert through("discbracket", tree) == tree_of("(ROOT (NP (N 0=a)))", "1")


# Ids and comments


def test_an_id_is_written_unless_it_is_the_trees_number():
    one, two = tree_of("(ROOT (N 0=a))", "1"), tree_of("(ROOT (N 0=b))", "cdb/7")
    assert written([one, two], "discbracket") == "(ROOT (N 0=a))\n(ROOT (N 0=b))\tcdb/7\n"


def test_a_comment_of_several_words_survives_beside_a_number():
    tree = replace(tree_of("(ROOT (N 0=a))", "1"), comment="to be checked")
    again = through("discbracket", tree)
    assert (again.id, again.comment) == ("1", "to be checked")


def test_a_comment_of_one_word_does_not_become_the_id():
    tree = replace(tree_of("(ROOT (N 0=a))", "1"), comment="checked")
    assert through("discbracket", tree).id == "1"


def test_an_id_with_a_space_is_kept_or_refused():
    tree = tree_of("(ROOT (N 0=a))", "text 7")
    try:
        text = written([tree], "discbracket")
    except TreebankError:
        return
    assert parsed(text, "discbracket")[0].id == "text 7"


# Broken lines


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param("(ROOT (N 0=a)", "unclosed brackets: 1", id="not closed"),
        pytest.param("(ROOT (S (N 0=a", "expected", id="truncated in a word"),
        pytest.param("(ROOT (S (N 0=a)", "unclosed brackets: 2", id="truncated between words"),
        pytest.param("(ROOT (N 0=a)))", "unmatched '\\)'", id="one too many"),
        pytest.param("(ROOT (N 0=a)) (ROOT (N 1=b))", "expected one tree", id="two trees"),
        pytest.param("(ROOT (N 0=a) (N 2=b))", "position 1 is missing", id="missing token"),
        pytest.param("(ROOT (N 1=a))", "position 0 is missing", id="1-based"),
        pytest.param("(ROOT (N 0=a) (N 0=b))", "position 0 is used twice", id="two parents"),
        pytest.param("(ROOT (N 0=a) (N 999999999=b))", "position 999999999 is too high", id="far away"),
        pytest.param("(ROOT (N 0=a) (N 9999999999999=b))", "expected", id="even farther"),
        pytest.param("(ROOT (NP) (N 0=a))", "'NP' has no children", id="empty phrase"),
        pytest.param("(ROOT (N a))", "expected .*POSITION=WORD.*, got 'a", id="Penn brackets"),
        pytest.param("(ROOT (N 0=))", "expected", id="no word"),
        pytest.param("(ROOT (N =a))", "expected", id="no position"),
        pytest.param("(ROOT ((N 0=a)))", "expected", id="no label"),
        pytest.param("(ROOT 0=a)", "expected one tree", id="only a word"),
        pytest.param("nonsense", "expected .*, got 'nonsense'", id="nonsense"),
        pytest.param("()", "expected", id="nothing"),
    ],
)
def test_a_broken_line_is_refused_with_its_number_and_can_be_skipped(tmp_path, line, message):
    with pytest.raises(TreeError, match=message):
        Tree.parse(line)
    content = f"(ROOT (N 0=a))\n\n{line}◀\n(ROOT (N 0=c))\n"
    assert_broken(tmp_path / "broken.dbr", content, message, ["1", "3"])


def test_a_broken_byte_is_an_error_with_its_line(file):
    path = file("broken.dbr", b"(ROOT (N 0=\xc3\xa4))\n(ROOT (N 0=\xe4))\n(ROOT (N 0=c))\n")
    trees = read(path)
    assert next(trees).words == ("ä",)
    with pytest.raises(
        TreebankError, match="byte 0xe4 is not utf-8; it looks like Windows-1252; use --encoding cp1252"
    ) as caught:
        next(trees)
    assert (caught.value.path, caught.value.line) == (str(path), 2)


def test_latin_1_is_read_on_demand(file):
    path = file("latin.dbr", b"(ROOT (N 0=\xe4))\n")
    assert next(read(path, encoding="latin-1")).words == ("ä",)


# What cannot be written


@pytest.mark.parametrize("word", ["", "a b", "a\tb", "a\nb"])
def test_words_with_spaces_are_refused(word):
    tree = Tree((Token(word, "N"),), Node("ROOT", [0]), "7")
    with pytest.raises(TreebankError, match=r"sentence 7: discbracket cannot represent"):
        written([tree], "discbracket")


@pytest.mark.parametrize("label", ["a\tb", "a\nb", "a\rb"])
def test_a_line_is_not_torn_by_its_labels(label):
    for tree in (
        Tree((Token("w", label), Token("v", "N")), Node("ROOT", [0, 1]), "1"),
        Tree((Token("w", "N"), Token("v", "N")), Node("ROOT", [Node(label, [0]), 1]), "1"),
    ):
        try:
            text = written([tree], "discbracket")
        except TreebankError:
            continue
        assert [again.words for again in parsed(text, "discbracket")] == [("w", "v")]


def test_a_word_without_a_tag_can_be_read_again():
    tree = Tree((Token("w", ""),), Node("ROOT", [0]), "1")
    assert through("discbracket", tree).words == ("w",)


def test_a_line_without_oddities_gives_the_same_tree_without_nodes():
    rng = random.Random(1)
    for _ in range(200):
        line = str(random_tree(rng, rng.randrange(1, 12)))
        plain = tree_of_columns(*parse_line(line), "1")
        slow = Tree(*parse_brackets(line), "1")
        assert str(plain) == line  # before its nodes are made
        assert plain.parents() == slow.parents()
        assert plain == slow


def test_damaged_lines_give_the_same_tree_or_are_left_to_the_plain_reader():
    rng = random.Random(2)
    tokens = (b" ", b"(", b")", b"=", b"#", b" (", b"))", b"$[", b"(NP ", b"(N 0=a)", b"(N 00=a)", b"\xc2\xa0", b"\t")
    read_plainly = 0
    for _ in range(3000):
        line = mutate(rng, str(random_tree(rng, rng.randrange(1, 8))).encode(), tokens).decode("utf-8", "replace")
        plain = parse_line(line.strip(" "))
        if plain is None:
            continue
        read_plainly += 1
        slow = Tree(*parse_brackets(line.strip(" ")), "1")
        plain = tree_of_columns(*plain, "1")
        assert str(plain) == str(slow), line
        assert plain == slow, line
    assert read_plainly > 300
