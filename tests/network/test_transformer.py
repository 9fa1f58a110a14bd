"""A Transformer before it is part of a network: the pieces of any token, its folder in a model, and what is refused."""

import dataclasses
import json
import os
import random
import shutil
import sys
import tracemalloc
from pathlib import Path

import pytest
from support.encoders import ODD, SPECIAL, WORDS, loaded, with_transformer
from support.networks import TREES, parser_of, torch_parser
from transformers import AutoTokenizer

from discotree.config.recipes import BERT
from discotree.config.schema import HALF_PRECISION_BITS, Config, NetworkSettings
from discotree.errors import ConfigError, MissingExtraError, ModelError
from discotree.models import CONFIG, ENCODER, VOCAB, WEIGHTS
from discotree.models.folder import read_model, write_model
from discotree.network.pytorch.transformer import load_transformer
from discotree.network.subwords import MAX_PIECES
from discotree.network.transformer import TOKENIZER
from discotree.network.weights import rounded
from discotree.parsing.parser import Parser

# Pieces


def test_words_have_the_pieces_that_the_library_gives_them(folder):
    pretrained = loaded(folder)
    original = AutoTokenizer.from_pretrained(folder)
    original.backend_tokenizer.no_truncation()
    original.backend_tokenizer.no_padding()
    for words in (WORDS[:9], WORDS[20:40]):
        ours = [*pretrained.before, *(piece for word in words for piece in pretrained.pieces(word)), *pretrained.after]
        text = (pretrained.space and " ") + " ".join(words)
        assert ours == original(text)["input_ids"]


def test_every_token_has_pieces_that_the_transformer_has_vectors_for(folder):
    pretrained = loaded(folder)
    rows = pretrained.config.vocab
    for word in [*ODD, *SPECIAL, *WORDS]:
        pieces = pretrained.pieces(word)
        assert 0 < len(pieces) <= MAX_PIECES
        assert all(0 <= piece < rows for piece in pieces)
        assert not {*pretrained.before, *pretrained.after, pretrained.padding} & set(pieces)
    assert len({pretrained.pieces(word) for word in ODD[:4]}) >= (4 if pretrained.space else 1)


def test_the_tokenizer_keeps_no_words(folders):
    pretrained = load_transformer(str(folders["roberta"]))
    before = pretrained.pieces("Wort")
    pretrained.tokenizer.model.continuing_subword_prefix = "##"  # would not change what is remembered
    assert pretrained.pieces("Wort") != before


def test_what_becomes_no_piece_is_unknown(folders):
    for kind in ("bert", "xlm-r"):
        pretrained = loaded(folders[kind])
        assert pretrained.pieces("") == (pretrained.unknown,)
        assert pretrained.tokenizer.id_to_token(pretrained.unknown) in ("[UNK]", "<unk>")


def test_the_space_in_front_of_a_word_is_part_of_it_where_the_tokenizer_wants_that(folders):
    kinds = {kind: loaded(folder) for kind, folder in folders.items()}
    assert {kind: pretrained.space for kind, pretrained in kinds.items()} == {"bert": "", "roberta": " ", "xlm-r": ""}
    begins = {
        kind: pretrained.tokenizer.id_to_token(pretrained.pieces("Hund")[0])[0] for kind, pretrained in kinds.items()
    }
    assert begins == {"bert": "H", "roberta": "Ġ", "xlm-r": "▁"}


# Settings


def test_only_a_transformer_may_do_without_words_characters_and_lstms():
    for name in ("word_size", "char_filters", "lstm_layers"):
        with pytest.raises(ConfigError, match=f"{name}: expected at least 1"):
            NetworkSettings(**{name: 0})
        assert getattr(NetworkSettings(encoder="hf:x", **{name: 0}), name) == 0


@pytest.mark.parametrize("encoder", ["", "hf", "hf:", "bert", "gru"])
def test_an_encoder_that_is_none_is_refused(encoder):
    with pytest.raises(ConfigError, match=r"encoder: expected 'lstm', or 'hf:' and a Transformer, got"):
        NetworkSettings(encoder=encoder)


