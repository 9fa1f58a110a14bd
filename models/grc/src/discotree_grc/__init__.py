"""The model grc of discotree, in the folder ``model``: load it with ``discotree.load("grc")``."""
