"""What counts as a sentence, and what to say of anything else."""

from collections.abc import Sequence

from discotree.trees.tree import Token, Tree

Sentence = str | Sequence[str] | Sequence[Token] | Tree
EXPECTED = "a sentence is a string, a list of words or Tokens, or a Tree"


def id_of(sentence: Sentence) -> str:
    """Return the id that a sentence comes with."""
    return sentence.id if isinstance(sentence, Tree) else ""


def token_of(word: object) -> Token:
    """Return a word as a token."""
    if not isinstance(word, str):
        raise TypeError(f"{EXPECTED}; one of its words is {named(word)}")
    return Token(word)


def named(value: object) -> str:
    """Say what a value is, for an error message."""
    return f"{value!r:.40} ({type(value).__name__})"
