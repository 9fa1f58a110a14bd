import bz2
import gzip
import io
import itertools
import lzma
import os
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from support.helpers import DEEP, brackets_of, encoded, parsed, through, tree_of, written
from support.strategies import HOLDS, trees

from discotree import FORMATS, HeadRules, Node, SecondaryEdge, Token, Tree, TreebankError, TreeError, read, write
from discotree.treebanks import TEXT_FORMATS, guess_format
from discotree.treebanks.formats import GUESSED
from discotree.treebanks.source import Source
from discotree.trees.tree import NONE

ONE = tree_of("(ROOT (NP (D 0=das) (N 2=Haus)) (V 1=hat))", "cdb/1")
TWO = tree_of("(ROOT (S (N 0=wir) (V 1=gehen)))", "2")
THREE = tree_of("(ROOT (X 0=ja))", "x-3")
BROKEN = {
    "export": "#BOS 2\nb -- N -- -- 500\n#EOS 2\n",
    "tigerxml": '<s id="2"><graph root="n"><t id="a" word="b"/><nt id="n" cat="X"/></graph></s>\n',
    "alpino": '<alpino_ds><node cat="top"/></alpino_ds>\n',
    "discbracket": "(ROOT (N 1=b))\n",
    "penn": "( (N b c))\n",
    "psd": "( (N b c))\n",
    "conllu": "1\tb\t_\t_\t_\t_\t1\tX\t_\t_\n\n",
    "json": '{"id": "2", "tokens": [{"form": "b"}]}\n',
} | {"export3": "#BOS 2\nb N -- -- 500\n#EOS 2\n"}


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


@pytest.mark.parametrize("format", ["tigerxml", "alpino"])
def test_xml_names_the_word_that_it_cannot_hold(format):
    tree = tree_of("(ROOT (N 0=wir) (V 1=ge\x07hen))", "7")
    with pytest.raises(TreebankError, match=rf"^sentence 7: the word 'ge\\x07hen' is one that {format} cannot hold$"):
        written([tree], format)


@pytest.mark.parametrize("depth", [2000, 5000])
@pytest.mark.parametrize("shape", DEEP)
@pytest.mark.parametrize("format", FORMATS)
def test_deep_trees_come_back(format, shape, depth):
    if format == "json":
        depth //= 2  # positions grow with the square of the depth
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
    with pytest.raises(TreebankError, match=r"what format is this.* export, export3, tigerxml, alpino"):
        list(read(path))
    with pytest.raises(TreebankError, match=r"write in what format.* Name one of export"):
        write([ONE], tmp_path / "out.txt")
    with pytest.raises(TreebankError, match=r"an .xml file may be tigerxml or alpino"):
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


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda _: read(5), "expected a path .* got int: 5"),
        (lambda _: read(b"a.dbr"), "expected a path .* got bytes"),
        (lambda _: write([ONE], 5), "expected a path .* got int: 5"),
        (lambda path: write("(ROOT (N 0=a))", path), "expected an iterable of trees, got str"),
        (lambda path: write(5, path), "expected an iterable of trees, got int: 5"),
        (lambda path: write(ONE, path), r"got a single Tree: pass \[tree\]"),
        (lambda path: write([ONE, "a"], path), "expected a Tree, got str: 'a'"),
    ],
)
def test_a_wrong_type_is_refused_with_what_was_expected(tmp_path, attempt, message):
    with pytest.raises(TypeError, match=message):
        attempt(tmp_path / "a.dbr")
    assert not list(tmp_path.iterdir())


# Empty, missing and broken files


@pytest.mark.parametrize("format", TEXT_FORMATS)
def test_an_empty_file_has_no_trees(file, format):
    assert list(read(file("empty", ""), format)) == []


@pytest.mark.parametrize("format", FORMATS)
def test_no_trees_make_a_file_without_trees(tmp_path, format):
    assert write([], tmp_path / "none", format) == 0
    assert list(read(tmp_path / "none", format)) == []


def test_a_missing_file_is_an_error_with_its_path(tmp_path):
    with pytest.raises(TreebankError, match="cannot be read: No such file") as caught:
        list(read(tmp_path / "missing.export"))
    assert caught.value.path == str(tmp_path / "missing.export")


def between(format, middle):
    """A file with two good trees and something else between them."""
    first, second = (written([tree], format) for tree in (TWO, THREE))
    start, end = {"tigerxml": ("<s ", "</body>"), "alpino": ("<tree ", "</treebank>")}.get(format, ("", ""))
    if not start:
        return first + middle + second
    inner = second[second.index(start) : second.index(end)]
    return first.replace(end, middle + inner + end)


