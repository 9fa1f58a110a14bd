from dataclasses import replace

import pytest
from support.helpers import MARK, assert_broken, brackets_of, parsed, through, tree_of, written

from discotree import Node, SecondaryEdge, Token, Tree, read
from discotree.treebanks.alpino import dictionary_form


def test_a_file_with_one_sentence(data):
    (tree,) = read(data / "alpino_one.xml")
    assert brackets_of([tree]) == [
        "(ROOT (smain (inf (n 0=Kaas) (ww 3=proeven)) (ww 1=wil) (vnw 2=ze)) (let 4=.))",
    ]
    assert (tree.id, tree.comment) == ("kaas-1", "een zin over kaas")
    assert tree.tokens[0] == Token("Kaas", "n", "kaas", "N(soort,ev)", "obj1")
    assert [(node.label, node.function) for node in tree.nodes()] == [("ROOT", "--"), ("smain", "--"), ("inf", "vc")]


def test_a_file_with_many_sentences(data):
    trees = list(read(data / "alpino_many.xml"))
    assert [tree.id for tree in trees] == ["proef/1", "proef/2", "proef/3"]
    assert brackets_of(trees)[1:] == [
        "(ROOT (whq (vnw 0=Wie) (sv1 (ww 1=belt) (np (mwu (name 2=Jan) (name 4=Piet))))) (let 3=-) (let 5=?))",
        "(ROOT (tsw 0=Ja))",
    ]


def test_a_node_that_only_repeats_an_index_is_a_secondary_edge(data):
    (tree,) = read(data / "alpino_one.xml")
    assert [node.label for node in tree.nodes()][2] == "inf"
    assert tree.secondary == (SecondaryEdge("su", 2, 5 + 2),)
    assert through("alpino", tree).secondary == tree.secondary


def alpino(identity, body):
    return f'<tree id="{identity}">\n<alpino_ds version="1.3">\n{body}\n</alpino_ds>\n</tree>\n'


def treebank(*trees):
    return "<treebank>\n" + "".join(trees) + "</treebank>\n"


def test_the_tag_is_pt_or_else_pos_or_else_nothing():
    body = (
        '<node cat="top"><node begin="0" word="a" pt="n" pos="noun"/><node begin="1" word="b" pos="verb"/>'
        '<node begin="2" word="c" pt=""/></node>'
    )
    (tree,) = parsed(treebank(alpino("1", body)), "alpino")
    assert [token.tag for token in tree.tokens] == ["n", "verb", "--"]


def test_words_are_placed_by_where_they_begin_even_with_holes():
    body = '<node cat="top"><node begin="7" word="c"/><node begin="2" word="a"/><node begin="4" word="b"/></node>'
    assert parsed(treebank(alpino("1", body)), "alpino")[0].words == ("a", "b", "c")


def test_a_tree_without_a_top_gets_a_root():
    body = '<node cat="np" rel="--"><node begin="0" word="a" pt="n"/></node>'
    assert brackets_of(parsed(treebank(alpino("1", body)), "alpino")) == ["(ROOT (np (n 0=a)))"]


def test_nodes_without_words_disappear():
    empty = '<node cat="np"><node begin="0" index="9" rel="su"/></node>'
    body = f'<node cat="top">{empty}<node begin="0" word="a" pt="n"/></node>'
    (tree,) = parsed(treebank(alpino("1", body)), "alpino")
    assert brackets_of([tree]) == ["(ROOT (n 0=a))"]
    assert tree.secondary == ()


def test_a_sentence_without_an_id_gets_its_number():
    body = '<alpino_ds><node cat="top"><node begin="0" word="a"/></node><sentence>a</sentence></alpino_ds>'
    assert [tree.id for tree in parsed(f"<treebank>{body}{body}</treebank>", "alpino")] == ["1", "2"]


def test_the_sentence_id_counts_where_the_tree_has_none():
    body = '<node cat="top"><node begin="0" word="a"/></node><sentence sentid="zin-9">a</sentence>'
    assert parsed(f"<alpino_ds>{body}</alpino_ds>", "alpino")[0].id == "zin-9"


# Broken trees

GOOD = '<node cat="top" rel="top">\n<node begin="0" end="1" word="a" rel="hd"/>\n</node>'


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(
            '<node cat="top">\n◀<node begin="x" word="a"/>\n</node>', "'a' has no position .begin='x'", id="position"
        ),
        pytest.param('<node cat="top">\n◀<node word="a"/>\n</node>', "'a' has no position .begin=''", id="no position"),
        pytest.param('<node cat="top">\n◀<node begin="0" word=""/>\n</node>', "a word is empty", id="empty word"),
        pytest.param(
            '<node cat="top">\n<node begin="0" word="a"/>\n◀<node begin="0" word="b"/>\n</node>',
            "two words begin at 0",
            id="same place",
        ),
        pytest.param(
            '<node cat="top">\n◀<node begin="0" word="a">\n<node begin="1" word="b"/></node></node>',
            "the word 'a' has children",
            id="word over word",
        ),
    ],
)
def test_a_broken_tree_is_refused_with_its_line_and_can_be_skipped(tmp_path, body, message):
    content = treebank(alpino("1", GOOD), alpino("2", body), alpino("3", GOOD))
    assert_broken(tmp_path / "broken.alpino", content, message, ["1", "3"])


