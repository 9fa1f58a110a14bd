"""The real treebanks, which are not part of the project: DISCOTREE_DATA names their folder."""

import os
from pathlib import Path
from typing import NamedTuple

import pytest


class Treebank(NamedTuple):
    name: str  # in the oracle and the splits
    path: str
    rules: str
    size: int
    own: tuple[str, ...] = ()  # formats that only this one fits into
    every: int = 1  # which trees are written and read again: all, or every tenth


TREEBANKS = [
    Treebank("alpino_cdb", "alpino/cdb.xml", "alpino", 7_136),
    Treebank("pcc", "pcc/syntax", "negra", 2_193),
    Treebank("squoia_de", "squoia_de", "negra", 3_616),
    Treebank("craft", "craft/penn", "ptb", 28_625, ("penn",)),
    Treebank("icepahc", "icepahc/finished", "icepahc", 72_973, ("psd",), every=10),
]


def folder(*variables):
    """The folder that one of the environment variables names; skips the test where none does."""
    for variable in variables:
        path = os.environ.get(variable)
        if path:
            if not Path(path).is_dir():
                pytest.skip(f"{variable} names no folder: {path}")
            return Path(path)
    pytest.skip(f"{variables[0]} is not set: it names a folder that is not part of the project")
