"""Python's search for cyclic garbage, and when to leave it."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Inside, nobody searches for garbage in cycles.

    Trees are made of very many small objects, none of them in a cycle. Python would look through all of them again
    and again while they are made, which costs a fast parser a third of its time. Where several threads are inside, the
    search may begin again before the last of them is done, which does no harm.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