@pytest.mark.parametrize("format", TEXT_FORMATS)
def test_reading_stops_at_a_broken_tree_after_giving_those_before_it(file, format):
    stream = read(file("broken", between(format, BROKEN[format])), format)
    assert next(stream).words == TWO.words
    with pytest.raises(TreebankError):
        next(stream)


@pytest.mark.parametrize("format", TEXT_FORMATS)
def test_broken_trees_can_be_skipped_and_counted(file, format):
    errors = []
    path = file("broken", between(format, BROKEN[format]))
    assert [tree.words for tree in read(path, format, on_error=errors.append)] == [TWO.words, THREE.words]
    assert [(error.path, error.line > 0) for error in errors] == [(str(path), True)]


@pytest.mark.parametrize("format", ["export", "discbracket", "penn", "psd", "conllu", "json"])
def test_a_tree_with_a_byte_that_is_not_utf_8_can_be_skipped_like_any_other(file, format):
    good = written([tree_of("(ROOT (N 0=ä))", "1"), tree_of("(ROOT (N 0=ö))", "2"), THREE], format).encode()
    path = file("broken", good.replace("ö".encode(), b"\xf6"))
    errors = []
    assert [tree.words for tree in read(path, format, on_error=errors.append)] == [("ä",), ("ja",)]
    assert len(errors) == 1
    assert "0xf6 is not utf-8" in errors[0].message


def test_reading_is_lazy(file):
    path = file("half.dbr", "(ROOT (N 0=a))\n" * 3 + "nonsense\n")
    assert [tree.words for tree in itertools.islice(read(path), 3)] == [("a",)] * 3


# Compressed files

COMPRESS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("suffix", COMPRESS)
def test_compressed_files_are_read_and_written(tmp_path, suffix):
    path = tmp_path / f"a.export{suffix}"
    assert write([ONE, TWO], path) == 2
    assert list(read(path)) == [ONE, TWO]
    assert len(path.read_bytes()) != len(written([ONE, TWO], "export"))


@pytest.mark.parametrize("suffix", COMPRESS)
def test_the_content_of_a_compressed_file_is_guessed_too(file, suffix):
    path = file(f"treebank{suffix}", COMPRESS[suffix](written([ONE], "tigerxml").encode()))
    assert list(read(path)) == [ONE]


@pytest.mark.parametrize("suffix", COMPRESS)
def test_broken_compressed_files_are_treebank_errors(file, suffix):
    whole = COMPRESS[suffix](written([ONE] * 50, "export").encode())
    for content in (whole[:-12], whole[:20], b"no such thing", whole[:30] + b"\xff" * 20 + whole[50:]):
        path = file(f"a.export{suffix}", content)
        with pytest.raises(TreebankError, match="cannot be read") as caught:
            list(read(path))
        assert caught.value.path == str(path)


# Folders and archives


@pytest.fixture
def folder(tmp_path):
    """A folder as treebanks come: several files, a README and a licence."""
    top = tmp_path / "corpus"
    (top / "more").mkdir(parents=True)
    for number in (1, 2, 10):
        write([tree_of(f"(ROOT (N 0=w{number}))", "s1")], top / f"maz-{number}.tigerxml")
    write([tree_of("(ROOT (N 0=deep))", "s7")], top / "more" / "kit-3.export.gz")
    (top / "README").write_text("(just a note)\n")
    (top / "LICENSE.txt").write_text("#BOS of the licence\n")
    return top


IN_ORDER = [("maz-1/s1", "w1"), ("maz-2/s1", "w2"), ("maz-10/s1", "w10"), ("kit-3/s7", "deep")]


def pack(folder, path):
    """Put a folder into an archive, its files in the order of their numbers."""
    files = [p for p in sorted(folder.rglob("*"), key=lambda p: (len(p.parts), len(p.name), p)) if p.is_file()]
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for p in files:
                archive.write(p, p.relative_to(folder.parent))
        return path
    mode = {".gz": "w:gz", ".tgz": "w:gz", ".bz2": "w:bz2", ".xz": "w:xz", ".tar": "w"}[path.suffix]
    with tarfile.open(path, mode) as archive:
        for p in files:
            archive.add(p, str(p.relative_to(folder.parent)))
    return path


def test_a_folder_is_read_file_by_file_and_ids_get_the_files_name(folder):
    assert [(tree.id, tree.words[0]) for tree in read(folder)] == IN_ORDER


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz", "a.tgz", "a.tar.bz2", "a.tar.xz", "a.zip"])
def test_an_archive_is_read_like_a_folder(folder, tmp_path, name):
    path = pack(folder, tmp_path / name)
    assert sorted((tree.id, tree.words[0]) for tree in read(path)) == sorted(IN_ORDER)
    assert [tree.id for tree in read(path)][:3] == ["maz-1/s1", "maz-2/s1", "maz-10/s1"]


