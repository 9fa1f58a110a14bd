"""Scores → heads, labels and trees: exact search, k-best, gap penalties and confidences (section 4 of the paper)."""
