"""spaCy pipelines and Docs with given trees."""

from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from spacy.tokens import Doc

from discotree import Tree
from discotree.integrations.spacy.extensions import to_line

VOCAB = spacy.blank("xx").vocab


def pipeline(folder: Path | str, language: str = "de", **config: Any) -> Language:
    nlp = spacy.blank(language)
    nlp.add_pipe("discotree", config={"model": str(folder), **config})
    return nlp


def doc_of(tree: Tree, spaces: bool = False) -> Doc:
    """Return a Doc with this tree; with ``spaces``, whitespace tokens surround every word."""
    words = [" "] if spaces else []
    for form in tree.words:
        words += [form, " "] if spaces else [form]
    doc = Doc(VOCAB, words=words, sent_starts=[True] + [False] * (len(words) - 1))
    offsets = [(token.idx, token.idx + len(token)) for token in doc if not token.is_space]
    next(doc.sents)._.set("discotree", to_line(tree, offsets))
    return doc


def brackets_of(doc: Doc) -> list[str]:
    return [str(tree) for tree in doc._.trees]
