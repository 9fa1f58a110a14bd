"""Scores of predicted trees, to disco-dop's digit, and statistics of treebanks."""
