import os
from dataclasses import replace
from pathlib import Path

import pytest
from support.helpers import ONE, THREE, TWO, tree_of

from discotree import FORMATS, HeadRules, Node, Token, Tree, TreebankError, read, write

# Encodings


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_written_in_an_encoding_is_read_in_it(tmp_path, format):
    tree = tree_of("(ROOT (NP (D 0=das) (N 1=Käßchen)))", "1")
    for encoding in ("latin-1", "utf-8", "cp1252"):
        write([tree], tmp_path / "x", format, encoding=encoding)
        assert list(read(tmp_path / "x", format, encoding=encoding)) == [tree]


@pytest.mark.parametrize("format", ["tigerxml", "alpino", "folia"])
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-8"])
def test_xml_says_in_what_encoding_it_is(tmp_path, format, encoding):
    tree = tree_of("(ROOT (N 0=Käßchen))", "1")
    write([tree], tmp_path / "x", format, encoding=encoding)
    assert list(read(tmp_path / "x", format)) == [tree]


def test_a_byte_order_mark_comes_once_at_the_most(tmp_path):
    for format in FORMATS:
        write([ONE, TWO, THREE], tmp_path / "x", format, encoding="utf-8-sig")
        assert (tmp_path / "x").read_bytes().count("\ufeff".encode()) <= 1
        assert [tree.id for tree in read(tmp_path / "x", format)] == [ONE.id, TWO.id, THREE.id]


def test_a_character_that_an_encoding_lacks_names_its_sentence(tmp_path):
    with pytest.raises(TreebankError, match="sentence 9: '→' cannot be written in latin-1"):
        write([ONE, tree_of("(ROOT (N 0=→))", "9")], tmp_path / "x.export", encoding="latin-1")
    assert list(tmp_path.iterdir()) == []


# Writing all or nothing


def failing(error):
    """Two trees, and then it goes wrong."""
    yield ONE
    yield TWO
    raise error


@pytest.mark.parametrize(
    "name", ["a.export", "a.export.gz", "a.tigerxml", "a.dbr", "a.mrg", "a.conllu", "a.alpino", "a.json"]
)
@pytest.mark.parametrize(
    "error", [TreebankError("broken", "in", 3), RuntimeError("bug"), KeyboardInterrupt(), OSError("disk")], ids=repr
)
def test_an_error_in_the_middle_leaves_the_old_file_and_nothing_else(tmp_path, name, error):
    path = tmp_path / name
    write([THREE], path)
    before = path.read_bytes()
    with pytest.raises((type(error), TreebankError)):
        write(failing(error), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_tree_that_cannot_be_written_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.export"
    write([THREE], path)
    with pytest.raises(TreebankError):
        write([ONE, Tree((Token("a b"),), Node("ROOT", [0]), "9")], path)
    assert list(read(path)) == [THREE]
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_can_be_converted_in_place(tmp_path):
    path = tmp_path / "a.dbr"
    write([ONE, TWO], path)
    assert write((replace(tree, id=f"new-{tree.id}") for tree in read(path)), path) == 2
    assert [tree.id for tree in read(path)] == ["new-cdb/1", "new-2"]


def test_of_two_writers_of_one_file_each_leaves_a_whole_file(tmp_path):
    path = tmp_path / "a.dbr"

    def interrupted():
        yield ONE
        write([THREE], path)
        assert list(read(path)) == [THREE]
        yield TWO

    write(interrupted(), path)
    assert [tree.id for tree in read(path)] == [ONE.id, TWO.id]
    assert list(tmp_path.iterdir()) == [path]


def test_writing_returns_the_number_of_trees(tmp_path):
    assert write(iter([ONE, TWO, THREE]), tmp_path / "a.export") == 3


def test_a_path_in_a_missing_folder_is_an_error_with_its_path(tmp_path):
    path = tmp_path / "missing" / "a.export"
    with pytest.raises(TreebankError, match="cannot be written: No such file") as caught:
        write([ONE], path)
    assert caught.value.path == str(path)


def test_a_folder_is_not_overwritten(tmp_path):
    (tmp_path / "a.export").mkdir()
    with pytest.raises(TreebankError, match="cannot be written: Is a directory"):
        write([ONE], tmp_path / "a.export")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("format", FORMATS)
def test_a_full_device_is_an_error(format):
    for many in ([ONE], [ONE] * 3000):
        with pytest.raises(TreebankError, match="cannot be written: No space left"):
            write(many, "/dev/full", format)


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="needs /dev/null")
def test_a_device_is_written_to_and_not_replaced():
    assert write([ONE], "/dev/null", "export") == 1
    assert not Path("/dev/null").is_file()


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs symbolic links")
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "a.export", tmp_path / "link.export"
    link.symlink_to(target)
    for tree in (ONE, TWO):  # first a dangling link, then one to a file
        write([tree], link)
        assert link.is_symlink()
        assert list(read(target)) == [tree]
    assert list((tmp_path / "real").iterdir()) == [target]


# Head rules for CoNLL-U


def test_conllu_takes_head_rules_or_their_name(tmp_path, data):
    trees = list(read(data / "figure1.export"))
    write(trees, tmp_path / "a.conllu", heads=HeadRules.load("negra"))
    write(trees, tmp_path / "b.conllu", heads="negra")
    assert (tmp_path / "a.conllu").read_bytes() == (tmp_path / "b.conllu").read_bytes()
    assert "\t4\tNP#2\t" in (tmp_path / "a.conllu").read_text("utf-8")
    assert list(read(tmp_path / "a.conllu")) == trees


def test_paths_may_be_strings_or_path_objects(tmp_path):
    write([ONE], str(tmp_path / "a.dbr"))
    assert list(read(str(tmp_path / "a.dbr"))) == list(read(tmp_path / "a.dbr")) == [ONE]


def test_trees_that_a_format_cannot_hold_can_be_left_out(tmp_path):
    errors = []
    bad = Tree((Token("a b", "N"),), Node("ROOT", [0]), "9")
    assert write([ONE, bad, TWO], tmp_path / "x.export", on_error=errors.append) == 2
    assert [tree.words for tree in read(tmp_path / "x.export")] == [ONE.words, TWO.words]
    assert "sentence 9" in str(errors[0])


# Wrong types


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda _: read(5), "expected a path .* got int: 5"),
        (lambda _: read(b"a.dbr"), "expected a path .* got bytes"),
        (lambda _: write([ONE], 5), "expected a path .* got int: 5"),
        (lambda path: write("(ROOT (N 0=a))", path), "expected an iterable of trees, got str"),
        (lambda path: write(5, path), "expected an iterable of trees, got int: 5"),
        (lambda path: write(ONE, path), r"got a single Tree: pass \[tree\]"),
        (lambda path: write([ONE, "a"], path), "expected a Tree, got str: 'a'"),
    ],
)
def test_a_wrong_type_is_refused_with_what_was_expected(tmp_path, attempt, message):
    with pytest.raises(TypeError, match=message):
        attempt(tmp_path / "a.dbr")
    assert not list(tmp_path.iterdir())
