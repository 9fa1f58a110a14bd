import pytest
from support.helpers import MARK, assert_broken, parsed, through, tree_of, written

from discotree import TreebankError, read


def folia(*sentences):
    body = "\n".join(sentences)
    return f'<FoLiA xmlns="http://ilk.uvt.nl/folia" xml:id="x"><text xml:id="x.text">\n{body}\n</text></FoLiA>\n'


def sentence(syntax, id="a"):
    words = "".join(f'<w xml:id="{id}.{k}"><t>w{k}</t></w>' for k in range(3))
    return f'<s xml:id="{id}">{words}<syntax>\n{syntax}\n</syntax></s>'


def test_words_and_constituents_of_other_tools_are_read(data):
    first, second = read(data / "small.folia.xml")
    assert str(first) == (
        "(ROOT (whq (inf (VNW 0=Wat) (-- 3=gezegd) (-- 4=hebben)) (WW 1=zou) (np (VNW 2=hij))) (-- 5=?))"
    )
    assert [first.id, second.id] == ["proef.p.1.s.1", "proef.p.1.s.2"]
    assert [token.morph for token in first.tokens[:3]] == ["VNW(vb,pron,stan,vol,3o,ev)", "WW(pv,verl,ev)", None]
    assert [token.lemma for token in first.tokens[:3]] == ["wat", "zullen", None]
    assert [node.function for node in first] == [None, None, "vc", "su"]


def test_hidden_words_are_left_out_with_the_constituents_over_them(data):
    _, tree = read(data / "small.folia.xml")
    assert str(tree) == "(ROOT (s (-- 0=Ja) (-- 1=hoor)))"


def test_a_sentence_without_syntax_is_flat():
    (tree,) = parsed(folia('<s><w xml:id="a"><t>ja</t><pos class="BW"/></w></s>'), "folia")
    assert str(tree) == "(ROOT (BW 0=ja))"


@pytest.mark.parametrize(
    ("syntax", "message"),
    [
        (
            f'<su class="NP">\n<wref id="b.9"/>{MARK}</su>',
            "sentence b: a wref refers to 'b.9'",
        ),
        (
            '<su class="A"><wref id="b.0"/><wref id="b.1"/></su>\n'
            f'<su class="B"><wref id="b.1"/><wref id="b.2"/></su>{MARK}',
            r"sentence b: 'B' crosses 'A' on line 6",
        ),
        (f'</syntax>\n<w xml:id="b.1"><t>x</t></w>{MARK}<syntax>', r"sentence b: the id 'b.1' is used twice"),
        (f'</syntax>\n<w xml:id="b.7"/>{MARK}<syntax>', r"sentence b: a word has no text"),
    ],
)
def test_a_broken_sentence_has_an_address(tmp_path, syntax, message):
    good = '<su class="NP"><wref id="{}.0"/></su>'
    content = folia(sentence(good.format("a")), sentence(syntax, "b"), sentence(good.format("c"), "c"))
    assert_broken(tmp_path / "x.folia.xml", content, message, ["a", "c"])


def test_a_sentence_without_words_is_broken(tmp_path):
    assert_broken(tmp_path / "x.folia.xml", folia(f'<s xml:id="a">{MARK}</s>'), "sentence a: .* has no words", [])


def test_a_quoted_sentence_is_a_part_of_the_outer_one():
    inner = '<s xml:id="b"><w xml:id="b.0"><t>x</t></w><syntax><su class="S"><wref id="b.0"/></su></syntax></s>'
    words = ('<w xml:id="a.0"><t>y</t></w>', '<w xml:id="a.1"><t>z</t></w>')
    content = folia(f'<s xml:id="a">{words[0]}<quote>{inner}</quote>{words[1]}</s>')
    (tree,) = parsed(content, "folia")
    assert (tree.id, str(tree)) == ("a", "(ROOT (-- 0=y) (S (-- 1=x)) (-- 2=z))")


def test_syntax_outside_a_sentence_is_an_error(tmp_path):
    content = folia(sentence(""), f'<syntax>\n<su class="X"><wref id="a.0"/></su>{MARK}</syntax>')
    assert_broken(tmp_path / "x.folia.xml", content, r"a syntactic unit \(su\) is outside the sentences", ["a"])


def test_entities_are_refused(tmp_path):
    path = tmp_path / "x.folia.xml"
    path.write_text(f'<!DOCTYPE a [<!ENTITY b "c">]>\n{folia()}')
    with pytest.raises(TreebankError, match=r"x.folia.xml:1: the file declares XML entities"):
        list(read(path))


def test_the_morphology_is_the_class_of_a_tag_as_in_other_dutch_files(data):
    tree = next(read(data / "alpino_one.xml"))
    text = written([tree], "folia")
    token = tree.tokens[0]
    assert f'<pos class="{token.morph}" head="{token.tag}">' in text
    assert through("folia", tree) == tree


def test_words_that_no_text_can_hold_are_refused():
    for word in ("a\tb", "a\nb"):
        tree = tree_of("(ROOT (N 0=a))", "7")
        tree = type(tree)((tree.tokens[0]._replace(form=word),), tree.root, "7")
        with pytest.raises(TreebankError, match="sentence 7: folia cannot represent the word"):
            written([tree], "folia")
