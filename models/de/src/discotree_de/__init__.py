"""The model de of discotree, in the folder ``model``: load it with ``discotree.load("de")``."""
