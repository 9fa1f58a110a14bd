"""The real treebanks, which are not part of the project: DISCOTREE_DATA names their folder."""

import gc
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest


class RealTreebank(NamedTuple):
    """A shared treebank and what is known about it."""

    name: str  # its name in the oracle and the splits
    path: str
    rules: str
    size: int
    every: int  # every n-th tree is written and read again: some 350 of each treebank
    own: tuple[str, ...] = ()  # formats that hold this treebank only


TREEBANKS = [
    RealTreebank("alpino_cdb", "alpino/cdb.xml", "alpino", 7_136, every=20),
    RealTreebank("pcc", "pcc/syntax", "negra", 2_193, every=6),
    RealTreebank("squoia_de", "squoia_de", "negra", 3_616, every=10),
    RealTreebank("craft", "craft/penn", "ptb", 28_625, every=82, own=("penn",)),
    RealTreebank("icepahc", "icepahc/finished", "icepahc", 72_973, every=208, own=("psd",)),
]


def folder(*variables):
    """Return the folder that one of the environment variables names, or skip the test."""
    for variable in variables:
        path = os.environ.get(variable)
        if path:
            if not Path(path).is_dir():
                pytest.skip(f"{variable} names no folder: {path}")
            return Path(path)
    pytest.skip(f"{variables[0]} is not set: it names a folder that is not part of the project")


@contextmanager
def many_objects() -> Iterator[None]:
    """Searching a million live tuples for garbage takes longer than reading them: those made here are not searched."""
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        gc.enable()


def digest(trees):
    """Return a checksum of ids, words, tags, lemmas, labels and functions."""
    sums = hashlib.sha256()
    for tree in trees:
        functions = [node.function for node in tree.nodes()]
        sums.update(repr((tree.id, str(tree), list(map(tuple, tree.tokens)), functions)).encode())
    return sums.hexdigest()[:16]
