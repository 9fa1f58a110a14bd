"""Models as folders: their cards, how they are found, read, written and shared."""
