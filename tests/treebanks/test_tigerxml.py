import pytest
from support.helpers import MARK, assert_broken, brackets_of, parsed, through, tree_of, words, written

from discotree import Node, SecondaryEdge, Token, Tree, TreebankError, read

# What the distributed files look like


def test_tiger_with_a_virtual_root_and_with_an_ordinary_one(data):
    virtual, ordinary = read(data / "tiger.xml")
    assert brackets_of([virtual, ordinary]) == [
        '(ROOT ($[ 0=") (S (AP (PROAV 1=Dafür) (PTKA 4=zu) (ADJD 5=müde)) (VAFIN 2=bin) (PPER 3=ich)) '
        '($. 6=.) ($[ 7="))',
        "(ROOT (CS (S (NE 0=Max) (VVFIN 1=singt)) (KON 2=und) (S (VVFIN 3=tanzt))) ($. 4=.))",
    ]
    assert [virtual.id, ordinary.id] == ["s1", "s2"]
    assert virtual.tokens[5] == Token("müde", "ADJD", "müde", "Pos", "HD")
    assert [(node.label, node.function) for node in virtual.nodes()] == [("ROOT", "--"), ("S", "--"), ("AP", "PD")]


def test_secondary_edges_of_words_and_nodes(data):
    _, tree = read(data / "tiger.xml")
    root, cs, _, tanzt = range(5, 9)
    assert [node.label for node in tree.nodes()] == ["ROOT", "CS", "S", "S"]
    assert set(tree.secondary) == {SecondaryEdge("SB", 0, tanzt), SecondaryEdge("RE", tanzt, cs)}
    assert root not in {edge.parent for edge in tree.secondary}


def test_the_declared_encoding_counts(data):
    assert b'encoding="ISO-8859-1"' in (data / "tiger.xml").read_bytes()
    assert next(read(data / "tiger.xml")).words[1] == "Dafür"


def sentence(identity, body, root="n0"):
    return f'<s id="{identity}">\n<graph root="{root}">\n{body}\n</graph>\n</s>\n'


def corpus(*sentences):
    return "<corpus>\n<body>\n" + "".join(sentences) + "</body>\n</corpus>\n"


WORD = '<t id="t1" word="a" pos="N"/>'


def test_missing_attributes_are_nothing():
    (tree,) = parsed(corpus(sentence("1", '<t id="t1" word="a"/><nt id="n0"><edge idref="t1"/></nt>')), "tigerxml")
    assert tree.tokens == (Token("a"),)
    assert repr(tree.root) == "(ROOT (-- 0))"


def test_a_graph_without_nonterminals_is_flat():
    (tree,) = parsed(corpus(sentence("1", '<t id="t1" word="a"/><t id="t2" word="b"/>', root="t1")), "tigerxml")
    assert repr(tree.root) == "(ROOT 0 1)"


def test_a_phrase_called_vroot_that_is_not_the_graphs_root_is_a_phrase():
    body = WORD + '<nt id="n0" cat="S"><edge idref="n1"/></nt><nt id="n1" cat="VROOT"><edge idref="t1"/></nt>'
    assert brackets_of(parsed(corpus(sentence("1", body)), "tigerxml")) == ["(ROOT (S (VROOT (N 0=a))))"]


def test_words_are_in_the_order_of_the_terminals_whatever_their_ids():
    body = '<t id="t9" word="a"/><t id="t1" word="b"/><nt id="n0" cat="S"><edge idref="t1"/><edge idref="t9"/></nt>'
    (tree,) = parsed(corpus(sentence("1", body)), "tigerxml")
    assert tree.words == ("a", "b")


def test_of_two_parents_the_one_with_a_label_counts_as_spmrl_needs():
    for first, second in (("--", "SB"), ("SB", "--")):
        body = (
            WORD + '<t id="t2" word="b" pos="N"/><t id="t3" word="c" pos="N"/>'
            f'<nt id="n1" cat="A"><edge label="X" idref="t2"/><edge label="{first}" idref="t1"/></nt>'
            f'<nt id="n2" cat="B"><edge label="X" idref="t3"/><edge label="{second}" idref="t1"/></nt>'
        )
        (tree,) = parsed(corpus(sentence("1", body)), "tigerxml")
        assert tree.tokens[0].function == "SB"
        assert [node.label for node in tree.nodes() if 0 in node.children] == ["B" if second == "SB" else "A"]


# Broken sentences

