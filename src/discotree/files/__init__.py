"""The ground floor of input and output: files opened, decompressed, and written whole or not at all."""
