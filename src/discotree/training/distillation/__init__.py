"""A small network learns from the trees that larger ones give raw text."""
