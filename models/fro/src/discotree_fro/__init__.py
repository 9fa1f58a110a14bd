"""The model fro of discotree, in the folder ``model``: load it with ``discotree.load("fro")``."""
