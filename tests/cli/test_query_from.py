"""discotree query-from: how nodes are named, and the queries that it prints."""

import pytest
from click.testing import CliRunner

from discotree.cli import app

TREES = """\
(ROOT (S (NP (ART 0=das) (NN 2=Haus)) (V 1=hat) (NP (NN 3=Türen))))
(ROOT (S (NP (NN 0=7))))
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trees.dbr").write_text(TREES, "utf-8")
    return lambda *arguments: CliRunner().invoke(app, ["query-from", "trees.dbr", *map(str, arguments)])


def test_nodes_are_listed_with_their_numbers(run):
    lines = [line.split() for line in run().stdout.splitlines()]
    assert lines[0] == ["number", "label", "function", "words"]
    assert lines[1] == ["4", "ROOT", "--", "das", "hat", "Haus", "Türen"]
    assert lines[3] == ["6", "NP", "--", "das", "…", "Haus"]
    assert lines[-1] == ["3", "NN", "--", "Türen"]


@pytest.mark.parametrize(
    ("nodes", "query"),
    [
        ("S hat", '#s:[cat="S"] > #v:[pos="V"]'),
        ("5 1", '#s:[cat="S"] > #v:[pos="V"]'),
        ("NP:Haus", '#np:[cat="NP"]'),
        ("NN:Haus", '#nn:[pos="NN"]'),
        ("S NP:Haus NP:Türen --same order", "#n:[NT] > #n2:[NT] & #n > #n3:[NT] & #n2 .* #n3"),
        ("NP:Haus --same label --same gap", '#np:[cat="NP"] & discontinuous(#np)'),
    ],
)
def test_nodes_are_named_by_number_label_tag_or_word(run, nodes, query):
    names, *options = nodes.split(" --same ")
    done = run("--nodes", names, *[text for option in options for text in ("--same", option)])
    assert (done.stdout, done.stderr, done.exit_code) == (f"{query}\n", "", 0)
    repeated = [text for name in names.split() for text in ("--nodes", name)]
    assert run(*repeated, *[text for option in options for text in ("--same", option)]).stdout == done.stdout


def test_the_query_is_written_to_a_file(run, tmp_path):
    assert run("--nodes", "S", "-o", "query.txt").stdout == ""
    assert (tmp_path / "query.txt").read_text() == '#s:[cat="S"]\n'


def test_the_tree_is_the_first_one_or_that_with_the_id(run):
    assert run("--nodes", "NN", "--id", 2).stdout == '#nn:[pos="NN"]\n'
    assert run("--nodes", "7", "--id", 2, "--same", "word").stdout == '#w:[word="7"]\n'  # too large for a number
    done = run("--nodes", "NN", "--id", 3)
    assert (done.exit_code, str(done.exception)) == (1, "trees.dbr: there is no tree with the id '3'")


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ("NP", "--nodes NP: 2 nodes fit; pass the number of one: 6 (das … Haus), 7 (Türen)"),
        ("NP:das:Haus", "--nodes NP:das:Haus: the tree has no such node; did you mean 'NP'?"),
        ("haus", "--nodes haus: the tree has no such node; did you mean 'Haus'?"),
        ("99", "--nodes 99: the tree has no such node; without --nodes, the command lists the nodes"),
    ],
)
def test_a_name_that_does_not_fit_exactly_one_node_is_an_error(run, nodes, message):
    done = run("--nodes", nodes)
    assert message in done.stderr
    assert done.exit_code == 2
