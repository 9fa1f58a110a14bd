"""Damaged treebanks: reading any file gives trees or a TreebankError, and soon.

Bounded and seeded: the same mutants on every run. A mutant that takes longer than a few seconds counts as a hang.
"""

import gzip
import io
import signal
import tarfile
import zipfile
from contextlib import contextmanager

import pytest
from support.helpers import parsed, written
from support.mutants import mutants

from discotree import FORMATS, Tree, TreebankError, read
from discotree.treebanks import TEXT_FORMATS

MUTANTS = 1500  # per file
PATIENCE_SECONDS = 5.0
XML_TOKENS = "&|<|>|'|&#0;|&#9;|&lt;|&b;|<![CDATA[|]]>|<!DOCTYPE a [<!ENTITY b 'c'>]>|<?xml encoding='utf-16'?>|\x00"
TOKENS = {
    "export": "#BOS 1|#EOS 1|#BOS|#EOS|#500|#501|#99999999999|#FORMAT 3\n|#FORMAT 4\n|#BOT|\n|\t|\v|%%| |0|-1|500|\xa0",
    "tigerxml": "<s>|</s>|<t/>|<nt id='s1_500'/>|<edge idref='s1_500'/>|<graph root='x'>|id=|idref=|s1_500|s1_VROOT|"
    f"word=''|<secedge/>|{XML_TOKENS}",
    "alpino": "<node/>|</node>|<node begin='0' word='a'/>|<alpino_ds>|</alpino_ds>|<tree>|begin='|word=''|index='1'|"
    f"cat='top'|<comment>|<sentence sentid='x'/>|9999999999|-1|²|{XML_TOKENS}",
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
    "small.dbr": "discbracket",
    "ptb.mrg": "penn",
    "craft.tree": "penn",
    "icepahc.psd": "psd",
    "small.conllu": "conllu",
    "small.jsonl": "json",
}


class Hang(BaseException):
    """A reader takes too long. It is no Exception, so that no reader catches it."""


@contextmanager
def patience(seconds):
    def stop(*_):
        raise Hang

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", SEEDS)
def test_a_mutant_gives_trees_or_a_treebank_error(name, data):
    format = SEEDS[name]
    tokens = [token.encode() for token in TOKENS[format].split("|")]
    refused = 0
    for number, raw in mutants(name, (data / name).read_bytes(), tokens, MUTANTS):
        for on_error in (None, [].append):
            try:
                with patience(PATIENCE_SECONDS):
                    found = parsed(raw, format, on_error) if on_error else parsed(raw, format)
            except TreebankError:
                refused += not on_error
            except Hang:
                pytest.fail(f"mutant {number} of {name} takes longer than {PATIENCE_SECONDS} seconds")
            except Exception as error:
                pytest.fail(f"mutant {number} of {name}: {type(error).__name__}: {error}\n{raw!r}")
            else:
                assert all(isinstance(tree, Tree) and isinstance(tree.id, str) for tree in found)
    assert MUTANTS // 20 < refused < MUTANTS  # otherwise the mutations are too harsh or too mild


def survivors(raw, format):
    try:
        return parsed(raw, format, [].append)
    except TreebankError:
        return []


@pytest.mark.parametrize(
    "name", ["figure1.export", "small.dbr", "ptb.mrg", "alpino_one.xml", "tiger.xml", "small.jsonl"]
)
def test_what_is_read_from_a_mutant_can_be_written_and_read_again(name, data):
    format = SEEDS[name]
    for number, raw in mutants(f"again {name}", (data / name).read_bytes(), [], 300):
        for tree in survivors(raw, format):
            try:
                text = written([tree], format)
            except TreebankError:
                continue
            assert [again.words for again in parsed(text, format)] == [tree.words], f"mutant {number}: {raw!r}"


def container(suffix):
    content = b"(ROOT (N 0=a) (N 1=b))\n" * 20
    buffer = io.BytesIO()
    if suffix == ".zip":
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in ("a.dbr", "b.dbr", "README"):
                archive.writestr(zipfile.ZipInfo(name), content)
    elif suffix == ".dbr.gz":
        buffer.write(gzip.compress(content, mtime=0))
    else:
        with tarfile.open(fileobj=buffer, mode="w:gz" if suffix == ".tar.gz" else "w") as archive:
            for name in ("a.dbr", "b.dbr", "README"):
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


@pytest.mark.parametrize("suffix", [".zip", ".tar", ".tar.gz", ".dbr.gz"])
def test_a_mutated_archive_gives_trees_or_a_treebank_error(suffix, tmp_path):
    path = tmp_path / f"mutant{suffix}"
    for number, raw in mutants(suffix, container(suffix), [], 400):
        path.write_bytes(raw)
        for on_error in ({}, {"on_error": [].append}):
            try:
                with patience(PATIENCE_SECONDS):
                    list(read(path, **on_error))
            except TreebankError:
                pass
            except Hang:
                pytest.fail(f"mutant {number} of {suffix} takes longer than {PATIENCE_SECONDS} seconds")
            except Exception as error:
                pytest.fail(f"mutant {number} of {suffix}: {type(error).__name__}: {error}")


def test_every_reader_is_fuzzed():
    assert {FORMATS[format].read for format in SEEDS.values()} == {form.read for form in TEXT_FORMATS.values()}
