"""The model de-nc of discotree, in the folder ``model``: load it with ``discotree.load("de-nc")``."""
