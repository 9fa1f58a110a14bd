"""Text comes from files in pieces that fit into memory, each with its offset in the whole."""

import io
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discotree import TreebankError
from discotree.text import decode, decode_lines, paragraphs, sentences, streams

PIECES = st.lists(
    st.sampled_from(["\n", "\n\n", " ", "\f", "\u2029", "Ende. ", "Anfang", "e\u0301", "\u200d"]) | st.text()
)


@given(PIECES, st.integers(1, 40))
def test_paragraphs_know_their_offsets(pieces: list[str], longest: int) -> None:
    text = "".join(pieces)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "MAX_PARAGRAPH", longest)
        patch.setattr(streams, "BLOCK", max(1, longest // 3))
        found = list(paragraphs(pieces))
    rest = list(text)
    for paragraph in found:
        end = paragraph.start + len(paragraph.text)
        assert text[paragraph.start : end] == paragraph.text
        assert len(paragraph.text) <= longest
        assert not paragraph.text.isspace()
        rest[paragraph.start : end] = [""] * len(paragraph.text)
    assert not "".join(rest).strip()
    assert [p.start for p in found] == sorted(p.start for p in found)


@given(PIECES)
def test_short_paragraphs_are_what_stands_between_empty_lines(pieces: list[str]) -> None:
    text = "".join(pieces)
    expected, lines = [], [*text.replace("\f", "\n\n").replace("\u2029", "\n\n").split("\n"), ""]
    paragraph: list[str] = []
    for line in lines:
        if line.strip():
            paragraph.append(line)
        elif paragraph:
            expected.append("\n".join(paragraph).split())
            paragraph = []
    assert [p.text.split() for p in paragraphs(pieces)] == expected


def test_empty_lines_end_paragraphs() -> None:
    assert [p.text for p in paragraphs("a\nb\r\n \t\r\n\nc\fd\u2029e\u2028f")] == ["a\nb\r", "c", "d", "e\u2028f"]


def test_a_long_paragraph_is_split_between_sentences() -> None:
    sentence = "Dit is een lange zinsnede met dr. Klaassen. "
    text = sentence * 20_000
    found = list(paragraphs(text[k : k + 1000] for k in range(0, len(text), 1000)))
    assert len(found) > 3
    assert all(p.text.endswith("Klaassen. ") for p in found)
    assert {len(words) for words in sentences(sentence * 7000, "nl")} == {9}


def test_else_it_is_split_between_words_and_never_before_an_accent() -> None:
    assert all(p.text.endswith("woord ") for p in paragraphs("woord " * 100_000))
    for letter in ("e\u0301", "e\u0301\u0302"):
        found = list(paragraphs(letter * 300_000))
        assert len(found) > 2
        assert all(p.text[0] == "e" for p in found)


def test_a_stream_is_never_in_memory_as_a_whole() -> None:
    handed_out = 0

    def endless() -> Iterator[str]:
        nonlocal handed_out
        while True:
            handed_out += 1000
            yield "woord " * 166 + "abc "

    for number, paragraph in enumerate(paragraphs(endless()), 1):
        assert handed_out <= number * streams.MAX_PARAGRAPH + 2 * streams.BLOCK
        assert len(paragraph.text) <= streams.MAX_PARAGRAPH
        if number == 5:
            break


def test_a_file_without_line_ends_is_read_in_blocks() -> None:
    class File(io.StringIO):
        def readline(self, size: int = -1, /) -> str:
            assert 0 < size <= streams.BLOCK
            return super().readline(size)

        def __next__(self) -> str:
            raise AssertionError("a line may be as long as the file")

    text = "woord " * 100_000
    assert "".join(p.text for p in paragraphs(File(text))) == text


def test_somebody_who_types_gets_an_answer_after_an_empty_line() -> None:
    typed: list[str] = []

    def keyboard() -> Iterator[str]:
        for line in ("Hallo\n", "wereld.\n", "\n", "Nog iets.\n"):
            typed.append(line)
            yield line

    assert [word.form for word in next(sentences(keyboard(), "nl"))] == ["Hallo", "wereld", "."]
    assert len(typed) == 3


@given(st.text(), st.integers(1, 7), st.sampled_from(["utf-8", "utf-16", "utf-16-le", "utf-8-sig", "latin-1"]))
def test_decode_is_the_inverse_of_encode(text: str, block: int, encoding: str) -> None:
    raw = text.encode(encoding, "replace")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "BLOCK", block)
        pieces = list(decode(io.BytesIO(raw), encoding=encoding))
        lines = list(decode_lines(io.BytesIO(raw), encoding=encoding))
    assert "".join(pieces) == "".join(lines) == raw.decode(encoding).removeprefix("\ufeff")
    assert all(line.index("\n") == len(line) - 1 for line in lines[:-1])


@pytest.mark.parametrize("raw", [b"a\n\nb \x9d c\n", b"a\nb\n\xc3", b"a\nb\nc\xe2\x82"])
def test_undecodable_bytes_have_an_address(raw: bytes) -> None:
    with pytest.raises(TreebankError, match=r"^x\.txt:3: byte 0x\w\w is not utf-8; specify the file's") as caught:
        list(decode(io.BytesIO(raw), "x.txt"))
    assert (caught.value.path, caught.value.line) == ("x.txt", 3)
    assert "�" in "".join(decode_lines(io.BytesIO(raw), "x.txt", errors="replace"))


def test_a_file_that_may_be_in_utf_16_is_told_so() -> None:
    with pytest.raises(TreebankError, match="byte 0xff is not utf-8; if the file is in UTF-16, convert it to UTF-8"):
        list(decode(io.BytesIO(b"\xff\xfea\0"), "x.txt"))


@pytest.mark.parametrize("raw", ["Überall", "Café", "„Ja“", "10 €", "Þetta"])
def test_a_file_in_windows_1252_is_told_so(raw: str) -> None:
    with pytest.raises(TreebankError, match=r"^x\.txt:1: .*; it looks like Windows-1252; use --encoding cp1252$"):
        list(decode(io.BytesIO(raw.encode("cp1252")), "x.txt"))
