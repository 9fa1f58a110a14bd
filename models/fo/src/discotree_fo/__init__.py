"""The model fo of discotree, in the folder ``model``: load it with ``discotree.load("fo")``."""
