"""Models as folders: their cards, how they are found, read, written and shared.

A model is a folder of these files. Nothing in it is run as code.
"""

CONFIG, VOCAB, WEIGHTS = "config.json", "vocab.json", "weights.safetensors"
HEAD_RULES = "heads.headrules"  # if the model was trained with head rules of your own
CALIBRATION = "calibration.json"  # if confidences were fitted on held-out trees
ENCODER = "encoder"  # a Transformer's own configuration and tokenizer
HUB = "hub:"  # how the name of a model on the hub begins
RESULTS = "results.json"  # the scores of training, in the parent folder of the model

# Bytes that a file may have. The weights justify all else, and these files hold no weights.
MAX_CONFIG_BYTES = 1 << 22  # also of cards and results
MAX_VOCAB_BYTES = 1 << 26
