"""Metrics of predicted trees, equal to disco-dop's to the digit, and statistics of treebanks."""
