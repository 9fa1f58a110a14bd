"""The version of discotree."""

__version__ = "0.3.0"
