"""Raw text → sentences of tokens, cut as the treebank of the language cuts them.

    >>> for sentence in sentences("Hij komt a.s. dinsdag. 't Wordt zo'n 20 graden.", "nl"):
    ...     print([word.form for word in sentence])
    ['Hij', 'komt', 'a.s.', 'dinsdag', '.']
    ["'t", 'Wordt', "zo'n", '20', 'graden', '.']

Every character that is not blank belongs to exactly one token, and every token knows its place in the input.
"""

import re
from collections.abc import Iterable, Iterator

from discotree.text.boundaries import boundaries
from discotree.text.conventions import CONVENTIONS, Convention, convention
from discotree.text.streams import Paragraph, decode, decode_lines, lines_of, paragraphs
from discotree.text.tokens import Word, words

__all__ = [
    "LANGUAGES",
    "Paragraph",
    "Word",
    "decode",
    "decode_lines",
    "paragraphs",
    "sentences",
    "tokenised",
]

LANGUAGES = tuple(CONVENTIONS)

TOKEN = re.compile(r"[^ \t\r\n]+")  # of a line that is tokenised already


def sentences(source: str | Iterable[str], language: str, *, lines: bool = False) -> Iterator[list[Word]]:
    """The sentences of a text: a string, an open text file, or its pieces one after the other.

    Blank lines end sentences, single line breaks do not. With ``lines`` every line is a sentence, a blank one an empty
    sentence, and only the words are cut.
    """
    rules = convention(language)
    if lines:
        return _sentence_per_line(source, rules)
    return (sentence for text, start in paragraphs(source) for sentence in _sentences(text, start, rules))


def tokenised(lines: str | Iterable[str]) -> Iterator[list[Word]]:
    """Sentences that are tokens already: one on each line, with blanks or tabs between the tokens.

    An empty line is an empty sentence. Places count through all lines, their ends included.
    """
    start = 0
    for line in lines_of(lines) if isinstance(lines, str) else lines:
        yield [Word(token[0], start + token.start(), start + token.end()) for token in TOKEN.finditer(line)]
        start += len(line)


def _sentences(text: str, start: int, rules: Convention) -> Iterator[list[Word]]:
    begin = 0
    for end in boundaries(text, rules):
        yield words(text, begin, end, rules, start)
        begin = end
    yield words(text, begin, len(text), rules, start)


def _sentence_per_line(source: str | Iterable[str], rules: Convention) -> Iterator[list[Word]]:
    start = 0
    for line in lines_of(source):
        yield [word for sentence in _sentences(line, start, rules) for word in sentence]
        start += len(line)
