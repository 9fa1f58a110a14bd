"""Queries: find constructions in trees, in the language of TIGERSearch and a little more (docs/search.md)."""
