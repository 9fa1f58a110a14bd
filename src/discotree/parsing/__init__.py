"""Sentences in, trees out: the parser, and everything that feeds it or writes what it finds."""
