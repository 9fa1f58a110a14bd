"""Fixtures that every test may use, and one Hypothesis profile for all: the same examples on every run."""

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # for torch: tests run side by side, and sums keep their order
EXAMPLES = int(os.environ.get("DISCOTREE_EXAMPLES", "30"))  # for each property; CI asks for more
settings.register_profile("discotree", derandomize=True, deadline=None, max_examples=EXAMPLES, database=None)
settings.load_profile("discotree")
gc.disable()  # until all tests are collected: the modules and tests stay, and searching them for garbage takes seconds


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def no_sync() -> Iterator[None]:
    """Skip fsync, which is slow: no test needs its files to survive a power failure."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of small treebanks written by hand."""
    return Path(__file__).parent / "data"


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """Make a file: ``file("a.export", "#BOS 1 …")``."""

    def make(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return make
