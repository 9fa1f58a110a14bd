"""Tags and functions of verbs and their separated particles (*gibt … aus*, *belt … op*) in the annotation schemes.

In STTS (NEGRA, TIGER, PCC, SQUOIA), a particle has the tag PTKVZ, and the tags of verbs begin with V. In Alpino, it has
the function svp, and verbs have the tag ww. Alpino's svp is also the function of other fixed parts (*beschikbaar
stellen*, *laten zien*); only prepositions (vz) and adverbs (bw) are always written together with an infinitive.
"""

PARTICLE_TAG = "PTKVZ"
PARTICLE_FUNCTIONS = frozenset({"svp", "SVP"})
ALWAYS_JOINED = frozenset({PARTICLE_TAG, "vz", "bw"})


def is_verb(tag: str) -> bool:
    return tag == "ww" or tag.startswith("V")


def is_particle(tag: str, function: str) -> bool:
    """Return whether a word is the separated part of a verb."""
    return tag == PARTICLE_TAG or function in PARTICLE_FUNCTIONS
