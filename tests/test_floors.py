"""Folders are the floors: a folder uses those before it in one ordered list, and no circle of imports is left."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from support.models import saved_model

import discotree

PACKAGE = Path(discotree.__file__).parent
FLOORS = [
    *("version", "errors", "log", "validation", "files", "processes"),
    *("trees", "encoding"),
    *("treebanks", "evaluation", "drawing", "text", "queries"),
    *("config", "network", "decoding"),
    *("models", "parsing", "training"),
    *("web", "integrations", "cli", "__main__"),
]
LIGHT = FLOORS[: FLOORS.index("config")]  # these do without arrays, so they start at once
RIM = FLOORS[FLOORS.index("web") :]  # these may use the public names of the package
HEAVY = ("numpy", "onnxruntime", "torch")

# Parsing does without torch, and without what imports it. Where it is there, these use it, inside a function.
WITH_TORCH = ("network/pytorch/", "training/")
REACHING_FOR_TORCH = {
    "cli/calibrate.py",
    "cli/distill.py",
    "cli/pretrain.py",
    "cli/train.py",
    "models/folder.py",
    "parsing/parser.py",
}

# A tree draws and encodes itself: it imports these when it is asked to, and never before.
CONVENIENCES = {
    "discotree.drawing.options.Highlight",
    "discotree.drawing.options.DrawingOptions",
    "discotree.drawing.options.DEFAULT",
    "discotree.drawing.raster.convert",
    "discotree.drawing.svg.draw_svg",
    "discotree.drawing.text.draw_text",
    "discotree.encoding.dependencies.Dependencies",
    "discotree.encoding.dependencies.to_dependencies",
    "discotree.encoding.head_rules.HeadRules",
    "discotree.integrations.nltk.to_nltk",
    "discotree.treebanks.formats.write",
}
TREE = PACKAGE / "trees" / "tree.py"

SOURCES = [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]


def floor_of(path, root=PACKAGE):
    """The folder, or the module right below the package, that a file belongs to."""
    return path.relative_to(root).parts[0].removesuffix(".py")


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


def needs_torch(name):
    """Whether what is imported is torch, or needs it."""
    ours = tuple("discotree." + folder.replace("/", ".") for folder in WITH_TORCH)
    return f"{name}.".startswith(("torch.", "transformers.", *ours))


def late(path):
    """The lines of a file inside functions, and those that only a type checker reads."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        checking = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        if checking or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def climbs(path, floor, root=PACKAGE):
    """The imports of a file that lead to a later floor than its own, as sentences."""
    for line, name in imports(path, root):
        top, *rest = name.split(".")
        where = f"{path.name}:{line} imports {name}"
        if top == "discotree":
            target = rest[0] if rest else ""
            if target not in FLOORS:
                if floor not in RIM:
                    yield f"{where}: name the module that it comes from, not the package"
            elif FLOORS.index(target) > FLOORS.index(floor):
                yield f"{where}: {floor} may not use {target}"
        elif top in HEAVY and floor in LIGHT:
            yield f"{where}: {floor} does without {top}"


def module_name(path, root=PACKAGE):
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(["discotree", *parts]).removesuffix(".__init__")


def circles(graph):
    """The modules that reach themselves through their imports."""
    reachable = {module: set(targets) for module, targets in graph.items()}
    grown = True
    while grown:
        grown = False
        for targets in reachable.values():
            more = {far for near in targets for far in reachable[near]} - targets
            targets |= more
            grown = grown or bool(more)
    return sorted(module for module, targets in reachable.items() if module in targets)


def import_graph(sources, root=PACKAGE):
    """Which module imports which; a name is looked up in the module that it comes from."""
    modules = {module_name(path, root): path for path in sources}
    graph = {}
    for module, path in modules.items():
        names = {name for _, name in imports(path, root) if path != TREE or name not in CONVENIENCES}
        found = {name if name in modules else name.rpartition(".")[0] for name in names}
        graph[module] = (found & modules.keys()) - {module}
    return graph


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_import_climbs(path):
    floor = floor_of(path)
    assert floor in FLOORS, f"{path.name} has no floor: give it one in {Path(__file__).name}"
    allowed = CONVENIENCES if path == TREE else set()
    assert [climb for climb in climbs(path, floor) if not any(name in climb for name in allowed)] == []


def test_torch_is_for_training_and_gpus():
    early, reaching = [], set()
    for path in SOURCES:
        place = path.relative_to(PACKAGE).as_posix()
        found = [] if place.startswith(WITH_TORCH) else [pair for pair in imports(path) if needs_torch(pair[1])]
        if found:
            reaching.add(place)
            inside = set(late(path))
            early += [f"{place}:{line} imports {name}" for line, name in found if line not in inside]
    assert (early, reaching) == ([], REACHING_FOR_TORCH)


