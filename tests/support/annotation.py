"""Annotation projects for tests: sentences with trees that no parser made."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from support.networks import TREES

from discotree.trees.tree import Node, Tree
from discotree.web.annotation.journal import Entry
from discotree.web.annotation.project import Project

CONFIDENCES = [0.9, 0.3, 0.6, 0.3, 1.0, 0.8]
USE = ("nl", "f" * 64, "Ann")


def predicted(trees: Sequence[Tree] = TREES[:6], confidences: Sequence[float] = CONFIDENCES) -> list[Entry]:
    """Return trees as a parser would have found them."""
    pairs = zip(trees, confidences, strict=True)
    return [
        {"tree": replace(tree, confidence=c).to_dict(), "where": f"in.txt:{k}"} for k, (tree, c) in enumerate(pairs, 1)
    ]


def project_at(path: Path, predictions: Sequence[Entry] | None = None, double: float = 0.0) -> Project:
    """Return a new project with six sentences."""
    head = {"input": ["in.txt"], "time": "", "who": "Ann"} | ({"double": double} if double else {})
    project = Project.open(str(path), head)
    found = predicted() if predictions is None else predictions
    project.predict(list(enumerate(found, 1)), project.use_model(*USE))
    return project


def flat(number: int, label: str = "X") -> dict[str, Any]:
    """Return a tree for a sentence that no parser would give it."""
    tree = TREES[number - 1]
    return Tree(tree.tokens, Node("ROOT", [Node(label, range(len(tree)))]), tree.id).to_dict()


def accept(project: Project, number: int, who: str = "Ann", **other: Any) -> dict[str, Any]:
    return project.step(number, "accept", who, **other)


def correct(project: Project, number: int, label: str = "X", who: str = "Ann", **other: Any) -> dict[str, Any]:
    return project.step(number, "correct", who, tree=flat(number, label), **other)
