"""Raw text: files, repeats, lines, and what cannot be read."""

import bz2
import gzip
import lzma

import pytest

from discotree.errors import TreebankError
from discotree.training.pretraining import texts
from discotree.training.pretraining.texts import LineBlock, kept, line_blocks
from discotree.training.text_sources import TextSource


@pytest.mark.parametrize(("suffix", "pack"), [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress),
                                              (".xz", lzma.compress)])  # fmt: skip
def test_lines_come_in_blocks_with_their_numbers(file, monkeypatch, suffix, pack):
    monkeypatch.setattr(texts, "BLOCK_CHARACTERS", 8)
    path = file(f"a.txt{suffix}", pack("\ufeffeen\r\n\ntwee drie\nvier".encode()))
    read = []
    blocks = list(line_blocks(TextSource(str(path)), read.append))
    assert blocks == [LineBlock(1, ["een", "", "twee drie"]), LineBlock(4, ["vier"])]
    assert sum(read) == path.stat().st_size
    assert list(kept(blocks, {3})) == [["een"], ["vier"]]


def test_text_that_is_not_utf8_has_an_address(file):
    path = file("a.txt", b"goed\nfout \xff\n")
    with pytest.raises(TreebankError, match=r"a\.txt:2: byte 0xff is not utf-8"):
        list(line_blocks(TextSource(str(path))))


def test_damage_and_missing_files_have_an_address(file, tmp_path):
    path = file("a.txt.gz", gzip.compress(b"goed\n" * 99)[:-9])
    with pytest.raises(TreebankError, match=r"a\.txt\.gz: cannot be read"):
        list(line_blocks(TextSource(str(path))))
    with pytest.raises(TreebankError, match=r"none\.txt: cannot be read: No such file"):
        TextSource(str(tmp_path / "none.txt")).sha256()


def test_a_line_has_a_limit(file, monkeypatch):
    monkeypatch.setenv("DISCOTREE_MAX_LINE_BYTES", "10")
    with pytest.raises(TreebankError, match=r"a\.txt:2: a line has more than 10 bytes"):
        list(line_blocks(TextSource(str(file("a.txt", "kort\nveel te lang\n")))))
