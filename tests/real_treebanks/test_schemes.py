"""Convert the whole of SQUOIA, MASC and GENIA; the checksums are those of the code that the rules have replaced."""

from itertools import islice

import pytest
from support.treebanks import digest, folder

from discotree import read
from discotree.queries.schemes import scheme_converter


@pytest.mark.data
@pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("scheme", "treebank", "expected"),
    [
        ("squoia", "squoia_de", {1: "60580b7383d47844", 10: "165822bc510784bf"}),
        ("squoia-low", "squoia_de", {1: "23b7c20014d2d2fe", 10: "cd5dbc707d58f14a"}),
        ("masc", "masc", {1: "a1acba0096bb46c3", 10: "7f8e9bf6ae0e4522"}),
        ("genia", "genia_no_rnr", {1: "628e8f747e25a85c", 10: "2ee7e70bf98d6a73"}),
    ],
)
def test_trees_of_a_treebank_are_converted_as_before(scheme, treebank, expected, every):
    path = folder("DISCOTREE_DATA") / treebank
    if not path.exists():
        pytest.skip(f"{path} is not there")
    assert digest(map(scheme_converter(scheme), islice(read(path), 0, None, every))) == expected[every]


@pytest.mark.parametrize(
    ("scheme", "sample", "expected"),
    [
        ("squoia", "tiger4.export", "a73b9a3d256e6193"),
        ("squoia-low", "negra3.export", "76fd8da34d92772b"),
        ("masc", "masc.mrg", "dc81c7debf95c8ba"),
        ("genia", "genia.mrg", "feb734aa0622731b"),
        ("genia", "genia_no_rnr.mrg", "b8bbb10739635ed8"),
    ],
)
def test_the_samples_are_converted_as_before(scheme, sample, expected, data):
    assert digest(map(scheme_converter(scheme), read(data / sample))) == expected
