"""Nothing is imported before it is needed: a command starts in a fraction of a second."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.models import saved_model
from support.signals import heed_interrupts

import discotree as dt
from discotree.cli import COMMANDS

FIGURE1 = Path(__file__).parent / "data" / "figure1.export"
HEAVY = ("numpy", "torch", "onnxruntime", "pydantic", "rich.progress", "rich.markdown", "xml.sax", "multiprocessing")

WATCHED = f"""
import io, json, sys
before = set(sys.modules)
import discotree
seen = [sorted(set(sys.modules) - before)]
from discotree.cli import main
sys.stdout, out = io.TextIOWrapper(io.BytesIO(), "utf-8"), sys.stdout
for arguments in (["--help"], ["convert", {str(FIGURE1)!r}, "--to", "penn"]):
    sys.argv = ["discotree", *arguments]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, ended
    seen.append(sorted(set(sys.modules) - before))
print(json.dumps(seen), file=out)
"""


def test_only_what_is_needed_is_imported() -> None:
    done = subprocess.run([sys.executable, "-c", WATCHED], capture_output=True, text=True, check=True)
    package, help, convert = json.loads(done.stdout)
    assert [name for name in package if name.startswith("discotree")] == ["discotree", "discotree.version"]
    assert not {"click", "rich", "json", "logging"} & set(package)
    for name in HEAVY:
        assert name not in package
        assert name not in help
        assert name not in convert
    commands = {f"discotree.cli.{entry.module}" for entry in COMMANDS.values()}
    assert not commands & set(help)
    assert not {"discotree.treebanks", "discotree.trees", "rich"} & set(help)
    assert commands & set(convert) == {"discotree.cli.treebanks"}
    assert not {"discotree.config", "discotree.models", "discotree.drawing", "discotree.text"} & set(convert)


PARSE = """
import sys
from discotree.cli import main
sys.argv = ["discotree", "parse", "Das geht so.", "--model", sys.argv[1]]
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""
# What a sentence does without: values as they are, nothing to say, no colours, one process, no treebank to read.
NOT_FOR_A_SENTENCE = {
    *("torch", "transformers", "tokenizers", "pandas", "polars", "pyarrow", "spacy", "nltk", "ray", "fastapi"),
    *("pydantic", "rich", "multiprocessing", "asyncio", "xml.sax", "email", "importlib.metadata"),
    *("discotree.drawing", "discotree.queries", "discotree.training", "discotree.integrations"),
    *("discotree.evaluation.parseval", "discotree.network.pytorch"),
}


def test_a_sentence_is_parsed_with_few_imports(tmp_path: Path) -> None:
    model = saved_model(tmp_path / "model")
    command = [sys.executable, "-c", PARSE, str(model)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    imported = set(done.stderr.split())
    assert done.stdout.startswith("(")
    assert "onnxruntime" in imported
    assert not NOT_FOR_A_SENTENCE & imported


# The public names


def test_importing_all_public_names_does_not_import_numpy() -> None:
    code = "import sys; from discotree import *; read, Tree; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def declared() -> dict[str, str]:
    """Return the names that are imported for type checkers, and the modules that they come from."""
    tree = ast.parse(Path(dt.__file__).read_text("utf-8"))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    found = {}
    for node in guarded.body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            module = f"{node.module}.{alias.name}" if alias.name == "tables" else str(node.module)
            found[alias.asname or alias.name] = module.removeprefix("discotree.")
    return found


def test_the_names_are_those_that_type_checkers_see() -> None:
    assert declared() == dt._HOMES | {"tables": dt._MODULES["tables"]}  # type: ignore[attr-defined]
    assert set(dt.__all__) == {*declared(), "__version__"} - {"Parser", "load"}


@pytest.mark.parametrize("name", dt.__all__)
def test_every_name_is_there(name: str) -> None:
    value = getattr(dt, name)
    assert value is getattr(dt, name)
    assert name in dir(dt)


def test_names_and_subpackages_can_be_imported_and_completed() -> None:
    from discotree import Tree, tables, treebanks
    from discotree.trees.tree import Tree as original

    assert Tree is dt.Tree is original
    assert tables.__name__ == "discotree.treebanks.tables"
    assert treebanks is dt.treebanks  # type: ignore[attr-defined]
    assert {"Parser", "drawing", "errors", "load"} <= set(dir(dt))
    assert not {"TYPE_CHECKING", "import_module", "files", "validation", "_HOMES"} & set(dir(dt))
    with pytest.raises(AttributeError, match="module 'discotree' has no attribute 'dance'"):
        _ = dt.dance  # type: ignore[attr-defined]
    with pytest.raises(ImportError, match="cannot import name 'dance'"):
        from discotree import dance  # type: ignore[attr-defined]  # noqa: F401


@pytest.mark.skipif(sys.platform == "win32", reason="a shell closes the streams")
@pytest.mark.parametrize(
    ("arguments", "closed", "code", "message"),
    [
        ("convert FILE --to penn", ">&-", 1, "discotree: -: cannot be written: Bad file descriptor\n"),
        ("--help", ">&-", 1, "discotree: standard input or output is closed\n"),
        ("convert FILE --to penn", "2>&-", 0, ""),
        ("convert FILE --to penn", ">&- 2>&-", 1, ""),
        ("convert FILE -o OUTPUT", "<&- >&-", 0, "1 tree written to OUTPUT\n"),
        ("convert - --from export --to penn", "<&-", 1, "discotree: -: cannot be read: Bad file descriptor\n"),
    ],
)
def test_a_closed_stream_is_no_traceback(arguments: str, closed: str, code: int, message: str, tmp_path: Path) -> None:
    arguments = arguments.replace("FILE", str(FIGURE1)).replace("OUTPUT", str(tmp_path / "a.dbr"))
    line = f"{sys.executable} -m discotree {arguments} {closed}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.replace(str(tmp_path / "a.dbr"), "OUTPUT")) == (code, message)


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is not a signal there")
@pytest.mark.parametrize("start", ["-mdiscotree", "-cfrom discotree.__main__ import main; main()"])
def test_ctrl_c_during_the_imports_is_no_traceback(start: str, tmp_path: Path) -> None:
    """The signal comes while Click is imported: it is sent by a module of that name."""
    (tmp_path / "click.py").write_text("import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(30)\n")
    paths = [str(tmp_path), *sys.path]
    done = subprocess.run(
        [sys.executable, start, "--version"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=heed_interrupts,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
