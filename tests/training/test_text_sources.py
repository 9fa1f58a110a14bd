"""Texts to learn from: what arguments name, what is read from files of every kind, and what is refused."""

import bz2
import gzip
import lzma
from pathlib import Path

import pytest

from discotree.errors import ConfigError, TreebankError
from discotree.training import text_sources as module
from discotree.training.text_sources import TextSource, byte_counter, text_sources


def test_a_star_and_a_number_say_how_often_a_text_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b.txt", "odd*3"):
        Path(name).write_text("x")
    assert text_sources(["a.txt*8", "b.txt"]) == [TextSource("a.txt", 8), TextSource("b.txt", 1)]
    assert text_sources(["*.txt*2"]) == [TextSource("a.txt", 2), TextSource("b.txt", 2)]
    assert text_sources(["odd*3"]) == [TextSource("odd*3", 1)], "a file of that name comes first"
    for wrong in ("a.txt*0", "a.txt*99999999999"):
        with pytest.raises(ConfigError, match=r"expected \*1 to \*1000"):
            text_sources([wrong])


def test_a_file_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(ConfigError, match=r"is given twice; write .*a.txt\*2 to read it twice"):
        text_sources([str(tmp_path / "a.txt"), f"{tmp_path}/./a.txt*3"])


def test_what_is_no_text_is_refused_with_its_address(tmp_path: Path) -> None:
    with pytest.raises(TreebankError, match=r"nowhere\.txt: no such file"):
        text_sources([str(tmp_path / "nowhere.txt*2")])
    with pytest.raises(TreebankError, match="expected a text file, got a folder"):
        text_sources([str(tmp_path)])


@pytest.mark.parametrize(("suffix", "pack"), [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress),
                                              (".xz", lzma.compress)])  # fmt: skip
def test_lines_come_in_blocks_with_their_numbers(file, monkeypatch, suffix, pack):
    monkeypatch.setattr(module, "BLOCK_CHARACTERS", 8)
    path = file(f"a.txt{suffix}", pack("\ufeffeen\r\n\ntwee drie\nvier".encode()))
    read = []
    source = TextSource(str(path))
    counter = byte_counter(lambda *event: read.append(event), "reading", source.size)
    assert list(source.blocks(counter)) == [(1, ["een", "", "twee drie"]), (4, ["vier"])]
    assert read[-1] == ("reading", source.size, source.size)


def test_text_that_is_not_utf8_has_an_address(file):
    path = file("a.txt", b"goed\nfout \xff\n")
    with pytest.raises(TreebankError, match=r"a\.txt:2: byte 0xff is not utf-8"):
        list(TextSource(str(path)).blocks())


def test_damage_and_missing_files_have_an_address(file, tmp_path):
    path = file("a.txt.gz", gzip.compress(b"goed\n" * 99)[:-9])
    with pytest.raises(TreebankError, match=r"a\.txt\.gz: cannot be read"):
        list(TextSource(str(path)).blocks())
    with pytest.raises(TreebankError, match=r"none\.txt: no such file"):
        TextSource(str(tmp_path / "none.txt")).sha256()


def test_a_line_has_a_limit(file, monkeypatch):
    monkeypatch.setenv("DISCOTREE_MAX_LINE_BYTES", "10")
    with pytest.raises(TreebankError, match=r"a\.txt:2: a line has more than 10 bytes"):
        list(TextSource(str(file("a.txt", "kort\nveel te lang\n"))).blocks())
