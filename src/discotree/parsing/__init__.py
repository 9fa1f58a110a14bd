"""Sentences in, trees out: the parser, its inputs and its outputs."""
