import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from support.helpers import DEEP, ONE, THREE, TWO, brackets_of, encoded, parsed, through, tree_of, written
from support.strategies import HOLDS, trees

from discotree import FORMATS, Node, SecondaryEdge, Token, Tree, TreebankError, TreeError, read, write
from discotree.treebanks import TEXT_FORMATS, guess_format
from discotree.treebanks.formats import GUESSED, XML_NAMES
from discotree.trees.tree import NONE

# There and back


@pytest.mark.parametrize("format", FORMATS)
def test_every_tree_that_a_format_can_hold_comes_back(format):
    @given(trees(HOLDS[format]))
    def check(tree):
        again = through(format, tree)
        assert again == tree
        if HOLDS[format].secondary is not None:
            assert sorted(again.secondary) == sorted(tree.secondary)

    check()


@pytest.mark.parametrize("format", XML_NAMES)
def test_xml_names_the_word_that_it_cannot_hold(format):
    tree = tree_of("(ROOT (N 0=wir) (V 1=ge\x07hen))", "7")
    with pytest.raises(TreebankError, match=rf"^sentence 7: {format} cannot represent the word 'ge\\x07hen'$"):
        written([tree], format)


@pytest.mark.slow
@pytest.mark.parametrize("depth", [2000, 5000])
@pytest.mark.parametrize("shape", DEEP)
@pytest.mark.parametrize("format", FORMATS)
def test_deep_trees_come_back(format, shape, depth):
    if format in ("json", "brat", "webanno"):
        depth //= 4  # positions or words grow with the square of the depth
    tree = DEEP[shape](depth)
    assert through(format, tree) == tree


@pytest.mark.parametrize("first", FORMATS)
@pytest.mark.parametrize("second", FORMATS)
def test_ids_survive_any_conversion(first, second):
    text = written([ONE, TWO, THREE], first)
    again = parsed(written(parsed(text, first), second), second)
    assert [tree.id for tree in again] == ["cdb/1", "2", "x-3"]
    assert brackets_of(again) == brackets_of([ONE, TWO, THREE])


def test_ids_survive_a_trip_through_all_formats(data):
    original = list(read(data / "tiger4.export"))
    current = original
    for format in (*FORMATS, *reversed(FORMATS)):
        current = parsed(written(current, format), format)
    assert [tree.id for tree in current] == [tree.id for tree in original]
    assert brackets_of(current) == brackets_of(original)


def test_secondary_edges_survive_the_formats_that_have_them(data):
    for tree in (*read(data / "tiger.xml"), *read(data / "negra3.export"), *read(data / "alpino_one.xml")):
        for format in ("export", "export3", "tigerxml", "alpino"):
            assert sorted(through(format, tree).secondary) == sorted(tree.secondary)


def test_secondary_edges_of_the_root_survive():
    tree = nasty_tree("edge", "X")
    tree = replace(tree, secondary=(SecondaryEdge("X", 3, 4), SecondaryEdge("Y", 3, 3), SecondaryEdge("Z", 0, 3)))
    for format in ("export", "export3", "tigerxml", "alpino", "json", "parquet", "arrow"):
        assert sorted(through(format, tree).secondary) == sorted(tree.secondary), format


CODES = [
    "#LRB#",
    "#RRB#",
    "#HASH#",
    "#U+00A0#",
    "##LRB#",
    "#(",
    "#LRB(",
    "#)LRB#",
    "<dash>",
    "<dash/>",
    "<lt/>",
    "<<dash>",
]
CODES += ["\\/", "\\*", "\\\\/", "/", "1/2", "a\\", "%", "<percent/>", "-<dash>-", "<(", "<lt<dash/>>", "#FRONTIER#"]
ODD_SPACES = [chr(k) for k in range(0x3001) if chr(k).isspace() and chr(k) not in " \t\n\r\f\v\x1c\x1d\x1e\x1f"]


@pytest.mark.parametrize("format", FORMATS)
def test_words_that_look_like_codes_or_hold_odd_spaces_survive(format):
    words = [*CODES, *(f"a{space}b" for space in ODD_SPACES)]
    for word in words:
        tree = nasty_tree("form", word)
        assert through(format, tree).words == (word, "b", word), word


SPACES = ["", " ", "a b", "a\tb", "a\nb", "a\rb", "\x00", "\x01", "\x1c", "\x85", "\xa0", "\u2028", "\ufeff", "\ufffe"]
MARKS = ["(", ")", "#", "%", "*", "-", "--", "=", "|", "&", "<", "]]>", "'", '"', "_", "+", "\\", ";", "\ud800"]
WORDS = ["#BOS", "#EOS", "#500", "%%", "*T*-1", "0", "1", "-1", "X-1", "-NONE-", "CODE", "ID", "LB", "<dash>", "#LRB#"]
LABELS = ["\\^ROOT", "ROOT", "top", "VROOT", "$[", "S+VP#1"]
FIELDS = ["form", "tag", "lemma", "morph", "function", "label", "role", "id", "comment", "edge", "root"]


def nasty_tree(field, text):
    token = Token(**({"form": "a", "tag": "N"} | ({field: text} if field in Token._fields else {})))
    node = Node(text if field == "label" else "NP", [0, 2], text if field == "role" else NONE)
    edges = (SecondaryEdge(text, 0, 4),) if field == "edge" else ()
    root = Node(text if field == "root" else "ROOT", [node, 1])
    identity = text if field == "id" else "7"
    return Tree((token, Token("b", "N"), token), root, identity, edges, text if field == "comment" else "")


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_a_writer_refuses_what_its_own_reader_would_not_take(format):
    """Whatever stands in a tree, either the file can be read again, with all words, or it is not written."""
    unreadable = []
    for field, text in itertools.product(FIELDS, [*SPACES, *MARKS, *WORDS, *LABELS]):
        try:
            tree = nasty_tree(field, text)
            raw = encoded([ONE, tree, TWO], format)
        except (TreeError, TreebankError, UnicodeEncodeError):
            continue
        try:
            lengths = [len(again) for again in parsed(raw, format)]
        except TreebankError:
            lengths = []
        if lengths != [3, 3, 2]:
            unreadable.append((field, text))
    assert unreadable == []


