"""Imports point only from a higher floor to a lower one, and the lower floors need no numpy and no torch."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import discotree

PACKAGE = Path(discotree.__file__).parent
FLOORS = {
    1: ("version", "errors", "collection", "node", "tree"),
    2: ("labels", "punctuation", "transforms", "schemes", "heads", "dependencies"),
    3: ("treebank", "params", "score", "evaluate", "analysis", "charts", "report", "stats", "tables", "draw", "text"),
    4: (
        *("settings", "config", "vocab", "vectors", "subwords", "transformer", "batch", "encoder"),
        *("scores", "model", "arborescence", "decode", "assembly", "parts", "weights"),
    ),
    5: ("data", "checkpoint", "fit", "parser", "train", "tagger", "bundled", "card", "hub"),
    6: ("cli", "integrations", "__main__"),
}
FLOOR = {name: floor for floor, names in FLOORS.items() for name in names}
LIGHT = 3  # the highest floor that works in a bare Python
HEAVY = ("numpy", "torch")

# What a tree reaches up for when somebody asks it to, and never before.
CONVENIENCES = {
    "discotree.dependencies.Dependencies",
    "discotree.dependencies.to_dependencies",
    "discotree.draw.svg.draw_svg",
    "discotree.draw.text.draw_text",
    "discotree.heads.HeadRules",
}

SOURCES = [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]


def room(path):
    """The part of the package that a file belongs to: a module or a folder right below it."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path, root=PACKAGE):
    """Line and absolute name of everything that a file imports, wherever in the file."""
    package = ("discotree", *path.relative_to(root).parent.parts)
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module or "") if part)
            for alias in node.names:
                yield node.lineno, f"{module}.{alias.name}"


def climbs(path, floor, root=PACKAGE):
    """The imports of a file that lead to a higher floor than its own, as sentences."""
    for line, name in imports(path, root):
        top, *rest = name.split(".")
        where = f"{path.name}:{line} imports {name}"
        if top == "discotree":
            target = rest[0] if rest else ""
            if target not in FLOOR:
                yield f"{where}: name the module that it comes from, not the package"
            elif FLOOR[target] > floor:
                yield f"{where}: that climbs from floor {floor} to floor {FLOOR[target]}"
        elif top in HEAVY and floor <= LIGHT:
            yield f"{where}: floors 1 to {LIGHT} do without {top}"


BESIDE = """
import types
discotree = sys.modules["discotree"] = types.ModuleType("discotree")  # without what the package itself imports
discotree.__path__ = [{path!r}]
"""


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_import_climbs(path):
    assert room(path) in FLOOR, f"{path.name} has no floor: give it one in {Path(__file__).name}"
    if FLOOR[room(path)] < max(FLOORS):  # the top floor is the rim: it uses the public names
        allowed = CONVENIENCES if path == PACKAGE / "tree.py" else set()
        assert [climb for climb in climbs(path, FLOOR[room(path)]) if not any(name in climb for name in allowed)] == []


def test_a_tree_reaches_up_for_exactly_these_conveniences():
    climbing = list(climbs(PACKAGE / "tree.py", FLOOR["tree"]))
    assert {name for _, name in imports(PACKAGE / "tree.py") if any(f" {name}:" in c for c in climbing)} == CONVENIENCES


def test_importing_a_tree_climbs_nowhere():
    code = "import sys\n" + BESIDE.format(path=str(PACKAGE)) + "import discotree.tree\nprint(*sorted(sys.modules))"
    result = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    ours = {name.split(".")[1] for name in result.stdout.split() if name.startswith("discotree.")}
    assert ours == {"tree", "node", "errors"}


@pytest.mark.parametrize(
    ("code", "floor", "complaint"),
    [
        (
            "from discotree.treebank import read",
            2,
            "imports discotree.treebank.read: that climbs from floor 2 to floor 3",
        ),
        ("import discotree.heads", 1, "imports discotree.heads: that climbs from floor 1 to floor 2"),
        ("def f():\n    from .heads import HeadRules", 1, "bad.py:2 imports discotree.heads.HeadRules: that climbs"),
        ("import numpy as np", 3, "imports numpy: floors 1 to 3 do without numpy"),
        ("from torch.nn import Linear", 1, "floors 1 to 3 do without torch"),
        ("from discotree import Tree", 2, "imports discotree.Tree: name the module"),
    ],
)
def test_a_climbing_import_is_named(tmp_path, code, floor, complaint):
    path = tmp_path / "bad.py"
    path.write_text(code)
    (found,) = climbs(path, floor, tmp_path)
    assert complaint in found


@pytest.mark.parametrize("code", ["import numpy", "import re, torch", "from discotree.model import Network"])
def test_the_upper_floors_may_import_what_they_need(tmp_path, code):
    path = tmp_path / "good.py"
    path.write_text(code)
    assert list(climbs(path, 4, tmp_path)) == []


BARE = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {heavy}:
            raise ModuleNotFoundError(f"{{name}} is not there", name=name)

sys.meta_path.insert(0, Refuse())
for name in {heavy}:
    try:
        __import__(name)
    except ImportError:
        continue
    raise SystemExit(f"{{name}} could be imported")

import importlib
for name in {modules}:
    importlib.import_module(f"discotree.{{name}}")

import discotree
for format in discotree.treebank.TEXT_FORMATS:
    trees = list(discotree.read({path!r}))
    discotree.write(trees, {out!r}, format)
    assert [t.words for t in discotree.read({out!r}, format)] == [t.words for t in trees]
rules = discotree.HeadRules.load("negra")
assert all(discotree.to_tree(discotree.to_dependencies(tree, rules)) == tree for tree in trees)
for use, hint in (
    (lambda: discotree.Parser, "pip install 'discotree[parser]'"),
    (lambda: discotree.load({folder!r}), "pip install 'discotree[parser]'"),
    (lambda: discotree.load({out!r}), "neither a folder nor"),
):
    try:
        use()
    except (ImportError, discotree.ModelError) as error:
        assert hint in str(error), error
    else:
        raise SystemExit("nothing was said")
assert not {{"numpy", "torch"}} & set(sys.modules)
print("fine")
"""


def test_the_lower_floors_work_in_a_bare_python(data, tmp_path):
    modules = sorted({room(path) for path in SOURCES if FLOOR.get(room(path), LIGHT) <= LIGHT})
    assert "treebank" in modules
    files = {"path": str(data / "figure1.export"), "out": str(tmp_path / "out"), "folder": str(tmp_path)}
    code = BARE.format(heavy=HEAVY, modules=modules, **files)
    result = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "fine\n"), result.stderr
