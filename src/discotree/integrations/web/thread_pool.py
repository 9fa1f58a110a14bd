"""Worker threads for requests that take long but need no model: reading uploads, comparing, drawing."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from discotree.integrations.web.limits import Limits, RequestRefused

T = TypeVar("T")
THREADS = 2


class BoundedPool:
    """A thread pool that refuses work when its queue is full and gives up on answers that come too late."""

    def __init__(self, limits: Limits, max_queued: int) -> None:
        self.limits = limits
        self.threads = ThreadPoolExecutor(THREADS, "web")
        self.slots = threading.BoundedSemaphore(THREADS + max_queued)

    async def run(self, function: Callable[..., T], *arguments: object) -> T:
        """Call a function in one of the threads and return its result."""
        if not self.slots.acquire(blocking=False):
            raise RequestRefused(503, "the server is busy: try again later", self.limits.retry_seconds)
        task = self.threads.submit(function, *arguments)
        # A task keeps its slot when its client has timed out: the thread is still busy with it.
        task.add_done_callback(lambda _: self.slots.release())
        return await with_timeout(asyncio.wrap_future(task), self.limits)

    def close(self) -> None:
        self.threads.shutdown(wait=False, cancel_futures=True)


async def with_timeout(result: "asyncio.Future[T]", limits: Limits) -> T:
    """Await a result; cancel it and refuse the request when that takes longer than the limit."""
    try:
        return await asyncio.wait_for(result, limits.timeout_seconds)
    except asyncio.TimeoutError:
        message = f"this took longer than {limits.timeout_seconds:g} seconds: ask for less, or try again later"
        raise RequestRefused(503, message, limits.retry_seconds) from None
