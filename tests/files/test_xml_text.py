"""Text in XML, against the standard library's functions."""

import sys
from xml.parsers import expat
from xml.sax import saxutils

from hypothesis import given
from hypothesis import strategies as st

from discotree.files.writing import NOT_XML, quoted

TEXTS = st.text(st.sampled_from("ab&<>\"'\n\r\t;é漢"))


@given(TEXTS)
def test_texts_are_escaped_as_the_standard_library_does_it(text: str) -> None:
    assert quoted(text) == saxutils.quoteattr(text, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


@given(TEXTS)
def test_a_parser_gives_the_text_back(text: str) -> None:
    found = []
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda _, attributes: found.append(attributes["a"])
    parser.Parse(f"<x a={quoted(text)}/>".encode(), True)
    assert found == [text]


def test_what_xml_forbids_is_found() -> None:
    allowed = [*"\t\n\r", *map(chr, range(0x20, 0xD800)), *map(chr, range(0xE000, 0xFFFE))]
    allowed += map(chr, range(0x10000, sys.maxunicode + 1))
    assert NOT_XML.search("".join(allowed)) is None
    assert len(NOT_XML.findall("".join(map(chr, range(sys.maxunicode + 1))))) == sys.maxunicode + 1 - len(allowed)
