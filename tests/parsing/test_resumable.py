"""An output that survives whatever ends its process, and resumes from there."""

import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from discotree.errors import DiscotreeError
from discotree.parsing import resumable
from discotree.parsing.resumable import ResumableFile, SentenceCounts


def journal(path: Path, resume: bool = True) -> ResumableFile:
    return ResumableFile(str(path), "<", {"what": "test"}, resume)


def crash(file: ResumableFile) -> None:
    """Let go of everything as the operating system does when a process dies."""
    file.stream.close()
    file.journal.close()
    file.lock.release()


def test_a_torn_end_is_cut_off(tmp_path: Path) -> None:
    for torn_part, torn_notes in ((b"tor", b""), (b"", b"[3, 3, 0"), (b"tor", b"[3"), (b"\0" * 9, b"\0" * 9 + b"\n")):
        file = journal(tmp_path / "out")
        file.write("one ", SentenceCounts(1, 1, 0))
        file.write("two ", SentenceCounts(2, 2, 0))
        crash(file)
        for name, torn in (("out.part", torn_part), ("out.progress", torn_notes)):
            with open(tmp_path / name, "ab") as stream:
                stream.write(torn)
        file = journal(tmp_path / "out")
        assert file.counts == SentenceCounts(2, 2, 0)
        file.write("three ", SentenceCounts(3, 3, 0))
        file.finish(">")
        assert (tmp_path / "out").read_bytes() == b"<one two three >"
        assert os.listdir(tmp_path) == ["out"]


def test_notes_about_what_never_reached_the_disk_do_not_count(tmp_path: Path) -> None:
    file = journal(tmp_path / "out")
    file.write("one ", SentenceCounts(1, 1, 0))
    file.write("two ", SentenceCounts(2, 2, 0))
    file.stream.truncate(7)
    crash(file)
    file = journal(tmp_path / "out")
    assert (file.counts, file.length) == (SentenceCounts(1, 1, 0), 5)
    file.stop("")
    (tmp_path / "out.part").unlink()
    file = journal(tmp_path / "out")
    assert file.counts == SentenceCounts()
    file.finish(">")
    assert (tmp_path / "out").read_bytes() == b"<>"


def test_a_full_disk_leaves_what_was_written_before(tmp_path: Path) -> None:
    file = journal(tmp_path / "out")
    file.write("one ", SentenceCounts(1, 1, 0))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            file.write("x" * 2000, SentenceCounts(2, 2, 0))
        assert "1 sentences are in" in file.stop(">")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert (tmp_path / "out.part").read_bytes() == b"<one >"
    file = journal(tmp_path / "out")
    file.write("two ", SentenceCounts(2, 2, 0))
    file.finish(">")
    assert (tmp_path / "out").read_bytes() == b"<one two >"


def test_one_output_has_one_writer(tmp_path: Path) -> None:
    file = journal(tmp_path / "out")
    file.write("one ", SentenceCounts(1, 1, 0))
    for resume in (True, False):
        with pytest.raises(DiscotreeError, match="another process is writing it"):
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
    with pytest.raises(DiscotreeError, match=r"out\.progress: is not a journal of discotree: move it away"):
        journal(tmp_path / "out", resume)
    assert (tmp_path / "out.progress").read_bytes() == content
    assert os.listdir(tmp_path) == ["out.progress"]


@pytest.mark.parametrize("notes", [None, b""])
def test_a_foreign_part_is_left_alone(tmp_path: Path, notes: bytes | None) -> None:
    (tmp_path / "out.part").write_bytes(b"my thesis")
    if notes is not None:
        (tmp_path / "out.progress").write_bytes(notes)
    for resume in (True, False):
        with pytest.raises(DiscotreeError, match=r"out\.part: is not the unfinished output of discotree"):
            journal(tmp_path / "out", resume)
    assert (tmp_path / "out.part").read_bytes() == b"my thesis"


def test_a_foreign_lock_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out.lock").write_bytes(b"{}")
    with pytest.raises(DiscotreeError, match=r"out\.lock: is not a lock of discotree"):
        journal(tmp_path / "out")
    assert (tmp_path / "out.lock").read_bytes() == b"{}"


@pytest.mark.parametrize("link", [os.symlink, os.link])
@pytest.mark.parametrize("name", ["out.part", "out.progress", "out.lock"])
def test_links_are_not_followed(tmp_path: Path, name: str, link: Callable[[Path, Path], None]) -> None:
    mine = tmp_path / "mine"
    file = journal(tmp_path / "out")
    file.write("one ", SentenceCounts(1, 1, 0))
    crash(file)
    (tmp_path / name).unlink(missing_ok=True)
    mine.write_bytes(b"" if name == "out.lock" else b"my thesis")
    link(mine, tmp_path / name)
    with pytest.raises(DiscotreeError, match=f"{name}: is not"):
        journal(tmp_path / "out")
    assert mine.read_bytes() == (b"" if name == "out.lock" else b"my thesis")
    assert (tmp_path / name).exists()


