"""Jobs in worker processes: turns, deadlines, memory, jobs nobody waits for, and processes that die."""

import asyncio
import os
import signal
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from support.helpers import right_branching
from support.renderers import slow_renderer

from discotree.treebanks.json_lines import json_line
from discotree.web import Limits, workers
from discotree.web.limits import RequestRefused
from discotree.web.tasks import (
    ModelTraits,
    Reply,
    WorkerContext,
    convert_trees,
    draw,
    filter_treebank,
    read_parse_request,
)
from discotree.web.workers import WorkerPool

SMALL = json_line({"tree": {"content": "(S (A 0=a))"}, "output": "discbracket"}).encode()
DRAWN = Reply(b"(S (A 0=a))\n", "text/plain; charset=utf-8")
SLOW = json_line(
    {"tree": right_branching(400).to_dict(), "output": "svg"}
).encode()  # takes a tenth of a second or more


def with_pool(limits: Limits, use: Callable[[WorkerPool], Coroutine[Any, Any, Any]]) -> Any:
    async def main() -> Any:
        pool = WorkerPool(WorkerContext(limits, {"xx": ModelTraits("de", False)}, {}))
        try:
            return await use(pool)
        finally:
            pool.close()

    return asyncio.run(main())


def children(pool: WorkerPool) -> list[int]:
    assert pool.process is not None
    listed = Path(f"/proc/{pool.process.pid}/task/{pool.process.pid}/children").read_text()
    return [int(pid) for pid in listed.split()]


async def until(condition: Callable[[], Any]) -> None:
    for _ in range(500):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen")


def test_results_and_refusals_come_back() -> None:
    async def use(pool: WorkerPool) -> None:
        assert await pool.run("a", draw, SMALL) == DRAWN
        given = await pool.run("a", read_parse_request, b'{"text": "Ja. Nein."}')
        assert [len(one.tokens) for one in given.sentences] == [2, 2]
        with pytest.raises(RequestRefused, match="Field required"):
            await pool.run("a", draw, b"{}")

    with_pool(Limits(), use)


@pytest.mark.slow
def test_a_job_ends_at_its_deadline_and_the_next_one_runs() -> None:
    async def use(pool: WorkerPool) -> None:
        with pytest.raises(RequestRefused, match=r"0.03 s of processor time or 320 MiB of memory") as refused:
            await pool.run("a", draw, SLOW)
        assert refused.value.status == 413
        assert await pool.run("a", draw, SMALL) == DRAWN
        await until(lambda: not children(pool))

    with_pool(Limits(worker_seconds=0.03), use)


@pytest.mark.slow
def test_a_busy_machine_does_not_make_a_job_too_large() -> None:
    """The deadline counts the processor time of the job, not that of others."""

    async def use(pool: WorkerPool) -> None:
        pool.start()
        job = asyncio.create_task(pool.run("a", draw, SLOW))
        await until(lambda: children(pool))
        (child,) = children(pool)
        os.kill(child, signal.SIGSTOP)
        await asyncio.sleep(0.7)
        os.kill(child, signal.SIGCONT)
        assert (await job).media_type == "image/svg+xml"

    with_pool(Limits(worker_seconds=0.6), use)


@pytest.mark.slow
def test_a_job_cannot_take_more_memory_than_it_may() -> None:
    content = "(S " + " ".join(f"(A {k}=a)" for k in range(30)) + ")\n"
    body = json_line({"content": content * 3000, "format": "discbracket"}).encode()

    async def use(pool: WorkerPool) -> None:
        with pytest.raises(RequestRefused, match="4 MiB of memory"):
            await pool.run("a", filter_treebank, body)
        assert await pool.run("a", draw, SMALL) == DRAWN

    with_pool(Limits(worker_bytes=4 * 2**20), use)


