"""From raw text to an encoder: text → pieces → sequences → objective → a folder that any BERT is loaded from."""
