"""The model es of discotree, in the folder ``model``: load it with ``discotree.load("es")``."""
