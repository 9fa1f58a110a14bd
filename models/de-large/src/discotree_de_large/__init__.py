"""The model de-large of discotree, in the folder ``model``: load it with ``discotree.load("de-large")``."""
