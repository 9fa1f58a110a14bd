"""discotree: discontinuous constituent trees, from treebank to parser."""

from discotree.dependencies import Dependencies, to_dependencies, to_tree
from discotree.errors import (
    DiscotreeError,
    EncodingError,
    EvaluationError,
    HeadRuleError,
    ModelError,
    TreebankError,
    TreeError,
)
from discotree.evaluate import evaluate
from discotree.heads import HeadRules
from discotree.score import Score
from discotree.tree import Node, SecondaryEdge, Token, Tree
from discotree.treebank import FORMATS, read, write
from discotree.version import __version__

__all__ = [
    "FORMATS",
    "Dependencies",
    "DiscotreeError",
    "EncodingError",
    "EvaluationError",
    "HeadRuleError",
    "HeadRules",
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
    "read",
    "to_dependencies",
    "to_tree",
    "write",
]