def test_a_format_chooses_among_the_files_of_a_folder(folder):
    assert [tree.id for tree in read(folder, "export")] == ["kit-3/s7"]
    assert len(list(read(folder, "tigerxml"))) == 3


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path):
    for part in ("a", "b"):
        (tmp_path / "c" / part).mkdir(parents=True)
        write([THREE], tmp_path / "c" / part / "same.dbr")
    assert [tree.id for tree in read(tmp_path / "c")] == ["a/same/x-3", "b/same/x-3"]


def test_what_all_names_end_in_is_left_out(tmp_path):
    for name in ("AHK_SQUOIA_DE", "DW_SQUOIA_DE"):
        write([THREE], tmp_path / f"{name}.dbr")
    assert [tree.id for tree in read(tmp_path)] == ["AHK/x-3", "DW/x-3"]


def test_an_id_that_has_the_files_name_already_is_left_alone(tmp_path):
    write([replace(THREE, id="cdb/28"), replace(THREE, id="cdb")], tmp_path / "cdb.dbr")
    assert [tree.id for tree in read(tmp_path)] == ["cdb/28", "cdb"]


def test_a_folder_of_alpino_files_without_ids(tmp_path):
    for number in (1, 2, 10):
        xml = f'<alpino_ds><node cat="top"><node begin="0" word="w{number}"/></node></alpino_ds>'
        (tmp_path / f"{number}.xml").write_text(xml)
    trees = list(read(tmp_path))
    assert [tree.words for tree in trees] == [("w1",), ("w2",), ("w10",)]
    assert len({tree.id for tree in trees}) == 3
    assert not any(tree.id.endswith("/") for tree in trees)


def test_an_error_in_a_folder_or_an_archive_names_the_file(folder, tmp_path):
    (folder / "bad.dbr").write_text("nonsense\n")
    with pytest.raises(TreebankError) as caught:
        list(read(folder))
    assert (caught.value.path, caught.value.line) == (str(folder / "bad.dbr"), 1)
    for name in ("a.zip", "a.tar.gz"):
        path = pack(folder, tmp_path / name)
        with pytest.raises(TreebankError) as caught:
            list(read(path))
        assert (caught.value.path, caught.value.line) == (f"{path}/corpus/bad.dbr", 1)


def test_a_folder_or_archive_without_treebanks_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "README").write_text("nothing\n")
    for path in (tmp_path / "empty", pack(tmp_path / "empty", tmp_path / "a.zip")):
        with pytest.raises(TreebankError, match="holds no treebank file"):
            list(read(path))


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz", "a.tgz"])
def test_broken_archives_are_treebank_errors(file, folder, tmp_path, name):
    whole = pack(folder, tmp_path / name).read_bytes()
    for content in (b"", b"no such thing" * 100, whole[: len(whole) // 2 - 100]):
        with pytest.raises(TreebankError):
            list(read(file(name, content)))


def test_an_encrypted_archive_is_refused(tmp_path, folder):
    path = pack(folder, tmp_path / "a.zip")
    raw = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # the flag of every entry
        at = raw.find(signature)
        while at >= 0:
            raw[at + offset] |= 1
            at = raw.find(signature, at + 1)
    path.write_bytes(raw)
    with pytest.raises(TreebankError, match="cannot be read"):
        list(read(path))


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({6: 0xFF}, id="made for a later version"),
        pytest.param({46: 0}, id="a file without a name"),
        pytest.param({9: 0x08, 46: 0x81}, id="a name that should be UTF-8 and is not"),
        pytest.param({10: 0x63}, id="packed in an unknown way"),
    ],
)
def test_an_odd_archive_is_a_treebank_error(tmp_path, changes):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.dbr", "(ROOT (N 0=a))\n")
    raw = bytearray(path.read_bytes())
    for offset, value in changes.items():  # in the table of contents
        raw[raw.index(b"PK\x01\x02") + offset] = value
    path.write_bytes(raw)
    with pytest.raises(TreebankError):
        list(read(path))


def test_archives_are_not_written(tmp_path):
    with pytest.raises(TreebankError, match="archives can be read but not written"):
        write([ONE], tmp_path / "a.export.zip", "export")


# Standard streams


def python(code, stdin=b""):
    result = subprocess.run([sys.executable, "-W", "error", "-c", code], input=stdin, capture_output=True, check=True)
    return result.stdout.decode()


