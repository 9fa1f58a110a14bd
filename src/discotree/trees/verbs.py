"""Verbs and their separated particles: *gibt … aus*, *belt … op*.

The rules of the annotation schemes are these. In STTS, a particle has the tag PTKVZ and the tags of verbs begin with V
(NEGRA, TIGER, PCC, SQUOIA). In Alpino, it has the function svp, and verbs have the tag ww; svp is also the function of
fixed parts (*beschikbaar stellen*, *laten zien*), but only prepositions (vz) and adverbs (bw) are written together with
any verb. A particle belongs to the verb beside it, or else to the verb of the next larger constituent that has one.
"""

from discotree.trees.tree import FUNCTION, LEMMA, NONE, Node, Token, Tree

PARTICLE_TAG = "PTKVZ"
PARTICLE_FUNCTIONS = frozenset({"svp", "SVP"})
ALWAYS_JOINED = frozenset({PARTICLE_TAG, "vz", "bw"})
HEAD_FUNCTIONS = frozenset({"hd", "HD"})


def is_verb(tag: str) -> bool:
    return tag == "ww" or tag.startswith("V")


def is_particle(tag: str, function: str) -> bool:
    """Return whether a word is the separated part of a verb."""
    return tag == PARTICLE_TAG or function in PARTICLE_FUNCTIONS


def verb_lemma(tree: Tree, position: int) -> str | None:
    """Return the lemma of a verb with its particle; see ``Tree.verb_lemma``."""
    verb = tree.tokens[position]
    if verb[LEMMA] == NONE:
        return None
    for k, token in enumerate(tree.tokens):
        if token.tag in ALWAYS_JOINED and is_particle(token.tag, token[FUNCTION]) and _verb_of(tree, k) == position:
            particle = token.form.lower()
            return verb[LEMMA] if verb[LEMMA].startswith(particle) else particle + verb[LEMMA]
    return verb[LEMMA]


def _verb_of(tree: Tree, particle: int) -> int | None:
    """Return the position of the verb that a particle belongs to; None if the sentence has no verb above it."""
    child: Node | int = particle
    while (parent := tree.parent(child)) is not None:
        verbs = [k for k in parent.children if isinstance(k, int) and is_verb(tree.tokens[k].tag)]
        if verbs:
            return min(verbs, key=lambda k: (not _is_head(tree.tokens[k]), abs(k - particle)))
        child = parent
    return None


def _is_head(token: Token) -> bool:
    return token[FUNCTION] in HEAD_FUNCTIONS
