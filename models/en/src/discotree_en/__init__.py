"""The model en of discotree, in the folder ``model``: load it with ``discotree.load("en")``."""