def test_a_job_that_nobody_waits_for_is_ended() -> None:
    async def use(pool: WorkerPool) -> None:
        pool.start()
        job = asyncio.create_task(pool.run("a", draw, SLOW))
        await until(lambda: children(pool))
        job.cancel()
        await asyncio.wait({job})
        await until(lambda: not children(pool))
        assert pool.running.total() == 0

    with_pool(Limits(), use)


def conversion(count: int) -> bytes:
    return json_line({"trees": [right_branching(3).to_dict()] * count, "output": "pdf"}).encode()


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
def test_a_conversion_that_takes_too_long_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the program that it has started nor the files for it."""
    pid = slow_renderer(tmp_path, monkeypatch)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))

    async def use(pool: WorkerPool) -> None:
        with pytest.raises(RequestRefused):
            await pool.run("a", convert_trees, conversion(3))
        assert not list((tmp_path / "temporary").iterdir())
        await until(lambda: not is_alive(int(pid.read_text())))

    with_pool(Limits(timeout_seconds=2), use)


@pytest.mark.slow
def test_a_conversion_that_nobody_waits_for_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pid = slow_renderer(tmp_path, monkeypatch)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))

    async def use(pool: WorkerPool) -> None:
        pool.start()
        job = asyncio.create_task(pool.run("a", convert_trees, conversion(3)))
        await until(pid.exists)
        assert len(list((tmp_path / "temporary").iterdir())) == 1
        job.cancel()
        await asyncio.wait({job})
        assert not list((tmp_path / "temporary").iterdir())
        await until(lambda: not is_alive(int(pid.read_text())))

    with_pool(Limits(), use)


@pytest.mark.slow
def test_clients_take_turns_and_small_jobs_pass_large_ones() -> None:
    order: list[str] = []

    async def use(pool: WorkerPool) -> None:
        pool.start()

        async def run(name: str, body: bytes) -> None:
            await pool.run(name[0], draw, body)
            order.append(name)

        jobs = [run(f"a{k}", SLOW) for k in range(3)] + [run("b", SMALL), run("a small", SMALL)]
        await asyncio.gather(*jobs)

    with_pool(Limits(), use)
    assert set(order[:2]) == {"b", "a small"}
    assert order[2:] == ["a0", "a1", "a2"]


@pytest.mark.slow
def test_a_full_queue_refuses_and_one_client_cannot_fill_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "MAX_QUEUED_JOBS", 4)
    monkeypatch.setattr(workers, "MAX_CLIENT_QUEUED_JOBS", 2)

    async def use(pool: WorkerPool) -> None:
        pool.start()
        jobs = [asyncio.create_task(pool.run("a", draw, SLOW)) for _ in range(4)]  # one runs, two wait
        await asyncio.sleep(0)
        (refused,) = await asyncio.gather(*jobs[3:], return_exceptions=True)
        assert isinstance(refused, RequestRefused)
        assert refused.status == 503
        assert await pool.run("b", draw, SMALL) == DRAWN
        await asyncio.gather(*jobs[:3])

    with_pool(Limits(), use)


@pytest.mark.slow
def test_a_process_that_dies_is_replaced() -> None:
    async def use(pool: WorkerPool) -> None:
        await pool.run("a", draw, SMALL)
        assert pool.process is not None
        os.kill(pool.process.pid, signal.SIGKILL)
        await until(lambda: pool.process is not None and pool.process.poll() is not None)
        assert await pool.run("a", draw, SMALL) == DRAWN

    with_pool(Limits(), use)


@pytest.mark.slow
def test_nothing_is_kept_between_jobs() -> None:
    """Every job has a process of its own, so no cache outlives it."""

    async def use(pool: WorkerPool) -> None:
        for _ in range(3):
            await pool.run("a", draw, SMALL)
            await until(lambda: not children(pool))
        assert pool.process is not None
        lines = Path(f"/proc/{pool.process.pid}/status").read_text()
        assert "Threads:\t1\n" in lines

    with_pool(Limits(), use)
