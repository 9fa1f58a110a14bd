"""Parsing more sentences than one process can: on the cores of a machine, or on many machines with Ray.

    input files → Plan of shards → rows of a shard → records → a shard of the output

The plan follows from the input alone. A shard is worked on by whoever is free, and is there entirely or not at all: so
every row has exactly one record whoever dies on the way, and whatever is there already is never done again.
"""
