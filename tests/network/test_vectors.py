"""Word vectors: every format, packed and not, and files that are not what they say."""

import bz2
import gzip
import lzma
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discotree.errors import DiscotreeError
from discotree.network.vectors import MAX_DIMENSIONS, Vectors, read_vectors, spellings

WORDS = ["der", "Straße", "in", "1999", "</s>"]
MATRIX = np.array([[0.5, -1, 2e-3], [1, 2, 3], [-0.25, 0, 1e4], [7, 8, 9], [1.5, -2.5, 3.5]], np.float32)


def text(words=WORDS, matrix=MATRIX, header=True, end="\n"):
    lines = [f"{len(words)} {matrix.shape[1]}"] if header else []
    lines += [" ".join([word, *map(str, row)]) for word, row in zip(words, matrix.tolist(), strict=True)]
    return "".join(line + end for line in lines).encode()


def binary(words=WORDS, matrix=MATRIX, end=b"\n"):
    rows = (word.encode() + b" " + struct.pack("<3f", *row) + end for word, row in zip(words, matrix, strict=True))
    return f"{len(words)} 3\n".encode() + b"".join(rows)


PACKED = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
FORMATS = {
    "word2vec": text(),
    "glove": text(header=False),
    "fasttext": text(end=" \n"),  # and structured skip-gram
    "windows": text(end="\r\n"),
    "mark": b"\xef\xbb\xbf" + text(),
    "tabs": text().replace(b" ", b"\t"),
    "no last line end": text()[:-1],
    "empty lines at the end": text() + b"\n\n",
    "binary": binary(),
    "binary without line ends": binary(end=b""),
}


@pytest.fixture
def write(tmp_path):
    def write(content, suffix=""):
        path = tmp_path / f"vectors{suffix}"
        path.write_bytes(content)
        return path

    return write


def failure(path):
    with pytest.raises(DiscotreeError) as error:
        read_vectors(path)
    message = str(error.value)
    assert message.startswith(str(path))
    return message.removeprefix(str(path))


@pytest.mark.parametrize("suffix", ["", ".bin", *PACKED])
@pytest.mark.parametrize("content", FORMATS.values(), ids=FORMATS)
def test_every_format_packed_or_not(write, content, suffix):
    vectors = read_vectors(write(PACKED.get(suffix, bytes)(content), suffix))
    assert list(vectors.words) == WORDS
    assert vectors.dimension == 3
    assert vectors.matrix.dtype == np.float32
    assert np.array_equal(vectors.matrix, MATRIX)


@pytest.mark.parametrize("content", [text(), text(header=False), binary()])
def test_only_what_is_wanted(write, content):
    vectors = read_vectors(write(content), {"Straße", "1999"}.__contains__)
    assert vectors.words == {"Straße": 0, "1999": 1}
    assert np.array_equal(vectors.matrix, MATRIX[[1, 3]])
    assert read_vectors(write(content), lambda _: False).matrix.shape == (0, 3)


def test_more_rows_than_one_batch(write):
    rows = np.arange(9000, dtype=np.float32).reshape(3000, 3)
    words = [f"w{i}" for i in range(3000)]
    for content in (text(words, rows), binary(words, rows)):
        vectors = read_vectors(write(content))
        assert list(vectors.words) == words
        assert np.array_equal(vectors.matrix, rows)


@pytest.mark.parametrize("key", [". . .", "at name@domain.com", "\u00a0", "\u2028", "1 000", "�", "#", '"'])
def test_words_with_spaces_and_other_oddities(write, key):
    vectors = read_vectors(write(text([*WORDS[:4], key], header=False)))
    assert list(vectors.words) == [*WORDS[:4], key]
    assert np.array_equal(vectors.matrix, MATRIX)


def test_the_first_word_may_be_a_number_or_have_spaces(write):
    for key in ("1999", ". . ."):
        assert read_vectors(write(text([key], MATRIX[:1], header=False))).words == {key: 0}


def test_a_word_may_be_in_another_encoding(write):
    for content in (text(), binary()):
        vectors = read_vectors(write(content.replace("ß".encode(), b"\xdf")))
        assert list(vectors.words) == ["der", "Stra�e", "in", "1999", "</s>"]
        assert np.array_equal(vectors.matrix, MATRIX)


def test_of_a_word_that_is_there_twice_the_first_counts(write):
    for content in (text(["a", "b", "a", "c", "b"]), binary(["a", "b", "a", "c", "b"])):
        vectors = read_vectors(write(content))
        assert vectors.words == {"a": 0, "b": 1, "c": 2}
        assert np.array_equal(vectors.matrix, MATRIX[[0, 1, 3]])


