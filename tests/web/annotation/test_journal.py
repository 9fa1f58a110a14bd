"""The journal: whatever was confirmed stays, whatever a crash tears off the end is cut off."""

import json
import resource
from pathlib import Path

import pytest
from support.annotation import accept, correct, project_at

import discotree as dt
from discotree.web.annotation.journal import Journal, is_journal
from discotree.web.annotation.project import Project


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_every_step_is_a_line_with_time_and_name(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    project = project_at(path)
    accept(project, 1, "  Ann   Smith ")
    correct(project, 2, who="Bob")
    first, second = lines(path)[-2:]
    assert (first["step"], first["sentence"], first["action"], first["who"]) == (1, 1, "accept", "Ann Smith")
    assert (second["step"], second["sentence"], second["action"], second["who"]) == (2, 2, "correct", "Bob")
    assert str(first["time"]).endswith("Z")
    assert is_journal(path)
    assert not is_journal(tmp_path)
    project.close()
    assert not (tmp_path / "a.jsonl.lock").exists()


@pytest.mark.parametrize(
    "torn", [b"{", b'{"step": 3, "sentence": 1, "act', b"\0" * 300, b'{"step": 3}', b"\n", b"\xff\xfe"]
)
def test_a_torn_last_line_is_cut_off(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "a.jsonl"
    project = project_at(path)
    accept(project, 1)
    state = project.detail(1)
    project.close()
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    watching = Project.open(str(path), read_only=True)  # as --export does while a server writes
    assert (watching.accepted_count, path.read_bytes()) == (1, whole + torn)
    watching.close()
    project = Project.open(str(path))
    assert project.journal.torn_bytes == len(torn)
    assert path.read_bytes() == whole
    assert project.detail(1) == state
    accept(project, 2)
    project.close()
    watching = Project.open(str(path), read_only=True)
    assert watching.accepted_count == 2
    watching.close()


def test_reading_while_another_process_writes(tmp_path: Path) -> None:
    """A line that is half there when the journal is opened, and whole soon after, is not damage."""
    path = tmp_path / "a.jsonl"
    project = project_at(path)
    accept(project, 1)
    before = path.stat().st_size
    accept(project, 2)
    accept(project, 3)
    project.close()
    whole = path.read_bytes()
    path.write_bytes(whole[: before + 9])
    journal = Journal(str(path), read_only=True)
    path.write_bytes(whole)
    assert json.loads([line for _, line in journal.lines()][-1])["step"] == 1
    journal.close()


def test_a_line_is_read_in_blocks(tmp_path: Path) -> None:
    """Lines of any length come back whole, whatever stands before and after them."""
    path = tmp_path / "a.jsonl"
    journal = Journal(str(path), {"input": []})
    entries = [{"read": 1, "text": "x" * length} for length in (0, 7, 2**15 - 24, 2**15, 10**5)]
    offsets = journal.append(entries)
    assert [journal.entry(offset) for offset in offsets] == entries
    journal.close()


def test_the_journal_can_be_torn_anywhere(tmp_path: Path) -> None:
    """After any number of bytes, what came before the tear is there."""
    path = tmp_path / "a.jsonl"
    project = project_at(path)
    begin = project.journal.length
    ends = []
    for number in (1, 2, 3):
        (accept if number % 2 else correct)(project, number)
        ends.append(project.journal.length)
    project.close()
    whole = path.read_bytes()
    for length in range(begin, len(whole), 211):
        path.write_bytes(whole[:length])
        project = Project.open(str(path))
        assert project.accepted_count == sum(end <= length for end in ends)
        project.close()


def test_damage_in_the_middle_is_an_error_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    project = project_at(path)
    accept(project, 1)
    accept(project, 2)
    project.close()
    raw = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*raw[:-2], raw[-2][:20] + b"\n", raw[-1]]))
    before = path.read_bytes()
    with pytest.raises(dt.TreebankError, match=rf"a\.jsonl:{len(raw) - 1}: corrupt journal entry"):
        Project.open(str(path))
    assert path.read_bytes() == before
    assert not (tmp_path / "a.jsonl.lock").exists()


def test_lines_that_contradict_each_other_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    project = project_at(path)
    project.close()
    whole = path.read_bytes()
    for line in (
        {"step": 7, "sentence": 1, "action": "accept"},
        {"step": 1, "sentence": 99, "action": "accept"},
        {"step": 1, "sentence": 1, "action": "dance"},
        {"model": 3},
        {"sentence": 99, "model": 1, "confidence": 0.5},
    ):
        path.write_bytes(whole + json.dumps(line).encode() + b"\n")
        with pytest.raises(dt.DiscotreeError, match=r"a\.jsonl|no sentence"):
            Project.open(str(path))


def test_a_compressed_journal_is_not_begun(tmp_path: Path) -> None:
    with pytest.raises(dt.TreebankError, match=r"a\.jsonl\.gz: a journal .* cannot be compressed"):
        Journal(str(tmp_path / "a.jsonl.gz"), {"input": []})
    assert list(tmp_path.iterdir()) == []


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    project = project_at(tmp_path / "a.jsonl")
    with pytest.raises(dt.DiscotreeError, match="another process is writing to it"):
        Project.open(str(tmp_path / "a.jsonl"))
    accept(project, 1)
    project.close()
    Project.open(str(tmp_path / "a.jsonl")).close()


def test_a_file_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for content in (b"", b"hello\n", b"{}\n", b'{"tokens": [1]}\n'):
        path.write_bytes(content)
        with pytest.raises(dt.DiscotreeError, match="is not an annotation journal written by discotree"):
            Journal(str(path), {})
        assert path.read_bytes() == content
    path.write_bytes(b'{"discotree": "9.0", "annotation": 3}\n')
    with pytest.raises(dt.DiscotreeError, match="written by a newer version"):
        Journal(str(path), {})
    path.unlink()
    path.mkdir()
    with pytest.raises(dt.DiscotreeError, match="is not an annotation journal"):
        Journal(str(path), {})
    with pytest.raises(dt.TreebankError, match="no such file"):
        Journal(str(tmp_path / "missing"))
    with pytest.raises(dt.TreebankError, match="cannot open"):
        Journal(str(tmp_path / "no" / "folder"), {})


def test_a_full_disk_loses_nothing_and_the_next_step_is_saved(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    project = project_at(path)
    accept(project, 1)
    before, state = path.read_bytes(), project.detail(2)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 50, limits[1]))
    try:
        with pytest.raises(dt.TreebankError, match=r"a\.jsonl: cannot save: File too large"):
            correct(project, 2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    assert project.detail(2) == state
    correct(project, 2)
    project.close()
    watching = Project.open(str(path), read_only=True)
    assert watching.accepted_count == 2
    watching.close()
