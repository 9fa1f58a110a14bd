"""What the treebanks of a language do with its sentences and words: tables, not code.

Abbreviations stand here without their last full stop; those with a capital are meant with it, all others in any case.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from discotree.errors import DiscotreeError

QUOTES = "\"'`“”„‟‘’‚‛«»‹›"
CLOSING = QUOTES + ")]}"


@dataclass(frozen=True, eq=False)  # compared by identity, so that a pattern can be cached for each
class Convention:
    titles: frozenset[str]  # abbreviations that want something behind them: no sentence ends here
    endings: frozenset[str]  # abbreviations that may end a sentence
    counted: frozenset[str] = frozenset()  # abbreviations before a number, words elsewhere
    openers: frozenset[str] = frozenset()  # words that, with a capital, begin a sentence even behind an initial
    capital_nouns: bool = False  # a capital does not prove that a sentence begins
    ordinals: bool = False  # "3. Oktober"
    colon: int = 0  # sentences of so many words end at a colon or semicolon; 0: they never do
    colon_before_small: bool = False  # … at a colon even if a small letter follows
    hyphens: bool = False  # a hyphen or slash is a token
    prefixes: str = ""  # … but not the hyphen behind what this expression says
    clitics: str = ""  # expression for what is a token of its own at the end of a word
    clitic_hosts: str = ""  # … and for the beginning of the words that it is cut off; empty: all
    elisions: str = ""  # expression for what follows an apostrophe that begins a word
    forms: Mapping[str, str] = field(default_factory=dict)  # what the treebank writes for a character
    penn_quotes: bool = False  # `` and '' for the straight double quote


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


DUTCH = Convention(
    titles=_words(
        "dr drs mr mrs ir ing prof mevr mw mej dhr hr ds jhr jkvr zr br gebr fam fa lt maj sgt luit wnd mgr nr nrs",
        "blz pag pp artt hfst fig afb vgl cf ca plm resp incl excl gem bijv zgn z.g nl ged prov v d t.a.v t.o.v d.w.z",
        "m.a.w o.a o.m m.n m.i i.p.v i.v.m t.g.v n.a.v d.m.v m.b.t a.h.w v.d n.v b.v",
        "Adj Ass Burg Ch Chr Eng Gen Int Kap Kol Kon Mc Ned Ph St Tel Th Ver",
    ),
    endings=_words("enz etc jl e.d e.a a.s j.l v.j pct mln mld n.chr v.chr c.s Red sec gld lib soc inc ltd co sr jr"),
    counted=_words("no bv p afl art par max min tel jan febr feb mrt apr aug sept okt nov dec"),
    openers=_words(
        "de het een dit dat deze die er hij zij ze we wij ik u je men in op aan bij na met voor om toen daar hier",
        "maar en ook als wie wat waar zo nu volgens uit door over tijdens",
    ),
    colon=1,
    colon_before_small=True,
    elisions=r"[stnmkr]|\d\d",
)
GERMAN = Convention(
    titles=_words(
        "dr prof dipl ing frl lic nr nrn abb bd bde vgl bzw ca evtl ggf ggfs inkl exkl sog zzgl bspw bsp geb gest",
        "verh hrsg aufl ausg röm kath ev allg bes dt engl frz ital span lat griech tel fax univ inst abt ziff rdnr",
        "anm mind mio mrd tsd mr mrs betr zz stv z.b d.h u.a z.t z.zt i.d.r v.a o.g u.u s.o s.u m.e i.a",
        "Av Fa Fr Hr Mag Ms St",
    ),
    endings=_words("usw etc usf u.ä o.ä e.v a.d a.m jh jhdt str co inc ltd corp s.a p.a m.w n.chr v.chr jr sr"),
    counted=_words("no s art abs kap max jan feb febr mär apr jun jul aug sep sept okt nov dez"),
    openers=_words(
        "der die das den dem des ein eine einen einem einer dies diese dieser dieses es er sie wir ich ihr man im in",
        "am an auf bei nach mit für um zu zum zur vor von aus über unter durch während wegen seit da dann dort hier",
        "nun jetzt so aber und auch oder denn doch wenn als ob weil dass wer was wo wie kein keine nicht nur noch",
        "schon sein seine allerdings aufgrund",
    ),
    capital_nouns=True,
    ordinals=True,
    colon=4,
    clitics="['’]s",
    clitic_hosts="[a-zäöüß]|(?:Wie|Geht|Gibt|Ich|Ob|Wenn|Hat|Ist|War|Wird)(?=['’])",
    elisions=r"s|ne?|ne[mnrs]|nauf|nein|raus|ran|rauf|rein|rum|mal|\d\d",
)
ENGLISH = Convention(
    titles=_words(
        "dr drs mr mrs prof capt lt sgt maj cmdr adm supt vs cf ca approx fig figs eq eqs vol vols pp eds suppl resp",
        "viz dept univ assoc bros messrs chap var subsp e.g i.e",
        "Chr Col Ft Gen Gov Hon Ms Mt Ph Pres Rep Rev Sen St",
    ),
    endings=_words("al etc inc ltd co corp jr sr ave blvd rd sp spp esp a.m p.m ph.d b.sc m.sc"),
    counted=_words("no nos ref refs tab sec p ed art jan feb mar apr jun jul aug sep sept oct nov dec"),
    openers=_words(
        "the a an this that these those it he she they we i you there in on at by for from with of to as after before",
        "when while if since however although because but and or moreover furthermore thus therefore both all each no",
        "some our its his her their",
    ),
    hyphens=True,
    prefixes=(
        "anti|non|co|post|pre|multi|over|sub|re|cross|inter|auto|mid|pan|pro|semi|intra|hetero|homo|mis|un|extra|counter"
        "|pseudo|cryo|mal|peri|x(?=-ray)"
    ),
    clitics="n['’]t|['’](?:s|ll|ve|re|d|m)",
    elisions=r"em|til|cause|n|tis|twas|\d\ds?",
    forms={"(": "-LRB-", ")": "-RRB-"},
    penn_quotes=True,
)
ICELANDIC = Convention(
    titles=_words(
        "hv hæstv þm þús bls nr sbr skv kl dr hr fr frk sr próf árg kap tbl ath ca kongl jóh matth kór millj t.d þ.e",
        "þ.e.a.s m.a s.s u.þ.b a.m.k",
    ),
    endings=_words("kr gr frv mgr umr mín sek etc sl nk o.fl o.s.frv f.kr e.kr o.þ.h s.þ"),
    counted=_words("jan feb apr jún júl ágú sept okt nóv des"),
    openers=_words("og en það þá hann hún þeir þau þær ég við þú í á að er var nú svo þetta sá sú"),
    ordinals=True,
    elisions=r"\d\d",
)

CONVENTIONS: dict[str, Convention] = {
    "nl": DUTCH,  # Alpino
    "de": GERMAN,  # TIGER's scheme
    "en": ENGLISH,  # CRAFT: Penn's newer guidelines, where hyphens are tokens
    "en-wsj": replace(ENGLISH, hyphens=False, forms={**ENGLISH.forms, "{": "-LCB-", "}": "-RCB-"}),
    "is": ICELANDIC,  # IcePaHC
}


def convention(language: str) -> Convention:
    try:
        return CONVENTIONS[language]
    except KeyError:
        raise DiscotreeError(f"no rules for the language {language!r}; there are {', '.join(CONVENTIONS)}") from None
