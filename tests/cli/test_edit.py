"""discotree edit: files in any format, the preview, the counts, the journal, and errors that leave no output."""

import json

import pytest
from click.testing import CliRunner

import discotree as dt
from discotree.cli import app

RULES = """
[[rule]]
name = "clauses"
query = '#s:[cat="S"]'
actions = [{ relabel = "#s", to = "CL" }]

[[rule]]
name = "nothing"
query = '#x:[cat="XYZ"]'
actions = [{ delete = "#x" }]
"""


@pytest.fixture
def run(data, tmp_path, monkeypatch):
    """Run the command in a folder with rules.toml and a treebank."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.toml").write_text(RULES)
    (tmp_path / "t.export").write_bytes((data / "negra3.export").read_bytes())
    return lambda *arguments: CliRunner().invoke(app, ["edit", *arguments])


@pytest.mark.parametrize("name", ["new.export", "new.dbr", "new.tiger.xml", "new.jsonl", "new.export.gz"])
def test_trees_are_changed_and_written_in_any_format(run, name):
    done = run("t.export", "--rules", "rules.toml", "-o", name)
    assert done.exit_code == 0, done.output
    assert [line.split() for line in done.stderr.splitlines()[:3]] == [
        ["rule", "changes", "trees"],
        ["clauses", "3", "2"],
        ["nothing", "0", "0"],
    ]
    assert f"3 trees written to {name}" in done.stderr
    expected = [str(tree).replace("(S ", "(CL ") for tree in dt.read("t.export")]
    assert [str(tree) for tree in dt.read(name)] == expected


def test_several_files_are_joined_and_several_rule_files_are_applied_in_order(run, tmp_path):
    more = RULES.replace('name = "', 'name = "more ').replace("CL", "CLAUSE").replace('"S"', '"CL"')
    (tmp_path / "more.toml").write_text(more)
    done = run("t.export", "t.export", "--rules", "rules.toml", "--rules", "more.toml", "--to", "discbracket")
    assert done.exit_code == 0, done.output
    assert done.stdout.count("(CLAUSE ") == 6


def test_a_preview_shows_the_first_changed_trees_and_writes_nothing(run, tmp_path):
    before = sorted(tmp_path.iterdir())
    done = run("t.export", "--rules", "rules.toml", "--preview", "1")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("1: clauses (1)\nbefore\n")
    assert done.stdout.count("\nafter\n") == 1
    assert "≠S" in done.stdout
    assert "≠CL" in done.stdout
    assert done.stdout.splitlines()[-2].split() == ["clauses", "3", "2"]
    assert sorted(tmp_path.iterdir()) == before


def test_the_journal_has_one_line_per_change(run):
    assert run("t.export", "--rules", "rules.toml", "-o", "new.dbr", "--journal", "changes.jsonl").exit_code == 0
    with open("changes.jsonl", encoding="utf-8") as lines:
        changes = list(map(json.loads, lines))
    assert [(change["rule"], change["file"], change["sentence"]) for change in changes] == [
        ("clauses", "t.export", "1"),
        ("clauses", "t.export", "2"),
        ("clauses", "t.export", "2"),
    ]
    assert changes[1]["nodes"] == {"#s": {"label": "S", "positions": [0, 1, 2]}}
    first = next(dt.read("t.export"))
    assert (changes[0]["before"], changes[0]["after"]) == (str(first), str(first).replace("(S ", "(CL "))
    assert dt.Tree.parse(changes[2]["after"]) == dt.Tree.parse(str(list(dt.read("new.dbr"))[1]))


def test_an_impossible_change_names_file_sentence_and_rule_and_leaves_no_output(run, tmp_path):
    (tmp_path / "bad.toml").write_text(RULES.replace('relabel = "#s", to = "CL"', 'detach = "#s"'))
    before = sorted(tmp_path.iterdir())
    done = run("t.export", "--rules", "bad.toml", "-o", "new.dbr", "--journal", "changes.jsonl")
    assert str(done.exception) == "t.export: sentence 1: rule 'clauses': cannot detach #s: it is a child of the root"
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rules", "rules.toml"], "pass -o FILE, or --to FORMAT to write to standard output"),
        (["-o", "new.dbr"], "missing option '--rules'"),
        (["--rules", "rules.toml", "--preview", "1", "-o", "new.dbr"], "--preview writes no treebank"),
        (["--rules", "rules.toml", "-o", "t.export"], "t.export is also an input"),
        (["--rules", "rules.toml", "-o", "rules.toml", "--to", "json"], "rules.toml is also an input"),
        (["--rules", "rules.toml", "-o", "new.dbr", "--journal", "new.dbr"], "new.dbr is also the output"),
        (["--rules", "rules.toml", "-o", "new.dbr", "--journal", "t.export"], "t.export is also an input"),
    ],
)
def test_arguments_that_do_not_fit_together_are_refused(run, tmp_path, arguments, message):
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    done = run("t.export", *arguments)
    assert done.exit_code != 0
    assert message in f"{done.output}{done.exception}"
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
