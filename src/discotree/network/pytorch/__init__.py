"""The network in PyTorch: for training, and for parsing on a GPU."""
