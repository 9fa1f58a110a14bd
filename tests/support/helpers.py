"""Helpers of many tests: trees from brackets, deep trees, and formats in memory."""

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from discotree import FORMATS, Node, Token, Tree, TreebankError, read
from discotree.treebanks.source import ErrorHandler, Source, stop


def tree_of(brackets: str, id: str = "") -> Tree:
    """Return the tree of a line of brackets."""
    return Tree.parse(brackets, id)


def brackets_of(trees: Iterable[Tree]) -> list[str]:
    return [str(tree) for tree in trees]


def written(trees: Iterable[Tree], format: str) -> Any:
    """Return the trees as the content of a file: text, or bytes."""
    pieces = list(FORMATS[format].writer().file(trees))
    return b"".join(pieces) if format in ("parquet", "arrow") else "".join(pieces)


def encoded(trees: Iterable[Tree], format: str) -> bytes:
    content = written(trees, format)
    return content if isinstance(content, bytes) else content.encode()


def parsed(content: str | bytes, format: str, on_error: ErrorHandler = stop) -> list[Tree]:
    """Return the trees of a file's content."""
    raw = content.encode() if isinstance(content, str) else content
    return list(FORMATS[format].read(Source("<memory>", io.BytesIO(raw), on_error=on_error)))


def through(format: str, tree: Tree) -> Tree:
    """Return the tree, written and read again."""
    (again,) = parsed(written([tree], format), format)
    return again


def words(n: int) -> tuple[Token, ...]:
    return tuple(Token(f"w{k}", "NN") for k in range(n))


def right_branching(n: int) -> Tree:
    """Return a tree of n words and n nodes inside the root, each over a word and the next node."""
    node = Node("A", [n - 1])
    for k in reversed(range(n - 1)):
        node = Node("A", [k, node])
    return Tree(words(n), Node("ROOT", [node]), "1")


def left_branching(n: int) -> Tree:
    """Return the mirror image of ``right_branching``: all nodes have the first word."""
    node = Node("A", [0])
    for k in range(1, n):
        node = Node("A", [node, k])
    return Tree(words(n), Node("ROOT", [node]), "1")


def unary_chain(n: int) -> Tree:
    """Return a tree of n nodes over one word."""
    node = Node("A", [0])
    for _ in range(n - 1):
        node = Node("A", [node])
    return Tree(words(1), Node("ROOT", [node]), "1")


DEEP = {"right": right_branching, "left": left_branching, "unary": unary_chain}


MARK = "◀"  # marks the line that an error must name


def assert_broken(path: Path, content: str, message: str, good: list[str]) -> None:
    """Assert that a file is refused with an address, and that its good trees come when broken ones are skipped."""
    import pytest  # the fuzzing harness uses this module without it

    line = content[: content.index(MARK)].count("\n") + 1
    path.write_text(content.replace(MARK, ""), "utf-8")
    with pytest.raises(TreebankError, match=message) as caught:
        list(read(path))
    assert (caught.value.path, caught.value.line) == (str(path), line)
    assert str(caught.value) == f"{path}:{line}: {caught.value.message}"
    errors: list[TreebankError] = []
    assert [tree.id for tree in read(path, on_error=errors.append)] == good
    assert (errors[0].line, errors[0].message) == (line, caught.value.message)


ONE = tree_of("(ROOT (NP (D 0=das) (N 2=Haus)) (V 1=hat))", "cdb/1")
TWO = tree_of("(ROOT (S (N 0=wir) (V 1=gehen)))", "2")
THREE = tree_of("(ROOT (X 0=ja))", "x-3")
