"""The model nl-large of discotree, in the folder ``model``: load it with ``discotree.load("nl-large")``."""
