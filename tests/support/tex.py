"""Sources for TeX: whether they are in one piece, and whether they compile."""

import re
import shutil
import subprocess

import pytest


def balanced(source):
    """Whether braces open and close; escaped ones do not count."""
    depth = 0
    for brace in re.findall(r"\\.|[{}]", source):
        depth += (brace == "{") - (brace == "}")
        if depth < 0:
            return False
    return depth == 0


def compiled(engine, source, folder):
    """The log of an engine that has to be there."""
    if not shutil.which(engine):
        pytest.skip(f"{engine} is not installed")
    (folder / "tree.tex").write_text(source, "utf-8")
    done = subprocess.run(
        [engine, "-interaction=nonstopmode", "-halt-on-error", "tree.tex"], cwd=folder, capture_output=True, timeout=300
    )
    log = done.stdout.decode(errors="replace")
    assert done.returncode == 0, log[-2000:]
    assert (folder / "tree.pdf").read_bytes().startswith(b"%PDF")
    return log
