"""From tokens to scores: vocabulary, batch, encoder and scores (section 3 of the paper)."""
