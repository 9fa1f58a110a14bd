"""Bytes become text, sentences and lines."""

import io

from discotree.parsing.inputs import DecodedText
from discotree.text.streams import BLOCK, lines_of


def test_offsets_know_their_lines() -> None:
    text = "a\n\n  \nb c\n\n\u2028\n\u00a0\n" + "x" * 100_000 + " y\n" + " " * 70_000 + "z\n\nq"
    text_lines = DecodedText(io.BytesIO(text.encode()), "name", "utf-8", "strict")
    assert "".join(text_lines) == text
    for offset, character in enumerate(text):
        if character in "abcyzq\u2028\u00a0":
            assert text_lines.line(offset) == text.count("\n", 0, offset) + 1


def test_a_line_end_may_be_split_between_blocks() -> None:
    for end in ("\r\n", "\r"):
        text = f"{'x' * (BLOCK - 1)}{end}y{end}{end}z"
        text_lines = DecodedText(io.BytesIO(text.encode()), "name", "utf-8", "strict")
        lines = list(lines_of(text_lines))
        assert [line.strip() for line in lines] == ["x" * (BLOCK - 1), "y", "", "z"]
        assert sum(map(len, lines)) == len(text)
        assert [text_lines.line(text.index(letter)) for letter in "xyz"] == [1, 2, 4]
