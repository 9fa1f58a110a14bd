"""discotree: discontinuous constituent trees, from treebank to parser.

Importing the package imports neither torch nor numpy; ``load`` and ``Parser`` do so on first use.
"""

from typing import TYPE_CHECKING

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
    TreebankError,
    TreeError,
    requires_extra,
)
from discotree.evaluation.parseval import evaluate
from discotree.evaluation.score import Score
from discotree.parsing.load import load
from discotree.treebanks import FORMATS, read, write
from discotree.treebanks import dataframes as tables
from discotree.trees.tree import Node, SecondaryEdge, Token, Tree
from discotree.version import __version__

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
    "tables",
    "to_dependencies",
    "to_tree",
    "write",
]

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser as Parser
else:

    def __getattr__(name: str) -> object:
        """Import Parser on first use: it is the one name that needs torch."""
        if name != "Parser":
            raise AttributeError(f"module 'discotree' has no attribute {name!r}")
        with requires_extra("parser"):
            from discotree.parsing.parser import Parser
        return Parser

    def __dir__() -> list[str]:
        return sorted([*globals(), "Parser"])