@pytest.mark.parametrize("body", ["", '<node cat="top"/>', '<node begin="0" word="a"/>'])
def test_a_tree_without_words_below_a_node_is_refused(tmp_path, body):
    broken = alpino("2", body).replace("<alpino_ds", f"{MARK}<alpino_ds")
    content = treebank(alpino("1", GOOD), broken, alpino("3", GOOD))
    assert_broken(tmp_path / "broken.alpino", content, "2: the sentence has no words", ["1", "3"])


def test_a_truncated_file_gives_what_is_before_the_cut(tmp_path):
    whole = treebank(alpino("1", GOOD), alpino("2", GOOD))
    cut = whole[: whole.rindex("</alpino_ds>")]
    assert_broken(tmp_path / "cut.alpino", cut + MARK, "not well-formed XML: no element found", ["1"])


# Writing


def test_what_is_written_is_alpino():
    tree = tree_of("(ROOT (np (lid 0=de) (n 2=kat)) (ww 1=is))", "cdb/7")
    text = written([tree], "alpino")
    assert '<tree id="cdb/7">' in text
    assert '<node id="0" begin="0" end="3" cat="top" rel="top">' in text
    assert '<node id="1" begin="0" end="3" cat="np" rel="--">' in text
    assert 'begin="2" end="3" rel="--" word="kat" pt="n"' in text
    assert '<sentence sentid="cdb/7">de is kat</sentence>' in text


def test_several_secondary_edges_of_one_node_survive():
    tree = Tree(
        (Token("a"), Token("b")),
        Node("ROOT", [Node("x", [0]), Node("y", [1])]),
        "1",
        (SecondaryEdge("su", 0, 4), SecondaryEdge("obj1", 0, 4), SecondaryEdge("mod", 3, 4), SecondaryEdge("su", 1, 2)),
    )
    assert sorted(through("alpino", tree).secondary) == sorted(tree.secondary)


def test_comments_survive():
    tree = replace(tree_of("(ROOT (N 0=a))", "1"), comment="één <opmerking> & meer")
    assert through("alpino", tree).comment == tree.comment


@pytest.mark.parametrize(
    ("word", "tag", "lemma", "expected"),
    [
        ("opgebeld", "ww", "op_bellen", "opbellen"),
        ("belt", "ww", "op_bellen", "opbellen"),
        ("speeltuingebouwtje", "n", "speeltuin_gebouw", "speeltuingebouw"),
        ("personeelschefs", "n", "personeel_chef", "personeelschef"),
        ("zakenpanden", "n", "zaak_pand", "zakenpand"),
        ("Zesjarige", "adj", "zes_jarig", "zesjarig"),
        ("25-jarige", "adj", "25_jarig", "25-jarig"),
        ("niet-Nederlandstalige", "adj", "niet_Nederlands_talig", "niet-Nederlandstalig"),
        ("Breda-Noord", "n", "Breda_Noord", "Breda-Noord"),
        ("AUTOBUS", "n", "auto_bus", "autobus"),
        ("modelwoninkje", "n", "model_woning", "modelwoning"),
        ("tenlaste", "bw", "ten_laste", "tenlaste"),
        ("o.a.", "spec", "onder ander", "onder ander"),
        ("_", "let", "_", "_"),
        ("a_", "n", "a_", "a_"),
    ],
)
def test_lemmas_are_as_in_a_dictionary(word, tag, lemma, expected):
    assert dictionary_form(word, tag, lemma) == expected


def test_the_parts_of_a_lemma_are_joined_when_it_is_read():
    word = '<node begin="0" word="opgebeld" pt="ww" lemma="op_bellen" rel="hd"/>'
    (tree,) = parsed(treebank(alpino("1", f'<node cat="top" begin="0">{word}</node>')), "alpino")
    assert tree.tokens[0].lemma == "opbellen"


@pytest.mark.parametrize("lemma", ["_", "a_b", "a__b", "_a", "a_", "___", "opbellen"])
def test_underscores_that_are_part_of_a_lemma_come_back(lemma):
    tree = Tree((Token("ab", "n", lemma),), Node("ROOT", [0]), "1")
    assert through("alpino", tree).tokens[0].lemma == lemma
