"""Take README.md and docs/ apart: blocks of code, their expected output, and how each kind is run.

    python     statements; ``value  # → text`` and a ``text`` block after the block say what is expected
    console    ``$ command`` lines, each followed by what it prints
    sh         commands alone
    toml       a recipe
    text       what the python block before it printed, or with title="NAME" a file of that name

A block that cannot run here stands after ``<!-- not run: why -->``; its commands still have to be possible ones.
"""

import ast
import io
import os
import re
import shlex
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from discotree.cli import app, console, main
from discotree.config.pretraining import load_pretraining
from discotree.config.recipes import load_recipe

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(
    r"(?:^ *<!-- not run: (?P<excuse>.+?) -->\n\n?)?"
    r"^(?P<indent> *)```(?P<language>\w+)(?P<options>[^\n]*)\n(?P<code>.*?)^(?P=indent)```$",
    re.DOTALL | re.MULTILINE,
)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
EXPECTED = "# →"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
TARGETS = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)


@dataclass(frozen=True)
class Block:
    page: Path
    line: int  # number of its first line of code
    language: str
    code: str
    title: str  # name of the file that it shows
    excuse: str  # why it is not run

    @property
    def address(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    def commands(self) -> Iterator[tuple[str, str]]:
        """Return the commands of a block, each with its expected output."""
        if self.language == "console":
            yield from COMMAND.findall(self.code)
        else:
            for line in re.sub(r"\\\n *|(?<=\|)\n *", "", self.code).splitlines():
                if command := re.sub(r"(^|\s+)#\s.*$", "", line).strip():
                    yield command, ""


def blocks(page: Path) -> list[Block]:
    text = page.read_text("utf-8")
    found = []
    for match in FENCE.finditer(text):
        indent = match["indent"]
        code = re.sub(f"^{indent}", "", match["code"], flags=re.MULTILINE)
        title = re.search(r'title="([^"]+)"', match["options"])
        line = text.count("\n", 0, match.start("code")) + 1
        found.append(Block(page, line, match["language"], code, title[1] if title else "", match["excuse"] or ""))
    return found


def prose(page: Path) -> str:
    """Return a page without its blocks."""
    return FENCE.sub("", page.read_text("utf-8"))


def matches(expected: str, said: str) -> bool:
    """Return whether output is as expected, where ``…`` stands for anything."""
    expected, said = ("\n".join(line.rstrip() for line in text.strip("\n").split("\n")) for text in (expected, said))
    pattern = ".*?".join(map(re.escape, expected.split("…")))
    return expected == said or re.fullmatch(pattern, said, re.DOTALL) is not None


def run_python(block: Block, namespace: dict[str, Any]) -> str:
    """Run a block statement by statement, compare values with the comments behind them; return what is printed."""
    source = "\n" * (block.line - 1) + block.code
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    expected = {
        token.start[0]: token.string.removeprefix(EXPECTED).strip()
        for token in tokens
        if token.type == tokenize.COMMENT and token.string.startswith(EXPECTED)
    }
    printed = []
    for statement in ast.parse(source, block.page.name).body:
        out = io.StringIO()
        wanted = expected.pop(statement.end_lineno or 0, None)
        with redirect_stdout(out):
            if isinstance(statement, ast.Expr) and wanted is not None:
                value = eval(compile(ast.Expression(statement.value), block.page.name, "eval"), namespace)
                said = out.getvalue() or repr(value)
                assert matches(wanted, said), f"{block.page.name}:{statement.lineno}: {said}"
            else:
                assert wanted is None, f"{block.page.name}:{statement.lineno}: no value to compare"
                exec(compile(ast.Module([statement], []), block.page.name, "exec"), namespace)
        printed.append(out.getvalue())
    assert not expected, f"{block.address}: nothing was compared with {expected}"
    return "".join(printed)


def stages(command: str) -> list[list[str]]:
    """Return the words of each command of a pipe; its output file is a word after ``>``."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|>")
    lexer.whitespace_split, lexer.commenters = True, ""
    found: list[list[str]] = [[]]
    for word in lexer:
        if word == "|":
            found.append([])
        else:
            found[-1].append(word)
    return found


def run_command(command: str) -> tuple[str, str]:
    """Return standard output and error of a command; ours run in this process, which saves their start."""
    first = command.split()[0]
    if first in ("pip", "make"):
        check_command(command)
        return "", ""
    if ">" in command or any(words[0] != "discotree" for words in stages(command)):
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            command, shell=True, capture_output=True, text=True, env={**os.environ, "PATH": path}, timeout=60
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        return done.stdout, done.stderr
    data = b""
    for words in stages(command):
        data, said = run_ours(words, data)
    return data.decode(), said


def run_ours(words: list[str], stdin: bytes) -> tuple[bytes, str]:
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    vars(console.err).pop("_console", None)  # it may have been created for a terminal
    before = sys.argv, sys.stdin
    sys.argv, sys.stdin = words, io.TextIOWrapper(io.BytesIO(stdin), "utf-8")
    code: object = 0
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as end:
        code = end.code
    finally:
        sys.argv, sys.stdin = before
    said = [stream.buffer.getvalue() for stream in (out, err)]  # type: ignore[attr-defined]
    assert not code, f"{shlex.join(words)}\n{said[1].decode()}"
    return said[0], said[1].decode()


def check_command(command: str) -> None:
    """Check that a command that is not run could be: our commands, options, extras and recipes exist."""
    for extra in re.findall(r"(?:discotree|\.)\[([\w,]+)\]", command):
        assert set(extra.split(",")) <= set(PROJECT["optional-dependencies"]), f"{command}: there is no {extra}"
    for words in stages(command):
        if words[0] == "make":
            assert set(words[1:]) <= set(TARGETS), f"{command}: there is no such target"
        elif "discotree" in words and words[0] != "pip":
            check_ours(words[words.index("discotree") + 1 :])


def check_ours(words: list[str]) -> None:
    words = [word for word in words if word != ">"]
    if not words:  # shell completion
        return
    top = app.make_context("discotree", words[:1], resilient_parsing=True)
    name, command, rest = app.resolve_command(top, words)
    assert command is not None
    values = command.make_context(name, rest, parent=top).params
    if name == "train":
        recipe = values["recipe"] or "alpino"  # not needed for fine-tuning
        load_recipe(recipe, values["settings"], values["scenario"] or "", values["preset"] or "")
    elif name == "pretrain" and not values["vectors"]:
        load_pretraining(values["size"] or "small", values["settings"])


def options_of(name: str) -> set[str]:
    """Return all options of one of our commands."""
    command = app.get_command(click.Context(app), name)
    assert command is not None, f"there is no command {name}"
    options = {"--help"}
    for parameter in command.params:
        options.update(parameter.opts, parameter.secondary_opts)
    return options