def test_an_import_of_torch_is_found(tmp_path):
    path = tmp_path / "bad.py"
    path.write_text(
        "import torch\n\ndef f():\n    from torch.nn import Linear\n\nfrom discotree.training.run import x\n"
    )
    found = [line for line, name in imports(path, tmp_path) if needs_torch(name) and line not in set(late(path))]
    assert sorted(found) == [1, 6]
    assert not any(map(needs_torch, ("torchless", "discotree.network.transformer", "discotree.training_data")))


def test_no_circle_is_left():
    assert circles(import_graph(SOURCES)) == []


def test_a_circle_is_found(tmp_path):
    (tmp_path / "trees").mkdir()
    paths = [tmp_path / "trees" / f"{name}.py" for name in "abc"]
    for path, target in zip(paths, "bca", strict=True):
        path.write_text(f"def late():\n    from discotree.trees.{target} import x\n")
    assert len(circles(import_graph(paths, tmp_path))) == 3
    assert circles(import_graph(paths[:2], tmp_path)) == []


def test_a_tree_reaches_up_for_exactly_these_conveniences():
    climbing = list(climbs(TREE, "trees"))
    assert {name for _, name in imports(TREE) if any(f" {name}:" in climb for climb in climbing)} == CONVENIENCES


BESIDE = """
import sys, types
discotree = sys.modules["discotree"] = types.ModuleType("discotree")  # without what the package itself imports
discotree.__path__ = [{path!r}]
import discotree.trees.tree
print(*sorted(sys.modules))
"""


def test_importing_a_tree_climbs_nowhere():
    code = BESIDE.format(path=str(PACKAGE))
    result = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    ours = {name.split(".")[1] for name in result.stdout.split() if name.startswith("discotree.")}
    assert ours == {"trees", "errors"}


@pytest.mark.parametrize(
    ("code", "floor", "complaint"),
    [
        (
            "from discotree.treebanks import read",
            "encoding",
            "discotree.treebanks.read: encoding may not use treebanks",
        ),
        ("import discotree.encoding.head_rules", "trees", "imports discotree.encoding.head_rules: trees may not use"),
        ("def f():\n    from .encoding import x", "trees", "bad.py:2 imports discotree.encoding.x: trees may not use"),
        ("import numpy as np", "text", "imports numpy: text does without numpy"),
        ("from torch.nn import Linear", "trees", "trees does without torch"),
        ("import onnxruntime", "treebanks", "treebanks does without onnxruntime"),
        ("from discotree import Tree", "encoding", "imports discotree.Tree: name the module"),
    ],
)
def test_a_climbing_import_is_named(tmp_path, code, floor, complaint):
    path = tmp_path / "bad.py"
    path.write_text(code)
    (found,) = climbs(path, floor, tmp_path)
    assert complaint in found


@pytest.mark.parametrize(
    "code", ["import numpy", "import re, torch", "from discotree.network.onnx.engine import OnnxEngine"]
)
def test_the_upper_floors_may_import_what_they_need(tmp_path, code):
    path = tmp_path / "good.py"
    path.write_text(code)
    assert list(climbs(path, "network", tmp_path)) == []


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
    importlib.import_module(name)

import discotree
for format in discotree.treebanks.TEXT_FORMATS:
    trees = list(discotree.read({path!r}))
    discotree.write(trees, {out!r}, format)
    assert [t.words for t in discotree.read({out!r}, format)] == [t.words for t in trees]
rules = discotree.HeadRules.load("negra")
assert all(discotree.to_tree(discotree.to_dependencies(tree, rules)) == tree for tree in trees)
assert not {{*{heavy}}} & set(sys.modules)
print("fine")
"""


def test_the_lower_floors_work_in_a_bare_python(data, tmp_path):
    modules = sorted(module_name(path) for path in SOURCES if floor_of(path) in LIGHT)
    assert "discotree.treebanks.export" in modules
    files = {"path": str(data / "figure1.export"), "out": str(tmp_path / "out")}
    code = BARE.format(heavy=HEAVY, modules=modules, **files)
    result = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "fine\n"), result.stderr


WITHOUT_TORCH = """
import sys

for name in ("torch", "transformers"):
    sys.modules[name] = None  # not there

import importlib
for name in {modules}:
    importlib.import_module(name)

import discotree
parser = discotree.load({model!r})
(tree,) = parser.parse([["Ja", "."]])
assert tree.words == ("Ja", ".")
parser.save_pretrained({out!r})
from discotree.cli import app
app(["export", {model!r}, "--onnx", {out!r} + ".onnx"], standalone_mode=False)
print(parser.engine.name)
"""


def test_parsing_works_without_torch(tmp_path):
    floors = [*LIGHT, "config", "network", "decoding", "models", "parsing", "cli"]
    places = {module_name(path): path.relative_to(PACKAGE).as_posix() for path in SOURCES if floor_of(path) in floors}
    modules = sorted(module for module, place in places.items() if not place.startswith(WITH_TORCH))
    assert "discotree.network.onnx.engine" in modules
    model = saved_model(tmp_path / "model")
    code = WITHOUT_TORCH.format(modules=modules, model=str(model), out=str(tmp_path / "again"))
    result = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "onnx\n"), result.stderr
