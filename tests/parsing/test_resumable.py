"""An output that survives whatever ends its process, and resumes from there."""

import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from discotree.errors import DiscotreeError
from discotree.parsing import outputs
from discotree.parsing.outputs import ResumableFile, SentenceCounts


def journal(path: Path, resume: bool = True) -> ResumableFile:
    return ResumableFile(str(path), "<", {"what": "test"}, resume)


def crash(file: ResumableFile) -> None:
    """Let go of everything as the operating system does when a process dies."""
    file.stream.close()
    file.journal.close()
    file.lock.file.release()


def test_a_torn_end_is_cut_off(tmp_path: Path) -> None:
    for torn_part, torn_notes in ((b"tor", b""), (b"", b'{"done": 3'), (b"tor", b"{"), (b"\0" * 9, b"\0" * 9 + b"\n")):
        file = journal(tmp_path / "out")
        file.write("one ", SentenceCounts(1, 1))
        file.write("two ", SentenceCounts(2, 2))
        crash(file)
        for name, torn in (("out.part", torn_part), ("out.progress", torn_notes)):
            with open(tmp_path / name, "ab") as stream:
                stream.write(torn)
        file = journal(tmp_path / "out")
        assert file.counts == SentenceCounts(2, 2)
        file.write("three ", SentenceCounts(3, 3))
        file.finish(">")
        assert (tmp_path / "out").read_bytes() == b"<one two three >"
        assert os.listdir(tmp_path) == ["out"]


def test_notes_about_what_never_reached_the_disk_do_not_count(tmp_path: Path) -> None:
    file = journal(tmp_path / "out")
    file.write("one ", SentenceCounts(1, 1))
    file.write("two ", SentenceCounts(2, 2))
    file.stream.truncate(7)
    crash(file)
    file = journal(tmp_path / "out")
    assert (file.counts, file.length) == (SentenceCounts(1, 1), 5)
    file.stop("")
    (tmp_path / "out.part").unlink()
    file = journal(tmp_path / "out")
    assert file.counts == SentenceCounts()
    file.finish(">")
    assert (tmp_path / "out").read_bytes() == b"<>"


def test_a_full_disk_leaves_what_was_written_before(tmp_path: Path) -> None:
    file = journal(tmp_path / "out")
    file.write("one ", SentenceCounts(1, 1))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            file.write("x" * 2000, SentenceCounts(2, 2))
        assert "1 sentence written to" in file.stop(">")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert (tmp_path / "out.part").read_bytes() == b"<one >"
    file = journal(tmp_path / "out")
    file.write("two ", SentenceCounts(2, 2))
    file.finish(">")
    assert (tmp_path / "out").read_bytes() == b"<one two >"


def test_one_output_has_one_writer(tmp_path: Path) -> None:
    file = journal(tmp_path / "out")
    file.write("one ", SentenceCounts(1, 1))
    for resume in (True, False):
        with pytest.raises(DiscotreeError, match="another process is writing to it"):
            journal(tmp_path / "out", resume)
    file.finish(">")
    journal(tmp_path / "out").finish(">")
    assert (tmp_path / "out").read_bytes() == b"<>"


# Files of somebody else


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize(
    "content", [b"my thesis\n", b"[1]\n", b'{"epoch": 3}\n', b'{"discotree": "0.2.0"', b"[" * 10**5]
)
def test_a_foreign_journal_is_left_alone(tmp_path: Path, content: bytes, resume: bool) -> None:
    (tmp_path / "out.progress").write_bytes(content)
    with pytest.raises(DiscotreeError, match=r"out\.progress exists and is not a journal written by discotree"):
        journal(tmp_path / "out", resume)
    assert (tmp_path / "out.progress").read_bytes() == content
    assert os.listdir(tmp_path) == ["out.progress"]


@pytest.mark.parametrize("notes", [None, b""])
def test_a_foreign_part_is_left_alone(tmp_path: Path, notes: bytes | None) -> None:
    (tmp_path / "out.part").write_bytes(b"my thesis")
    if notes is not None:
        (tmp_path / "out.progress").write_bytes(notes)
    for resume in (True, False):
        with pytest.raises(DiscotreeError, match=r"out\.part exists and is not the unfinished output written"):
            journal(tmp_path / "out", resume)
    assert (tmp_path / "out.part").read_bytes() == b"my thesis"


def test_a_foreign_lock_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out.lock").write_bytes(b"{}")
    with pytest.raises(DiscotreeError, match=r"out\.lock exists and is not a lock written by discotree"):
        journal(tmp_path / "out")
    assert (tmp_path / "out.lock").read_bytes() == b"{}"


