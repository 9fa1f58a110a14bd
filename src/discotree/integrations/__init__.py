"""What joins discotree to other programs, a rim that could be deleted: each part needs an extra of its own."""
