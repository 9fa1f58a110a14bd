"""The project agrees with itself on scores, versions, floors, paths for newcomers and lower bounds."""

import importlib.util
import json
import re
import statistics
from collections.abc import Iterator, Set
from decimal import ROUND_HALF_UP, Decimal
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.pages import PROJECT, ROOT

from discotree import __version__

DOCS = ROOT / "docs"
MODELS = ROOT / "models"
RESULTS = DOCS / "lab" / "results"
PAGES = {path.parts[-5]: path for path in sorted(MODELS.glob("*/src/*/model/README.md"))}  # of models, by name
CARDS = {name: json.loads((page.parent / "card.json").read_text("utf-8")) for name, page in PAGES.items()}
COLUMNS = {"F1": "f1", "disc. F1": "discontinuous_f1", "exact match": "exact", "tags": "tags", "functions": "functions"}
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
CODE = re.compile(r"`([^`\s]+)`")


def tables(page: Path) -> Iterator[dict[str, str]]:
    """The rows of all tables of a page, by column; bold is taken off."""
    columns: list[str] = []
    for line in page.read_text("utf-8").splitlines():
        cells = [cell.strip().replace("**", "") for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            columns = []
        elif not columns:
            columns = cells
        elif set(line) - set("|- :"):
            yield dict(zip(columns, cells, strict=True))


def rounded(value: float, digits: int = 1) -> str:
    return str(Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# Scores


@pytest.mark.parametrize(
    ("page", "names"),
    [("README.md", {name for name in CARDS if not name.endswith("-large")}), ("docs/models.md", CARDS.keys())],
)
def test_scores_and_licences_of_the_models_are_those_of_their_cards(page: str, names: Set[str]) -> None:
    rows = {row["model"].strip("`"): row for row in tables(ROOT / page) if {"model", "F1", "licence"} <= row.keys()}
    assert rows.keys() == names
    for name, row in rows.items():
        card = CARDS[name]
        scores = {column: rounded(card["scores"]["test"][key]) for column, key in COLUMNS.items() if column in row}
        assert {column: row[column] for column in scores} == scores, f"{page}: {name}"
        assert row["licence"].startswith(card["licence"])
        assert row.get("trees in training", f"{card['sentences']:,}") == f"{card['sentences']:,}"


@pytest.mark.parametrize("name", CARDS)
def test_the_page_of_a_model_has_the_scores_of_its_card(name: str) -> None:
    shipped = {row[""].partition(",")[0]: row for row in tables(PAGES[name]) if "as shipped" in row[""]}
    names = {"disc. F1": "discontinuous F1"}
    scored = CARDS[name]["scores"].items()
    for split, scores in [(split, scores) for split, scores in scored if scores["f1"] is not None]:
        row = "dev and test together" if split == "together" else split
        for column, key in COLUMNS.items():
            assert shipped[row][names.get(column, column)] == rounded(scores[key], 2), (name, split, column)


def scores_of(run: str) -> dict[str, float]:
    test = json.loads((RESULTS / f"{run}.json").read_text("utf-8"))["scores"]["test"]
    return {
        "F1": test["all"]["f1"],
        "disc. F1": test["discontinuous"]["f1"],
        "exact match": test["all"]["exact_match"],
        "tags": test["attachment"].get("tag", 0.0),
        "functions": test["attachment"].get("function", 0.0),
    }


RUNS = [row for row in tables(DOCS / "lab" / "results.md") if row.get("runs") or row.get("run")]


@pytest.mark.parametrize("row", RUNS, ids=lambda row: row.get("runs") or row["run"])
def test_the_results_are_those_of_their_runs(row: dict[str, str]) -> None:
    name = (row.get("runs") or row["run"]).strip("`")
    seeds = re.fullmatch(r"(.+-)1…(\d)", name)
    runs = [scores_of(f"{seeds[1]}{seed}") for seed in range(1, int(seeds[2]) + 1)] if seeds else [scores_of(name)]
    for column, first in runs[0].items():
        if column in row:
            values = [run[column] for run in runs]
            spread = f" ± {rounded(statistics.stdev(values))}" if seeds else ""
            assert row[column] == f"{rounded(statistics.mean(values) if seeds else first)}{spread}", (name, column)


def test_there_are_runs_to_compare() -> None:
    assert len(RUNS) >= 12


# Versions


def test_the_version_is_the_same_everywhere() -> None:
    citation = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    bibtex = re.search(r"version = \{(.+)\}", (DOCS / "citing.md").read_text("utf-8"))
    dated = re.search(r"^## \[(\d.*)\] - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert [found and found[1] for found in (citation, bibtex, dated)] == [__version__] * 3


def test_the_workflow_runs_every_python_that_the_metadata_names() -> None:
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text("utf-8")
    matrix = re.search(r"python: \[(.+)\]", workflow)
    assert matrix
    named = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", name)]
    assert re.findall(r'"(.+?)"', matrix[1]) == named
    assert PROJECT["requires-python"] == f">={named[0]}"


def test_every_dependency_has_a_lower_bound_that_can_be_installed() -> None:
    lowest = load(ROOT / "tools" / "lowest.py")
    assert list(lowest.lowest(["a>=1.2", "b[x]>=3; python_version < '3.11'", "discotree[parser]"])) == [
        "a==1.2",
        "b==3; python_version < '3.11'",
    ]
    with pytest.raises(SystemExit, match="'rich' has no lower bound"):
        list(lowest.lowest(["rich"]))
    extras = [one for extra in PROJECT["optional-dependencies"].values() for one in extra]
    assert len(list(lowest.lowest([*PROJECT["dependencies"], *extras]))) > 10


# Newcomers


def test_the_picture_of_the_floors_is_the_one_that_is_tested() -> None:
    floors = [row for row in tables(ROOT / "CONTRIBUTING.md") if "floor" in row]
    drawn = [name for row in floors for name in CODE.findall(row["in `src/discotree/`"])]
    assert drawn == load(ROOT / "tests" / "test_floors.py").FLOORS


PATHS = [row for row in tables(ROOT / "CONTRIBUTING.md") if "you look for …" in row]


@pytest.mark.parametrize("row", PATHS, ids=lambda row: row["you look for …"])
def test_a_newcomer_gets_there_in_three_hops(row: dict[str, Any]) -> None:
    route, sought = re.fullmatch(r"(.+) \(`(.+)`\)", row["path"]).groups()  # type: ignore[union-attr]
    stops = CODE.findall(route)
    assert 2 <= len(stops) <= 4
    for here, there in pairwise(stops):
        page = ROOT / here
        text = page.read_text("utf-8")
        linked = {(page.parent / target).resolve() for target in LINK.findall(text)}
        named = {(base / name).resolve() for name in CODE.findall(text) for base in (ROOT, ROOT / "src" / "discotree")}
        assert (ROOT / there).resolve() in linked | named, f"{here} does not lead to {there}"
    assert sought in (ROOT / stops[-1]).read_text("utf-8")


# Tests


def test_marks_are_in_the_files_of_the_tests() -> None:
    """.ci/run imports only files that name the mark it asks for."""
    marks = re.compile(r"mark\.(slow|data|browser|fuzz|cluster|installed)\b")
    others = [path for path in (ROOT / "tests").rglob("*.py") if not path.name.startswith("test_")]
    assert [path for path in others if marks.search(path.read_text("utf-8"))] == []
