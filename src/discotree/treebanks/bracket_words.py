"""Words in Penn brackets, and back.

In ``penn``, a backslash escapes a slash and an asterisk: ``1\\/2``, ``\\*``. In ``psd``, a leaf is ``word-lemma``, and
characters that would be mistaken for something else have names: ``Efra<dash/>Fossi``.
"""

import re

from discotree.trees.tree import NONE, Token

PSD_DASH = "<dash>"  # a hyphen inside a word; a plain one separates word and lemma
PSD_NAMES = {
    "dash": "-",
    "percent": "%",
    "threedots": "...",
    "ellipsis": "...",
    "hash": "#",
    "numbersign": "#",
    "at": "@",
    "slash": "/",
    "apostrophe": "'",
    "openparen": "(",
    "closeparen": ")",
    "lt": "<",  # ours, for words that hold one of these names
}  # characters by name: <dash/> or <dash>

_PENN_ESCAPED = re.compile(r"\\([/*])")
_PENN_LITERAL = re.compile(r"(?<=\\)(?=[/*])")  # between a backslash and what it would escape
_PSD_NAME = re.compile(rf"<({'|'.join(PSD_NAMES)})/?>")


def from_penn(word: str) -> str:
    """Return the form of a leaf, without whitespace around it: CRAFT has no-break spaces there."""
    if "\\" in word:
        word = _PENN_ESCAPED.sub(r"\1", word)
    return word.strip() or word


def to_penn(form: str) -> str:
    """Return a form as a leaf; only what would be unescaped is escaped."""
    return without_brackets(_PENN_LITERAL.sub(r"\\", form) if "\\" in form else form)


def from_psd(word: str) -> tuple[str, str]:
    """Return the form and the lemma of a leaf; a leaf without a lemma has an empty one."""
    form, separator, lemma = word.rpartition("-")
    if not (separator and form):
        form, lemma = word, ""
    elif "-" in form:
        form, lemma = _of_many_hyphens(word, form, lemma)
    if "<" in word:
        return _PSD_NAME.sub(_character, form), _PSD_NAME.sub(_character, lemma)
    return form, lemma


def _of_many_hyphens(word: str, form: str, lemma: str) -> tuple[str, str]:
    """Return form and lemma of leaves such as ``---``, which is twice a hyphen, and ``"-"-"``, which has two lemmas."""
    middle = len(word) // 2
    if word[middle] == "-" and word[:middle] == word[middle + 1 :]:
        return word[:middle], word[:middle]
    return (lemma, lemma) if lemma and form == f"{lemma}-{lemma}" else (form, lemma)


def to_psd(token: Token) -> str:
    word = _with_names(token.form)
    if token.lemma != NONE:
        return f"{word}-{_with_names(token.lemma.replace(' ', '_') or NONE)}"
    return "0-" if word == "0" else word  # a bare 0 is an empty element


def _character(match: re.Match[str]) -> str:
    return PSD_NAMES[match[1]]


def _with_names(text: str) -> str:
    if "<" in text:
        text = _PSD_NAME.sub(lambda match: f"<lt/>{match[0][1:]}", text)
    if "(" in text or ")" in text:
        text = text.replace("(", "<openparen/>").replace(")", "<closeparen/>")
    return text.replace("-", PSD_DASH)


def without_brackets(text: str) -> str:
    return text.replace("(", "-LRB-").replace(")", "-RRB-") if "(" in text or ")" in text else text
