"""Pause Python's cyclic garbage collector while many objects are made."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause the collector inside the block.

    Trees consist of very many small objects, none of them in a cycle. The collector would scan all of them again and
    again while they are made, which costs a fast parser a third of its time. With several threads inside, it may start
    again before the last one leaves, which does no harm.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
