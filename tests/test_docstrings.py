"""The docstrings of public functions name every argument and have an example that runs."""

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import discotree as dt

EXAMPLE = re.compile(r"Example( \(not run\))?: ``(.+?)``(?:[,.]|$)", re.DOTALL | re.MULTILINE)
FUNCTIONS = [
    "evaluate",
    "explain",
    "load",
    "measure",
    "partial_tree",
    "read",
    "search",
    "to_dependencies",
    "to_tree",
    "write",
]
TREE = "(ROOT (S (NP (PPER 0=Es) (NP (PIS 2=nichts) (NN 3=Interessantes))) (VVFIN 1=kam)) ($. 4=.))"


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions of the package, and the methods of parsers and trees."""
    yield from ((name, getattr(dt, name)) for name in FUNCTIONS)
    for kind in (dt.Parser, dt.Tree):
        for name, _ in inspect.getmembers(kind, callable):
            if not name.startswith("_"):
                yield f"{kind.__name__}.{name}", getattr(kind, name)
    yield "Parser()", dt.Parser.__call__


PUBLIC = dict(public())


def test_every_public_function_is_here() -> None:
    names = {name for name in dt.__all__ if inspect.isfunction(getattr(dt, name))}
    assert names | {"load"} == set(FUNCTIONS)


@pytest.mark.parametrize("name", PUBLIC)
def test_a_docstring_has_arguments_and_an_example(name: str) -> None:
    function = PUBLIC[name]
    doc = inspect.getdoc(function) or ""
    for argument in inspect.signature(function).parameters:
        words = argument.replace("_", "[_ ]").removesuffix("s")
        assert argument == "self" or re.search(rf"\b{words}", doc, re.IGNORECASE), f"{name} does not explain {argument}"
    assert EXAMPLE.search(doc), doc


@pytest.mark.parametrize("name", [*PUBLIC, "Token", "Tree", "Constituent"])
def test_the_example_of_a_docstring_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tree = dt.Tree.parse(TREE)
    dt.write([tree], "figure1.export")
    item = PUBLIC.get(name) or getattr(dt.trees.tree, name)  # type: ignore[attr-defined]
    (excuse, code), *_ = EXAMPLE.findall(inspect.getdoc(item) or "")
    if not excuse:
        exec(code, {"dt": dt, "tree": tree, "parser": dt.load("nl", "cpu") if "parser" in code else None})
