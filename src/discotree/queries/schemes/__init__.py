"""Conversions between annotation schemes, so that one model can learn from several treebanks.

Those of SQUOIA and MASC are files of rules. That of GENIA is a function: it visits noun phrases from the bottom up and
takes four steps at each one, but rules are applied to a tree one after the other.
"""

from collections.abc import Callable

from discotree.queries.edit import Editor
from discotree.queries.schemes.genia import genia_to_craft
from discotree.trees.tree import Tree


def scheme_converter(scheme: str) -> Callable[[Tree], Tree]:
    """Return the function that converts trees from an annotation scheme: squoia, squoia-low, genia or masc."""
    if scheme == "genia":
        return genia_to_craft
    return Editor(["squoia", scheme] if scheme == "squoia-low" else scheme)
