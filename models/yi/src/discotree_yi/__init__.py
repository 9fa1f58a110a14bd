"""The model yi of discotree, in the folder ``model``: load it with ``discotree.load("yi")``."""
