"""What our models learned from, and what is to be said of each: the words of their cards and notices."""

from dataclasses import dataclass
from pathlib import Path

from discotree.models.card import RawText, Source

ALPINO = Source("Alpino Treebank", "https://github.com/rug-compling/Alpino", "LGPL-2.1-or-later")
PCC = Source("Potsdam Commentary Corpus", "http://angcl.ling.uni-potsdam.de/resources/pcc.html", "CC-BY-NC-SA-4.0")
SQUOIA = Source("SQUOIA", "https://github.com/a-rios/squoia", "Apache-2.0")
CRAFT = Source("CRAFT", "https://github.com/UCDenver-ccp/CRAFT", "CC-BY-3.0")
GENIA = Source("GENIA", "http://www.geniaproject.org", "CC-BY-3.0")
MASC = Source("MASC", "https://anc.org/data/masc/", "LicenseRef-ANC-unrestricted")
ICEPAHC = Source("IcePaHC", "https://github.com/antonkarl/icecorpus", "CC-BY-4.0")
FARPAHC = Source("FarPaHC", "https://github.com/einarfs/farpahc", "LGPL-3.0-or-later")
FRENCH = Source("MCVF and PPCHF", "https://github.com/beatrice57/mcvf-plus-ppchf", "CC-BY-NC-SA-4.0")
PPCHY = Source("PPCHY", "https://github.com/beatrice57/penn-parsed-corpus-of-historical-yiddish", "CC-BY-NC-SA-4.0")
MACULA = Source("MACULA", "https://github.com/Clear-Bible/macula-greek", "CC-BY-4.0")
ENHG = Source("ReF.UP and Mercurius", "https://github.com/rubcompling/classig-data", "CC-BY-SA-4.0 AND CC-BY-3.0")

_PARLIAMENT = "https://github.com/UDS-SFB-B6-Datasets/Multilingual-Parallel-Direct-Europarl"
_REUSE = "LicenseRef-European-Parliament-reuse"
_PUBLIC_DOMAIN = "LicenseRef-public-domain AND CC-BY-4.0"  # the texts, and their mark-up
DUTCH_TEXTS = (
    RawText("Europarl", _PARLIAMENT, _REUSE, 35_500_000),
    RawText("Eindhoven corpus", "https://github.com/rug-compling/Alpino", "LGPL-2.1-or-later", 600_000),
    RawText("OpenBoek", "https://github.com/andreasvc/openboek", "CC-BY-4.0", 800_000),
)
_COMMON_VOICE = "https://github.com/common-voice/common-voice"
COMMON_VOICE_DUTCH = RawText("Common Voice", _COMMON_VOICE, "CC0-1.0", 470_000)
GERMAN_TEXTS = (
    RawText("Europarl", _PARLIAMENT, _REUSE, 9_900_000),
    RawText("ParlaMint-AT", "https://github.com/acdh-oeaw/parlamint-static", "CC-BY-4.0", 11_400_000),
    RawText("ELTeC-deu", "https://github.com/COST-ELTeC/ELTeC-deu", _PUBLIC_DOMAIN, 9_300_000),
    RawText("GerDraCor", "https://github.com/dracor-org/gerdracor", "CC0-1.0", 3_300_000),
    RawText("Common Voice", _COMMON_VOICE, "CC0-1.0", 740_000),
)
ENGLISH_TEXTS = (
    RawText("eLife", "https://github.com/elifesciences/elife-article-xml", "CC-BY-4.0", 17_400_000),
    RawText("ELTeC-eng", "https://github.com/COST-ELTeC/ELTeC-eng", _PUBLIC_DOMAIN, 2_600_000),
    RawText("Europarl", _PARLIAMENT, _REUSE, 1_800_000),
)
COMMON_VOICE_ENGLISH = RawText("Common Voice", _COMMON_VOICE, "CC0-1.0", 540_000)
ICELANDIC_TEXTS = (
    RawText("Icelandic Error Corpus", "https://github.com/antonkarl/iceErrorCorpus", "CC-BY-4.0", 1_030_000),
    RawText("Common Voice", _COMMON_VOICE, "CC0-1.0", 50_000),
    RawText("Lagasafn", "https://github.com/althingi-net/lagasafn-xml", "LicenseRef-public-domain", 2_430_000),
)
GREEK_TEXT = RawText(
    "Perseus Digital Library", "https://github.com/PerseusDL/canonical-greekLit", "CC-BY-SA-4.0", 5_000_000
)
MIDDLE_FRENCH_TEXT = RawText(
    "Cent nouvelles nouvelles", "https://github.com/beatrice57/mcvf-plus-ppchf", "CC-BY-NC-SA-4.0", 144_000
)
E5 = Source("E5-small", "https://huggingface.co/intfloat/e5-small", "MIT")

