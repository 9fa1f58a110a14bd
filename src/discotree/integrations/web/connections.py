"""HTTP connections that cannot be held for nothing: uvicorn's own protocol with time limits and a bounded number.

uvicorn limits neither the time until the headers of a request are complete nor the time a client takes to read a
response, and refuses everybody when there are many idle connections. Here, a connection without a request ends after a
time, a client that does not read is cut off, and when there are too many connections, the one that has been idle
longest makes room. The middleware (``security``) limits the time of a body.
"""

import asyncio
import random
from collections import OrderedDict
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from discotree.integrations.web.limits import Limits

MAX_SPREAD = 0.25


def spread(seconds: float) -> float:
    """Return a little more time, at random: what came at one moment need not end at one moment."""
    return seconds * random.uniform(1, 1 + MAX_SPREAD)


class GuardedProtocol(H11Protocol):
    """One connection. ``guarded`` makes the class that a server uses."""

    limits: Limits
    idle: "OrderedDict[GuardedProtocol, None]"  # connections without a request, the longest idle one first
    deadline: asyncio.TimerHandle | None = None
    write_deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            victim = next(iter(self.idle), self)  # when all are busy, the new one has to go
            victim.transport.abort()
            self.idle.pop(victim, None)
        self._wait_for_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._stop_write_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        self._wait_for_request()
        super().on_response_complete()  # may start the next request, which is here already
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()

    def _wait_for_request(self) -> None:
        """Allow some time until the headers of the next request are complete."""
        self._stop_waiting()
        self.idle[self] = None
        seconds = spread(self.limits.header_seconds)
        self.deadline = self.loop.call_later(seconds, self.transport.abort)

    def _stop_waiting(self) -> None:
        self.idle.pop(self, None)
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stop_write_deadline()
        self.write_deadline = self.loop.call_later(self.limits.pace_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_write_deadline()
        super().resume_writing()

    def _stop_write_deadline(self) -> None:
        if self.write_deadline is not None:
            self.write_deadline.cancel()
            self.write_deadline = None


def guarded(limits: Limits) -> type[GuardedProtocol]:
    """Return the protocol class of one server."""
    attributes: dict[str, Any] = {"limits": limits, "idle": OrderedDict()}
    return type("GuardedProtocol", (GuardedProtocol,), attributes)
