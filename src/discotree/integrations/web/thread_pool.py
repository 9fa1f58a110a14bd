"""Threads for work of a few milliseconds that would still hold up the event loop: everyday texts and their records."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from discotree.integrations.web.limits import Limits, RequestRefused

T = TypeVar("T")
THREADS = 2


class BoundedPool:
    """A thread pool that refuses work when its queue is full."""

    def __init__(self, limits: Limits, max_queued: int) -> None:
        self.limits = limits
        self.threads = ThreadPoolExecutor(THREADS, "web")
        self.slots = threading.BoundedSemaphore(THREADS + max_queued)

    async def run(self, function: Callable[..., T], *arguments: object) -> T:
        """Call a function in one of the threads and return its result."""
        if not self.slots.acquire(blocking=False):
            raise RequestRefused(503, "the server is busy: try again later", self.limits.retry_seconds)
        task = self.threads.submit(function, *arguments)
        # A task keeps its slot when its client has gone: the thread is still busy with it.
        task.add_done_callback(lambda _: self.slots.release())
        return await asyncio.wrap_future(task)

    def close(self) -> None:
        self.threads.shutdown(wait=False, cancel_futures=True)