_LICENSE = Path(__file__).resolve().parents[1] / "LICENSE"
MIT = _LICENSE.read_text("utf-8").split("\n\n", 2)[2].strip()  # without the title and the copyright line

# By treebank, text or encoder: its name and version in a notice, and the lines that its licence asks for.
ATTRIBUTIONS: dict[Source, tuple[str, str]] = {
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
    FARPAHC: (
        "FarPaHC: the Faroese Parsed Historical Corpus",
        "Copyright 2012 Einar Freyr Sigurðsson, Anton Karl Ingason, Joel C. Wallenberg, Eiríkur Rögnvaldsson",
    ),
    FRENCH: (
        "MCVF 2.0 and PPCHF 1.0: parsed corpora of historical French",
        "Beatrice Santorini; France Martineau and others (MCVF); texts of the Base de français médiéval",
    ),
    PPCHY: ("Penn Parsed Corpus of Historical Yiddish 1.0", "Beatrice Santorini (2021)"),
    MACULA: (
        "MACULA Greek Linguistic Datasets, with the text of Nestle 1904",
        "Copyright 2022-2024 Biblica, Inc.; as Text-Fabric data: CenterBLC/N1904",
    ),
    ENHG: (
        "Referenzkorpus Frühneuhochdeutsch: Baumbank.UP, and the Mercurius treebank",
        "Ulrike Demske (2019, 2005); Wegera, Solms, Demske and Dipper (2021); as distributed by Katrin Ortmann (2023)",
    ),
    GREEK_TEXT: ("Greek prose of the Perseus Digital Library", "Perseus Digital Library, Tufts University"),
    MIDDLE_FRENCH_TEXT: ("Cent nouvelles nouvelles, a text of MCVF without trees", "As distributed with MCVF 2.0"),
    **dict.fromkeys(
        (DUTCH_TEXTS[0], GERMAN_TEXTS[0], ENGLISH_TEXTS[2]),
        ("Proceedings of the European Parliament", "Source: European Parliament, © European Union"),
    ),
    DUTCH_TEXTS[1]: ("Eindhoven corpus", "P. C. Uit den Boogaart (1975); as distributed with Alpino"),
    DUTCH_TEXTS[2]: ("OpenBoek: annotated Dutch novels", "Andreas van Cranenburgh and Gertjan van Noord (2022)"),
    GERMAN_TEXTS[1]: ("ParlaMint-AT", "Austrian Parliament; ACDH-CH, Austrian Academy of Sciences"),
    GERMAN_TEXTS[2]: ("ELTeC-deu: European Literary Text Collection", "COST Action 16204, Distant Reading"),
    GERMAN_TEXTS[3]: ("German Drama Corpus", "Frank Fischer and Peer Trilcke (ed.), DraCor"),
    COMMON_VOICE_DUTCH: (
        "Common Voice: Dutch sentences to be read aloud",
        "Common Voice contributors, Mozilla Foundation",
    ),
    GERMAN_TEXTS[4]: (
        "Common Voice: German sentences to be read aloud, half of them from Wikipedia",
        "Common Voice contributors, Mozilla Foundation",
    ),
    ENGLISH_TEXTS[0]: ("eLife", "Articles of eLife Sciences Publications, by their authors"),
    ENGLISH_TEXTS[1]: ("ELTeC-eng: European Literary Text Collection", "COST Action 16204, Distant Reading"),
    ICELANDIC_TEXTS[0]: (
        "Icelandic Error Corpus (IceEC), with its corrections",
        "Anton Karl Ingason, Lilja Björk Stefánsdóttir, Þórunn Arnardóttir, Xindan Xu",
    ),
    ICELANDIC_TEXTS[1]: (
        "Common Voice: Icelandic sentences to be read aloud",
        "Common Voice contributors, Mozilla Foundation",
    ),
    ICELANDIC_TEXTS[2]: ("Lagasafn: the statutes of Iceland", "Althingi; laws carry no copyright"),
    COMMON_VOICE_ENGLISH: (
        "Common Voice: English sentences to be read aloud",
        "Common Voice contributors, Mozilla Foundation",
    ),
    E5: ("E5-small, whose weights were changed by further training", f"Copyright (c) Microsoft Corporation\n{MIT}"),
}


@dataclass(frozen=True)
class About:
    """What training cannot know of a model. Its language and licence stand in published.toml."""

    treebanks: tuple[Source, ...]  # the first is the one that it is scored on
    weaknesses: str
    changes: str = ""  # what was done to the trees, as a clause
    texts: tuple[RawText, ...] = ()  # what it has read without trees
    encoders: tuple[Source, ...] = ()
    teachers: tuple[str, ...] = ()
    base: str = ""  # the model that it was fine-tuned from, for another language
    extra: str = ""  # the extra of discotree that it needs

    @property
    def sources(self) -> tuple[Source, ...]:
        """All that a notice has to name."""
        of_base = ABOUT[self.base].sources if self.base else ()
        return tuple(dict.fromkeys((*self.treebanks, *self.texts, *self.encoders, *of_base)))


