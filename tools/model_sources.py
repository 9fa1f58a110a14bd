"""What our models learned from, and what is to be said of each: the words of their cards and notices."""

from dataclasses import dataclass

from discotree.models.card import Treebank

ALPINO = Treebank("Alpino Treebank", "https://github.com/rug-compling/Alpino", "LGPL-2.1-or-later")
PCC = Treebank("Potsdam Commentary Corpus", "http://angcl.ling.uni-potsdam.de/resources/pcc.html", "CC-BY-NC-SA-4.0")
SQUOIA = Treebank("SQUOIA", "https://github.com/a-rios/squoia", "Apache-2.0")
CRAFT = Treebank("CRAFT", "https://github.com/UCDenver-ccp/CRAFT", "CC-BY-3.0")
GENIA = Treebank("GENIA", "http://www.geniaproject.org", "CC-BY-3.0")
MASC = Treebank("MASC", "https://anc.org/data/masc/", "LicenseRef-ANC-unrestricted")
ICEPAHC = Treebank("IcePaHC", "https://github.com/antonkarl/icecorpus", "CC-BY-4.0")

# By treebank: its name and version in a notice, and the lines that its licence asks for.
ATTRIBUTIONS = {
    ALPINO: (
        "Alpino Treebank",
        "Copyright (C) 1999-2025 Gertjan van Noord, Gosse Bouma, Rob Malouf, Robbert Prins, Begona Villada, "
        "Jan Daciuk,\n"
        "Tanja Gaustad, Leonoor van der Beek, Geert Kloosterman, Daniel de Kok, Peter Kleiweg, NWO/RUG",
    ),
    PCC: (
        "Potsdam Commentary Corpus 2.0.0",
        "Manfred Stede and Arne Neumann (2014), Potsdam Commentary Corpus 2.0, LREC",
    ),
    SQUOIA: ("SQUOIA", "Noemi Aepli, Annette Rios, Anne Goehring (University of Zurich), 2012"),
    CRAFT: (
        "CRAFT: the Colorado Richly Annotated Full-Text Corpus",
        "The CRAFT annotations are licensed under the Creative Commons BY 3.0 license, "
        "https://creativecommons.org/licenses/by/3.0/",
    ),
    GENIA: (
        "GENIA treebank 1.0",
        "Corpus annotations (c) GENIA Project\n"
        "Tateisi, Yakushiji, Ohta and Tsujii (2005), Syntax Annotation for the GENIA corpus, IJCNLP",
    ),
    MASC: (
        "MASC: the Manually Annotated Sub-Corpus",
        "American National Corpus project, http://www.anc.org\n"
        "Ide, Baker, Fellbaum, Fillmore and Passonneau (2008), MASC: the Manually Annotated Sub-Corpus of American "
        "English, LREC",
    ),
    ICEPAHC: (
        "IcePaHC: the Icelandic Parsed Historical Corpus",
        "Joel C. Wallenberg, Anton Karl Ingason, Einar Freyr Sigurðsson, Eiríkur Rögnvaldsson",
    ),
}


@dataclass(frozen=True)
class About:
    """What training cannot know of a model. Its language and licence stand in published.toml."""

    treebanks: tuple[Treebank, ...]  # the first is the one that it is scored on
    weaknesses: str
    changes: str = ""  # what was done to the trees, as a clause


TRACES = "whose trees were changed: empty elements were removed and their fillers moved"
ONE_SCHEME = "whose trees were changed to one annotation scheme"
DUTCH = (
    "It has read newspapers, questions and grammar examples: expect less of speech, chat and law. "
    "Long coordinations and what hangs on a noun or on a verb are where it errs most."
)
ICELANDIC = (
    "It has read nine centuries of prose, sermons and law in modern spelling, and little of today. "
    "Its words are IcePaHC's: a clitic article is a word of its own."
)

ABOUT = {
    "nl": About((ALPINO,), DUTCH),
    "de": About(
        (PCC, SQUOIA),
        "It has read newspaper commentaries and business reports, and few of them: it is the weakest of "
        "the four on phrases that are not continuous. Train on TIGER if you have it.",
        ONE_SCHEME,
    ),
    "en": About(
        (CRAFT,),
        "It has read articles on molecular biology and nothing else: questions, dialogue and the second "
        "person are strange to it.",
        TRACES,
    ),
    "is": About((ICEPAHC,), f"{ICELANDIC} The sub-word vectors know no Icelandic.", TRACES),
    "nl-large": About((ALPINO,), DUTCH),
    "de-large": About(
        (PCC, SQUOIA),
        "It has seen trees of newspaper commentaries and business reports, and few of them. "
        "Train on TIGER if you have it.",
        ONE_SCHEME,
    ),
    "de-free-large": About(
        (SQUOIA,),
        "It has seen trees of business reports only, and few of them: expect less of questions and dialogue, and of "
        "phrases that are not continuous.",
        "whose trees were changed to the scheme of TIGER",
    ),
    "en-large": About(
        (CRAFT, GENIA, MASC),
        "Most of its trees are those of articles on biology; of letters, news, court, interviews and fiction it has "
        "seen few.",
        TRACES,
    ),
    "is-large": About((ICEPAHC,), ICELANDIC, TRACES),
}
