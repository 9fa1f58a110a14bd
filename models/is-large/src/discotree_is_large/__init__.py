"""The model is-large of discotree, in the folder ``model``: load it with ``discotree.load("is-large")``."""