@pytest.mark.parametrize("format", ["export", "penn"])
def test_a_dash_is_standard_input_and_output(format):
    code = "from discotree import read, write; write(read('-'), '-', 'discbracket')"
    assert python(code, written([TWO], format).encode()) in (
        "(ROOT (S (N 0=wir) (V 1=gehen)))\n",
        "(ROOT (S (N 0=wir) (V 1=gehen)))\t2\n",
    )


def test_an_error_on_standard_input_says_so():
    code = (
        "from discotree import read, TreebankError\n"
        "try: list(read('-', 'discbracket'))\nexcept TreebankError as error: print(error)"
    )
    assert python(code, b"nonsense\n").startswith("<stdin>:1: expected")


# Encodings


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_written_in_an_encoding_is_read_in_it(tmp_path, format):
    tree = tree_of("(ROOT (NP (D 0=das) (N 1=Käßchen)))", "1")
    for encoding in ("latin-1", "utf-8", "cp1252"):
        write([tree], tmp_path / "x", format, encoding=encoding)
        assert list(read(tmp_path / "x", format, encoding=encoding)) == [tree]


@pytest.mark.parametrize("format", ["tigerxml", "alpino"])
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-8"])
def test_xml_says_in_what_encoding_it_is(tmp_path, format, encoding):
    tree = tree_of("(ROOT (N 0=Käßchen))", "1")
    write([tree], tmp_path / "x", format, encoding=encoding)
    assert list(read(tmp_path / "x", format)) == [tree]


def test_a_byte_order_mark_comes_once_at_the_most(tmp_path):
    for format in FORMATS:
        write([ONE, TWO, THREE], tmp_path / "x", format, encoding="utf-8-sig")
        assert (tmp_path / "x").read_bytes().count("\ufeff".encode()) <= 1
        assert [tree.id for tree in read(tmp_path / "x", format)] == [ONE.id, TWO.id, THREE.id]


def test_a_character_that_an_encoding_lacks_names_its_sentence(tmp_path):
    with pytest.raises(TreebankError, match="sentence 9: '→' cannot be written in latin-1"):
        write([ONE, tree_of("(ROOT (N 0=→))", "9")], tmp_path / "x.export", encoding="latin-1")
    assert list(tmp_path.iterdir()) == []


# Writing all or nothing


def failing(error):
    """Two trees, and then it goes wrong."""
    yield ONE
    yield TWO
    raise error


@pytest.mark.parametrize(
    "name", ["a.export", "a.export.gz", "a.tigerxml", "a.dbr", "a.mrg", "a.conllu", "a.alpino", "a.json"]
)
@pytest.mark.parametrize(
    "error", [TreebankError("broken", "in", 3), RuntimeError("bug"), KeyboardInterrupt(), OSError("disk")], ids=repr
)
def test_an_error_in_the_middle_leaves_the_old_file_and_nothing_else(tmp_path, name, error):
    path = tmp_path / name
    write([THREE], path)
    before = path.read_bytes()
    with pytest.raises((type(error), TreebankError)):
        write(failing(error), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_tree_that_cannot_be_written_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.export"
    write([THREE], path)
    with pytest.raises(TreebankError):
        write([ONE, Tree((Token("a b"),), Node("ROOT", [0]), "9")], path)
    assert list(read(path)) == [THREE]
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_can_be_converted_in_place(tmp_path):
    path = tmp_path / "a.dbr"
    write([ONE, TWO], path)
    assert write((replace(tree, id=f"new-{tree.id}") for tree in read(path)), path) == 2
    assert [tree.id for tree in read(path)] == ["new-cdb/1", "new-2"]


def test_of_two_writers_of_one_file_each_leaves_a_whole_file(tmp_path):
    path = tmp_path / "a.dbr"

    def interrupted():
        yield ONE
        write([THREE], path)
        assert list(read(path)) == [THREE]
        yield TWO

    write(interrupted(), path)
    assert [tree.id for tree in read(path)] == [ONE.id, TWO.id]
    assert list(tmp_path.iterdir()) == [path]


def test_writing_returns_the_number_of_trees(tmp_path):
    assert write(iter([ONE, TWO, THREE]), tmp_path / "a.export") == 3


def test_a_path_in_a_missing_folder_is_an_error_with_its_path(tmp_path):
    path = tmp_path / "missing" / "a.export"
    with pytest.raises(TreebankError, match="cannot be written: No such file") as caught:
        write([ONE], path)
    assert caught.value.path == str(path)


def test_a_folder_is_not_overwritten(tmp_path):
    (tmp_path / "a.export").mkdir()
    with pytest.raises(TreebankError, match="cannot be written: Is a directory"):
        write([ONE], tmp_path / "a.export")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("format", FORMATS)
def test_a_full_device_is_an_error(format):
    for many in ([ONE], [ONE] * 3000):
        with pytest.raises(TreebankError, match="cannot be written: No space left"):
            write(many, "/dev/full", format)


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="needs /dev/null")
def test_a_device_is_written_to_and_not_replaced():
    assert write([ONE], "/dev/null", "export") == 1
    assert not Path("/dev/null").is_file()


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs symbolic links")
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "a.export", tmp_path / "link.export"
    link.symlink_to(target)
    for tree in (ONE, TWO):  # first a dangling link, then one to a file
        write([tree], link)
        assert link.is_symlink()
        assert list(read(target)) == [tree]
    assert list((tmp_path / "real").iterdir()) == [target]


