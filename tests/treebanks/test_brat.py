import gzip
import zipfile

import pytest
from support.helpers import MARK, ONE, THREE, TWO, assert_broken, parsed, tree_of, written

from discotree import TreebankError, read, write

TEXT = "Das Haus ist alt .\nWir gehen heim .\n"


def pair(folder, annotations, text=TEXT, name="x"):
    (folder / f"{name}.txt").write_bytes(text.encode())
    (folder / f"{name}.ann").write_text(annotations, "utf-8")
    return folder / f"{name}.ann"


def brackets(path, **options):
    return [str(tree) for tree in read(path, **options)]


# Reading


def test_annotations_by_people_are_read(data):
    first, second = read(data / "small.ann")
    assert str(first) == ("(ROOT (S (VP (-- 0=Was) (-- 3=da) (-- 4=sagen)) (-- 1=soll) (NP (PIS 2=man))) (-- 5=?))")
    assert str(second) == "(ROOT (S (NP (-- 0=Nichts) (NN 1=Neues)) (-- 2=,) (-- 3=sagt) (NP (PPER 4=er))) (-- 5=.))"
    assert [node.function for node in first] == [None, None, None, "SB"]
    assert first.tokens[2].lemma == "man"
    assert first.comment == "eine Frage"


def test_the_text_leads_to_the_annotations(data):
    assert list(read(data / "small.txt")) == list(read(data / "small.ann"))
    assert list(read(data / "small.txt", "brat")) == list(read(data / "small.ann"))


def test_words_without_tags_end_at_spaces_and_at_the_edges_of_annotations(tmp_path):
    path = pair(tmp_path, "T1\tNP 4 8\tHaus\n", "„Im Haus“, sagt er.\n\nJa.")
    assert brackets(path) == [
        "(ROOT (-- 0=„Im) (NP (-- 1=Haus)) (-- 2=“,) (-- 3=sagt) (-- 4=er.))",
        "(ROOT (-- 0=Ja.))",
    ]


def test_of_two_annotations_of_the_same_words_the_first_is_higher(tmp_path):
    for first, second in (("A", "B"), ("B", "A")):
        path = pair(tmp_path, f"T7\t{first} 0 8\tDas Haus\nT3\t{second} 0 8\tDas Haus\n")
        assert brackets(path)[0] == f"(ROOT ({first} ({second} (-- 0=Das) (-- 1=Haus))) (-- 2=ist) (-- 3=alt) (-- 4=.))"


def test_line_ends_of_windows_and_byte_order_marks_count_as_characters(tmp_path):
    path = pair(tmp_path, "T1\tNP 1 9\tDas Haus\nT2\tVP 26 36\tgehen heim\n", "\ufeff" + TEXT.replace("\n", " \r\n"))
    assert brackets(path)[1] == "(ROOT (-- 0=Wir) (VP (-- 1=gehen) (-- 2=heim)) (-- 3=.))"


def test_a_compressed_pair_is_read_and_written(tmp_path):
    assert write([ONE, TWO], tmp_path / "x.ann.gz") == 2
    assert gzip.decompress((tmp_path / "x.txt.gz").read_bytes()).decode() == "das hat Haus\nwir gehen\n"
    assert list(read(tmp_path / "x.ann.gz")) == [ONE, TWO]


def test_our_annotations_can_be_read_without_the_text(tmp_path):
    write([ONE, TWO, THREE], tmp_path / "x.ann")
    (tmp_path / "x.txt").unlink()
    assert list(read(tmp_path / "x.ann")) == [ONE, TWO, THREE]
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.write(tmp_path / "x.ann", "x.ann")
    assert [tree.words for tree in read(tmp_path / "x.zip")] == [ONE.words, TWO.words, THREE.words]


def test_a_missing_text_is_named_in_the_error(tmp_path):
    (tmp_path / "x.ann").write_text("T1\tNP 4 8\tHaus\n")
    with pytest.raises(TreebankError, match=r"x\.ann:1: .*outside the text; the text file .* is missing"):
        list(read(tmp_path / "x.ann"))


@pytest.mark.parametrize(
    ("annotations", "message"),
    [
        (f"T1\tNP 0 8\tDas Haus\nT2\tVP 4 12\tHaus ist{MARK}\n", r"sentence 1: 'VP' crosses 'NP' on line 1"),
        (
            f"T1\tVP 0 8;9 12\tDas Haus ist\nT2\tNP 4 8;13 16\tHaus alt{MARK}\n",
            "sentence 1: 'NP' crosses 'VP'",
        ),
        (f"T1\tNP 13 22\talt . Wir{MARK}\n", "'NP' does not begin and end at the edges of words of one line"),
        (f"T1\tD 0 3\tDas\nA1\tWord T1\nT2\tNP 1 8\tas Haus{MARK}\n", "'NP' does not begin and end at the edges"),
        (f"T1\tNP 3 4\t {MARK}\n", "'NP' does not begin and end at the edges"),
        (f"T1\tD 0 8\tDas Haus\nA1\tWord T1\nT2\tN 4 8\tHaus{MARK}\nA2\tWord T2\n", "a word overlaps another word"),
        (f"T1\tD 17 22\t. Wir{MARK}\nA1\tWord T1\n", "a word overlaps another word or the end of the line"),
    ],
)
def test_annotations_that_form_no_tree_are_errors_of_their_sentence(tmp_path, annotations, message):
    (tmp_path / "x.txt").write_text(TEXT)
    assert_broken(tmp_path / "x.ann", annotations, message, ["2"])