# Which format?


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("negra.export", "export"),
        ("NEGRA.EXPORT", "export"),
        ("a/b.c/negra.export.gz", "export"),
        ("negra.negra", "export"),
        ("negra.export3", "export3"),
        ("a.tigerxml", "tigerxml"),
        ("a.tiger.xml.bz2", "tigerxml"),
        ("a.alpino.xml", "alpino"),
        ("a.alpino", "alpino"),
        ("a.folia.xml.gz", "folia"),
        ("a.folia", "folia"),
        ("a.ann.gz", "brat"),
        ("a.webanno.tsv", "webanno"),
        ("a.tsv", None),
        ("a.dbr.xz", "discbracket"),
        ("a.discbracket", "discbracket"),
        ("wsj_0001.mrg", "penn"),
        ("11319941.tree", "penn"),
        ("a.psd", "psd"),
        ("a.conllu", "conllu"),
        ("a.conllx", "conllu"),
        ("a.parquet", "parquet"),
        ("a.arrow", "arrow"),
        ("a.feather", "arrow"),
        ("a.json", "json"),
        ("a.jsonl.gz", "json"),
        ("a.ndjson", "json"),
        ("a.xml", None),
        ("a.txt", None),
        ("export", None),
    ],
)
def test_a_name_tells_the_format(name, format):
    assert guess_format(name) == format


@pytest.mark.parametrize("format", FORMATS)
def test_a_nameless_file_is_recognised_by_its_content(file, format):
    path = file("treebank", written([ONE, TWO, THREE], format))
    assert brackets_of(read(path)) == brackets_of([ONE, TWO, THREE])


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("alpino_one.xml", "alpino"),
        ("alpino_many.xml", "alpino"),
        ("tiger.xml", "tigerxml"),
        ("small.folia.xml", "folia"),
        ("small.ann", "brat"),
        ("small.webanno.tsv", "webanno"),
        ("negra3.export", "export"),
        ("tiger4.export", "export"),
        ("small.dbr", "discbracket"),
        ("ptb.mrg", "penn"),
        ("craft.tree", "penn"),
        ("icepahc.psd", "psd"),
        ("small.conllu", "conllu"),
        ("small.jsonl", "json"),
    ],
)
def test_the_content_tells_the_format_of_every_kind_of_file(data, name, format):
    assert guess_format("nameless", (data / name).read_bytes()) == format


def test_guessing_tries_every_format():
    assert set(GUESSED) == set(FORMATS) - {"export3"}


def test_what_cannot_be_guessed_is_refused_with_the_names_of_the_formats(file, tmp_path):
    path = file("notes.txt", "Dear diary, today I\n")
    with pytest.raises(
        TreebankError, match=r"cannot detect the format; specify one of export, export3, tigerxml, alpino"
    ):
        list(read(path))
    with pytest.raises(TreebankError, match=r"empty: the input is empty$"):
        list(read(file("empty", "\n")))
    with pytest.raises(TreebankError, match=r"cannot tell the format from the name; .*specify one of export"):
        write([ONE], tmp_path / "out.txt")
    with pytest.raises(TreebankError, match=r"an .xml file may be folia, tigerxml, alpino; "):
        write([ONE], tmp_path / "out.xml")


def test_an_unknown_format_or_encoding_is_refused(file, tmp_path):
    path = file("a.export", written([tree_of("(ROOT (N 0=ä))", "1")], "export"))
    for attempt in (
        lambda: list(read(path, "klingon")),
        lambda: write([ONE], tmp_path / "x", "klingon"),
        lambda: list(read(path, encoding="klingon")),
        lambda: write([ONE], tmp_path / "x.export", encoding="klingon"),
    ):
        with pytest.raises(TreebankError, match="'klingon'"):
            attempt()
    for attempt in (
        lambda: list(read(path, encoding="rot13")),
        lambda: write([ONE], tmp_path / "x.export", encoding="rot13"),
    ):
        with pytest.raises(TreebankError):
            attempt()


@pytest.mark.parametrize("format", TEXT_FORMATS)
@pytest.mark.parametrize(
    "encoding", ["idna", "punycode", "unicode_escape", "undefined", "utf-7", "utf-32", "cp037", "a\0b"]
)
def test_encodings_that_no_reader_can_take_are_refused(file, tmp_path, format, encoding):
    with pytest.raises(TreebankError, match=r"encoding|cannot be"):
        write([ONE], tmp_path / "out", format, encoding=encoding)
    assert not list(tmp_path.iterdir())
    with pytest.raises(TreebankError, match=r"encoding|cannot be"):
        list(read(file("in", encoded([ONE], format)), format, encoding=encoding))


@pytest.mark.parametrize("format", TEXT_FORMATS)
@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "latin-1", "gb18030", "iso2022_jp_1"])
def test_what_is_written_in_an_encoding_can_be_read_or_is_refused(tmp_path, format, encoding):
    tree = tree_of("(ROOT (N 0=größer))", "1")
    try:
        write([tree], tmp_path / "out", format, encoding=encoding)
    except TreebankError:
        assert encoding not in ("utf-8-sig", "latin-1")
        return
    assert list(read(tmp_path / "out", format, encoding=encoding)) == [tree]
    if format in XML_NAMES:
        assert list(read(tmp_path / "out", format)) == [tree]
