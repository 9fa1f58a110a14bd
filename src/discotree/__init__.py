"""discotree: discontinuous constituent trees, from treebank to parser.

Importing the package imports nothing else: every name, and every subpackage, is imported when it is first used.
"""

from importlib import import_module

from discotree.version import __version__ as __version__

TYPE_CHECKING = False  # importing it from typing takes longer than everything else here
if TYPE_CHECKING:
    from discotree.encoding.dependencies import Dependencies as Dependencies
    from discotree.encoding.dependencies import to_dependencies as to_dependencies
    from discotree.encoding.dependencies import to_tree as to_tree
    from discotree.encoding.head_rules import HeadRules as HeadRules
    from discotree.errors import ConfigError as ConfigError
    from discotree.errors import ConstraintError as ConstraintError
    from discotree.errors import DiscotreeError as DiscotreeError
    from discotree.errors import EncodingError as EncodingError
    from discotree.errors import EvaluationError as EvaluationError
    from discotree.errors import HeadRuleError as HeadRuleError
    from discotree.errors import InputError as InputError
    from discotree.errors import MissingExtraError as MissingExtraError
    from discotree.errors import ModelError as ModelError
    from discotree.errors import QueryError as QueryError
    from discotree.errors import TreebankError as TreebankError
    from discotree.errors import TreeError as TreeError
    from discotree.evaluation.measures import measure as measure
    from discotree.evaluation.parseval import Score as Score
    from discotree.evaluation.parseval import evaluate as evaluate
    from discotree.parsing.parser import Parser as Parser
    from discotree.parsing.parser import load as load
    from discotree.queries.search import search as search
    from discotree.treebanks import FORMATS as FORMATS
    from discotree.treebanks import read as read
    from discotree.treebanks import tables as tables
    from discotree.treebanks import write as write
    from discotree.trees.constraints import IsConstituent as IsConstituent
    from discotree.trees.constraints import NotConstituent as NotConstituent
    from discotree.trees.constraints import WordHas as WordHas
    from discotree.trees.constraints import partial_tree as partial_tree
    from discotree.trees.labels import explain as explain
    from discotree.trees.tree import Node as Node
    from discotree.trees.tree import SecondaryEdge as SecondaryEdge
    from discotree.trees.tree import Token as Token
    from discotree.trees.tree import Tree as Tree

# The names that each module provides, as above; a test compares the two.
_PUBLIC = {
    "encoding.dependencies": "Dependencies to_dependencies to_tree",
    "encoding.head_rules": "HeadRules",
    "errors": "ConfigError ConstraintError DiscotreeError EncodingError EvaluationError HeadRuleError InputError "
    "MissingExtraError ModelError QueryError TreeError TreebankError",
    "evaluation.measures": "measure",
    "evaluation.parseval": "Score evaluate",
    "parsing.parser": "Parser load",
    "queries.search": "search",
    "treebanks": "FORMATS read write",
    "trees.constraints": "IsConstituent NotConstituent WordHas partial_tree",
    "trees.labels": "explain",
    "trees.tree": "Node SecondaryEdge Token Tree",
}
_HOMES = {name: module for module, names in _PUBLIC.items() for name in names.split()}
_SUBPACKAGES = "config drawing encoding errors evaluation files models parsing queries text treebanks trees validation"
_MODULES = {"tables": "treebanks.tables"} | {name: name for name in _SUBPACKAGES.split()}

# For "from discotree import *", which does not import numpy: the parser needs it.
__all__ = sorted({*_HOMES, "tables", "__version__"} - {"Parser", "load"})

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
        return sorted({*_HOMES, *_MODULES, "__version__"} - {"files", "validation"})
