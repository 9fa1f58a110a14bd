"""Tables of constituents and tokens: every row says what the tree says, in plain Python, Arrow, pandas and polars."""

import subprocess
import sys
from dataclasses import replace
from itertools import islice, repeat

import pyarrow as pa
import pytest
from support.helpers import DEEP, tree_of

from discotree import HeadRules, Node, Token, Tree, TreeError, read, tables, to_dependencies
from discotree.treebanks.tables import ConstituentRow, TokenRow

GAPPED = tree_of("(ROOT (S (NP (A 0=Es) (NP (B 2=nichts) (C 3=Gutes))) (V 1=kam)) (P 4=.))", "x/1")
HAND_WRITTEN = ("figure1.export", "tiger4.export", "negra3.export", "tiger.xml", "alpino_many.xml", "icepahc.psd")


@pytest.fixture
def trees(data):
    return [tree for name in HAND_WRITTEN for tree in read(data / name)]


def test_a_row_for_every_constituent():
    root, clause, outer, inner = tables.constituents([replace(GAPPED, confidences=(1.0, 0.9, 0.8, 0.7))])
    assert root == ConstituentRow(
        "x/1",
        0,
        "ROOT",
        "--",
        -1,
        None,
        0,
        0,
        5,
        5,
        False,
        0,
        (0, 1, 2, 3, 4),
        "Es kam nichts Gutes .",
        None,
        None,
        1.0,
    )
    assert (clause.parent, clause.parent_label, clause.depth) == (0, "ROOT", 1)
    assert (outer.start, outer.end, outer.length, outer.positions) == (0, 4, 3, (0, 2, 3))
    assert (outer.is_discontinuous, outer.gap_degree, outer.text) == (True, 1, "Es … nichts Gutes")
    assert (inner.parent, inner.parent_label, inner.depth, inner.confidence) == (2, "NP", 3, 0.7)


def test_a_row_for_every_token():
    rows = list(tables.tokens([GAPPED]))
    assert rows[0] == TokenRow("x/1", 0, "Es", "A", "--", "--", "--", 2, "NP", 3, None, None)
    assert [(row.form, row.parent) for row in rows] == [("Es", 2), ("kam", 1), ("nichts", 3), ("Gutes", 3), (".", 0)]


def test_rows_say_what_the_trees_say(trees):
    rows = iter(tables.constituents(trees))
    for tree in trees:
        nodes = list(tree.nodes())
        for number, (node, row) in enumerate(zip(nodes, islice(rows, len(nodes)), strict=True)):
            assert (row.id, row.number, row.label, row.function) == (tree.id, number, node.label, node.function)
            assert (row.positions, row.length) == (node.positions, len(node.positions))
            assert (row.gap_degree, row.is_discontinuous) == (node.gap_degree, node.is_discontinuous)
            assert row.text.replace(" … ", " ") == " ".join(tree.words[k] for k in node.positions)
            assert number == 0 or node in nodes[row.parent].children
            assert number == 0 or (row.parent_label, row.depth) == (nodes[row.parent].label, depth(nodes, node))
    assert next(rows, None) is None
    tokens = [(row.form, row.tag, row.lemma, row.morph, row.function) for row in tables.tokens(trees)]
    assert tokens == [tuple(token) for tree in trees for token in tree.tokens]


def depth(nodes, node):
    """How many nodes have it below them, counted the slow way."""
    return sum(node is not other and any(node is below for below in other.nodes()) for other in nodes)


def test_heads_are_those_of_the_dependencies(trees):
    rules = HeadRules.load("negra")
    arcs = [to_dependencies(tree, rules) for tree in trees]
    rows = list(tables.tokens(trees, "negra"))
    assert [row.head for row in rows] == [head for one in arcs for head in one.heads]
    assert [row.relation for row in rows] == [label for one in arcs for label in one.labels]
    for tree, one in zip(trees, arcs, strict=True):
        for row in tables.constituents([tree], rules):
            assert row.head in row.positions
            assert row.head_word == tree.words[row.head]
            outside = [position for position in row.positions if one.heads[position] not in row.positions]
            assert outside == [row.head]  # nothing else in a constituent has its head outside


def test_deep_trees_are_no_trouble():
    for make in DEEP.values():
        rows = list(tables.constituents([make(500)], "negra"))
        assert rows[-1].depth == 500


def test_arrow_pandas_and_polars_hold_the_same_rows(trees):
    for table in (tables.constituents, tables.tokens):
        rows = [row._asdict() for row in table(trees, "negra")]
        arrow = table(trees, "negra").to_arrow()
        expected = [row | ({"positions": list(row["positions"])} if "positions" in row else {}) for row in rows]
        assert arrow.to_pylist() == expected
        assert table(trees, "negra").to_polars().to_dicts() == expected
        frame = table(trees, "negra").to_pandas()
        assert list(frame.columns) == list(rows[0])
        assert list(frame["parent_label"].dropna()) == [row["parent_label"] for row in rows if row["parent_label"]]
        assert (frame["depth"] == [row["depth"] for row in rows]).all()


def test_a_table_without_rows_has_its_columns():
    assert tables.constituents([]).to_arrow().column_names == list(ConstituentRow._fields)
    assert tables.tokens([]).to_polars().columns == list(TokenRow._fields)
    assert list(tables.tokens([]).to_pandas().columns) == list(TokenRow._fields)
    assert tables.constituents([]).to_arrow().schema.field("positions").type == pa.list_(pa.int32())


def test_batches_come_one_at_a_time(monkeypatch):
    """An endless treebank gives its first batches."""
    monkeypatch.setattr(tables, "BATCH", 7)
    batches = list(islice(tables.constituents(repeat(GAPPED)).batches(), 3))
    assert [batch.num_rows for batch in batches] == [7, 7, 7]
    assert batches[1].column("number").to_pylist() == [3, 0, 1, 2, 3, 0, 1]


def test_a_table_of_a_list_can_be_used_again_and_one_of_a_stream_once():
    again = tables.constituents([GAPPED])
    assert list(again) == list(again)
    once = tables.constituents(iter([GAPPED]))
    assert (len(list(once)), len(list(once))) == (4, 0)


def test_half_a_character_is_refused():
    tree = Tree((Token("\ud800"),), Node("S", [0]))
    with pytest.raises(TreeError, match="lone surrogate"):
        tables.tokens([tree]).to_arrow()


def test_plain_rows_need_no_library():
    heavy = {"pyarrow", "numpy", "pandas", "polars"}
    code = f"import sys, discotree.treebanks.tables\nassert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
