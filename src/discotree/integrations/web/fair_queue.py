"""A queue in which clients take turns, however much each of them asks for."""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """Items by client. ``take`` serves the client that has waited longest, and its items in their order."""

    def __init__(self) -> None:
        self.clients: OrderedDict[str, deque[T]] = OrderedDict()  # the next one to be served comes first

    def __iter__(self) -> Iterator[T]:
        return (item for items in self.clients.values() for item in items)

    def __len__(self) -> int:
        return sum(map(len, self.clients.values()))

    def of(self, client: str) -> Iterator[T]:
        """Return the items of one client."""
        return iter(self.clients.get(client, ()))

    def add(self, client: str, item: T) -> None:
        """Put an item behind the others of its client."""
        self.clients.setdefault(client, deque()).append(item)

    def take(self, fits: Callable[[T], bool] = lambda _: True) -> tuple[str, T] | None:
        """Remove and return the next item that fits, with its client; None if there is none."""
        for client, items in self.clients.items():
            for index, item in enumerate(items):
                if fits(item):
                    del items[index]
                    self.clients.move_to_end(client)
                    if not items:
                        del self.clients[client]
                    return client, item
        return None

    def discard(self, unwanted: Callable[[T], bool]) -> None:
        """Remove all items that nobody waits for any more."""
        for client in list(self.clients):
            items = deque(item for item in self.clients[client] if not unwanted(item))
            if items:
                self.clients[client] = items
            else:
                del self.clients[client]
