"""Tokenizers and configurations from elsewhere: those that people use pass, those that would blow up do not."""

import base64
import struct

import pytest

from discotree.network.transformer import check_tokenizer, growth

LLAMA = r"(?i:'s|'t|'re|'ll)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def charsmap(*texts):
    return base64.b64encode(struct.pack("<I", 4) + b"trie" + b"".join(text.encode() + b"\0" for text in texts)).decode()


def replace(pattern, content):
    return {"type": "Replace", "pattern": pattern, "content": content}


def sequence(*steps):
    return {"type": "Sequence", "normalizers": list(steps)}


def template(*names):
    """A template of a sentence with these tokens in front, which defines [CLS] alone."""
    single = [{"SpecialToken": {"id": name, "type_id": 0}} for name in names]
    single.append({"Sequence": {"id": "A", "type_id": 0}})
    defined = {"[CLS]": {"id": "[CLS]", "ids": [1], "tokens": ["[CLS]"]}}
    return {"type": "TemplateProcessing", "single": single, "pair": [], "special_tokens": defined}


USED = [
    {"normalizer": None, "pre_tokenizer": None},
    {"normalizer": {"type": "BertNormalizer", "lowercase": True}, "pre_tokenizer": {"type": "BertPreTokenizer"}},
    {
        "normalizer": sequence(
            {"type": "Precompiled", "precompiled_charsmap": charsmap("x" * 33)}, replace({"Regex": " {2,}"}, "▁")
        )
    },
    {
        "normalizer": sequence(
            replace({"String": "``"}, '"'),
            {"type": "NFKD"},
            {"type": "StripAccents"},
            {"type": "Lowercase"},
            {"type": "Precompiled", "precompiled_charsmap": charsmap("x" * 33)},
        )
    },
    {"normalizer": sequence({"type": "Prepend", "prepend": "▁"}, replace({"String": " "}, "▁"))},
    {
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [{"type": "Split", "pattern": {"Regex": LLAMA}, "behavior": "Isolated"}],
        }
    },
    {"post_processor": {"type": "Sequence", "processors": [{"type": "ByteLevel"}, template("[CLS]")]}},
]


@pytest.mark.parametrize("rules", USED, ids=range(len(USED)))
def test_tokenizers_that_people_use_pass(rules):
    check_tokenizer(rules)


@pytest.mark.parametrize(
    ("rules", "complaint"),
    [
        ({"normalizer": sequence(*[replace({"String": "a"}, "aa")] * 40)}, "times as long"),
        ({"normalizer": replace({"String": "a"}, "a" * 100_000)}, "times as long"),
        ({"normalizer": sequence(*[sequence(replace({"Regex": "a"}, "a" * 60))] * 2)}, "times as long"),
        ({"normalizer": {"type": "Prepend", "prepend": "a" * 900}}, "a rule inserts 900 characters"),
        ({"normalizer": {"type": "Precompiled", "precompiled_charsmap": charsmap("a" * 5000)}}, "times as long"),
        ({"normalizer": {"type": "Python"}}, "unknown normalizer"),
        ({"normalizer": replace({"Regex": "(a|a)*b"}, "")}, "may be too slow"),
        ({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a+)+b"}}}, "may be too slow"),
        ({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a+){9}b"}}}, "may be too slow"),
        ({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "a*a*a*a*b"}}}, "may be too slow"),
        ({"pre_tokenizer": {"type": "Metaspace", "replacement": "x" * 100}}, "a rule inserts 100 characters"),
        ({"normalizer": sequence(*[{"type": "Lowercase"}] * 1000)}, "1,001 steps"),
        ({"post_processor": template("[CLS]", "[X]")}, r"the template uses the undefined token '\[X\]'"),
        ({"post_processor": {"type": "Sequence", "processors": [template("[X]")]}}, "uses the undefined token"),
    ],
)
def test_rules_that_blow_up_are_refused(rules, complaint):
    with pytest.raises(ValueError, match=complaint):
        check_tokenizer(rules)


def test_growth_is_a_product_of_replacements():
    assert growth(sequence(replace({"String": "ab"}, "abcd"), replace({"String": "a"}, "aaa"))) == 6
    assert growth(sequence({"type": "NFKC"}, {"type": "NFKC"})) == 18