@pytest.mark.parametrize("link", [os.symlink, os.link])
@pytest.mark.parametrize("name", ["out.part", "out.progress", "out.lock"])
def test_links_are_not_followed(tmp_path: Path, name: str, link: Callable[[Path, Path], None]) -> None:
    mine = tmp_path / "mine"
    file = journal(tmp_path / "out")
    file.write("one ", SentenceCounts(1, 1))
    crash(file)
    (tmp_path / name).unlink(missing_ok=True)
    mine.write_bytes(b"" if name == "out.lock" else b"my thesis")
    link(mine, tmp_path / name)
    with pytest.raises(DiscotreeError, match=f"{name} exists and is not"):
        journal(tmp_path / "out")
    assert mine.read_bytes() == (b"" if name == "out.lock" else b"my thesis")
    assert (tmp_path / name).exists()


def test_a_dangling_link_is_not_followed(tmp_path: Path) -> None:
    for name in ("out.part", "out.progress", "out.lock"):
        (tmp_path / name).symlink_to("elsewhere")
        with pytest.raises(DiscotreeError, match=f"{name} exists and is not"):
            journal(tmp_path / "out")
        (tmp_path / name).unlink()
    assert os.listdir(tmp_path) == []


def test_what_a_killed_run_leaves_before_its_first_sentence_is_ours(tmp_path: Path) -> None:
    crash(journal(tmp_path / "out"))
    (tmp_path / "out.part").write_bytes(b"<torn")
    file = journal(tmp_path / "out", resume=False)
    file.finish(">")
    assert (tmp_path / "out").read_bytes() == b"<>"
    assert os.listdir(tmp_path) == ["out"]


# Damaged journals


@pytest.mark.parametrize(
    "entry",
    ["", "x", "{}", "3", "[]", '{"done": 1}', '{"done": 1, "parsed": 1, "omitted": 0, "checksum": ""}',
     '{"done": 1, "parsed": 1, "omitted": 0, "checksum": "", "length": "5"}',
     '{"done": -1, "parsed": -1, "omitted": 0, "checksum": "", "length": 5}',
     '{"done": 1, "parsed": 2, "omitted": 0, "checksum": "", "length": 5}',
     '{"done": 1, "parsed": 1, "omitted": 2, "checksum": "", "length": 5}',
     '{"done": 1, "parsed": 1, "omitted": 0, "checksum": "", "length": 5, "other": 1}',
     f'{{"done": 1, "parsed": 1, "omitted": 0, "checksum": "", "length": {"9" * 900}}}', "[" * 900, "x" * 5000],
)  # fmt: skip
def test_a_damaged_entry_is_an_error_with_an_address(tmp_path: Path, entry: str) -> None:
    file = journal(tmp_path / "out")
    file.write("one ", SentenceCounts(1, 1))
    file.write("two ", SentenceCounts(2, 2))
    crash(file)
    lines = (tmp_path / "out.progress").read_text().splitlines()
    lines[1] = entry
    (tmp_path / "out.progress").write_text("\n".join([*lines, ""]))
    before = (tmp_path / "out.part").read_bytes()
    if "999" in entry:
        with pytest.raises(DiscotreeError, match=r"out\.progress:3: corrupt journal entry"):
            journal(tmp_path / "out")
    else:
        with pytest.raises(DiscotreeError, match=r"out\.progress:2: corrupt journal entry; remove it and"):
            journal(tmp_path / "out")
    assert (tmp_path / "out.part").read_bytes() == before


def test_another_version_does_not_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = journal(tmp_path / "out")
    file.write("one ", SentenceCounts(1, 1))
    crash(file)
    monkeypatch.setattr(outputs, "__version__", "99")
    with pytest.raises(DiscotreeError, match=r"different settings: discotree was '.*', now '99'"):
        journal(tmp_path / "out")


def test_a_journal_entry_on_a_full_disk_is_cut_off(tmp_path: Path) -> None:
    """An entry that fits in part leaves a torn one, never one that the next entry is glued to."""
    file = journal(tmp_path / "out")
    file.write("one ", SentenceCounts(1, 1))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file.journal.length + 5, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            file.write("two ", SentenceCounts(2, 2))
        assert "1 sentence written to" in file.stop(">")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    file = journal(tmp_path / "out")
    assert file.counts.done == 1
    file.write("two ", SentenceCounts(2, 2))
    file.finish(">")
    assert (tmp_path / "out").read_bytes() == b"<one two >"
