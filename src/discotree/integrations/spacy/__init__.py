"""discotree in a spaCy pipeline: a component that parses, attributes for its trees, and pictures of them.

    nlp = spacy.blank("nl")
    nlp.add_pipe("discotree")
    doc = nlp("Ik heb het hem niet kunnen zeggen.")
    [constituent.spans for constituent in doc._.constituents if constituent.is_discontinuous]

The component (``component``) splits a Doc into sentences and parses each. The Doc stores every tree as a line of JSON,
so that it survives wherever the Doc goes, and the attributes (``extensions``) read that line.
"""

from discotree.errors import requires_extra

with requires_extra("spacy"):
    import spacy  # noqa: F401 - imported first, so that every module of this package reports the missing extra

from discotree.integrations.spacy.component import DiscotreePipe
from discotree.integrations.spacy.extensions import DocConstituent, Markup, render

__all__ = ["DiscotreePipe", "DocConstituent", "Markup", "render"]
