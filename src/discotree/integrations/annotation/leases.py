"""Who has which sentence open: it is not handed to anybody else for a while."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

LEASE_SECONDS = 300.0  # the page renews it every minute
MAX_SESSIONS = 1000  # the oldest gives way


@dataclass(frozen=True, slots=True)
class Lease:
    sentence: int
    who: str
    end: float


class Leases:
    """At most one open sentence per session, a page in a browser."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.sessions: OrderedDict[str, Lease] = OrderedDict()

    def take(self, session: str, sentence: int, who: str) -> None:
        self.sessions.pop(session, None)
        self.sessions[session] = Lease(sentence, who, self.clock() + LEASE_SECONDS)
        while len(self.sessions) > MAX_SESSIONS:
            self.sessions.popitem(last=False)

    def release(self, session: str) -> None:
        self.sessions.pop(session, None)

    def of_others(self, session: str) -> dict[int, str]:
        """Return the sentences that other sessions have open, with the names of their annotators."""
        now = self.clock()
        return {
            lease.sentence: lease.who for other, lease in self.sessions.items() if other != session and lease.end > now
        }
