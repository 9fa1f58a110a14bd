"""The model nl of discotree, in the folder ``model``: load it with ``discotree.load("nl")``."""