@pytest.mark.parametrize(
    ("annotations", "message"),
    [
        (f"T1\tNP 0 8\tDas Haus\nT1\tVP 9 12\tist{MARK}\n", "the id T1 is used twice"),
        (f"T1\tNP 0 8\tDas Maus{MARK}\n", "the annotation covers 'Das Maus', but the text has 'Das Haus' there"),
        (f"T1\tNP 0 99\tDas{MARK}\n", "the offsets are not in order or lie outside the text"),
        (f"T1\tNP 8 0\tDas Haus{MARK}\n", "the offsets are not in order"),
        (f"T1\tNP 4 8;0 3\tHaus Das{MARK}\n", "the offsets are not in order"),
        (f"T1 NP 0 8 Das Haus{MARK}\n", "expected an annotation such as T1<tab>NP 0 5<tab>text, got 'T1 NP"),
        (f"T1\tNP 0 ²\tDas{MARK}\n", "expected an annotation"),
    ],
)
def test_annotations_that_do_not_belong_to_the_text_are_errors_of_the_file(tmp_path, annotations, message):
    (tmp_path / "x.txt").write_text(TEXT)
    assert_broken(tmp_path / "x.ann", annotations, message, [])


def test_a_text_in_another_encoding_is_an_error_with_its_own_address(tmp_path):
    path = pair(tmp_path, "T1\tNP 0 3\tDas\n")
    (tmp_path / "x.txt").write_bytes(b"Das Haus\nsch\xf6n\n")
    with pytest.raises(TreebankError, match=r"x\.txt:2: .*0xf6 is not utf-8"):
        list(read(path))


def test_huge_offsets_take_no_memory():
    with pytest.raises(TreebankError, match="outside the text"):
        parsed("T1\tNP 99999999999999 999999999999999\tx\nT2\tNP 99999999999998 99999999999999\ty\n", "brat")


# Writing


def test_both_files_are_written(tmp_path):
    tree = tree_of("(ROOT (NP (D 0=das) (N 2=Haus)) (V 1=hat))", "cdb/1")
    write([TWO, tree], tmp_path / "x.ann")
    assert (tmp_path / "x.txt").read_text() == "wir gehen\ndas hat Haus\n"
    lines = (tmp_path / "x.ann").read_text().splitlines()
    assert "T1\tROOT 0 9\twir gehen" in lines
    assert "T6\tNP 10 13;18 22\tdas Haus" in lines
    assert lines[-2:] == ["T9\tN 18 22\tHaus", "A39\tWord T9"]
    names = [line.split("\t")[0] for line in lines]
    assert len(set(names)) == len(names)


def test_both_files_are_in_the_same_encoding(tmp_path):
    tree = tree_of("(ROOT (N 0=größer))", "1")
    for encoding in ("latin-1", "utf-8-sig"):
        write([tree, tree], tmp_path / "x.ann", encoding=encoding)
        assert (tmp_path / "x.txt").read_text(encoding) == "größer\ngrößer\n"
        assert [again.words for again in read(tmp_path / "x.ann", encoding=encoding)] == [tree.words] * 2
    with pytest.raises(TreebankError, match="not compatible with ASCII"):
        write([tree], tmp_path / "y.ann", encoding="utf-16")


def test_an_error_leaves_both_files_as_they_were(tmp_path):
    write([ONE], tmp_path / "x.ann")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(TreebankError, match=r"brat cannot represent the word 'a\\tb'"):
        write([TWO, type(TWO)((TWO.tokens[0]._replace(form="a\tb"), TWO.tokens[1]), TWO.root, "9")], tmp_path / "x.ann")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_text_without_annotations_is_not_overwritten(tmp_path):
    (tmp_path / "x.txt").write_text("Mein einziger Text .\n")
    with pytest.raises(TreebankError, match=r"x\.ann: the text would overwrite .*x\.txt; choose another name"):
        write([ONE], tmp_path / "x.ann")
    assert [path.name for path in tmp_path.iterdir()] == ["x.txt"]


def test_labels_with_spaces_are_encoded_and_come_back():
    tree = tree_of("(ROOT (X 0=a))", "1")
    odd = type(tree)((tree.tokens[0]._replace(tag="a b", function="%20;"),), tree.root, "1")
    text = written([odd], "brat")
    assert "T2\ta%20;b 0 1\ta\n" in text
    assert parsed(text, "brat") == [odd]
