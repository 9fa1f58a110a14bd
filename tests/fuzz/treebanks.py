"""Targets: the readers of every text format, and what they read on its way through the writers."""

import io
import zlib
from dataclasses import replace

from fuzz.targets import DATA, Target, WrongResult

from discotree import FORMATS, Tree
from discotree.errors import TreebankError
from discotree.treebanks.source import Source, stop

XML_TOKENS = "&|<|>|'|&#0;|&#9;|&lt;|&b;|<![CDATA[|]]>|<!DOCTYPE a [<!ENTITY b 'c'>]>|<?xml encoding='utf-16'?>|\x00"
TOKENS = {
    "export": "#BOS 1|#EOS 1|#BOS|#EOS|#500|#501|#99999999999|#FORMAT 3\n|#FORMAT 4\n|#BOT|\n|\t|\v|%%| |0|-1|500|\xa0",
    "tigerxml": "<s>|</s>|<t/>|<nt id='s1_500'/>|<edge idref='s1_500'/>|<graph root='x'>|id=|idref=|s1_500|s1_VROOT|"
    f"word=''|<secedge/>|{XML_TOKENS}",
    "alpino": "<node/>|</node>|<node begin='0' word='a'/>|<alpino_ds>|</alpino_ds>|<tree>|begin='|word=''|index='1'|"
    f"cat='top'|<comment>|<sentence sentid='x'/>|9999999999|-1|²|{XML_TOKENS}",
    "folia": "<s>|</s>|<w xml:id='a'>|</w>|<t>|</t>|<su class='NP'>|</su>|<wref id='a'/>|<feat subset='head'/>|"
    f"class=''|<pos class='N'/>|<lemma/>|<hiddenw/>|<original>|<comment>|<syntax>|subset='function'|{XML_TOKENS}",
    "brat": "T1\t|T2\tNP 0 3\tWas|A1\tWord T1|A1\tFunction T2 SB|#1\tId T1\tx|R1\t|E1\t|"
    "*\t|0 3;4 8|0 99999999| |;|\t|\n|ä|%20;|-1",
    "webanno": "#T_SP=webanno.custom.Constituent|#Text=|#Sentence.id=x\n|1-1\t0-3\tWas|1-1.1|"
    "_|*|[1]|[2]|NP[1]|\\|\\_|->|\t|\n|\n\n|#|1|99",
    "discbracket": "(|)|((|))|()|( |0=|1=a|99=b|999999999=c|=|\t|\n| |#LRB#|(ROOT |(S 0=a)|$[|\x00|ä|\r",
    "penn": "(|)|((|))|()|(-NONE- *T*-1)|(-NONE- *ICH*-2)|(-NONE- *-1)|(NP-1 |(S=2 |; sent_id = x\n|*|0|=|-1|;|\n|\xa0",
    "psd": "(|)|((|))|()|(ID x)|(ID )|(CODE y)|(NP *T*-1)|(NP *ICH*-2)|(NP-1 |(WNP-1 0)|<dash>|$|/*|0|*|-|=|\n|\x00",
    "conllu": "\t|\n|\n\n|#|# root = |# root = S\n|# sent_id = x\n|1|0|-1|1-2|1.1|_|%|%20;|%D800;|%110000;|Spine=|"
    "Unary=|\\^|+|#9|=|,",
    "json": '"|{|}|[|]|,|:|{}|[]|[0]|null|true|NaN|-1|1e999|9999999999999999999|"positions": |"tokens": |"label": ""|'
    '"confidence": 2|\\u0000|\\ud800|\n|[[[[[[[[',
}
SEEDS = {
    "figure1.export": "export",
    "negra3.export": "export",
    "tiger4.export": "export",
    "tiger.xml": "tigerxml",
    "alpino_one.xml": "alpino",
    "alpino_many.xml": "alpino",
    "small.folia.xml": "folia",
    "small.ann": "brat",
    "small.webanno.tsv": "webanno",
    "small.dbr": "discbracket",
    "ptb.mrg": "penn",
    "craft.tree": "penn",
    "icepahc.psd": "psd",
    "small.conllu": "conllu",
    "small.jsonl": "json",
}
# Small trees that every format can hold: they keep most inputs short, which makes them many.
SMALL = [
    "(ROOT (S (NP (D 0=das) (N 2=Haus)) (V 1=hat)))",
    "(ROOT (S (VP (PP (P 0=Mit) (N 1=Zug)) (V 3=fahren)) (V 2=will)) (, 4=,))",
    "(ROOT (X 0=ja))",
]
IN_OTHERS = ("json", "export", "discbracket", "tigerxml", "alpino", "conllu")


