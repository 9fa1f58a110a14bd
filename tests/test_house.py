"""The house rules that a machine can check: where files lie, how long they are, and which words are gone."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "discotree"
SOURCES = sorted(PACKAGE.rglob("*.py"))
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]

MAX_TOP_FILES = 6
MAX_LINES = 300
REASON = "More than 300 lines because"  # stands in the docstring of a file that is longer

# The old words, and what stands in their place.
OLD_WORDS = {
    r"\bsmall[ _]heads?\b": "auxiliary head",
    r"\bSMALL_HEADS\b": "AUXILIARY_HEADS",
    r"\bMOST_[A-Z]": "MAX_",
    r"\bLEAST_[A-Z]": "MIN_",
    r"\bCANNOT\b": "SENTENCE_ERRORS",
    r"\b(desk|easel)\b": "a name that says what it is",
    r"(?<!spacy\.)\bblanks?\b": "whitespace",
    r"\b[Ww]hoever\b": "a subject",
    r"\bfigures\b(?! [0-9])": "metrics",
    r"(?<!#)# ?(that|which|whose|of|with which) ": "a comment with a subject of its own",
}
CODE_WORDS = {
    r"\b(said|sure)\b": "decisions, message, confidence",
    r"\bplaces\b": "offsets or positions",
}


def lines_with(pattern, paths):
    for path in paths:
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            if re.search(pattern, line):
                yield f"{path.relative_to(ROOT)}:{number}: {line.strip()}"


@pytest.mark.parametrize("pattern", OLD_WORDS)
def test_the_old_words_are_gone(pattern):
    assert list(lines_with(pattern, [*SOURCES, *PAGES])) == [], f"say {OLD_WORDS[pattern]}"


@pytest.mark.parametrize("pattern", CODE_WORDS)
def test_no_name_is_a_riddle(pattern):
    assert list(lines_with(pattern, SOURCES)) == [], f"say {CODE_WORDS[pattern]}"


def test_few_files_lie_directly_in_the_package():
    assert len(list(PACKAGE.glob("*.py"))) <= MAX_TOP_FILES


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_is_read_in_one_sitting_or_says_why_not(path):
    text = path.read_text("utf-8")
    assert text.count("\n") <= MAX_LINES or REASON in (ast.get_docstring(ast.parse(text)) or "")


def test_no_two_public_classes_share_a_name():
    places = defaultdict(list)
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(PACKAGE)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_marks_stand_in_the_files_of_the_tests():
    """.ci/run imports only files that name the mark it asks for."""
    others = [path for path in (ROOT / "tests").rglob("*.py") if not path.name.startswith("test_")]
    assert list(lines_with(r"mark\.(slow|data|browser|fuzz|cluster|installed)\b", others)) == []
