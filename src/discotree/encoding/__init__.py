"""Constituents as augmented dependencies and back: section 2 of the paper."""
