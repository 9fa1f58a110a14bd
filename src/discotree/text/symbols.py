"""Tokens that are no words of the language, and the tags that its treebanks give them."""

import re

from discotree.text.characters import EMAIL, EMOJI, EMOTICON, EXTENDER, FOREIGN, NAME, PATH, URL
from discotree.text.conventions import Convention

# Not compiled before they are needed: most sentences do without them.
_PICTURE = rf"[{EMOJI}][{EMOJI}{EXTENDER}]*|[0-9#*]\ufe0f?\u20e3|{EMOTICON}"
_ADDRESS = rf"{URL}|{EMAIL}|{NAME}|{PATH}|[@#][^\W\d][\w-]*"
_FOREIGN = rf"[{FOREIGN}]+"


def tag_of(form: str, convention: Convention) -> str:
    """Return the tag of a picture, an address or a word in another script; "" for all other tokens."""
    if form.isascii():
        if form.isalnum() or len(form) == 1:  # nearly all tokens
            return ""
    elif re.fullmatch(_FOREIGN, form):
        return convention.foreign_tag
    elif form.isalpha():
        return ""
    if re.fullmatch(_PICTURE, form):
        return convention.picture_tag
    return convention.address_tag if re.fullmatch(_ADDRESS, form) else ""
