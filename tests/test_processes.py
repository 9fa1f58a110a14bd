"""Pools of worker processes."""

import time
from contextlib import suppress

import pytest
from support.workers import nothing, refuse, repeat

from discotree.errors import DiscotreeError
from discotree.processes import OrderedPool


def test_results_come_in_the_order_of_tasks() -> None:
    sizes = [5_000_000, 1, 2, 3, 300_000, 4, 5, 6]
    with OrderedPool(repeat, 2, nothing) as pool:
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
