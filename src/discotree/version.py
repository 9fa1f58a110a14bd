"""The version of discotree."""

__version__ = "0.2.0"