GOOD = WORD + '\n<nt id="n0" cat="S">\n<edge label="HD" idref="t1"/>\n</nt>'


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(
            f'{WORD}\n<nt id="n0" cat="S">\n◀<edge idref="t9"/></nt>', "leads to the unknown node 't9'", id="dangling"
        ),
        pytest.param(f'{WORD}\n◀<edge idref="t1"/>', "starts at 't1', which is not a nonterminal", id="edge of a word"),
        pytest.param(
            f'{WORD}\n<nt id="n0" cat="S">\n<edge label="A" idref="t1"/>\n</nt>\n'
            '<nt id="n1" cat="T">\n◀<edge label="B" idref="t1"/>\n</nt>',
            "'t1' has two parents",
            id="two parents",
        ),
        pytest.param(
            f'{WORD}\n◀<nt id="n0" cat="S"><edge idref="n1"/></nt>\n<nt id="n1" cat="T"><edge idref="n0"/></nt>',
            "part of a cycle",
            id="cycle",
        ),
        pytest.param(f'{WORD}\n◀<nt id="n0" cat="S"/>', "'S' has no children", id="childless"),
        pytest.param(f"{WORD}\n◀{WORD}", "the id 't1' is used twice", id="duplicate word"),
        pytest.param(
            f'{WORD}\n<nt id="n0" cat="S"><edge idref="t1"/></nt>\n◀<nt id="n0" cat="T"><edge idref="n0"/></nt>',
            "the id 'n0' is used twice",
            id="duplicate phrase",
        ),
        pytest.param(
            f'{WORD}\n◀<nt id="t1" cat="S"><edge idref="t1"/></nt>', "the id 't1' is used twice", id="word and phrase"
        ),
        pytest.param('<t id="t0" word="a"/>\n◀<t id="t1" pos="N"/>', "a terminal has no word", id="no form"),
        pytest.param(
            f'{WORD}\n◀<t id="t2" word="b"><secedge label="X" idref="n9"/></t>', "secondary edge", id="secondary"
        ),
        pytest.param(
            f'{WORD}\n<nt id="v" cat="VROOT"><edge idref="t1"/></nt>\n<nt id="n" cat="S">\n◀<edge idref="v"/></nt>',
            "the virtual root 'v' has a parent",
            id="root below",
        ),
    ],
)
def test_a_broken_sentence_is_refused_with_its_line_and_can_be_skipped(tmp_path, body, message):
    root = "v" if "VROOT" in body else "n0"
    content = corpus(sentence(1, GOOD), sentence(2, body, root), sentence(3, GOOD))
    assert_broken(tmp_path / "broken.tigerxml", content, message, ["1", "3"])


def test_a_sentence_without_words_is_refused(tmp_path):
    content = corpus(sentence(1, GOOD), MARK + sentence(2, "<terminals/>"), sentence(3, GOOD))
    assert_broken(tmp_path / "broken.tigerxml", content, "the sentence has no words", ["1", "3"])


def test_a_truncated_file_gives_what_is_before_the_cut(tmp_path):
    whole = corpus(sentence(1, GOOD), sentence(2, GOOD))
    cut = whole[: whole.index("</body>")]
    assert_broken(tmp_path / "cut.tigerxml", cut + MARK, "not well-formed XML: no element found", ["1", "2"])


def test_mixed_up_elements_are_refused_with_their_line(tmp_path):
    content = corpus(sentence(1, GOOD), sentence(2, f"{WORD}◀</nt>"))
    assert_broken(tmp_path / "mixed.tigerxml", content, "not well-formed XML: mismatched tag", ["1"])


@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE s [<!ENTITY a "xxxxxxxxxx"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>',
        '<!DOCTYPE s [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE s [<!ENTITY % a SYSTEM "file:///etc/passwd"> %a;]>',
    ],
    ids=["billion laughs", "external entity", "parameter entity"],
)
@pytest.mark.parametrize("format", ["tigerxml", "alpino"])
def test_entities_are_refused(file, format, declaration):
    path = file("bomb.xml", f'<?xml version="1.0"?>\n{declaration}\n<corpus><s id="1">&a;</s></corpus>')
    with pytest.raises(TreebankError, match="declares XML entities, which are not allowed") as caught:
        list(read(path, format))
    assert (caught.value.path, caught.value.line) == (str(path), 2)
    assert list(read(path, format, on_error=[].append)) == []


@pytest.mark.parametrize("doctype", ["", '<!DOCTYPE corpus SYSTEM "tiger.dtd">'], ids=["no DTD", "a DTD elsewhere"])
def test_an_entity_that_nobody_declared_is_refused_and_not_dropped(file, doctype):
    tiger = file("a.tigerxml", doctype + corpus(sentence(1, GOOD.replace('"a"', '"caf&eacute;"'))))
    node = '<node cat="top"><node begin="0" word="caf&eacute;"/></node>'
    alpino = file("a.alpino", f"{doctype.replace('corpus', 'alpino_ds')}<alpino_ds>{node}</alpino_ds>")
    for path in (tiger, alpino):
        with pytest.raises(TreebankError):
            list(read(path))


def test_bytes_that_are_not_the_declared_encoding_are_refused(file):
    path = file("latin.tigerxml", corpus(sentence(1, GOOD.replace('"a"', '"ä"'))).encode("latin-1"))
    with pytest.raises(TreebankError, match="not well-formed") as caught:
        list(read(path))
    assert (caught.value.path, caught.value.line) == (str(path), 5)
    assert next(read(path, encoding="latin-1")).words == ("ä",)


def test_an_unknown_declared_encoding_is_refused(file):
    path = file("klingon.tigerxml", '<?xml version="1.0" encoding="klingon"?><corpus/>')
    with pytest.raises(TreebankError, match="klingon"):
        list(read(path))


# Writing


def test_what_is_written_is_tigerxml_with_a_virtual_root():
    tree = tree_of("(ROOT (NP (D 0=das) (N 2=Haus)) (V 1=hat))", "7")
    text = written([tree], "tigerxml")
    assert '<s id="7">\n<graph root="s7_VROOT">' in text
    assert '<t id="s7_1" word="das" lemma="--" pos="D" morph="--"/>' in text
    assert '<nt id="s7_500" cat="NP">' in text
    assert '<nt id="s7_VROOT" cat="VROOT">' in text


def test_a_sentence_of_five_hundred_words_has_no_id_twice():
    tree = Tree(words(600), Node("ROOT", [Node("NP", range(300)), Node("VP", range(300, 600))]), "7")
    assert through("tigerxml", tree) == tree


@pytest.mark.parametrize("character", ["\x00", "\x01", "\x1f", "\ufffe"])
def test_characters_that_xml_cannot_hold_are_refused(character):
    tree = Tree((Token(f"a{character}"),), Node("ROOT", [0]), "1")
    for format in ("tigerxml", "alpino"):
        with pytest.raises(TreebankError):
            written([tree], format)
