"""Token, Node and Tree, and what can be done to a tree without anything else."""
