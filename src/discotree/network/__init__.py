"""From tokens to a tree: vocabulary, batch, encoder, scores, decoding, assembling (sections 3 and 4 of the paper)."""
