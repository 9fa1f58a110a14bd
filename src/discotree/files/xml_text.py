"""Text in XML: escapes, quotes, and the characters that XML forbids.

The standard library has such functions in ``xml.sax.saxutils``, which imports a web client.
"""

import re

# A list of what is forbidden, because a list of what is allowed takes ten times as long to compile.
NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_MARKUP = re.compile("[&<>]")
_IN_ATTRIBUTES = re.compile("[&<>\"'\n\r\t]")
_LINE_ENDS = {ord("\n"): "&#10;", ord("\r"): "&#13;", ord("\t"): "&#9;"}  # unescaped, a parser turns them into spaces


def escape(text: str) -> str:
    """Return a text as the content of an element."""
    if _MARKUP.search(text):
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text


def quoted(text: str) -> str:
    """Return a text as the value of an attribute: in double quotes, or in single ones if it holds only double ones."""
    if not _IN_ATTRIBUTES.search(text):
        return f'"{text}"'
    text = escape(text).translate(_LINE_ENDS)
    if '"' in text and "'" not in text:
        return f"'{text}'"
    return '"' + text.replace('"', "&quot;") + '"'
