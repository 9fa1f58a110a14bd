"""Parquet and Arrow files: nothing is lost, other tools can query them, and a bad file is an error with a row.

The file is long because writer, reader and damaged files share their tables and helpers.
"""

import gzip
import io
import json
import os
import random
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import replace
from itertools import islice, repeat
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from support.helpers import ONE, TWO, tree_of, written
from support.mutants import mutants
from support.strategies import random_tree

from discotree import Node, SecondaryEdge, Token, Tree, TreebankError, evaluate, read, write
from discotree.cli import app
from discotree.treebanks import arrow
from discotree.treebanks.arrow import schema, to_batch
from discotree.web.schemas import Upload
from discotree.web.uploads import upload_format

TABLES = {"parquet": "a.parquet", "arrow": "a.arrow"}
HAND_WRITTEN = ("figure1.export", "tiger4.export", "negra3.export", "tiger.xml", "alpino_many.xml", "small.dbr")
FULL = Tree(
    (Token("a b", "N", "", "m\nn", "SB"), Token("", "", "l", "--", "--"), Token("c\x00ü", "V", "é", "", "HD")),
    Node("VROOT", [Node("S", [Node("NP", [0, 2], "SB"), 1], "OC")], "TOP"),
    "corpus/1 ü",
    (SecondaryEdge("MO", 5, 4), SecondaryEdge("", 1, 5)),
    "a comment\nof two lines",
    0.1 + 0.2,
    (1.0, 0.5, 1e-300),
)


@pytest.fixture
def hand_written(data):
    return [tree for name in HAND_WRITTEN for tree in read(data / name)]


def everything(tree):
    return tree, tree.id, tree.secondary, tree.comment, tree.confidence, tree.confidences


def rows(*trees):
    """Return the rows of a file, to be changed."""
    return pa.Table.from_batches([to_batch(trees)]).to_pylist()


def file_of(table, path):
    if isinstance(table, list):
        table = pa.Table.from_pylist(table)
    pq.write_table(table, path)
    return path


# There and back


@pytest.mark.parametrize("name", TABLES.values())
def test_everything_in_a_tree_comes_back(tmp_path, name, hand_written):
    trees = [FULL, *hand_written, replace(FULL, id="7", confidence=None, confidences=(), secondary=(), comment="")]
    assert write(trees, tmp_path / name) == len(trees)
    assert [everything(tree) for tree in read(tmp_path / name)] == [everything(tree) for tree in trees]


def test_confidences_that_belong_to_other_nodes_are_left_out(tmp_path):
    write([replace(FULL, confidences=(0.5,))], tmp_path / "a.parquet")
    assert next(read(tmp_path / "a.parquet")).confidences == ()


def test_a_tree_without_an_id_gets_its_number(tmp_path):
    write([replace(FULL, id=""), replace(FULL, id="x"), replace(FULL, id="")], tmp_path / "a.parquet")
    assert [tree.id for tree in read(tmp_path / "a.parquet")] == ["1", "x", "3"]


def test_groups_and_batches_change_nothing(tmp_path, monkeypatch):
    rng = random.Random(1)
    trees = [replace(random_tree(rng, 1 + k % 9, odd=True), id=f"s{k}") for k in range(100)]
    write(trees, tmp_path / "whole.parquet")
    monkeypatch.setattr(arrow, "BATCH", 3)
    monkeypatch.setattr(arrow, "GROUP_ROWS", 10)
    for name in TABLES.values():
        write(trees, tmp_path / name)
        assert list(read(tmp_path / name)) == trees
    assert pq.ParquetFile(tmp_path / "a.parquet").num_row_groups == 9  # of twelve rows
    assert list(read(tmp_path / "whole.parquet")) == trees


def test_large_trees_do_not_wait_for_a_whole_group(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow, "BATCH", 1)
    monkeypatch.setattr(arrow, "GROUP_BYTES", 1)
    write([FULL] * 3, tmp_path / "a.parquet")
    assert pq.ParquetFile(tmp_path / "a.parquet").num_row_groups == 3


