"""Raw text → sentences of tokens, split as the treebank of the language splits them.

    >>> for sentence in sentences("Hij komt a.s. dinsdag. 't Wordt zo'n 20 graden.", "nl"):
    ...     print([word.form for word in sentence])
    ['Hij', 'komt', 'a.s.', 'dinsdag', '.']
    ["'t", 'Wordt', "zo'n", '20', 'graden', '.']

Every character but whitespace belongs to exactly one token, and every token knows its offsets in the input.
"""

import re
from collections.abc import Iterable, Iterator

from discotree.text.boundaries import boundaries
from discotree.text.conventions import Convention, convention, languages
from discotree.text.lines import standing
from discotree.text.streams import Paragraph, decode, decode_lines, lines_of, paragraphs
from discotree.text.tokens import Word, tokenise

__all__ = [
    "LANGUAGES",
    "Convention",
    "Paragraph",
    "Word",
    "convention",
    "decode",
    "decode_lines",
    "paragraphs",
    "sentences",
    "tokenised",
]

LANGUAGES = languages()

TOKEN = re.compile(r"[^ \t\r\n]+")  # in text that is tokenised already


def sentences(source: str | Iterable[str], language: str | Convention, *, lines: bool = False) -> Iterator[list[Word]]:
    """Yield the sentences of a text: a string, an open text file, or an iterable of pieces.

    Empty lines end sentences, and so do single line breaks where lines stand alone, as in a list. With ``lines`` every
    line is one sentence, and an empty line an empty sentence. ``language`` is a code of ``LANGUAGES`` or a
    ``Convention`` that you loaded from your own file.
    """
    rules = convention(language)
    if lines:
        return _sentence_per_line(source, rules)
    return (sentence for text, start in _parts(source, rules) for sentence in _sentences(text, start, rules))


def tokenised(lines: str | Iterable[str]) -> Iterator[list[Word]]:
    """Yield sentences that are tokenised already: one per line, with spaces or tabs between the tokens.

    An empty line is an empty sentence. Offsets count through all lines, line ends included.
    """
    start = 0
    for line in lines_of(lines) if isinstance(lines, str) else lines:
        yield [Word(token[0], start + token.start(), start + token.end()) for token in TOKEN.finditer(line)]
        start += len(line)


def _sentences(text: str, start: int, rules: Convention) -> Iterator[list[Word]]:
    begin = 0
    for end in boundaries(text, rules):
        yield tokenise(text, begin, end, rules, start)
        begin = end
    yield tokenise(text, begin, len(text), rules, start)


def _parts(source: str | Iterable[str], rules: Convention) -> Iterator[tuple[str, int]]:
    for text, start in paragraphs(source):
        for begin, end in standing(text, rules):
            yield text[begin:end], start + begin


def _sentence_per_line(source: str | Iterable[str], rules: Convention) -> Iterator[list[Word]]:
    start = 0
    for line in lines_of(source):
        yield [word for sentence in _sentences(line, start, rules) for word in sentence]
        start += len(line)
