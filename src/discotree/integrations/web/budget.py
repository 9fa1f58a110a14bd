"""Memory that large bodies may take up, of which no client gets all."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class ByteBudget:
    """Bodies of requests or of responses; small ones are not counted."""

    total_bytes: int
    client_bytes: int
    small_bytes: int
    used: Counter[str] = field(default_factory=Counter)  # by client

    def reserve(self, client: str, size: int) -> bool:
        """Take memory for a body; False if there is none left."""
        if size <= self.small_bytes:
            return True
        if self.used.total() + size > self.total_bytes or self.used[client] + size > self.client_bytes:
            return False
        self.used[client] += size
        return True

    def release(self, client: str, size: int) -> None:
        """Give back what was taken."""
        if size > self.small_bytes:
            self.used[client] -= size
            if not self.used[client]:
                del self.used[client]
