"""Arguments of `discotree parse` become sources of sentences: files, folders, standard input or text."""

import tracemalloc
from pathlib import Path

import pytest
from support.networks import TREES

import discotree as dt
from discotree.errors import TreebankError
from discotree.parsing.inputs import InputSentence, SentenceSource, find_sources, text_source


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "text", ["Es kam", "Es\tkam", "Ja.", "Wer?", "Halt!", "Nun…", "a/b c", "Es kam.\n\nJa.\n", "Siehe\na.txt"]
)
def test_text_has_whitespace_or_ends_like_a_sentence(text: str) -> None:
    (source,) = find_sources([text], None)
    assert (source.kind, source.text) == ("text", text.encode())


@pytest.mark.parametrize(
    "word", ["Hallo", "corpus.txt", "texts/a", "a.b/c", "*.txt", "https://example.org/x", "", "b c.txt", "b c.mrg.gz"]
)
def test_anything_else_must_be_a_file(folder: Path, word: str) -> None:
    assert folder.exists()
    with pytest.raises(TreebankError, match=r"no such file; to parse text, use --text, write several words in quotes"):
        find_sources([word], None)


def test_a_file_is_a_file_even_if_its_name_looks_like_a_sentence(folder: Path) -> None:
    (folder / "Es kam.").write_text("Wir lachen.")
    (source,) = find_sources(["Es kam."], None)
    assert source == SentenceSource("Es kam.", "text")


def test_texts_and_files_do_not_mix(folder: Path) -> None:
    (folder / "a.txt").write_text("Ja.")
    with pytest.raises(TreebankError, match=r"Es kam\.: no such file"):
        find_sources(["a.txt", "Es kam."], None)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.export", "export"),
        ("a.jsonl.gz", "json"),
        ("a.xml", None),
        ("a.zip", None),
        ("a.txt", "text"),
        ("a", "text"),
    ],
)
def test_the_name_of_a_file_says_what_it_is(folder: Path, name: str, kind: str | None) -> None:
    (folder / name).write_bytes(b"")
    assert find_sources([name], None) == [SentenceSource(name, kind)]
    assert find_sources([name], "tokens") == [SentenceSource(name, "tokens")]


def test_a_folder_is_a_treebank_or_else_its_texts(folder: Path) -> None:
    (folder / "texts").mkdir()
    for name in ("b10.txt", "b9.txt", ".hidden.txt", "notes.md"):
        (folder / "texts" / name).write_text("Ja.")
    assert [source.name for source in find_sources(["texts"], None)] == ["texts/b9.txt", "texts/b10.txt"]
    assert [source.stem for source in find_sources(["texts"], "lines")] == ["b9", "b10", "notes"]
    dt.write(TREES[:1], folder / "texts" / "a.export")
    assert find_sources(["texts"], None) == [SentenceSource("texts", None)]
    (folder / "empty").mkdir()
    with pytest.raises(TreebankError, match="empty: the folder contains no files"):
        find_sources(["empty"], "text")


def test_several_sources_have_their_stems_in_their_ids(folder: Path) -> None:
    dt.write(TREES[:1], folder / "a.export")
    (folder / "b.txt").write_text("Ja. Nein.")
    (folder / "c.txt").write_text("Ja .")
    sources = [*find_sources(["a.export", "b.txt"], None), *find_sources(["c.txt", "b.txt"], "tokens")[:1]]
    ids = [item.id for source in sources for item in source.sentences("de") if not isinstance(item, TreebankError)]
    assert ids == ["a/s1", "b/1", "b/2", "c/1"]


def test_bytes_are_counted(folder: Path) -> None:
    (folder / "a.txt").write_text("Es kam nichts.\n\n" * 100)
    dt.write(TREES, folder / "a.export")
    for name in ("a.txt", "a.export"):
        counts: list[int] = []
        (source,) = find_sources([name], None)
        assert len(list(source.sentences("de", on_bytes=counts.append))) > 10
        assert sum(counts) == (folder / name).stat().st_size


def test_a_text_keeps_its_offsets() -> None:
    (item,) = text_source("  Ja, nein.").sentences("de")
    assert isinstance(item, InputSentence)
    assert item.offsets == [(2, 4), (4, 5), (6, 10), (10, 11)]


@pytest.mark.parametrize("kind", ["lines", "tokens"])
def test_a_line_of_many_megabytes_is_an_error_and_the_next_line_a_sentence(folder: Path, kind: str) -> None:
    """Only its beginning is kept in memory."""
    (folder / "a.txt").write_text("Ja .\n" + "Wort " * 4_000_000 + "\nNein .\n")
    tracemalloc.start()
    try:
        first, problem, last = SentenceSource("a.txt", kind).sentences("de")
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
    assert isinstance(problem, TreebankError)
    assert str(problem).startswith("a.txt:2: sentence 2: the line has 20,000,001 characters, more than 1,048,576")
    assert isinstance(first, InputSentence)
    assert isinstance(last, InputSentence)
    assert (last.id, last.where, last.words) == ("3", "a.txt:3", ["Nein", "."])
    assert last.offsets == [(20_000_006, 20_000_010), (20_000_011, 20_000_012)]