def test_settings_of_a_transformer_come_back_from_json():
    assert Config.from_json(BERT.to_json(), "memory") == BERT
    without = json.loads(Config().to_json())
    for section in without.values():
        if isinstance(section, dict):
            for name in [name for name in section if "encoder" in name or name == "layer_decay"]:
                del section[name]
    assert Config.from_json(json.dumps(without), "an older model") == Config()
    assert not Config().network.transformer


# The folder


@pytest.fixture(scope="module")
def complete(folders, tmp_path_factory):
    folder = tmp_path_factory.mktemp("complete") / "model"
    write_model(parser_of(network=with_transformer(folders["bert"])).model, folder)
    return folder


@pytest.fixture
def saved(complete, tmp_path):
    """A model that a test may break."""
    return Path(shutil.copytree(complete, tmp_path / "model"))


def refused(folder):
    with pytest.raises(ModelError) as caught:
        Parser.from_pretrained(folder)
    assert str(folder) in str(caught.value)
    return str(caught.value)


def change(folder, settings):
    path = folder / ENCODER / CONFIG
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | settings), "utf-8")


def test_a_saved_model_gives_the_same_trees(folder, tmp_path):
    parser = parser_of(network=with_transformer(folder))
    words = [*([token.form for token in tree.tokens] for tree in TREES), list(filter(None, ODD)), SPECIAL, WORDS]
    model = dataclasses.replace(parser.model, weights=rounded(parser.model.weights, HALF_PRECISION_BITS))
    trees = list(torch_parser(model).parse(words))
    write_model(parser.model, tmp_path / "model")
    assert {str(path.relative_to(tmp_path / "model")) for path in (tmp_path / "model").rglob("*")} == {
        *(CONFIG, VOCAB, WEIGHTS, ENCODER, f"{ENCODER}/{CONFIG}", f"{ENCODER}/{TOKENIZER}")
    }
    again = torch_parser(read_model(tmp_path / "model"))
    assert list(again.parse(words)) == trees
    assert [tree.words for tree in trees] == [tuple(row) for row in words]
    write_model(again.model, tmp_path / "again")
    for path in (tmp_path / "model").rglob("*.*"):
        assert (tmp_path / "again" / path.relative_to(tmp_path / "model")).read_bytes() == path.read_bytes()


def test_a_shared_model_says_nothing_of_the_folder_that_its_transformer_came_from(folders, tmp_path):
    parser = parser_of(network=with_transformer(folders["bert"]))
    parser.save_pretrained(tmp_path / "shared")
    assert str(folders["bert"].parent) not in (tmp_path / "shared" / CONFIG).read_text("utf-8")
    assert Parser.from_pretrained(tmp_path / "shared").config.network.encoder == "hf:bert"


@pytest.mark.parametrize("name", [CONFIG, TOKENIZER])
@pytest.mark.parametrize(
    "content", [None, b"", b"\0" * 8, b"\xff\xfe", b"[]", b"{}", b"null", b'{"model_type": "gpu"}', b"[" * 100_000]
)
def test_a_foreign_file_is_refused(saved, name, content):
    path = saved / ENCODER / name
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    assert ENCODER in refused(saved)


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ({"hidden_size": 32}, "has the shape"),
        ({"num_hidden_layers": 2}, "does not belong there"),
        ({"num_hidden_layers": 10**6}, "num_hidden_layers: expected a whole number from 1 to 100, got 1000000"),
        ({"num_hidden_layers": 0}, "num_hidden_layers: expected a whole number from 1 to 100, got 0"),
        ({"num_hidden_layers": True}, "num_hidden_layers: expected a whole number from 1 to 100, got True"),
        ({"num_hidden_layers": 10**6, "hidden_act": "mish"}, "layers, got 1000000"),  # the library knows it
        ({"num_hidden_layers": 0, "hidden_act": "mish"}, "layers, got 0"),
        ({"hidden_size": 10**12}, "got 1000000000000"),
        ({"max_position_embeddings": 10**10}, "got 10000000000"),
        ({"vocab_size": 3}, "the tokenizer has pieces beyond"),
        ({"max_position_embeddings": 2}, "too few positions for a sentence"),
        ({"hidden_size": 15}, ""),
        ({"num_attention_heads": -1}, "num_attention_heads: expected at least 0, got -1"),
        ({"model_type": "t5"}, ""),
        ({"model_type": 7}, ""),
        ({"model_type": []}, ""),
        ({"pad_token_id": -1}, "the tokenizer has pieces beyond"),
        ({"layer_norm_eps": "tiny"}, "could not convert"),
        ({"hidden_act": "os.system"}, ""),
    ],
    ids=str,
)
def test_a_configuration_that_does_not_fit_is_refused(saved, setting, complaint):
    change(saved, setting)
    assert complaint in refused(saved)