TRANSFORMER = "hf"
TRACES = "whose trees were changed: empty elements were removed and their fillers moved"
ONE_SCHEME = "whose trees were changed to one annotation scheme"
TO_TIGER = "whose trees were changed to the scheme of TIGER"
DUTCH = (
    "Trained on newspapers, questions and grammar examples, so less reliable on speech, chat and legal text. "
    "Most errors are in long coordinations and PP attachment."
)
COMMENTARIES = "Trained on few trees, from newspaper commentaries and business reports. If you have TIGER, train on it."
SOME_GERMAN = (
    "Trained on few trees, from business reports and everyday sentences. Less reliable on other text, and on "
    "discontinuous phrases."
)
BIOLOGY = (
    "Most training trees come from articles on biology, and few from letters, news, court transcripts, interviews "
    "and fiction."
)
ICELANDIC = (
    "Most training trees come from nine centuries of prose, sermons and law in modern spelling, so less reliable on "
    "other text. Words follow IcePaHC: a suffixed article is a separate word."
)
FAROESE = (
    "Trained on three Bible texts of the 19th and 20th centuries, so less reliable on other text. "
    "Words follow FarPaHC: a suffixed article is a separate word. The sub-word vectors do not cover Faroese."
)
SPANISH = (
    "Most training trees come from business reports, and few from everyday sentences, so less reliable on other text. "
    "The treebank has hardly any discontinuous phrases to learn from."
)
OLD_FRENCH = (
    "Trained on prose and verse of the 9th to 16th centuries in the original spelling, so less reliable on other "
    "French. Words follow MCVF: frequent contractions such as des are two words."
)
YIDDISH = (
    "Trained on romanised text from 1413 to 1959, half of which is 20th-century prose. It cannot read Hebrew letters,"
    " and finds few discontinuous phrases."
)
GREEK = (
    "Trained on most of the New Testament, so less reliable on other Greek. It finds few noun phrases that are split "
    "by a verb. The sub-word vectors do not cover Greek."
)
EARLY_GERMAN = (
    "Its training trees are not gold: a rule moved objects and relative clauses back into their phrases. Of 60 changed "
    "trees that were checked, 80 % are right."
)

ABOUT = {
    "nl": About((ALPINO,), DUTCH, texts=(*DUTCH_TEXTS, COMMON_VOICE_DUTCH), teachers=("nl-large 2.1", "nl-large 2.2")),
    "de": About((SQUOIA,), SOME_GERMAN, TO_TIGER, GERMAN_TEXTS, teachers=("de-free-large",)),
    "de-nc": About((PCC, SQUOIA), COMMENTARIES, ONE_SCHEME, GERMAN_TEXTS, teachers=("de-large",)),
    "en": About((CRAFT, GENIA, MASC), BIOLOGY, TRACES, (*ENGLISH_TEXTS, COMMON_VOICE_ENGLISH), teachers=("en-large",)),
    "is": About(
        (ICEPAHC,),
        f"{ICELANDIC} The sub-word vectors do not cover Icelandic.",
        TRACES,
        ICELANDIC_TEXTS,
        teachers=("is-large",),
    ),
    "fo": About((FARPAHC, ICEPAHC), FAROESE, TRACES, base="is"),
    "es": About((SQUOIA,), SPANISH, base="de"),
    "fro": About((FRENCH,), OLD_FRENCH, TRACES, (MIDDLE_FRENCH_TEXT,), teachers=("fro-large",)),
    "yi": About((PPCHY,), YIDDISH, TRACES, teachers=("yi-large-1", "yi-large-2")),
    "grc": About((MACULA,), GREEK, texts=(GREEK_TEXT,), teachers=("grc-large",)),
    "de-early": About((ENHG,), EARLY_GERMAN, base="de"),
    "nl-large": About(
        (ALPINO,), DUTCH, texts=(*DUTCH_TEXTS, COMMON_VOICE_DUTCH), teachers=("nl-large 2.1",), extra=TRANSFORMER
    ),
    "de-large": About((PCC, SQUOIA), COMMENTARIES, ONE_SCHEME, GERMAN_TEXTS, extra=TRANSFORMER),
    "en-large": About(
        (CRAFT, GENIA, MASC), BIOLOGY, TRACES, (*ENGLISH_TEXTS, COMMON_VOICE_ENGLISH), (E5,), extra=TRANSFORMER
    ),
    "is-large": About((ICEPAHC,), ICELANDIC, TRACES, ICELANDIC_TEXTS, extra=TRANSFORMER),
}
