"""An output that survives whatever ends its process, and resumes from there."""

import os
import resource
import signal
from pathlib import Path

import pytest

from discotree.errors import DiscotreeError
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
