"""The model de-free-large of discotree, in the folder ``model``: load it with ``discotree.load("de-free-large")``."""