def tokens_of(format: str) -> list[bytes]:
    return [token.encode() for token in TOKENS[format].split("|")]


def encoded(trees: list[Tree], format: str) -> bytes:
    pieces = list(FORMATS[format].writer().file(trees))
    try:
        return b"".join(piece.encode() if isinstance(piece, str) else piece for piece in pieces)
    except UnicodeEncodeError as error:  # half a surrogate pair: discotree.write refuses it, too
        raise TreebankError(str(error)) from None


def decoded(raw: bytes, format: str, skip: bool = False) -> list[Tree]:
    on_error = [].append if skip else stop
    return list(FORMATS[format].read(Source("<memory>", io.BytesIO(raw), on_error=on_error)))


class TreebankTarget(Target):
    """Reading a format; trees that were read are written and read again, in this format and another."""

    def __init__(self, format: str) -> None:
        self.name = self.format = format
        self.tokens = tokens_of(format)

    def seeds(self) -> list[bytes]:
        files = [(DATA / file).read_bytes() for file, format in SEEDS.items() if format == self.format]
        small = [encoded([Tree.parse(line, str(k))], self.format) for k, line in enumerate(SMALL, 1)]
        return [*files, *small * (2 * len(files))]

    def run(self, raw: bytes) -> None:
        choice = zlib.crc32(raw)  # the same for the same input
        trees = decoded(raw, self.format, skip=bool(choice & 1))
        if trees:
            check_round_trip(trees[choice % len(trees)], self.format, exact=True)
            if not choice >> 4 & 3:
                check_round_trip(trees[choice % len(trees)], IN_OTHERS[choice % len(IN_OTHERS)], exact=False)


def check_round_trip(tree: Tree, format: str, exact: bool) -> None:
    """Write a tree and read it: it is the same, or it was refused. Another format may hold less than the tree has."""
    if not isinstance(tree, Tree) or not isinstance(tree.id, str):
        raise WrongResult("what is read is no tree")
    try:
        raw = encoded([tree], format)
    except TreebankError:
        return
    try:
        (again,) = decoded(raw, format)
    except (TreebankError, ValueError) as error:
        raise WrongResult(f"what is written as {format} cannot be read\n{error}\n{raw!r}") from None
    if again.words != tree.words:
        raise WrongResult(f"{format} changes words\n{tree!r}\n{again!r}\n{raw!r}")
    named = tree if tree.id else replace(tree, id="1")  # as discotree.read does for files that name no sentence
    if (exact or format == "json") and replace(again, id=again.id or "1") != named:
        raise WrongResult(f"{format} changes a tree\n{tree!r}\n{again!r}\n{raw!r}")


class TableTarget(TreebankTarget):
    """Reading Parquet or Arrow files."""

    share = 0.2
    needs = ("pyarrow",)

    def __init__(self, format: str) -> None:
        self.name = self.format = format

    def seeds(self) -> list[bytes]:
        trees = [Tree.parse(line, str(k)) for k, line in enumerate(SMALL, 1)]
        return [encoded(trees, self.format), encoded(trees[:1], self.format)]


TARGETS = [TreebankTarget(format) for format in TOKENS]
TABLES = [TableTarget("parquet"), TableTarget("arrow")]
