import io
import itertools
import subprocess
import sys

import pytest
from support.helpers import ONE, THREE, TWO, brackets_of, through, tree_of, written

from discotree import FORMATS, TreebankError, read, write
from discotree.treebanks import TEXT_FORMATS
from discotree.treebanks.formats import XML_NAMES
from discotree.treebanks.source import Source

BROKEN = {
    "export": "#BOS 2\nb -- N -- -- 500\n#EOS 2\n",
    "tigerxml": '<s id="2"><graph root="n"><t id="a" word="b"/><nt id="n" cat="X"/></graph></s>\n',
    "alpino": '<alpino_ds><node cat="top"/></alpino_ds>\n',
    "folia": '<s><w xml:id="a"><t>b</t></w><syntax><su class="X"><wref id="c"/></su></syntax></s>\n',
    "discbracket": "(ROOT (N 1=b))\n",
    "penn": "( (N b c))\n",
    "psd": "( (N b c))\n",
    "conllu": "1\tb\t_\t_\t_\t_\t1\tX\t_\t_\n\n",
    "json": '{"id": "2", "tokens": [{"form": "b"}]}\n',
} | {"export3": "#BOS 2\nb N -- -- 500\n#EOS 2\n"}


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
    bounds = {"tigerxml": ("<s ", "</body>"), "alpino": ("<tree ", "</treebank>"), "folia": ("<s ", "</text>")}
    start, end = bounds.get(format, ("", ""))
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


def test_a_stream_that_gives_one_byte_at_a_time_is_read_all_the_same():
    class Slow(io.BytesIO):
        def read(self, size=-1):
            return super().read(min(size, 1) if size > 0 else size)

    for format in XML_NAMES:
        raw = written([ONE, TWO], format).encode()
        assert list(FORMATS[format].read(Source("slow", Slow(raw)))) == [ONE, TWO]


# What must not happen silently


@pytest.mark.parametrize("format", ["export", "tigerxml"])
def test_a_root_that_is_an_ordinary_phrase_is_kept_below_a_virtual_one(format):
    tree = tree_of("(S (NP (N 0=a)) (V 1=b))", "1")
    assert brackets_of([through(format, tree)]) == ["(ROOT (S (NP (N 0=a)) (V 1=b)))"]


@pytest.mark.parametrize(
    ("written_as", "read_as"),
    [("tigerxml", "export"), ("alpino", "tigerxml"), ("export", "alpino"), ("export", "folia")],
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
