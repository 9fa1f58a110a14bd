"""Token, Node and Tree, and the transforms that need nothing else."""
