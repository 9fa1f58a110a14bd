"""An output belongs to one job, and one process at a time writes it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from discotree.errors import DiscotreeError
from discotree.parsing.output_job import JobIdentity, lock_output, unlock_output

HOLD = """
import sys
from discotree.parsing.output_job import lock_output
lock = lock_output(sys.argv[1], "out")
print("locked", flush=True)
sys.stdin.read()
"""


def test_a_lock_keeps_other_processes_away_until_its_process_is_killed(tmp_path: Path) -> None:
    path = str(tmp_path / "out.lock")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        with pytest.raises(DiscotreeError, match="out: another process is writing it"):
            lock_output(path, "out")
    finally:
        holder.kill()
        holder.communicate()
    unlock_output(lock_output(path, "out"))
    assert os.listdir(tmp_path) == []


def test_a_lock_is_exclusive_within_a_process(tmp_path: Path) -> None:
    path = str(tmp_path / "out.lock")
    lock = lock_output(path, "out")
    with pytest.raises(DiscotreeError, match="another process"):
        lock_output(path, "out")
    unlock_output(lock)
    unlock_output(lock_output(path, "out"))


def test_a_lock_makes_no_folders(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        lock_output(str(tmp_path / "nowhere" / "out.lock"), "out")
    assert os.listdir(tmp_path) == []


def test_only_the_same_job_may_resume() -> None:
    begun = JobIdentity.from_json(JobIdentity.of({"files": ("a", "b"), "--k": 3}).to_json())
    JobIdentity.of({"files": ["a", "b"], "--k": 3}).check("out", begun, "stop")
    for other, difference in (
        ({"files": ["a", "c"], "--k": 3}, "files was 'b' and is 'c'"),
        ({"files": ["a", "b", "c"], "--k": 3}, "files was None and is 'c'"),
        ({"files": ["a", "b"], "--k": 4}, "--k was 3 and is 4"),
        ({"files": ["a", "b"], "--k": 3, "model": "x"}, "model was None and is 'x'"),
    ):
        with pytest.raises(DiscotreeError, match=f"out belongs to another job: {difference}; stop"):
            JobIdentity.of(other).check("out", begun, "stop")


@pytest.mark.parametrize("raw", [b"", b"[1]", b"{", b"null"])
def test_what_is_no_identity_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match="not the description of a job"):
        JobIdentity.from_json(raw)