def test_code_that_a_configuration_names_is_not_run(saved):
    """Neither a module in the folder nor an implementation from elsewhere."""
    code = {"auto_map": {"AutoConfig": "evil.Config", "AutoModel": "evil.Model"}, "_attn_implementation": "evil/kernel"}
    change(saved, code)
    for folder in (saved, saved / ENCODER):
        (folder / "evil.py").write_text("raise SystemExit('it was run')", "utf-8")
    assert Parser.from_pretrained(saved)(["Ende"]).words == ("Ende",)


@pytest.mark.slow
def test_flipped_bytes_are_a_model_error_or_a_model_that_works(saved):
    rng = random.Random(1)
    for name in (CONFIG, TOKENIZER):
        path = saved / ENCODER / name
        whole = path.read_bytes()
        for _ in range(15):
            broken = bytearray(whole)
            for _ in range(rng.choice([1, 1, 3])):
                broken[rng.randrange(len(broken))] = rng.choice([rng.randrange(256), *b'0123456789"-,[]{}e'])
            path.write_bytes(broken)
            parser = None
            try:
                parser = Parser.from_pretrained(saved)
            except ModelError as error:
                complaint = str(error)
            if parser is None:
                assert complaint.startswith(str(saved))
            else:
                assert [tree.words for tree in parser.parse(TREES[:3])] == [tree.words for tree in TREES[:3]]
        path.write_bytes(whole)


def test_the_missing_extra_is_named(monkeypatch, saved):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtraError, match=r"tokenizers is missing: pip install 'discotree\[hf\]'"):
        Parser.from_pretrained(saved)


def test_the_library_is_needed_for_kinds_that_we_do_not_know(monkeypatch, saved):
    change(saved, {"position_embedding_type": "relative_key"})
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"transformers is missing: pip install 'discotree\[transformers\]'"):
        Parser.from_pretrained(saved)


# What a folder from elsewhere may ask for


@pytest.mark.parametrize("name", [CONFIG, TOKENIZER])
def test_pipes_and_devices_are_refused(saved, name):
    path = saved / ENCODER / name
    path.unlink()
    os.mkfifo(path)
    assert "not a plain file" in refused(saved)
    path.unlink()
    path.symlink_to("/dev/zero")
    assert "not a plain file" in refused(saved)


def test_positions_and_pieces_without_weights_fill_no_memory(saved):
    path = saved / ENCODER / CONFIG
    whole = json.loads(path.read_text("utf-8"))
    for settings in ({"vocab_size": 1 << 24}, {"max_position_embeddings": 1 << 24}):
        path.write_text(json.dumps(whole | settings), "utf-8")
        tracemalloc.start()
        assert "has the shape" in refused(saved)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 1 << 27


def test_a_normalizer_that_doubles_is_refused_with_its_address(saved):
    path = saved / ENCODER / TOKENIZER
    step = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
    rules = json.loads(path.read_text("utf-8")) | {"normalizer": {"type": "Sequence", "normalizers": [step] * 40}}
    path.write_text(json.dumps(rules), "utf-8")
    assert "the normalizer may make a word 1,099,511,627,776 times as long" in refused(saved)


def test_a_template_with_an_unknown_token_is_refused_without_a_panic(saved, capfd):
    path = saved / ENCODER / TOKENIZER
    rules = json.loads(path.read_text("utf-8"))
    rules["post_processor"]["special_tokens"].popitem()
    path.write_text(json.dumps(rules), "utf-8")
    assert "the template uses the undefined token" in refused(saved)
    assert "panicked" not in capfd.readouterr().err
