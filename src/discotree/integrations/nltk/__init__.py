"""Trees as ``nltk.Tree`` and back, and treebanks with the interface of NLTK's corpus readers.

TreePrettyPrinter(to_nltk(tree), list(tree.words))
"""

from discotree.errors import requires_extra

with requires_extra("nltk"):
    import nltk  # type: ignore[import-untyped]  # noqa: F401 - imported first, to report the missing extra

from discotree.integrations.nltk.convert import from_nltk, to_nltk
from discotree.integrations.nltk.corpus import TreebankReader

__all__ = ["TreebankReader", "from_nltk", "to_nltk"]
