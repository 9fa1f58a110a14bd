"""The version of discotree."""

__version__ = "0.1.0"
