"""discotree search and index: what they print, their exit codes, and what they refuse."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

import discotree as dt
from discotree.cli import app

DATA = Path(__file__).parents[1] / "data"
TIGER = str(DATA / "tiger.xml")


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def treebank(tmp_path):
    lines = [
        "(ROOT (S (NP (ART 0=das) (NN 2=Haus)) (V 1=hat)))",
        "(ROOT (S (NP (NN 0=Haus)) (V 1=ist)))",
        "(ROOT (V 0=geht))",
    ]
    path = tmp_path / "trees.dbr"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_matches_are_lines_of_words(run, treebank):
    done = run("search", '#n:[cat="NP"]', treebank, "--width", 5)
    assert done.output.splitlines() == ["1\t      [das] hat [Haus]", "2\t      [Haus] ist"]
    assert done.exit_code == 0


def test_exit_codes_are_those_of_grep(run, treebank):
    assert run("search", '[cat="XP"]', treebank).exit_code == 1
    assert run("search", "[cat=", treebank).exit_code == 2
    assert run("search", "[]", "nowhere.export").exit_code == 2
    assert run("search", "[]", treebank, "--to", "pdff").exit_code == 2


def test_the_focus_has_to_be_a_node(run, treebank):
    assert run("search", "#a:[pos=#p]", treebank, "--focus", "#p").exit_code == 2
    assert run("search", '#a:[cat="NP"] | #b:[cat="XP"]', treebank, "--focus", "#b").exit_code == 0


def test_counts_and_tables(run, treebank):
    assert run("search", '#n:[cat="NP"]', treebank, "--count").output == "2 matches in 2 trees\n"
    assert run("search", "#w:[T]", treebank, "--group-by", "#w.pos").output.splitlines() == [
        "#w.pos\tmatches", "V\t3", "NN\t2", "ART\t1",
    ]  # fmt: skip
    crossed = run("search", "#a:[NT] > #w:[T]", treebank, "--group-by", "#a.cat", "--group-by", "#w.pos").output
    assert crossed.splitlines()[:2] == ["#a.cat \\ #w.pos\tART\tNN\tV", "NP\t1\t2\t0"]
    table = run("search", '#n:[cat="NP"]', treebank, "--to", "csv").output
    assert table.splitlines()[1] == "1,das … Haus,NP,--,0 2"


def test_trees_are_written_once_each(run, treebank, tmp_path):
    run("search", "#w:[T]", treebank, "--max", 4, "-o", "found.export")
    assert [tree.id for tree in dt.read(tmp_path / "found.export")] == ["1", "2"]


def test_an_index_is_searched_in_place_of_its_treebank(run, treebank):
    assert run("index", treebank).exit_code == 0
    plain = run("search", '#n:[cat="NP"]', treebank)
    assert run("search", '#n:[cat="NP"]', f"{treebank}.dtindex").output == plain.output
    assert run("search", "[]", f"{treebank}.dtindex", "--punctuation", "move").exit_code == 2
    assert run("index", treebank, "-o", "index.db").exit_code == 2


def test_low_punctuation_makes_no_gaps(run, tmp_path):
    path = tmp_path / "commas.dbr"
    path.write_text("(ROOT (NP (NN 0=A) (NN 2=B)) ($, 1=,))\n")
    query = '#n:[cat="NP"] & discontinuous(#n)'
    assert run("search", query, path).exit_code == 0
    assert run("search", query, path, "--punctuation", "move").exit_code == 1


def test_the_output_is_not_the_input(run, treebank):
    done = run("search", "[]", treebank, "-o", treebank)
    assert done.exit_code == 2
    assert treebank.read_text().count("\n") == 3