def test_digits_to_zero(write):
    path = write(text(["1999", "2000", "a4", "A4", "b"]))
    asked = []
    vectors = read_vectors(path, lambda word: asked.append(word) or word != "b", digits_to_zero=True)
    assert vectors.words == {"0000": 0, "a0": 1, "A0": 2}
    assert asked == ["0000", "a0", "A0", "b"]
    assert np.array_equal(vectors.matrix, MATRIX[[0, 2, 3]])
    assert vectors.lookup("1848") == 0
    assert vectors.lookup("A7") == 2


def test_lookup_takes_the_nearest_spelling():
    words = ["Haus", "haus", "baum", "2001", "0000", "covid-00"]
    vectors = Vectors({word: i for i, word in enumerate(words)}, np.zeros((len(words), 2), np.float32))
    found = {form: vectors.lookup(form) for form in ("Haus", "HAUS", "Baum", "2001", "1999", "Covid-19", "fehlt")}
    assert found == {"Haus": 0, "HAUS": 1, "Baum": 2, "2001": 3, "1999": 4, "Covid-19": 5, "fehlt": None}
    assert len(vectors) == 6


def test_spellings_are_those_that_lookup_tries():
    assert spellings("Covid-19") == ("Covid-19", "covid-19", "Covid-00", "covid-00")
    assert spellings("in") == ("in",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", ":1: expected a word and its vector"),
        (b"\n", ":1: expected a word and its vector"),
        (b"word\n", ":1: expected a word and its vector"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", ":1: expected a word and its vector"),
        (b"a" * 100_000, ":1: expected a word and its vector"),
        (b"3 0\n", ":1: vectors of 0 numbers"),
        (text() + b"x 1.0 2.0\n", ":7: expected a word and 3 numbers, found 2 numbers"),
        (text(header=False) + b"x 1.0 2.0 3.0 4.0\n", ":6: expected a word and 3 numbers, found 4 numbers"),
        (b"2 3\nx 1.0 2.0\nStra\xc3\x9fe 1 2 3\n", ":2: expected a word and 3 numbers, found 2 numbers"),
        (text() + b"x 1.0 zwei 3.0\n", ":7: 'zwei' is not a number"),
        (text() + b"x 1.0  3.0\n", ":7: '' is not a number"),
        (text() + b"x 1.0 \xff 3.0\n", ":7: '\ufffd' is not a number"),
        (text() + b"x 1.0 nan 3.0\n", ":7: a vector with a number that is not finite"),
        (text() + b"x 1.0 -inf 3.0\n", ":7: a vector with a number that is not finite"),
        (text() + b"x 1.0 1e99 3.0\n", ":7: a vector with a number that is not finite"),
        (text().replace(b"5 3", b"6 3"), ":6: the file ends after 5 words, its header promises 6"),
        (text().replace(b"5 3", b"999999999999999999 3"), ":6: the file ends after 5 words"),
        (text().replace(b"5 3", b"5 4"), ":2: expected a word and 4 numbers, found 3 numbers"),
        (text() + b"x" * (1 << 21), ":7: a line of more than"),
        (binary(matrix=MATRIX * np.float32("nan")), ": word 1: a vector with a number that is not finite"),
        (binary(end=b"")[:-1], ": word 5: the file ends, its header promises 5 words"),
        (binary().replace(b"5 3", b"999999999999999999 3"), ": word 6: the file ends"),
        (binary()[:-20] + b"\1" * (1 << 21), ": word 5: a word of more than"),
    ],
)
def test_broken_files_say_where(write, content, message):
    assert failure(write(content)).startswith(message)


@pytest.mark.parametrize("rest", [b"", b"word 1 2 3\n", b"word \0\0\0\0"])
@pytest.mark.parametrize("dimension", [MAX_DIMENSIONS + 1, 10**12, 10**17])
def test_an_absurd_header_allocates_nothing(write, dimension, rest):
    assert "expected 1 to 16384" in failure(write(f"1 {dimension}\n".encode() + rest))


def test_files_that_cannot_be_read(tmp_path, write):
    assert failure(tmp_path / "missing").startswith(": cannot be read: No such file")
    assert failure(tmp_path).startswith(": cannot be read")
    for suffix, pack in PACKED.items():
        assert failure(write(pack(text())[:-10], suffix)).startswith(": cannot be read")


@given(st.data())
def test_damage_is_never_more_than_an_error(tmp_path_factory, data):
    content = bytearray(data.draw(st.sampled_from([*FORMATS.values(), gzip.compress(text())])))
    suffix = ".gz" if content.startswith(b"\x1f\x8b") else ""
    for at in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=5)):
        content[at] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / f"damaged{suffix}"
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        vectors = read_vectors(path)
    except DiscotreeError:
        return
    assert np.isfinite(vectors.matrix).all()
