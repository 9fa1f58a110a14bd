"""Small versions of the recipes' treebanks, in the folders in which they are distributed."""

import re
from collections.abc import Callable
from pathlib import Path

from discotree.config.recipes import load_recipe

NEGRA = "negra/negra-corpus.export"
TIGER = "tiger/tiger_release_aug07.corrected.16012013.xml"
SPMRL = "GERMAN_SPMRL/gold/xml/{0}/{0}.German.gold.xml"
WSJ = "treebank_3/parsed/mrg/wsj/{0}/wsj_{0}{1:02}.mrg"


def put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def negra(data: Path, folder: Path, times: int = 3) -> None:
    """Write the whole header, in Latin-1, and three sentences repeated."""
    header, *sentences = re.split(rb"(?m)^(?=#BOS )", (data / "negra3.export").read_bytes())
    body = b""
    for number in range(1, 3 * times + 1):
        body += re.sub(rb"(?m)^(#[BE]OS) \d+", rb"\1 %d" % number, sentences[(number - 1) % 3])
    put(folder / NEGRA, header + body)


def tiger_xml(data: Path, first: int, count: int) -> bytes:
    """Return TigerXML with its head, in Latin-1, and two sentences repeated, numbered from ``first``."""
    text = (data / "tiger.xml").read_bytes()
    begin, end = text.index(b"<s id="), text.rindex(b"</s>") + len(b"</s>\n")
    two = re.split(rb"(?=<s id=)", text[begin:end])[1:]
    sentences = [re.sub(rb'"s\d(?=[_"])', b'"s%d' % (first + k), two[k % 2]) for k in range(count)]
    return text[:begin] + b"".join(sentences) + text[end:]


def tiger(data: Path, folder: Path) -> None:
    put(folder / TIGER, tiger_xml(data, 1, 6))


def tiger_spmrl(data: Path, folder: Path) -> None:
    for part, first in (("train", 1), ("dev", 40475), ("test", 45475)):
        put(folder / SPMRL.format(part), tiger_xml(data, first, 2))


def dptb(data: Path, folder: Path) -> None:
    for section in range(25):
        for number in (0, 3):
            put(folder / WSJ.format(f"{section:02}", number), (data / "ptb.mrg").read_bytes())


def alpino(data: Path, folder: Path) -> None:
    text = (data / "alpino_many.xml").read_text("utf-8")
    put(folder / "alpino/cdb.xml", text.replace("proef/", "cdb/").encode())


def alpino_all(data: Path, folder: Path) -> None:
    alpino(data, folder)
    text = (data / "alpino_many.xml").read_text("utf-8")
    for source in load_recipe("alpino-all").data.train[1:]:
        path = Path(source.file)
        if path.suffix == ".xml":  # of alpino or alpino_more; the everyday trees come with the recipe
            put(folder / path, text.replace("proef/", f"{path.stem}/").encode())


def craft(data: Path, folder: Path) -> None:
    put(folder / "craft/penn/11319941.tree", (data / "craft.tree").read_bytes())


def icepahc(data: Path, folder: Path) -> None:
    put(folder / "icepahc/finished/2020.test.nar-fic.psd", (data / "icepahc.psd").read_bytes())


def farpahc(data: Path, folder: Path) -> None:
    text = (data / "icepahc.psd").read_bytes().replace(b"2020.TEST", b"1936.NTJOHN")
    put(folder / "farpahc/finished/1936.ntjohn.rel-bib.psd", text)


def icelandic(data: Path, folder: Path) -> None:
    icepahc(data, folder)
    farpahc(data, folder)


def french(data: Path, folder: Path) -> None:
    put(folder / "mcvf_ppchf/mcvf/1100-test-mcvf-v.psd", (data / "mcvf.psd").read_bytes())


def yiddish(data: Path, folder: Path) -> None:
    put(folder / "ppchy/data/1900e-test.psd", (data / "ppchy.psd").read_bytes())


def spanish(data: Path, folder: Path) -> None:
    put(folder / "squoia_es/AHK_SQUOIA_ES.xml", tiger_xml(data, 1422, 2))
    put(folder / "squoia_es/DW_SQUOIA_ES.xml", tiger_xml(data, 1, 2))


def greek(data: Path, folder: Path) -> None:
    for book in ("01-Matthew", "05-Acts", "06-Romans", "07-I-Corinthians"):
        put(folder / f"n1904/export/{book}.export", (data / "n1904.export").read_bytes())


def early_german(data: Path, folder: Path) -> None:
    put(folder / "ref_mercurius_low/export/ReF-Test.export", (data / "tiger4.export").read_bytes())


def genia(data: Path, folder: Path) -> None:
    for name in ("genia", "genia_no_rnr"):
        put(folder / name / "penn/10000001.mrg", (data / f"{name}.mrg").read_bytes())


def masc(data: Path, folder: Path) -> None:
    put(folder / "masc/penn/letters.mrg", (data / "masc.mrg").read_bytes())


def english(data: Path, folder: Path) -> None:
    craft(data, folder)
    genia(data, folder)
    masc(data, folder)


def pcc(data: Path, folder: Path) -> None:
    put(folder / "pcc/syntax/maz-00001.xml", tiger_xml(data, 2165, 2))
    put(folder / "pcc/syntax/maz-00002.xml", tiger_xml(data, 2165, 2))


def squoia(data: Path, folder: Path) -> None:
    put(folder / "squoia_de/AHK_SQUOIA_DE.xml", tiger_xml(data, 1422, 2))
    put(folder / "squoia_de/DW_SQUOIA_DE.xml", tiger_xml(data, 1, 2))


def german(data: Path, folder: Path) -> None:
    pcc(data, folder)
    squoia(data, folder)


LAYOUTS: dict[str, Callable[[Path, Path], None]] = {
    "alpino": alpino,
    "alpino-all": alpino_all,
    "alpino-large": alpino,
    "craft": craft,
    "craft-minilm": craft,
    "de-early-small": early_german,
    "de-free-large": squoia,
    "de-large": german,
    "de-nc-small": german,
    "de-small": squoia,
    "dptb": dptb,
    "en-large": english,
    "en-small": english,
    "english": english,
    "english-minilm": english,
    "es-small": spanish,
    "farpahc": farpahc,
    "fo-small": farpahc,
    "fro-large": french,
    "fro-small": french,
    "genia": genia,
    "german": german,
    "german-free": squoia,
    "grc-large": greek,
    "grc-small": greek,
    "icelandic": icelandic,
    "icepahc": icepahc,
    "is-large": icepahc,
    "is-small": icepahc,
    "masc": masc,
    "mcvf-ppchf": french,
    "n1904": greek,
    "n1904-books": greek,
    "negra": negra,
    "negra-bert": negra,
    "nl-large": alpino_all,
    "nl-small": alpino_all,
    "pcc": pcc,
    "ppchy": yiddish,
    "ref-mercurius": early_german,
    "squoia-de": squoia,
    "squoia-es": spanish,
    "tiger": tiger,
    "tiger-bert": tiger,
    "tiger-spmrl": tiger_spmrl,
    "yi-small": yiddish,
}
