import json

import pytest
from click.testing import CliRunner
from support.helpers import MARK, assert_broken, parsed, tree_of, written

from discotree import Node, Token, Tree, read, write
from discotree.cli import app
from discotree.treebanks.json_lines import json_line

GOOD = '{"tokens": [{"form": "a"}], "constituents": [{"label": "ROOT", "positions": [0]}]}'


def test_every_line_is_a_record():
    trees = [tree_of("(ROOT (N 0=a))", "1"), tree_of("(ROOT (N 0=ü) (N 1=b))", "x/2")]
    text = written(trees, "json")
    assert [json.loads(line) for line in text.splitlines()] == [tree.to_dict() for tree in trees]
    assert "ü" in text


def test_sentences_without_an_id_are_numbered():
    assert [tree.id for tree in parsed(f"{GOOD}\n\n{GOOD}\n", "json")] == ["1", "2"]


@pytest.mark.parametrize("character", ["\x85", "\u2028", "\u2029", "\n", "\r", "\x1c", "\x00", "\ud800", "\ufeff"])
def test_no_character_breaks_a_line(tmp_path, character):
    tree = Tree((Token(f"a{character}b", character),), Node(character, [0]), f"{character}1", comment=character)
    line = json_line(tree.to_dict())
    assert line.splitlines() == [line.removesuffix("\n")]
    write([tree, tree], tmp_path / "a.json")
    assert [(again, again.comment) for again in read(tmp_path / "a.json")] == [(tree, character)] * 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "expected a JSON object on one line: Expecting property name enclosed in double quotes at column 2"),
        ('{"id', "expected a JSON object on one line: Unterminated string starting at column 2"),
        ("[1]", r"expected an object with the fields of a tree, got \[1\]"),
        ('{"id": "2", "error": "too long"}', "the record has an error instead of a tree: too long"),
        (GOOD.replace("[0]", "[1]"), r"constituent 0: expected positions of tokens \(0 to 0\), got 1"),
        (
            GOOD.replace("{", '{"id": "3", "id": "4", ', 1),
            "expected a JSON object on one line: the key 'id' occurs twice",
        ),
        (GOOD.replace('"form"', '"form": "x", "form"', 1), "the key 'form' occurs twice"),
        ("[" * 100_000, "expected a JSON object on one line: it is nested too deeply"),
        ('{"tokens": ' + "9" * 5000 + "}", "expected a JSON object on one line: Exceeds the limit"),
    ],
)
def test_errors_have_an_address(tmp_path, line, message):
    assert_broken(tmp_path / "a.json", f"{GOOD}\n{MARK}{line}\n{GOOD}\n", message, ["1", "3"])


def test_commands_read_and_write_it_like_any_treebank(tmp_path, data):
    path = tmp_path / "a.jsonl"
    for arguments in (
        ("convert", data / "tiger4.export", path),
        ("convert", path, tmp_path / "b.export"),
        ("evaluate", data / "tiger4.export", path),
        ("draw", path),
    ):
        assert CliRunner().invoke(app, list(map(str, arguments))).exit_code == 0, arguments
    assert list(read(path)) == list(read(tmp_path / "b.export")) == list(read(data / "tiger4.export"))


def test_offsets_survive_a_conversion_to_json():
    tokens = [{"form": "Ja", "start": 3, "end": 5}, {"form": ".", "start": 5, "end": 6}]
    record = {"id": "1", "tokens": tokens, "constituents": [{"label": "ROOT", "positions": [0, 1]}]}
    assert json.loads(written(parsed(json.dumps(record), "json"), "json")) == record
