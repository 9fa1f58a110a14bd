"""Models, and a function that runs `discotree parse` in this process."""

import io
import sys
from pathlib import Path

import pytest
from support.models import saved_model
from support.parse_command import Cli, Done

from discotree.cli import main


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_model(tmp_path_factory.mktemp("models") / "model")


@pytest.fixture(scope="session")
def others(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that needs tags, and one without a language."""
    folder = tmp_path_factory.mktemp("others")
    saved_model(folder / "tags", tags="gold")
    saved_model(folder / "mute", language="")
    return folder


@pytest.fixture
def cli(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> Cli:
    """Run the command in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISCOTREE_MODEL", str(model))

    def run(*arguments: str, stdin: bytes | str | io.RawIOBase = b"") -> Done:
        if not isinstance(stdin, io.RawIOBase):
            stdin = io.BytesIO(stdin.encode() if isinstance(stdin, str) else stdin)  # type: ignore[assignment]
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(stdin)))  # type: ignore[type-var]
        monkeypatch.setattr(sys, "argv", ["discotree", "parse", *arguments])
        capsysbinary.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, said = capsysbinary.readouterr()
        return Done(int(ended.value.code or 0), out, said.decode())

    return run
