"""What turns SVG into PNG and PDF on this machine, if anything does."""

import os
import shutil
from importlib import import_module
from pathlib import Path

import pytest


def renderer() -> str:
    """Return the program that drawings are converted with, or ""."""
    if shutil.which("rsvg-convert"):
        return "rsvg-convert"
    try:
        import_module("cairosvg")
    except (ImportError, OSError):  # OSError where the cairo library is missing
        return ""
    return "CairoSVG"


needs_renderer = pytest.mark.skipif(
    not renderer(), reason="neither rsvg-convert nor CairoSVG with the cairo library is installed"
)


def hide_renderers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let processes that start from now on find no rsvg-convert, and a CairoSVG without the cairo library."""
    (folder / "cairosvg.py").write_text("raise OSError('no library called \"cairo-2\" was found')\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("PATH", str(folder))


def slow_renderer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put an rsvg-convert that takes a minute first in the path; return the file that gets its process id."""
    program = folder / "rsvg-convert"
    program.write_text(f"#!/bin/sh\necho $$ > '{folder}/new'\nmv '{folder}/new' '{folder}/pid'\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder / "pid"
