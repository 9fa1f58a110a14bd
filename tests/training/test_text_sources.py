"""Texts to learn from: what arguments name, what is read from files of every kind, and what is refused."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from discotree.errors import ConfigError, TreebankError
from discotree.training.text_sources import TextSource, text_sources

TEXT = "Hij komt a.s. dinsdag. Zij niet.\n\nDe hond blaft .\n"


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


@pytest.mark.parametrize("suffix", PACKERS)
def test_plain_and_compressed_files_give_the_same_sentences(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"text.txt{suffix}"
    path.write_bytes(PACKERS[suffix](TEXT.encode()))
    source = TextSource(str(path))
    assert list(source.lines()) == [*TEXT.splitlines(keepends=True), ""]
    split = [sentence for sentence in source.sentences("nl") if sentence]
    assert split == [["Hij", "komt", "a.s.", "dinsdag", "."], ["Zij", "niet", "."], ["De", "hond", "blaft", "."]]
    tokenised = [sentence for sentence in source.sentences() if sentence]
    assert tokenised == [["Hij", "komt", "a.s.", "dinsdag.", "Zij", "niet."], ["De", "hond", "blaft", "."]]


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
    with pytest.raises(ConfigError, match=r"named twice; .*a.txt\*2 reads it twice"):
        text_sources([str(tmp_path / "a.txt"), f"{tmp_path}/./a.txt*3"])


def test_what_is_no_text_is_refused_with_its_address(tmp_path: Path) -> None:
    with pytest.raises(TreebankError, match=r"nowhere\.txt: there is no such file"):
        text_sources([str(tmp_path / "nowhere.txt*2")])
    with pytest.raises(TreebankError, match="a folder, expected a file of text"):
        text_sources([str(tmp_path)])
    path = tmp_path / "latin.txt"
    path.write_bytes(b"een\ncaf\xe9\n")
    with pytest.raises(TreebankError, match=r"latin\.txt:2: byte 0xe9 is not utf-8"):
        list(TextSource(str(path)).lines())
    packed = tmp_path / "cut.txt.bz2"
    packed.write_bytes(bz2.compress(TEXT.encode())[:-9])
    with pytest.raises(TreebankError, match=r"cut\.txt\.bz2: cannot be read"):
        list(TextSource(str(packed)).lines())


def test_a_line_without_end_comes_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("woord " * 50_000)
    source = TextSource(str(path))
    assert max(map(len, source.lines())) <= 1 << 16
    assert sum(map(len, source.sentences())) in range(50_000, 50_010)  # a word may be cut between two pieces
    assert len(source.sha256()) == 64
