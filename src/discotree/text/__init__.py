"""Raw text → sentences of tokens, split as the treebank of the language splits them.

    >>> for sentence in sentences("Hij komt a.s. dinsdag. 't Wordt zo'n 20 graden.", "nl"):
    ...     print([word.form for word in sentence])
    ['Hij', 'komt', 'a.s.', 'dinsdag', '.']
    ["'t", 'Wordt', "zo'n", '20', 'graden', '.']

Every visible character belongs to exactly one token, and every token has its offsets in the input.
"""

from discotree.text.segmentation import Convention, Word, convention, languages
from discotree.text.streams import Paragraph, decode, decode_lines, paragraphs, read_pretokenised, sentences

__all__ = [
    "LANGUAGES",
    "Convention",
    "Paragraph",
    "Word",
    "convention",
    "decode",
    "decode_lines",
    "paragraphs",
    "read_pretokenised",
    "sentences",
]

LANGUAGES = languages()
