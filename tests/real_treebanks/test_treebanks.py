"""Check the five shared treebanks tree by tree. They are not part of the project: DISCOTREE_DATA names their folder.

DISCOTREE_ORACLE names the folder with the trees of an independent converter, DISCOTREE_SPLITS that of their splits.
"""

import re
from dataclasses import replace
from itertools import zip_longest

import pytest
from support.treebanks import TREEBANKS, folder, many_objects

from discotree import HeadRules, read, to_dependencies, to_tree, write

pytestmark = pytest.mark.data


# All tests of one treebank go to one process, which reads it once.
ONE_BY_ONE = [pytest.param(about, marks=pytest.mark.xdist_group(about.name), id=about.name) for about in TREEBANKS]


@pytest.fixture(scope="module", params=ONE_BY_ONE)
def treebank(request):
    """One treebank at a time, with all its trees."""
    path = folder("DISCOTREE_DATA") / request.param.path
    if not path.exists():
        pytest.skip(f"{path} is not there")
    with many_objects():
        trees = list(read(path))
    return request.param, trees


def test_there_are_as_many_trees_as_the_treebank_has(treebank):
    about, trees = treebank
    assert len(trees) == about.size


def test_ids_are_those_of_the_splits_in_the_same_order(treebank):
    about, trees = treebank
    path = folder("DISCOTREE_SPLITS", "DISCOTREE_DATA_SPLITS") / f"{about.name}.tsv"
    expected = [line.split("\t")[1] for line in path.read_text("utf-8").splitlines()[1:]]
    assert len(expected) == about.size
    assert [tree.id for tree in trees] == expected


def test_trees_agree_with_an_independent_converter_to_the_character(treebank):
    about, trees = treebank
    path = folder("DISCOTREE_ORACLE") / "conversion" / f"{about.name}.tsv"
    expected = dict(line.split("\t") for line in path.read_text("utf-8").splitlines())
    assert expected
    assert {tree.id: str(tree) for tree in trees if tree.id in expected} == expected


@pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.slow)])
def test_trees_come_back_from_their_encoding(treebank, every):
    about, trees = treebank
    rules = HeadRules.load(about.rules)
    for tree in trees[::every]:
        assert to_tree(to_dependencies(tree, rules)) == tree, tree.id


def as_export_holds_it(tree):
    """Lemmas of several words are joined."""
    tokens = tuple(token._replace(lemma=token.lemma and re.sub(r"\s", "_", token.lemma)) for token in tree.tokens)
    return tree if tokens == tree.tokens else replace(tree, tokens=tokens)


def unchanged(tree):
    return tree


HELD = {
    "export": as_export_holds_it,
    "tigerxml": unchanged,
    "alpino": unchanged,
    "folia": unchanged,
    "brat": unchanged,
    "webanno": unchanged,
    "conllu": unchanged,
    "json": unchanged,
    "parquet": unchanged,
    "arrow": unchanged,
}
HAVE_SECONDARY_EDGES = ("export", "tigerxml", "alpino", "json", "parquet", "arrow")


def test_trees_from_all_parts_come_back_from_a_file_in_every_format_that_can_hold_them(treebank, tmp_path):
    about, trees = treebank
    path = tmp_path / "out"
    chosen = trees[:: about.every]
    for format in (*HELD, *about.own):
        held = HELD.get(format, unchanged)
        assert write(chosen, path, format, heads=HeadRules.load(about.rules)) == len(chosen)
        for tree, again in zip_longest(chosen, read(path, format)):
            assert again == held(tree), f"{format}: {tree.id}"
            if format in HAVE_SECONDARY_EDGES:
                assert sorted(again.secondary) == sorted(tree.secondary), f"{format}: {tree.id}"


@pytest.mark.parametrize("name", ["x.folia.xml", "x.ann", "x.webanno.tsv"])
def test_trees_of_masc_come_back_from_the_files_of_annotation_tools(name, tmp_path):
    path = folder("DISCOTREE_DATA") / "masc"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    trees = list(read(path))[::5]
    assert write(trees, tmp_path / name) == len(trees) > 900
    assert list(read(tmp_path / name)) == trees


def test_the_german_and_dutch_treebanks_have_secondary_edges(treebank):
    about, trees = treebank
    if about.name in ("craft", "icepahc"):
        assert not any(tree.secondary for tree in trees)
    else:
        assert sum(len(tree.secondary) for tree in trees) > 100


def test_words_of_yiddish_keep_their_hyphens_and_lose_their_glosses(tmp_path):
    path = folder("DISCOTREE_DATA") / "ppchy" / "data"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    trees = list(read(path))
    words = [token.form for tree in trees for token in tree.tokens]
    assert (len(trees), len(words)) == (16_135, 184_641)
    assert not any("^" in word or "%EXCL%" in word for word in words)
    assert sum("-" in word.strip("-") for word in words) == 705
    # Five sentences consist of a noun with a hyphen, and perhaps a verb.
    assert sum(token.lemma is not None for tree in trees for token in tree.tokens) == 5
    write(trees, tmp_path / "x.psd")
    assert [tree.tokens for tree in read(tmp_path / "x.psd")] == [tree.tokens for tree in trees]