def test_trees_are_written_as_they_come(monkeypatch):
    """An endless stream gives its first pieces."""
    monkeypatch.setattr(arrow, "GROUP_ROWS", 500)
    for pieces in (arrow.ParquetFileWriter().file(repeat(FULL)), arrow.ArrowFileWriter().file(repeat(FULL))):
        assert all(islice(pieces, 3))
        pieces.close()


@pytest.mark.parametrize("name", TABLES.values())
def test_an_error_in_the_middle_leaves_the_old_file(tmp_path, name):
    def failing():
        yield FULL
        raise RuntimeError

    write([FULL], tmp_path / name)
    before = (tmp_path / name).read_bytes()
    with pytest.raises(RuntimeError):
        write(failing(), tmp_path / name)
    assert (tmp_path / name).read_bytes() == before
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("what", ["word", "tag", "lemma", "morph", "function", "label", "id", "comment"])
def test_half_a_character_is_refused_with_its_sentence(tmp_path, what):
    half = "\ud800"
    token = Token("a")._replace(**{"form" if what == "word" else what: half}) if what in (
        "word", "tag", "lemma", "morph", "function") else Token("a")  # fmt: skip
    tree = Tree((token,), Node(half if what == "label" else "S", [0]), half if what == "id" else "9")
    tree = replace(tree, comment=half) if what == "comment" else tree
    with pytest.raises(TreebankError, match=rf"sentence .*: UTF-8 cannot represent the {what} '\\ud800'"):
        write([FULL, tree, FULL], tmp_path / "a.parquet")
    assert os.listdir(tmp_path) == []
    errors = []
    assert write([FULL, tree, FULL], tmp_path / "a.arrow", on_error=errors.append) == 2
    assert len(errors) == 1
    assert list(read(tmp_path / "a.arrow")) == [FULL, FULL]


# Pipes, packed files, archives


@pytest.mark.parametrize("format", TABLES)
def test_a_stream_that_cannot_jump_is_read_all_the_same(format):
    code = "from discotree import read, write; write(read('-'), '-', 'discbracket')"
    raw = written([tree_of("(S (A 0=a))", "1")], format)
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], input=raw, capture_output=True, check=True)
    assert done.stdout == b"(S (A 0=a))\n"


@pytest.mark.parametrize("format", TABLES)
def test_packed_files_folders_and_archives(tmp_path, format):
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("one", "two"):
        write([FULL], folder / f"{name}.{format}.gz")
    write([FULL], folder / f"three.{format}")
    raw = gzip.decompress((folder / f"one.{format}.gz").read_bytes())
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"x.{format}", raw)
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        archive.add(folder / f"three.{format}", f"y.{format}")
    assert [tree.id.partition("/")[0] for tree in read(folder)] == ["one", "three", "two"]
    for path in (folder, tmp_path / "a.zip", tmp_path / "a.tar.gz"):
        assert {tree.root for tree in read(path)} == {FULL.root}


# Others write and read them, too


def test_the_columns_are_those_of_the_documentation():
    told = Path(__file__).parents[2].joinpath("docs/tables.md").read_text("utf-8")
    for field in schema():
        assert f"`{field.name}`" in told
    for name in ("constituents", "secondary"):
        for field in schema().field(name).type.value_type:
            assert f"`{field.name}`" in told


def test_questions_can_be_asked_without_discotree(tmp_path, hand_written):
    for name in TABLES.values():
        write(hand_written, tmp_path / name)
    discontinuous = sum(node.is_discontinuous for tree in hand_written for node in tree.nodes())
    assert discontinuous > 5
    for frame in (pl.read_parquet(tmp_path / "a.parquet"), pl.read_ipc(tmp_path / "a.arrow")):
        nodes = frame.select("constituents").explode("constituents").unnest("constituents")
        assert nodes.filter(pl.col("gaps").list.len() > 0).height == discontinuous
    for frame in (pd.read_parquet(tmp_path / "a.parquet"), pd.read_feather(tmp_path / "a.arrow")):
        assert [tuple(words) for words in frame["words"]] == [tree.words for tree in hand_written]
        assert sum(len(node["gaps"]) > 0 for nodes in frame["constituents"] for node in nodes) == discontinuous


