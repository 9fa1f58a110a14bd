"""Pools of worker processes."""

import os
import platform
import subprocess
import sys
import time
from contextlib import suppress
from itertools import chain
from pathlib import Path

import pytest
from support.workers import nothing, refuse, repeat

from discotree.errors import DiscotreeError
from discotree.processes import OrderedPool, release_free_memory, usable_cores


@pytest.mark.parametrize("forks", [False, True])
def test_results_come_in_the_order_of_tasks(forks: bool) -> None:
    sizes = [5_000_000, 1, 2, 3, 300_000, 4, 5, 6]
    with OrderedPool(repeat, 2, nothing, forks) as pool:
        results = [pair for size in sizes for pair in pool.results(size)]
        results += pool.remaining()
    assert [(task, len(result)) for task, result in results] == [(size, size) for size in sizes]


def test_an_interrupt_during_a_large_result_ends_the_workers() -> None:
    with suppress(KeyboardInterrupt), OrderedPool(repeat, 1, nothing) as pool:
        list(pool.results(100_000_000))
        assert pool.processes[0].connection.poll(60)
        began = time.monotonic()
        raise KeyboardInterrupt
    assert time.monotonic() - began < 10
    assert pool.processes[0].process.exitcode is not None


def test_a_worker_that_cannot_start_says_why() -> None:
    with OrderedPool(refuse, 1, nothing) as pool:
        assert not list(pool.results(1))
        with pytest.raises(DiscotreeError, match="a worker process failed to start: no model"):
            list(pool.remaining())


def test_a_slow_task_does_not_stop_the_other_processes(tmp_path: Path) -> None:
    def work(path: Path) -> Path:
        deadline = time.monotonic() + 20
        while not path.exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return path

    slow = tmp_path / "slow"
    tasks = [slow, *[tmp_path] * 5]
    with OrderedPool(lambda: work, 2, nothing, forks=True) as pool:
        assert not [pair for task in tasks for pair in pool.results(task)]
        slow.touch()
        assert [result for _, result in pool.remaining()] == tasks


def test_after_an_error_there_are_no_later_results() -> None:
    def work(task: int) -> int:
        return 1 // task

    with OrderedPool(lambda: work, 1, nothing, forks=True) as pool:
        assert not list(pool.results(0))
        with pytest.raises(ZeroDivisionError):
            list(chain(pool.results(1), pool.results(1), pool.remaining()))
        assert not list(pool.remaining())


FORKING = """
import os, sys, time
from discotree.processes import OrderedPool

with OrderedPool(lambda: lambda _: os.getpid(), 3, lambda: None, forks=True) as pool:
    early = [pid for task in range(3) for _, pid in pool.results(task)]
    print(*early, *(pid for _, pid in pool.remaining()), flush=True)
    os.kill(os.getpid(), 9)
"""


def test_forked_processes_end_with_a_main_process_that_is_killed() -> None:
    """Each of them inherits the pipes of the earlier ones, which would keep those alive."""
    killed = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, timeout=60)
    workers = set(map(int, killed.stdout.split()))
    assert workers
    deadline = time.monotonic() + 20
    while any(map(is_running, workers)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(is_running, workers))


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("limits", "expected"),
    [({}, 8), ({"": "max 100000"}, 8), ({"": "250000 100000"}, 3), ({"a/b": "100000 100000", "a": "max 1"}, 1)],
)
def test_the_quota_of_a_container_limits_the_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limits: dict[str, str], expected: int
) -> None:
    for folder, limit in limits.items():
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "cpu.max").write_text(f"{limit}\n")
    own = tmp_path / "own"
    own.write_text("1:cpu:/x\n0::/a/b\n")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(8))
    assert usable_cores(tmp_path, own) == expected


ARENAS = """
import ctypes, threading
from discotree.processes import use_one_arena
{first}
libc = ctypes.CDLL(None)
end = threading.Barrier(3)
for _ in range(2):
    threading.Thread(target=lambda: (libc.malloc(1000), end.wait())).start()
end.wait()
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
libc.fflush(None)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has arenas")
@pytest.mark.parametrize(("first", "is_shared"), [("", False), ("use_one_arena()", True)])
def test_threads_share_an_arena(first: str, is_shared: bool) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    command = [sys.executable, "-c", ARENAS.format(first=first)]
    told = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    assert (told.count("<heap nr=") == 1) is is_shared


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc keeps free memory")
def test_free_memory_is_released() -> None:
    blocks = [bytes(60_000) for _ in range(2_000)]
    del blocks[:-1]  # the last one keeps the rest from being released at once
    before = _resident_bytes()
    release_free_memory()
    assert before - _resident_bytes() > 50_000_000


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
