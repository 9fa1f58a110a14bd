"""discotree in a spaCy pipeline: a component that parses, attributes to look at what it found, and pictures of it.

    nlp = spacy.blank("nl")
    nlp.add_pipe("discotree")
    doc = nlp("Ik heb het hem niet kunnen zeggen.")
    [constituent.spans for constituent in doc._.constituents if constituent.is_discontinuous]

A text is cut into sentences, each is parsed (``component``), and the Doc keeps its tree as a line of text
(``storage``), so that it goes wherever the Doc goes. The attributes (``extensions``) read that line.
"""

from discotree.errors import requires_extra

with requires_extra("spacy"):
    import spacy  # noqa: F401 - here, so that what is missing is said whichever module is asked for

from discotree.integrations.spacy.component import DiscotreePipe
from discotree.integrations.spacy.constituents import Constituent
from discotree.integrations.spacy.pictures import Markup, render

__all__ = ["Constituent", "DiscotreePipe", "Markup", "render"]