def test_spans_and_parents_say_what_the_nodes_say(hand_written):
    for tree, row in zip(hand_written, rows(*hand_written), strict=True):
        nodes = list(tree.nodes())
        for node, column in zip(nodes, row["constituents"], strict=True):
            assert (column["start"], column["end"]) == (node.first, node.positions[-1] + 1)
            assert [(gap["start"], gap["end"]) for gap in column["gaps"]] == list(node.gaps)
            assert column["parent"] == -1 or node in nodes[column["parent"]].children
        assert all(position in nodes[parent].children for position, parent in enumerate(row["parents"]))


@pytest.mark.parametrize("name", TABLES.values())
def test_what_polars_and_pandas_write_is_read(tmp_path, name, hand_written):
    write(hand_written, tmp_path / name)
    is_parquet = name.endswith("parquet")
    frame = (pd.read_parquet if is_parquet else pd.read_feather)(tmp_path / name)
    frame["id"] = frame["id"].astype("category")
    (frame.to_parquet if is_parquet else frame.to_feather)(tmp_path / name)
    assert [everything(tree) for tree in read(tmp_path / name)] == [everything(tree) for tree in hand_written]
    frame = (pl.read_parquet if is_parquet else pl.read_ipc)(tmp_path / name)
    (frame.write_parquet if is_parquet else frame.write_ipc)(tmp_path / name)
    assert [everything(tree) for tree in read(tmp_path / name)] == [everything(tree) for tree in hand_written]


def test_an_arrow_stream_is_read_like_a_file(tmp_path, hand_written):
    """Also without a suffix to know it by, and without rows."""
    batch = to_batch(hand_written)
    for rows in (batch, batch.slice(0, 0), None):
        for name in ("a.arrow", "nameless"):
            with pa.OSFile(str(tmp_path / name), "wb") as sink, pa.ipc.new_stream(sink, batch.schema) as writer:
                if rows is not None:
                    writer.write_batch(rows)
            assert list(read(tmp_path / name)) == (hand_written if rows is batch else [])


@pytest.mark.parametrize("content", [b"", bytes(4), b"\x10", b"\x10\x00\x00\x00", b"\xff" * 60])
def test_what_only_begins_like_an_arrow_stream_is_an_error(file, content):
    path = file("nameless", b"\xff" * 4 + content)
    with pytest.raises(TreebankError, match="nameless: "):
        list(read(path))


def test_what_is_not_there_is_nothing(tmp_path):
    """Words, parents, labels and nothing else; of a list some may be missing, too."""
    root, noun = {"label": "S", "parent": -1}, {"label": "N", "parent": 0}
    table = [
        {"words": ["a", "b"], "parents": [0, 1], "constituents": [root, noun]},
        {"words": ["c"], "parents": [0], "constituents": [root], "tags": [None], "extra": [1.5]},
    ]
    first, second = read(file_of(pa.Table.from_pylist(table), tmp_path / "a.parquet"))
    assert (first, second) == (tree_of("(S (-- 0=a) (N (-- 1=b)))", "1"), tree_of("(S (-- 0=c))", "2"))
    (third,) = read(file_of([table[1]], tmp_path / "a.parquet"))
    assert third.tokens == (Token("c"),)


def test_offsets_in_the_middle_and_lists_of_all_kinds(tmp_path):
    batch = to_batch([FULL, replace(FULL, id="2"), replace(FULL, id="3")]).slice(1, 1)
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    columns["words"] = columns["words"].cast(pa.list_(pa.large_string(), 3))
    columns["tags"] = pa.array(columns["tags"].to_pylist(), pa.large_list(pa.string_view()))
    columns["parents"] = columns["parents"].cast(pa.list_(pa.uint64()))
    columns["lemmas"] = pa.nulls(1)
    changed = pa.record_batch(columns)
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as sink, pa.ipc.new_file(sink, changed.schema) as writer:
        writer.write_batch(changed)
    (tree,) = read(tmp_path / "a.arrow")
    assert (tree.id, tree.root, tree.words, tree.tokens[2].lemma) == ("2", FULL.root, FULL.words, None)


