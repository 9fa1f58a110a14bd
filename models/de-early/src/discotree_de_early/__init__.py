"""The model de-early of discotree, in the folder ``model``: load it with ``discotree.load("de-early")``."""
