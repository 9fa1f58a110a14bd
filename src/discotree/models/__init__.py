"""Models as folders: their cards, how they are found, read, written and shared.

A model is a folder of these files. Nothing in it is run as code.
"""

CONFIG, VOCAB, WEIGHTS = "config.json", "vocab.json", "weights.safetensors"
ENCODER = "encoder"  # a Transformer's own configuration and tokenizer
RESULTS = "results.json"  # what training measured, in the folder around the model's