# Files that are not what they should be


def changed(**changes):
    """A row with something else in it; ``constituents__parent`` is a field of all constituents."""
    (row,) = rows(tree_of("(S (NP (A 0=a) (B 2=c)) (C 1=b))", "x"))
    for name, value in changes.items():
        column, _, field = name.partition("__")
        if field:
            for struct, one in zip(row[column], value, strict=True):
                struct[field] = one
        else:
            row[column] = value
    return row


IMPOSSIBLE = {
    "no words": (changed(words=[]), "the sentence has no words"),
    "words that are nothing": (changed(words=None), "the sentence has no words"),
    "a word that is nothing": (changed(words=["a", None, "c"]), "a word is missing"),
    "too few tags": (changed(tags=["A"]), "expected 3 tags, got 1"),
    "too many parents": (changed(parents=[0, 0, 0, 0]), "expected 3 parents, got 4"),
    "no parents": (changed(parents=None), "expected 3 parents, got 0"),
    "a parent that is nothing": (changed(parents=[0, None, 0]), "a word has the parent None"),
    "a parent that is not there": (changed(parents=[0, 7, 0]), "a word has the parent 7, but there are 2 constituents"),
    "the root as everybody's child": (changed(parents=[0, -1, 0]), "a word has the parent -1"),
    "no constituents": (changed(constituents=[]), "the first constituent must be the root"),
    "constituents that are nothing": (changed(constituents=None), "the first constituent must be the root"),
    "no root": (changed(constituents__parent=[0, 0]), "the first constituent must be the root"),
    "two roots": (changed(constituents__parent=[-1, -1]), "constituent 1 has the parent -1"),
    "a circle": (changed(constituents__parent=[-1, 1]), "constituent 1 has the parent 1"),
    "an orphan": (changed(constituents__parent=[-1, None]), "constituent 1 has the parent None"),
    "no label": (changed(constituents__label=["S", None]), "constituent 1: node '' has no label"),
    "a phrase without words": (changed(parents=[0, 0, 0]), "constituent 1: node 'NP' has no children"),
    "half an edge": (changed(secondary=[{"label": "X", "child": None, "parent": 4}]), "edge is not complete"),
    "an edge to nowhere": (
        changed(secondary=[{"label": "X", "child": 0, "parent": 9}]),
        "leads to 9, outside the tree",
    ),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_an_impossible_tree_is_an_error_with_its_row_and_can_be_skipped(tmp_path, case):
    row, message = IMPOSSIBLE[case]
    good = changed()
    path = file_of(pa.Table.from_pylist([good, good, row, good], schema()), tmp_path / "a.parquet")
    with pytest.raises(TreebankError, match=message) as caught:
        list(read(path))
    assert (caught.value.path, caught.value.line) == (str(path), 3)
    errors = []
    assert len(list(read(path, on_error=errors.append))) == 3
    assert [error.line for error in errors] == [3]


def test_edges_and_confidences_need_the_order_of_the_nodes(tmp_path):
    row = changed(words=["a", "b"], tags=None, lemmas=None, morph=None, functions=None, parents=[2, 1])
    row["constituents"] = [{"label": "S", "parent": -1}, {"label": "B", "parent": 0}, {"label": "A", "parent": 0}]
    table = pa.Table.from_pylist([row], schema())
    assert next(read(file_of(table, tmp_path / "a.parquet"))).root == Node("S", [Node("A", [0]), Node("B", [1])])
    for k, constituent in enumerate(row["constituents"]):
        constituent["confidence"] = 0.5 + k
    with pytest.raises(TreebankError, match="the constituents are not in order"):
        list(read(file_of(pa.Table.from_pylist([row], schema()), tmp_path / "a.parquet")))


WRONG = {
    "words that are numbers": {"words": [[1, 2, 3]]},
    "words that are one": {"words": ["a b c"]},
    "parents that are words": {"parents": [["a", "b", "c"]]},
    "parents with a fraction": {"parents": [[0.0, 1.0, 0.0]]},
    "constituents that are labels": {"constituents": [["S", "NP"]]},
    "constituents that are lists": {"constituents": [[["S"]]]},
    "an id that is a list": {"id": [["x"]]},
    "a comment that is a number": {"comment": [1]},
    "a confidence that is a word": {"confidence": ["very"]},
    "edges that are words": {"secondary": [["X"]]},
    "labels that are numbers": {"constituents": [[{"label": 1, "parent": -1}]]},
    "bytes": {"words": [[b"a", b"b", b"c"]]},
}


@pytest.mark.parametrize("case", WRONG)
def test_a_column_of_another_type_is_named(tmp_path, case):
    table = pa.Table.from_pylist([changed()], schema())
    for name, values in WRONG[case].items():
        table = table.set_column(table.schema.get_field_index(name), name, pa.array(values))
        for kind, path in (("parquet", tmp_path / "a.parquet"), ("arrow", tmp_path / "a.arrow")):
            pl.from_arrow(table).write_ipc(path) if kind == "arrow" else pq.write_table(table, path)
            with pytest.raises(TreebankError, match=rf"the column {name}\S* has the unexpected type") as caught:
                list(read(path))
            assert caught.value.path == str(path)


def test_another_table_is_not_a_treebank(tmp_path):
    path = file_of(pa.table({"price": [1], "words": ["a"]}), tmp_path / "a.parquet")
    with pytest.raises(TreebankError, match="expected the columns words, parents, constituents, got price"):
        list(read(path))


@pytest.mark.parametrize("format", TABLES)
def test_what_is_no_such_file_or_cut_off_is_a_treebank_error(file, format):
    whole = written([FULL] * 20, format)
    other = [b"", b"x", b"PAR1", b"PAR1PAR1", b"ARROW1", b"ARROW1\x00\x00ARROW1", b"(S (A 0=a))\n", bytes(len(whole))]
    cut = [whole[:40], whole[: len(whole) // 2], whole[:-1], whole[9:], whole[:-8] + b"\xff" * 8]
    for content in other + cut:
        path = file(TABLES[format], content)
        with pytest.raises(TreebankError) as caught:
            list(read(path))
        assert caught.value.path == str(path)
        assert "\n" not in str(caught.value)


def test_what_comes_before_the_damage_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow, "GROUP_ROWS", 500)
    trees = [replace(FULL, id=f"s{k}") for k in range(1000)]
    write(trees, tmp_path / "a.parquet")
    raw = bytearray((tmp_path / "a.parquet").read_bytes())
    at = pq.ParquetFile(tmp_path / "a.parquet").metadata.row_group(1).column(1).data_page_offset
    raw[at : at + 40] = bytes(40)
    (tmp_path / "a.parquet").write_bytes(raw)
    found = read(tmp_path / "a.parquet")
    assert list(islice(found, 500)) == trees[:500]
    with pytest.raises(TreebankError, match=r"a\.parquet:501: cannot be read: ") as caught:
        next(found)
    assert caught.value.line == 501


@pytest.mark.parametrize("format", TABLES)
def test_a_mutant_gives_trees_or_a_treebank_error(format, hand_written):
    refused = 0
    for _, raw in mutants(format, written(hand_written, format), [], 200):
        try:
            found = list(arrow.read_parquet(source(raw)) if format == "parquet" else arrow.read_arrow(source(raw)))
        except TreebankError:
            refused += 1
        else:
            assert all(isinstance(tree, Tree) for tree in found)
    assert 20 < refused < 200


def source(raw):
    return arrow.Source("<memory>", io.BytesIO(raw), on_error=[].append)


def test_a_row_that_is_too_long_is_refused_before_it_becomes_a_tree(tmp_path):
    """A few kilobytes can stand for millions of words."""
    n = 3_000_000
    words = pa.ListArray.from_arrays([0, n], pa.DictionaryArray.from_arrays(pa.array(bytes(n), pa.int8()), ["a"]))
    row = changed()
    table = pa.Table.from_pylist([row], schema()).set_column(1, "words", words)
    pq.write_table(table, tmp_path / "a.parquet", compression="zstd")
    assert os.path.getsize(tmp_path / "a.parquet") < 50_000
    with pytest.raises(
        TreebankError, match="3,000,000 values in one list of the column words, expected at most 1,000,000"
    ):
        list(read(tmp_path / "a.parquet"))


# Without pyarrow

BARE = """
import sys
import discotree as dt
from discotree.treebanks import tables as tables
assert not {"pyarrow", "numpy", "pandas", "polars"} & set(sys.modules)

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pyarrow":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refuse())
tree = next(dt.read(sys.argv[1]))
for use in (
    lambda: dt.write([tree], sys.argv[2]),
    lambda: next(dt.read(sys.argv[3])),
    lambda: tables.constituents([tree]).to_arrow(),
    lambda: next(tables.tokens([tree]).batches()),
):
    try:
        use()
    except dt.MissingExtraError as error:  # as for any other extra
        print(error)
assert [row.label for row in tables.constituents([tree])] == [node.label for node in tree.nodes()]
"""


def test_what_is_missing_is_said(tmp_path, data):
    write([FULL], tmp_path / "there.parquet")
    files = [data / "figure1.export", tmp_path / "new.parquet", tmp_path / "there.parquet"]
    command = [sys.executable, "-W", "error", "-c", BARE, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["pyarrow is missing: pip install 'discotree[tables]'"] * 4
    assert not (tmp_path / "new.parquet").exists()


# Commands


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_commands_take_them_like_any_treebank(tmp_path, data):
    path = tmp_path / "a.parquet"
    assert run("convert", data / "tiger4.export", path).exit_code == 0
    trees = list(read(data / "tiger4.export"))
    assert list(read(path)) == trees
    metrics = json.loads(run("stats", path, "--to", "json").stdout)[str(path)]
    assert metrics["trees"] == len(trees)
    assert run("convert", path, tmp_path / "b.feather", "--skip-broken").exit_code == 0
    assert run("convert", tmp_path / "b.feather", tmp_path / "b.export").exit_code == 0
    assert evaluate(trees, read(tmp_path / "b.export")).f1 == 100
    assert run("evaluate", data / "tiger4.export", path).exit_code == 0
    assert run("convert", path, "-", "--to", "arrow").stdout_bytes.startswith(b"ARROW1")
    assert run("convert", path, tmp_path / "x", "--to", "table").exit_code == 2


def test_what_is_sent_to_the_web_server_is_text():
    upload = Upload(content="PAR1", name="a.parquet")
    with pytest.raises(TreebankError, match=r"a\.parquet: cannot detect the format; set format to one of export, "):
        upload_format(upload)


@pytest.mark.parametrize("name", ["words", "id", "constituents", "confidence"])
@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_a_column_that_is_there_twice_is_an_error_with_the_path(tmp_path, format, name):
    batch = to_batch([ONE, TWO])
    columns = [*batch.columns, batch.column(name)]
    table = pa.Table.from_batches([pa.RecordBatch.from_arrays(columns, [*batch.schema.names, name])])
    path = tmp_path / f"a.{format}"
    if format == "parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    with pytest.raises(TreebankError, match=f"duplicate column {name}") as caught:
        list(read(path))
    assert caught.value.path == str(path)


def test_a_field_of_constituents_that_is_there_twice_is_an_error(tmp_path):
    batch = to_batch([ONE])
    label = pa.array(["ROOT"])
    fields = pa.StructArray.from_arrays([label, label, pa.array([-1])], ["label", "label", "parent"])
    lists = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), fields)
    table = pa.table({"words": batch.column("words"), "parents": batch.column("parents"), "constituents": lists})
    with pa.ipc.new_file(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(TreebankError, match="duplicate field in the column constituents"):
        list(read(tmp_path / "a.arrow"))
