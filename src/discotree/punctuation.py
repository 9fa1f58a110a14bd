"""Which token is punctuation: decided here and nowhere else.

The tag decides where there is one: ``TAGS`` lists the punctuation tags of every treebank family, and
since no family uses another's punctuation tag for words, a token is checked against all of them. A token
without a tag (``--``, ``_``, ``__``, or the ``UNKNOWN`` of untagged text) is punctuation when every
character of its form is Unicode punctuation other than the signs that are read aloud as words (% & # @ * §).
"""

import unicodedata

from discotree.tree import Token

TAGS: dict[str, frozenset[str]] = {
    "stts": frozenset({"$,", "$.", "$(", "$[", "$LRB", "$*LRB*"}),  # NEGRA, TIGER, PCC, SQUOIA
    "alpino": frozenset({"let", "LET", "LET()", "LET[]", "punct"}),
    "ptb": frozenset({",", ".", ":", "``", "''", '"', "-LRB-", "-RRB-", "HYPH", "NFP", "PUNCT"}),
    "icepahc": frozenset({",", ".", ":", ";", '"', "'", "-", ".-TTT"}),
}
UNTAGGED = frozenset({"", "--", "_", "__", "UNKNOWN"})
WORDLIKE = frozenset("%&#@*§")

_ALL_TAGS = frozenset().union(*TAGS.values())


def is_punctuation_tag(tag: str) -> bool:
    return tag in _ALL_TAGS


def is_punctuation(token: Token) -> bool:
    if token.tag in UNTAGGED:
        return all(unicodedata.category(c)[0] == "P" and c not in WORDLIKE for c in token.form)
    return token.tag in _ALL_TAGS