# Head rules for CoNLL-U


def test_conllu_takes_head_rules_or_their_name(tmp_path, data):
    trees = list(read(data / "figure1.export"))
    write(trees, tmp_path / "a.conllu", heads=HeadRules.load("negra"))
    write(trees, tmp_path / "b.conllu", heads="negra")
    assert (tmp_path / "a.conllu").read_bytes() == (tmp_path / "b.conllu").read_bytes()
    assert "\t4\tNP#2\t" in (tmp_path / "a.conllu").read_text("utf-8")
    assert list(read(tmp_path / "a.conllu")) == trees


def test_paths_may_be_strings_or_path_objects(tmp_path):
    write([ONE], str(tmp_path / "a.dbr"))
    assert list(read(str(tmp_path / "a.dbr"))) == list(read(tmp_path / "a.dbr")) == [ONE]


def test_a_stream_that_gives_one_byte_at_a_time_is_read_all_the_same():
    class Slow(io.BytesIO):
        def read(self, size=-1):
            return super().read(min(size, 1) if size > 0 else size)

    for format in ("tigerxml", "alpino"):
        raw = written([ONE, TWO], format).encode()
        assert list(FORMATS[format].read(Source("slow", Slow(raw)))) == [ONE, TWO]


# What must not happen silently


@pytest.mark.parametrize("format", ["export", "tigerxml"])
def test_a_root_that_is_an_ordinary_phrase_is_kept_below_a_virtual_one(format):
    tree = tree_of("(S (NP (N 0=a)) (V 1=b))", "1")
    assert brackets_of([through(format, tree)]) == ["(ROOT (S (NP (N 0=a)) (V 1=b)))"]


@pytest.mark.parametrize(
    ("written_as", "read_as"), [("tigerxml", "export"), ("alpino", "tigerxml"), ("export", "alpino")]
)
def test_a_file_in_another_format_is_not_taken_for_an_empty_one(tmp_path, written_as, read_as):
    write([ONE], tmp_path / "x", written_as)
    write([TWO], tmp_path / "y.dbr")
    with pytest.raises(TreebankError):
        write(read(tmp_path / "x", read_as), tmp_path / "y.dbr")
    assert next(read(tmp_path / "y.dbr")).words == TWO.words


def test_a_file_in_an_encoding_of_two_bytes_is_not_taken_for_an_empty_one(file):
    with pytest.raises(TreebankError, match="another format or encoding"):
        list(read(file("x.export", written([ONE], "export").encode("utf-16"))))


def test_trees_that_a_format_cannot_hold_can_be_left_out(tmp_path):
    errors = []
    bad = Tree((Token("a b", "N"),), Node("ROOT", [0]), "9")
    assert write([ONE, bad, TWO], tmp_path / "x.export", on_error=errors.append) == 2
    assert [tree.words for tree in read(tmp_path / "x.export")] == [ONE.words, TWO.words]
    assert "sentence 9" in str(errors[0])


def test_hidden_files_are_not_read(tmp_path):
    (tmp_path / ".hidden").mkdir()
    write([ONE], tmp_path / "a.dbr")
    write([TWO], tmp_path / ".hidden" / "b.dbr")
    assert [tree.words for tree in read(tmp_path)] == [ONE.words]


def test_broken_brackets_are_refused_in_linear_time(file):
    """A word where none may be, 400,000 times, and 20,000 words that look like nodes."""
    with pytest.raises(TreebankError, match=r"expected .TAG WORD."):
        list(read(file("x.mrg", "(S a " + "word " * 400_000 + ")")))
    lines = "".join(f"#{600 + k % 300} -- N -- -- 0\n" for k in range(20_000))
    assert len(next(read(file("x.export", f"#FORMAT 4\n#BOS 1\n{lines}#EOS 1\n")))) == 20_000
