"""Queries for constructions that linguists look for, one for each annotation scheme. The page offers those that fit."""

from typing import NamedTuple

EXTRAPOSITION, TOPICALISATION, SCRAMBLING = "Extraposition", "Topicalisation", "Scrambling"
CROSS_SERIAL, STRANDING, FRONTING, MANY_GAPS = "Cross-serial verbs", "Stranding", "Fronting", "Several gaps"
TIGER, ALPINO, PENN, ICEPAHC, ANY = "TIGER", "Alpino", "Penn", "IcePaHC", "any"


class Construction(NamedTuple):
    """An example: what it finds, and in which treebanks."""

    scheme: str
    construction: str
    description: str
    query: str


EXAMPLES = (
    Construction(
        TIGER,
        EXTRAPOSITION,
        "a relative clause apart from its noun",
        '#np:[cat="NP"] >RC #rc:[cat="S"] & discontinuous(#np)',
    ),
    Construction(
        TIGER,
        TOPICALISATION,
        "the object of a verb phrase before the finite verb, and the subject behind it",
        '#vp:[cat="VP"] >OA #object & #s:[cat="S"] >OC #vp\n'
        "& #s >HD #v:[pos=/V.FIN/] & #s >SB #subject\n"
        "& #object .* #v & #v .* #subject",
    ),
    Construction(
        TIGER,
        SCRAMBLING,
        "an object before the subject, both behind the finite verb or the conjunction",
        '#vp:[cat="VP"] >/OA|DA/ #object & #s:[cat="S"] >OC #vp\n'
        "& #s >/HD|CP/ #begin:[pos=/V.FIN|KOUS/] & #s >SB #subject\n"
        "& #begin .* #object & #object .* #subject",
    ),
    Construction(
        ALPINO,
        EXTRAPOSITION,
        "a relative clause apart from its noun",
        '#np:[cat="np"] > #rel:[cat="rel"] & discontinuous(#np)',
    ),
    Construction(
        ALPINO,
        CROSS_SERIAL,
        "two verbs side by side, with the object of the second one before both",
        '#inner:[cat="inf"] > #v2:[pos="ww"] & discontinuous(#inner)\n'
        '& #outer:[cat=("inf"|"ssub"|"ti")] > #inner & #outer > #v1:[pos="ww"] & #v1 . #v2',
    ),
    Construction(
        ALPINO,
        TOPICALISATION,
        "part of a verb phrase before the finite verb",
        '#vp:[cat=("inf"|"ppart"|"ti")] & discontinuous(#vp)\n'
        '& #s:[cat="smain"] > #vp & #s > #v:[pos="ww"] & #vp .* #v',
    ),
    Construction(
        ALPINO,
        STRANDING,
        "a preposition apart from its complement: daar … van",
        '#pp:[cat="pp"] > #complement:[pos=("vnw"|"bw")] & #pp > #preposition:[pos="vz"]\n'
        "& #complement .* #preposition & discontinuous(#pp)",
    ),
    Construction(
        ALPINO,
        SCRAMBLING,
        "an object before the subject, both behind the finite verb",
        '#vp >/obj[12]/ #object & #s:[cat=("smain"|"sv1")] >vc #vp & #s >hd #v & #s >su #subject\n'
        "& #v .* #object & #object .* #subject",
    ),
    Construction(
        PENN,
        EXTRAPOSITION,
        "a clause apart from its noun",
        '#np:[cat="NP"] > #clause:[cat="SBAR"] & discontinuous(#np)',
    ),
    Construction(
        PENN,
        FRONTING,
        "a question word or relative pronoun apart from its verb phrase",
        '#vp:[cat="VP"] > #wh:[cat=/WH.*/] & discontinuous(#vp)',
    ),
    Construction(
        ICEPAHC,
        EXTRAPOSITION,
        "a relative clause apart from its noun",
        '#np:[cat="NP"] >/REL.*/ #rel:[cat="CP"] & discontinuous(#np)',
    ),
    Construction(
        ICEPAHC,
        TOPICALISATION,
        "the object before the finite verb, and the subject behind it",
        '#object:[cat="NP" & edge=/OB[12]/] & #ip:[cat="IP"] > #object\n'
        "& #ip > #v:[pos=/(VB|BE|HV|DO|MD|RD)[PD][IS]/] & #ip >SBJ #subject\n"
        "& #object .* #v & #v .* #subject",
    ),
    Construction(
        ICEPAHC,
        SCRAMBLING,
        "the object between the finite verb and the other one",
        '#object:[cat="NP" & edge=/OB[12]/] & #ip:[cat="IP"] > #object\n'
        '& #ip > #finite:[pos=/(HV|MD)[PD][IS]/] & #ip > #v:[pos=("VB"|"VBN")]\n'
        "& #finite .* #object & #object .* #v",
    ),
    Construction(ANY, MANY_GAPS, "a constituent with two gaps or more", "#n:[NT] & gap-degree(#n, 2, 99)"),
)
