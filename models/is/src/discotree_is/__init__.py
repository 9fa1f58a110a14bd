"""The model is of discotree, in the folder ``model``: load it with ``discotree.load("is")``."""
