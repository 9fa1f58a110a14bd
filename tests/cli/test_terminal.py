"""Data on a terminal: brackets stay brackets, and control characters never get there."""

import io
import json
import logging
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.table import Table

import discotree as dt
from discotree.cli import app, main
from discotree.cli import console as messages
from discotree.cli.console import ProgressBar, data_console, number
from discotree.errors import printable
from discotree.trees.tree import Node, Token, Tree

EVIL = "\x1b]0;owned\x07\x9b31m\u202etfel\u2066"  # a title, a colour, text from right to left
RAW = re.compile("[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]")
OURS = re.compile(r"\r?\x1b\[[0-9;?]*[a-zA-Z]")  # colours, the cursor, and the line of a bar that is drawn anew
LABEL = "S[dcl]"


def is_safe(text: str) -> bool:
    data = OURS.sub("", text)
    return not RAW.search(data) and "\x1b" not in data


class Terminal(io.BytesIO):
    def isatty(self) -> bool:
        return True


Shown = Callable[..., str]


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Path) -> Shown:
    """Run a command whose standard output and standard error are terminals; return all that they get."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISCOTREE_MODEL", str(model))
    monkeypatch.setenv("PAGER", "")
    monkeypatch.setenv("TERM", "xterm-256color")

    def run(*arguments: str) -> str:
        terminal = Terminal()
        stream = io.TextIOWrapper(terminal, "utf-8", write_through=True)
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", stream)
            patch.setattr(sys, "stderr", stream)
            patch.setattr(sys, "argv", ["discotree", *arguments])
            with pytest.raises(SystemExit):
                main()
        return terminal.getvalue().decode()

    return run


def tree_with(label: str, form: str, id: str) -> Tree:
    tokens = (Token(form, label), Token("b", "NN"), Token("c", "NN"))
    return Tree(tokens, Node("ROOT", (Node(label, (Node(label, (0, 2)), 1)),)), id)


@pytest.fixture
def treebanks(tmp_path: Path) -> tuple[str, str]:
    """Gold and predicted trees; labels, words and ids are what they should not be."""
    gold = [tree_with(LABEL, f"a{EVIL}", f"one{EVIL}"), tree_with("[/x]", "[/x]", "[/x]")]
    predicted = [tree_with("NP", f"a{EVIL}", f"one{EVIL}"), tree_with("[red]", "[/x]", "[/x]")]
    for name, trees in (("gold.json", gold), ("predicted.json", predicted)):
        dt.write(trees, tmp_path / name)
    return "gold.json", "predicted.json"


def test_evaluate_shows_labels_as_they_are(shown: Shown, treebanks: tuple[str, str]) -> None:
    text = shown("evaluate", *treebanks, "--by", "label,confusions,worst")
    assert is_safe(text)
    plain = OURS.sub("", text)
    assert f"{LABEL} " in plain
    assert "[/x]" in plain
    assert "[red]" in plain
    assert "one␛]0;owned␇�31m�tfel�" in plain


@pytest.mark.parametrize(
    "command",
    [
        ("draw", "gold.json"),
        ("draw", "gold.json", "--predicted", "predicted.json"),
        ("convert", "gold.json", "--to", "export"),
        ("convert", "gold.json", "--to", "json"),
        ("convert", "gold.json", "--to", "conllu"),
        ("parse", "gold.json"),
        ("parse", "gold.json", "--to", "conllu"),
        ("parse", "gold.json", "--k", "2"),
        ("parse", f"Wer {EVIL} da?"),
        ("stats", "gold.json"),
        ("stats", f"x{EVIL}"),
        ("convert", f"[/x]{EVIL}", "--to", "export"),
        ("convert", "gold.json", "-o", f"[/x]{EVIL}"),
        ("convert", "gold.json", "--to", EVIL),
        ("draw", "gold.json", "--id", EVIL),
        ("stats", f"[/x]{EVIL}/*.json"),
        ("models", f"[/x]{EVIL}"),
        ("parse", "gold.json", "--model", f"[/x]{EVIL}"),
        ("train", f"[/x]{EVIL}.toml"),
        (f"[/x]{EVIL}",),
        ("convert", f"--{EVIL}"),
    ],
)
def test_no_control_character_reaches_the_terminal(
    shown: Shown, treebanks: tuple[str, str], command: tuple[str, ...]
) -> None:
    del treebanks
    text = shown(*command)
    assert is_safe(text), ascii(text)
    assert text


def test_broken_trees_are_reported_safely(shown: Shown, tmp_path: Path) -> None:
    (tmp_path / f"x[{EVIL}].dbr").write_text(f"(ROOT (S[dcl] (NN 0=a{EVIL})) (NN\n(ROOT (NN 0=a))\n")
    for skip in ([], ["--skip-broken"]):
        text = shown("stats", f"x[{EVIL}].dbr", *skip)
        assert is_safe(text), ascii(text)
        assert "x[␛]0;owned" in "".join(OURS.sub("", text).split())


def test_pipes_and_files_get_the_data_as_it_is(tmp_path: Path, treebanks: tuple[str, str]) -> None:
    target = tmp_path / "out.json"
    app(["convert", str(tmp_path / treebanks[0]), "-o", str(target)], standalone_mode=False)
    assert json.loads(target.read_text("utf-8").splitlines()[0])["id"] == f"one{EVIL}"


def test_progress_bars_show_names_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = io.StringIO()
    console = data_console(file=stream, force_terminal=True, width=200)
    monkeypatch.setattr(messages, "err", console)
    with ProgressBar() as bar:
        bar.expect(f"[/x]{LABEL}{EVIL}", ["-"])
        bar.bar.refresh()
    assert f"[/x]{LABEL}␛]0;owned␇" in stream.getvalue()
    assert is_safe(stream.getvalue().replace("\r", ""))  # Rich moves the cursor


def test_warnings_are_safe(capsys: pytest.CaptureFixture[str]) -> None:
    messages.show_warnings()
    logging.getLogger("discotree").warning("[/x] %s", EVIL)
    printed = capsys.readouterr().err
    assert is_safe(printed)
    assert "discotree: [/x] ␛]0;owned␇" in printed


def test_tables_measure_what_they_show() -> None:
    stream = io.StringIO()
    table = Table("", ":smile:", box=None, pad_edge=False)
    table.add_row("\x1b\x1b", LABEL)
    table.add_row("ab", "[/x]")
    data_console(file=stream, width=80).print(table)
    assert [line.rstrip() for line in stream.getvalue().splitlines()] == ["    :smile:", "␛␛  S[dcl]", "ab  [/x]"]


def test_text_without_control_characters_is_left_alone() -> None:
    for text in ("S[dcl] [/x]", "ä\tö\n", "漢字 👩‍👩‍👧 é", "نص", ""):
        assert printable(text) == text
    assert printable("\r\x00\x7f\x85\ud800\u2028") == "␍␀␡���"


def test_the_concordance_fits_the_terminal_and_is_coloured(
    shown: Shown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [f"w{k}" for k in range(60)]
    tokens = tuple(Token(word, "N") for word in words)
    long = Tree(tokens, Node("ROOT", [Node("NP", [20, 50]), *(k for k in range(60) if k not in (20, 50))]), "x" * 90)
    short = Tree(tokens[:3], Node("ROOT", [Node("NP", [0, 2]), 1]), "y")
    dt.write([long, short], tmp_path / "a.json")
    for columns in (60, 100):
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.delenv("NO_COLOR", raising=False)
        text = shown("search", '#n:[cat="NP"]', "a.json")
        assert "\x1b[1;36m [w20]\x1b[0m" in text
        first, second, total = OURS.sub("", text).splitlines()
        assert max(len(first), len(second)) <= columns
        assert "[w20] … [w50]" in first  # a gap that does not fit is left out, the words are not
        assert "[w0] w1 [w2]" in second
        assert first.index("[w20]") == second.index("[w0]")
        assert total == "discotree: 2 matches in 2 trees"
        monkeypatch.setenv("NO_COLOR", "1")
        plain = shown("search", '#n:[cat="NP"]', "a.json")
        assert "\x1b[1;36m" not in plain
        assert "[w20] … [w50]" in OURS.sub("", plain)


@pytest.mark.parametrize(("value", "text"), [(86.85, "86.9"), (34.05, "34.1"), (86.84, "86.8"), (None, "–")])
def test_a_half_is_rounded_up_as_on_the_pages(value: float | None, text: str) -> None:
    assert number(value) == text
