"""Commands are imported when they are called: the table that stands for them until then, and their values."""

import inspect
from typing import Annotated, Any, Literal

import pytest
import typer

from discotree.cli import app
from discotree.cli.commands import ENTRIES, LazyCommands, QuickCommand
from discotree.cli.examples import EXAMPLES


def test_the_table_agrees_with_the_commands() -> None:
    commands = LazyCommands()
    assert list(commands) == list(ENTRIES) == list(EXAMPLES)
    assert {name: command.help.split("\n\n")[0] for name, command in commands.items()} == {
        name: entry.summary for name, entry in ENTRIES.items()
    }
    for name, entry in ENTRIES.items():
        assert inspect.unwrap(commands[name].callback).__module__ == f"discotree.cli.{entry.module}"


def test_a_command_is_imported_once_and_only_if_there_is_one() -> None:
    commands = LazyCommands()
    assert commands.get("convert") is commands["convert"]
    assert commands.get("dance") is None
    assert list(commands.loaded) == ["convert"]


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], []])
def test_the_help_shows_every_command_and_option(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        app(arguments, prog_name="discotree")
    assert (ended.value.code or 0) == (0 if arguments else 2)
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "Usage: discotree [OPTIONS] COMMAND [ARGS]..." in shown
    for name, entry in ENTRIES.items():
        assert f" {name} {entry.summary}" in shown
    for option in ("--version", "--install-completion", "--show-completion", "-h, --help"):
        assert option in shown


# Values


def sample(
    words: Annotated[list[str] | None, typer.Argument()] = None,
    name: Annotated[str, typer.Option()] = "",
    other: Annotated[str | None, typer.Option(envvar="DISCOTREE_OTHER")] = None,
    k: Annotated[int, typer.Option(min=0, max=9)] = 1,
    share: Annotated[float, typer.Option(min=0.1)] = 1,
    kind: Annotated[Literal["one", "two"] | None, typer.Option()] = None,
    numbers: Annotated[list[int] | None, typer.Option("--number", min=1)] = None,
    ids: Annotated[list[str] | None, typer.Option("--id")] = None,
    flag: Annotated[bool, typer.Option("--flag")] = False,
    either: Annotated[bool | None, typer.Option("--either/--neither")] = None,
) -> None:
    """Take values of every kind that our commands have."""


def outcome(arguments: list[str], **options: Any) -> Any:
    """Return the values that a command gets, with their types, or its complaint."""
    single = typer.Typer(add_completion=False)
    single.command(**options)(sample)
    try:
        given = typer.main.get_command(single).make_context("sample", list(arguments)).params
    except typer.BadParameter as error:
        return error.format_message()
    return {name: (type(value), value) for name, value in given.items()}


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "a b",
        "--name x --other y",
        "--k 0",
        "--k 007",
        "--k 10",
        "--k -1",
        "--k two",
        "--k 1_0",
        "--k ٣",
        "--k 12345678901234567890",
        "--share 0.5",
        "--share 2",
        "--share 0",
        "--share nan",
        "--kind one",
        "--kind three",
        "--kind ONE",
        "--number 3 --number 1",
        "--number 0",
        "--id 3 --id x",
        "--flag --either",
        "--neither",
    ],
)
def test_values_and_complaints_are_those_of_typer(arguments: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("", "z"):
        monkeypatch.setenv("DISCOTREE_OTHER", value)
        assert outcome(arguments.split(), cls=QuickCommand) == outcome(arguments.split())
