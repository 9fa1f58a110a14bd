"""Token, Node and Tree, and their transforms."""