def test_a_dangling_link_is_not_followed(tmp_path: Path) -> None:
    for name in ("out.part", "out.progress", "out.lock"):
        (tmp_path / name).symlink_to("elsewhere")
        with pytest.raises(DiscotreeError, match=f"{name}: is not"):
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
    ["", "x", "{}", "3", "[]", "[1, 1, 0]", "[1, 1, 0, 5]", '[1, 1, 0, "", "5"]', '[-1, -1, 0, "", 5]',
     '[1, 1, 0, 7, 5]', '[1, 1, 1, "", 5]', '[1.0, 1, 0, "", 5]', '{"a": 1, "b": 1, "c": 0, "d": 0, "e": 0}',
     '[true, true, 0, "", 5]', f'[1, 1, 0, "", {"9" * 900}]', "[" * 900, "x" * 5000],
)  # fmt: skip
def test_a_damaged_entry_is_an_error_with_an_address(tmp_path: Path, entry: str) -> None:
    file = journal(tmp_path / "out")
    file.write("one ", SentenceCounts(1, 1, 0))
    file.write("two ", SentenceCounts(2, 2, 0))
    crash(file)
    lines = (tmp_path / "out.progress").read_text().splitlines()
    lines[1] = entry
    (tmp_path / "out.progress").write_text("\n".join([*lines, ""]))
    before = (tmp_path / "out.part").read_bytes()
    if entry.startswith('[1, 1, 0, "", 999'):
        with pytest.raises(DiscotreeError, match=r"out\.progress:3: this is no entry of a journal"):
            journal(tmp_path / "out")
    else:
        with pytest.raises(DiscotreeError, match=r"out\.progress:2: this is no entry of a journal: remove it and"):
            journal(tmp_path / "out")
    assert (tmp_path / "out.part").read_bytes() == before


def test_another_version_does_not_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = journal(tmp_path / "out")
    file.write("one ", SentenceCounts(1, 1, 0))
    crash(file)
    monkeypatch.setattr(resumable, "__version__", "99")
    with pytest.raises(DiscotreeError, match=r"belongs to another job: discotree was '.*' and is '99'"):
        journal(tmp_path / "out")


def test_a_journal_entry_on_a_full_disk_is_cut_off(tmp_path: Path) -> None:
    """An entry that fits in part leaves a torn one, never one that the next entry is glued to."""
    file = journal(tmp_path / "out")
    file.write("one ", SentenceCounts(1, 1, 0))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file.journal.tell() + 5, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            file.write("two ", SentenceCounts(2, 2, 0))
        assert "1 sentences are in" in file.stop(">")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    file = journal(tmp_path / "out")
    assert file.counts.done == 1
    file.write("two ", SentenceCounts(2, 2, 0))
    file.finish(">")
    assert (tmp_path / "out").read_bytes() == b"<one two >"


# A second file beside the output


def test_a_file_beside_another_resumes_where_that_one_does(tmp_path: Path) -> None:
    """The second file is written first, so after a crash it may be a window ahead: that window is written again."""
    job = {"what": "test"}
    main = journal(tmp_path / "out")
    beside = ResumableFile(str(tmp_path / "beside"), "<", job, True, main)
    beside.write("a ", SentenceCounts(2, 1, 1))
    main.write("b ", SentenceCounts(2, 2, 0, "", 1))
    beside.write("torn ", SentenceCounts(4, 2, 2))
    crash(main)
    crash(beside)
    main = journal(tmp_path / "out")
    assert main.counts == SentenceCounts(2, 2, 0, "", 1)
    beside = ResumableFile(str(tmp_path / "beside"), "<", job, True, main)
    assert beside.counts == SentenceCounts(2, 1, 1)
    beside.write("c ", SentenceCounts(3, 2, 1))
    main.write("", SentenceCounts(3, 3, 0, "", 2))
    for file in (main, beside):
        file.finish(">")
    assert (tmp_path / "beside").read_bytes() == b"<a c >"
    assert (tmp_path / "out").read_bytes() == b"<b >"


def test_a_lost_second_file_is_noticed(tmp_path: Path) -> None:
    main = journal(tmp_path / "out")
    main.write("b ", SentenceCounts(2, 2, 0, "", 1))
    with pytest.raises(DiscotreeError, match="beside: the interrupted run wrote no such file"):
        ResumableFile(str(tmp_path / "beside"), "<", {"what": "test"}, True, main)
    crash(main)


def test_a_new_run_leaves_the_unfinished_output_of_another_alone(tmp_path: Path) -> None:
    """Whatever is interrupted can be resumed, also if a second run names its file for what is uncertain."""
    interrupted = journal(tmp_path / "a")
    interrupted.write("one ", SentenceCounts(1, 1, 0))
    crash(interrupted)
    main = journal(tmp_path / "b")
    with pytest.raises(DiscotreeError, match="holds 1 sentences of an interrupted run"):
        ResumableFile(str(tmp_path / "a"), "<", {"what": "test"}, False, main)
    with pytest.raises(DiscotreeError, match="remove the file to start again"):
        ResumableFile(str(tmp_path / "a"), "<", {"what": "another"}, True, main)
    assert (tmp_path / "a.part").read_bytes() == b"<one "
    crash(main)
