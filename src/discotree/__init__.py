"""discotree: discontinuous constituent trees, from treebank to parser.

Importing the package imports nothing else: every name, and every subpackage, is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from discotree.version import __version__

if TYPE_CHECKING:
    from discotree.encoding.dependencies import Dependencies, to_dependencies, to_tree
    from discotree.encoding.head_rules import HeadRules
    from discotree.errors import (
        ConfigError,
        DiscotreeError,
        EncodingError,
        EvaluationError,
        HeadRuleError,
        InputError,
        MissingExtraError,
        ModelError,
        QueryError,
        TreebankError,
        TreeError,
    )
    from discotree.evaluation.parseval import evaluate
    from discotree.evaluation.score import Score
    from discotree.parsing.load import load
    from discotree.parsing.parser import Parser as Parser
    from discotree.queries.search import search
    from discotree.treebanks import FORMATS, read, write
    from discotree.treebanks import dataframes as tables
    from discotree.trees.tree import Node, SecondaryEdge, Token, Tree

__all__ = [
    "FORMATS",
    "ConfigError",
    "Dependencies",
    "DiscotreeError",
    "EncodingError",
    "EvaluationError",
    "HeadRuleError",
    "HeadRules",
    "InputError",
    "MissingExtraError",
    "ModelError",
    "Node",
    "QueryError",
    "Score",
    "SecondaryEdge",
    "Token",
    "Tree",
    "TreeError",
    "TreebankError",
    "__version__",
    "evaluate",
    "load",
    "read",
    "search",
    "tables",
    "to_dependencies",
    "to_tree",
    "write",
]

# The names that each module provides, as above; a test compares the two.
_PUBLIC = {
    "encoding.dependencies": ("Dependencies", "to_dependencies", "to_tree"),
    "encoding.head_rules": ("HeadRules",),
    "errors": (
        *("ConfigError", "DiscotreeError", "EncodingError", "EvaluationError", "HeadRuleError"),
        *("InputError", "MissingExtraError", "ModelError", "QueryError", "TreeError", "TreebankError"),
    ),
    "evaluation.parseval": ("evaluate",),
    "evaluation.score": ("Score",),
    "parsing.load": ("load",),
    "parsing.parser": ("Parser",),
    "queries.search": ("search",),
    "treebanks": ("FORMATS", "read", "write"),
    "trees.tree": ("Node", "SecondaryEdge", "Token", "Tree"),
}
_MODULES = {"tables": "treebanks.dataframes"} | {
    name: name
    for name in (
        *("config", "drawing", "encoding", "errors", "evaluation", "files"),
        *("models", "parsing", "queries", "text", "treebanks", "trees", "validation"),
    )
}
_HOMES = {name: module for module, names in _PUBLIC.items() for name in names}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import a public name or a subpackage on first use."""
        if name in _MODULES:
            value = import_module(f"discotree.{_MODULES[name]}")
        elif name in _HOMES:
            value = getattr(import_module(f"discotree.{_HOMES[name]}"), name)
        else:
            raise AttributeError(f"module 'discotree' has no attribute {name!r}")
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *_HOMES, *_MODULES})
