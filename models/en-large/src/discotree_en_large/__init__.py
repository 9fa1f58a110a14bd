"""The model en-large of discotree, in the folder ``model``: load it with ``discotree.load("en-large")``."""
