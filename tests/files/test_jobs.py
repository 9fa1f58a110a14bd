"""An output belongs to one job, and one process at a time writes it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from discotree.errors import DiscotreeError
from discotree.files.jobs import Fingerprint, JobLock

HOLD = """
import sys
from discotree.files.jobs import JobLock
lock = JobLock(sys.argv[1], "out")
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
        with pytest.raises(DiscotreeError, match="out: another process is writing to it"):
            JobLock(path, "out")
    finally:
        holder.kill()
        holder.communicate()
    JobLock(path, "out").release()
    assert os.listdir(tmp_path) == []


def test_a_lock_is_exclusive_within_a_process(tmp_path: Path) -> None:
    path = str(tmp_path / "out.lock")
    lock = JobLock(path, "out")
    with pytest.raises(DiscotreeError, match="another process"):
        JobLock(path, "out")
    lock.release()
    JobLock(path, "out").release()


def test_a_lock_makes_no_folders(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        JobLock(str(tmp_path / "nowhere" / "out.lock"), "out")
    assert os.listdir(tmp_path) == []


def test_only_the_same_job_may_resume() -> None:
    begun = Fingerprint.from_json(Fingerprint({"files": ("a", "b"), "--k": 3}).to_json())
    Fingerprint({"files": ["a", "b"], "--k": 3}).check("out", begun, "stop")
    for other, difference in (
        ({"files": ["a", "c"], "--k": 3}, "files was 'b', now 'c'"),
        ({"files": ["a", "b", "c"], "--k": 3}, "files was None, now 'c'"),
        ({"files": ["a", "b"], "--k": 4}, "--k was 3, now 4"),
        ({"files": ["a", "b"], "--k": 3, "--tags": True}, "--tags was None, now True"),
    ):
        with pytest.raises(DiscotreeError, match=f"out was started with different settings: {difference}; stop"):
            Fingerprint(other).check("out", begun, "stop")
    with pytest.raises(DiscotreeError, match=r"^out was started with another model; stop$"):
        Fingerprint({"model": "cd"}).check("out", Fingerprint({"model": "ab"}), "stop")


@pytest.mark.parametrize("raw", [b"", b"[1]", b"{", b"null"])
def test_only_json_objects_are_fingerprints(raw: bytes) -> None:
    with pytest.raises(ValueError, match="expected a JSON object"):
        Fingerprint.from_json(raw)
