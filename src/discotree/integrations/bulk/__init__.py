"""Parse more sentences than one process can: on the cores of a machine, or on many machines with Ray.

    input files → ShardPlan → Row → sentences → ParsedRow → a shard of the output

The plan follows from the input alone. Any free worker takes the next shard, and a shard is written entirely or not at
all. So every row has exactly one record, whatever dies on the way, and nothing is done twice.
"""
