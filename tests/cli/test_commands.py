"""Commands are imported when they are called; until then, a table stands for them."""

import sys
from importlib import import_module
from pkgutil import iter_modules

import click
import pytest

from discotree import cli
from discotree.cli import COMMANDS, GROUPS, app


def load(name: str) -> click.Command:
    command = app.get_command(click.Context(app), name)
    assert command is not None
    return command


def test_the_table_names_every_command_and_its_module() -> None:
    modules = [import_module(f"discotree.cli.{module.name}") for module in iter_modules(cli.__path__)]
    defined = {
        command.name: module.__name__.rpartition(".")[2]
        for module in modules
        for command in vars(module).values()
        if isinstance(command, click.Command) and command.callback.__module__ == module.__name__
    }
    assert defined == {name: entry.module for name, entry in COMMANDS.items()}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_has_the_first_sentence_of_the_help(name: str) -> None:
    assert COMMANDS[name].summary == " ".join(str(load(name).help).split("\n\n")[0].split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["train", "x", "--preset", "papr"],
            "invalid value for '--preset': unknown value 'papr'; did you mean 'paper'?",
        ),
        (["parse", "Ja.", "--to", "exprt"], "invalid value for '--to': unknown value 'exprt'; did you mean 'export'?"),
        (["train"], "pass a RECIPE, or --base MODEL to fine-tune a model on --train TREEBANK"),
        (["split", "x.export"], "missing argument 'SHARES'"),
    ],
)
def test_a_wrong_option_looks_like_any_other_error(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        app(arguments, prog_name="discotree")
    assert ended.value.code == 2
    assert " ".join(capsys.readouterr().err.split()) == f"discotree: {message} (see discotree {arguments[0]} --help)"


def test_an_unknown_command_is_not_imported() -> None:
    assert app.get_command(click.Context(app), "console") is None
    assert app.get_command(click.Context(app), "dance") is None


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_names_no_types_of_python(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    app([name, "--help"], standalone_mode=False)
    text = capsys.readouterr().out
    for word in ("TEXT]", "INTEGER", "FLOAT", "BOOLEAN", "<bool>", "list["):
        assert word not in text.replace("[TEXT]", "")
    for option in load(name).params:
        assert not isinstance(option, click.Option) or option.help


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], []])
def test_the_help_shows_every_group_and_command(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["discotree", *arguments])
    with pytest.raises(SystemExit):
        cli.main()
    printed = capsys.readouterr()
    text = " ".join((printed.out + printed.err).split())
    for title, entries in GROUPS.items():
        assert f"{title}:" in text
        for name, entry in entries.items():
            assert f"{name} {entry.summary}" in text
    assert "--version" in text
