"""A match gives the nodes that variables stand for; rows and counts are made of them."""

import pytest

import discotree as dt
from discotree.errors import ConfigError
from discotree.queries.index import write_index
from discotree.queries.query import Query
from discotree.queries.rows import GroupKey, as_text, columns, row

TREE = dt.Tree.parse("(ROOT (S (NP (ART 0=das) (NN 2=Haus)) (V 1=hat)) ($. 3=.))", id="7")


def test_a_match_binds_variables():
    (match,) = dt.search([TREE], '#n:[cat="NP"] > #w:[pos="NN"]')
    assert match["#n"].text == match["n"].text == "das … Haus"
    assert (match["#n"].cat, match["#n"].pos, match["#n"].gap_degree) == ("NP", None, 1)
    assert (match["#w"].word, match["#w"].cat, match["#w"].positions) == ("Haus", None, (2,))
    assert match["#n"].node is TREE.find("NP")[0].node
    assert list(match) == ["#n", "#w"]


def test_the_repr_of_a_match_says_where_it_is():
    (match,) = dt.search([TREE], '#n:[cat="NP"]')
    assert repr(match) == f"Match({TREE!r}, {match.bindings!r})"


def test_a_variable_of_the_other_alternative_is_not_bound():
    (match,) = dt.search([TREE], '#a:[word="das"] | #b:[word="nichts"]')
    assert match["#a"].word == "das"
    assert match["#b"] is None


def test_a_value_variable_stands_for_a_string():
    matches = list(dt.search([TREE], "[cat=#p]"))
    assert [match["#p"] for match in matches] == ["ROOT", "S", "NP"]
    assert matches[1].concordance(0) == " [das hat Haus .]"  # no node is bound: the whole sentence


def test_the_concordance_shows_gaps():
    (match,) = dt.search([TREE], '#n:[cat="NP"] & discontinuous(#n)')
    assert match.concordance(5) == "      [das] hat [Haus] ."
    (match,) = dt.search([TREE], '#v:[pos="V"] & #n:[cat="NP"]')
    assert match.concordance(4) == " das [hat] Hau…"
    assert match.concordance(9, "#n") == "          [das] hat [Haus] ."


def test_the_focus_falls_back_to_what_is_bound():
    (match,) = dt.search([TREE], '#a:[word="das"] | #b:[word="nichts"]')
    assert match.concordance(0, "#b") == " [das] …"


def test_one_tree_is_no_treebank():
    with pytest.raises(TypeError, match="pass \\[tree\\]"):
        dt.search(TREE, "[]")


def test_search_reads_files(tmp_path):
    dt.write([TREE], tmp_path / "a.export")
    write_index([TREE], tmp_path / "a.dtindex")
    for name in ("a.export", "a.dtindex"):
        assert [match["#n"].text for match in dt.search(tmp_path / name, '#n:[cat="NP"]')] == ["das … Haus"]


def test_rows_and_counts():
    query = Query("#n:[NT] > #w:[T]")
    matches = list(query.matches(TREE))
    context = ["id", "left", "match", "right"]
    assert list(columns(query))[:8] == [*context, "#n.text", "#n.label", "#n.edge", "#n.positions"]
    assert row(matches[0])[:4] == ("7", "", "[das hat Haus .]", "")
    assert row(matches[0])[4:8] == ("das hat Haus .", "ROOT", None, (0, 1, 2, 3))
    assert as_text(row(matches[0]))[6:8] == ["", "0 1 2 3"]
    assert row(matches[2])[:4] == ("7", "", "[das] hat [Haus]", ".")
    assert list(dt.search([TREE], query).counts("#n.cat")) == [("NP", 2), ("ROOT", 1), ("S", 1)]
    assert ("NP", "NN", 1) in list(dt.search([TREE], query).counts("#n.cat", "#w.pos"))


def test_matches_are_tables():
    text = '#a:[cat="NP"] | #b:[word="nichts" & pos=#p]'
    expected = ("7", "", "[das] hat [Haus]", ".", "das … Haus", "NP", "--", (0, 2), *[None] * 5)
    assert list(dt.search([TREE], text).table()) == [expected]
    assert list(dt.search([TREE], "#n:[NT]").counts("#n.gaps")) == [("0", 2), ("1", 1)]
    with pytest.raises(ConfigError, match="duplicate column"):
        dt.search([TREE], "#n:[NT]").counts("#n.gaps", "#n.gaps")


def test_tables_of_matches_become_data_frames(tmp_path):
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    query = "#n:[NT] > #w:[pos=#p]"
    frame = dt.search([TREE], query).table().to_pandas()
    assert frame.columns.tolist() == [*columns(Query(query))]
    assert frame["#p"].tolist() == ["$.", "V", "ART", "NN"]
    assert dt.search([TREE], query).table().to_polars()["#n.positions"].to_list()[2] == [0, 2]
    assert dt.search([TREE], query).table().to_parquet(tmp_path / "hits.parquet") == 4
    assert pandas.read_parquet(tmp_path / "hits.parquet").equals(frame)
    assert polars.read_parquet(tmp_path / "hits.parquet")["#w.text"][3] == "Haus"
    assert dt.search([TREE], query).counts("#n.cat", "#p").to_pandas().shape == (4, 3)
    assert dt.search([TREE], '[word="nichts"]').table().to_polars().is_empty()


def test_keys_have_to_fit_the_query():
    query = Query("#n:[]")
    with pytest.raises(ConfigError, match="no variable '#m'; it has #n"):
        GroupKey("#m.cat", query)
    with pytest.raises(ConfigError, match="unknown column 'cot'"):
        GroupKey("#n.cot", query)
