"""A few threads for what takes long but needs no model: reading uploads, comparing, drawing."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from discotree.integrations.web.limits import Limits, Refused

T = TypeVar("T")
THREADS = 2


class Desk:
    """Takes work as long as not too much waits, and promises an answer within a time."""

    def __init__(self, limits: Limits, waiting: int) -> None:
        self.limits = limits
        self.threads = ThreadPoolExecutor(THREADS, "desk")
        self.places = threading.BoundedSemaphore(THREADS + waiting)

    async def __call__(self, work: Callable[..., T], *arguments: object) -> T:
        if not self.places.acquire(blocking=False):
            raise Refused(503, "too many others are being served: try again later", self.limits.retry)
        task = self.threads.submit(work, *arguments)
        task.add_done_callback(lambda _: self.places.release())  # not before: the work goes on when nobody waits for it
        return await in_time(asyncio.wrap_future(task), self.limits)

    def close(self) -> None:
        self.threads.shutdown(wait=False, cancel_futures=True)


async def in_time(answer: "asyncio.Future[T]", limits: Limits) -> T:
    """The answer, unless it takes too long; then nobody waits for it any more."""
    try:
        return await asyncio.wait_for(answer, limits.seconds)
    except asyncio.TimeoutError:
        message = f"this took longer than {limits.seconds:g} seconds: ask for less, or try again later"
        raise Refused(503, message, limits.retry) from None
