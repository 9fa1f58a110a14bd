"""discotree: discontinuous constituent trees, from treebank to parser."""

from discotree.dependencies import Dependencies, to_dependencies, to_tree
from discotree.errors import (
    DiscotreeError,
    EncodingError,
    HeadRuleError,
    ModelError,
    TreebankError,
    TreeError,
)
from discotree.heads import HeadRules
from discotree.tree import Node, SecondaryEdge, Token, Tree
from discotree.treebank import FORMATS, read, write

__version__ = "0.1.0"

__all__ = [
    "FORMATS",
    "Dependencies",
    "DiscotreeError",
    "EncodingError",
    "HeadRuleError",
    "HeadRules",
    "ModelError",
    "Node",
    "SecondaryEdge",
    "Token",
    "Tree",
    "TreeError",
    "TreebankError",
    "read",
    "to_dependencies",
    "to_tree",
    "write",
]
