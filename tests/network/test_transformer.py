"""A Transformer as the encoder: pieces of any token, vectors against the plain model, windows, training, the folder."""

import dataclasses
import json
import os
import random
import shutil
import sys
import tracemalloc
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from support.encoders import KINDS, WORDS
from support.networks import CALM, TREES, corpus_for, parser_of, saved_trees, split_of
from torch import nn
from transformers import AutoModel, AutoTokenizer, T5Config, T5Model

from discotree.config import BERT, Config, NetworkSettings, Training
from discotree.errors import ConfigError, MissingExtraError, ModelError
from discotree.evaluation.parseval import evaluate
from discotree.models import CONFIG, ENCODER, VOCAB, WEIGHTS
from discotree.models.folder import round_weights, write_model
from discotree.network import transformer as module
from discotree.network.batch import Corpus
from discotree.network.encoder import pretrained_pieces
from discotree.network.subwords import MAX_PIECES
from discotree.network.transformer import Pretrained, Transformer
from discotree.network.untrusted import TOKENIZER
from discotree.network.vocab import Vocab
from discotree.parsing.parser import Parser
from discotree.training.checkpoint import FILE
from discotree.training.distributed import World
from discotree.training.fit import Run, fit
from discotree.training.run import train
from discotree.training.tagger import Tagger
from discotree.training.trainer import Trainer

ODD = [
    "😀",
    "👩‍👩‍👧",
    "\u200b",
    "\u200d\u200d",
    "\ufeff",
    "",
    " ",
    "\n",
    "\0",
    "\ud800",
    "e\u0301",
    "New York",
    "x" * 5000,
]
SPECIAL = ["[CLS]", "[SEP]", "[PAD]", "[MASK]", "<s>", "</s>", "<pad>", "<mask>", "<unk>"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A tiny Transformer of every kind, as the hub would have it."""
    root = tmp_path_factory.mktemp("hub")
    return {kind: save(root / kind) for kind, save in KINDS.items()}


@pytest.fixture(params=KINDS)
def folder(request, folders):
    return folders[request.param]


@cache
def loaded(folder):
    """Nobody changes what was read."""
    return Pretrained.load(str(folder))


def with_transformer(folder, network=CALM, **settings):
    return dataclasses.replace(network, encoder=f"hf:{folder}", **settings)


def vectors_of(transformer, pretrained, sentences):
    """What the Transformer says of sentences, each a list of words: (B, N, H)."""
    rows = [[pretrained.pieces(word) for word in words] for words in sentences]
    flat = [[piece for word in row for piece in word] for row in rows]
    pieces = torch.zeros(len(rows), max(map(len, flat)), dtype=torch.long)
    first, last = torch.zeros(2, len(rows), max(map(len, rows)), dtype=torch.long)
    for k, row in enumerate(rows):
        pieces[k, : len(flat[k])] = torch.tensor(flat[k])
        ends = np.cumsum([len(word) for word in row])
        last[k, : len(row)] = torch.tensor(ends - 1)
        first[k, : len(row)] = torch.tensor(ends - [len(word) for word in row])
    with torch.no_grad():
        return transformer.eval()(pieces, first, last)


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
    rows = pretrained.config.vocab_size
    for word in [*ODD, *SPECIAL, *WORDS]:
        pieces = pretrained.pieces(word)
        assert 0 < len(pieces) <= MAX_PIECES
        assert all(0 <= piece < rows for piece in pieces)
        assert not {*pretrained.before, *pretrained.after, pretrained.padding} & set(pieces)
    assert len({pretrained.pieces(word) for word in ODD[:4]}) >= (4 if pretrained.space else 1)


def test_the_tokenizer_keeps_no_words(folders):
    pretrained = Pretrained.load(str(folders["roberta"]))
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


# Vectors


@cache
def plain(folder):
    return AutoModel.from_pretrained(folder).eval()


def by_hand(folder, words, layers, pooling):
    """One sentence through the plain model, mixed evenly and pooled in loops."""
    pretrained, model = loaded(folder), plain(folder)
    rows = [pretrained.pieces(word) for word in words]
    ids = [*pretrained.before, *(piece for row in rows for piece in row), *pretrained.after]
    with torch.no_grad():
        states = model(torch.tensor([ids]), output_hidden_states=True).hidden_states
    mean = torch.stack(states[-layers:]).mean(0)[0]
    vectors, place = [], len(pretrained.before)
    for row in rows:
        vectors.append(mean[place] if pooling == "first" else mean[place : place + len(row)].mean(0))
        place += len(row)
    return torch.stack(vectors)


@pytest.mark.parametrize(("layers", "pooling"), [(2, "first"), (99, "mean")])
def test_vectors_are_those_of_the_plain_model_sentence_by_sentence(folder, layers, pooling):
    settings = NetworkSettings(encoder=f"hf:{folder}", encoder_layers=layers, encoder_pooling=pooling)
    pretrained = loaded(folder)
    transformer = Transformer(pretrained, settings)
    sentences = [WORDS[:5], WORDS[5:6], ["😀", "\u200b", "Hund"], WORDS[7:14]]
    found = vectors_of(transformer, pretrained, sentences)
    for row, words in zip(found, sentences, strict=True):
        torch.testing.assert_close(row[: len(words)], by_hand(folder, words, layers, pooling), atol=1e-5, rtol=1e-4)


def windowed(folder, window, stride, **settings):
    pretrained = loaded(folder)
    network = NetworkSettings(encoder=f"hf:{folder}", encoder_window=window, encoder_stride=stride, **settings)
    return Transformer(pretrained, network), pretrained


LONG = [WORDS[:60], WORDS[60:63], WORDS[30:55], WORDS[:17], ["x" * 99, *WORDS[:20]]]


@pytest.mark.parametrize(("window", "stride"), [(10, 0), (9, 4), (7, 99), (1, 1)])
def test_where_a_vector_depends_on_its_piece_alone_windows_change_nothing(folders, window, stride):
    whole, pretrained = windowed(folders["bert"], 0, 0)
    parts, _ = windowed(folders["bert"], window, stride)
    for transformer in (whole, parts):
        with torch.no_grad():
            transformer.model.embeddings.position_embeddings.weight.zero_()
            for layer in transformer.model.encoder.layer:
                layer.attention.output.dense.weight.zero_()
    whole.window = 10_000
    long = [words * 3 for words in LONG]
    assert vectors_of(parts, pretrained, long).shape[1] == 180
    positions = whole.model.embeddings
    positions.position_embeddings = nn.Embedding.from_pretrained(torch.zeros(10_000, 16))
    positions.position_ids, positions.token_type_ids = torch.arange(10_000)[None], torch.zeros(1, 10_000).long()
    for one, other, words in zip(*(vectors_of(t, pretrained, long) for t in (whole, parts)), long, strict=True):
        torch.testing.assert_close(one[: len(words)], other[: len(words)])


@pytest.mark.parametrize(("window", "stride"), [(12, 6), (11, 11), (13, 4)])
def test_every_piece_is_read_in_the_window_whose_edges_are_furthest(folders, window, stride):
    """Against a loop: all windows of a sentence, and for every piece the one with the most room around it."""
    transformer, pretrained = windowed(folders["bert"], window, stride, encoder_pooling="first")
    found = vectors_of(transformer, pretrained, LONG)
    for row, words in zip(found, LONG, strict=True):
        pieces = [pretrained.pieces(word) for word in words]
        flat = torch.tensor([piece for word in pieces for piece in word])
        starts = [0]
        while starts[-1] + window < len(flat):
            starts.append(starts[-1] + stride)
        read = {}
        for start in starts:
            part = flat[start : start + window]
            with torch.no_grad():
                read[start] = transformer.read(part[None], torch.tensor([len(part)]))[0]
        place = 0
        for word, vector in zip(pieces, row, strict=False):
            room = {start: min(place - start, start + window - 1 - place) for start in starts}
            most = max(room.values())
            candidates = [read[start][place - start] for start in starts if 0 <= room[start] >= most - 1]
            near = [torch.allclose(vector, candidate, atol=1e-5) for candidate in candidates]
            assert any(near)
            place += len(word)


def test_a_sentence_has_the_same_vectors_whatever_stands_beside_it(folders):
    transformer, pretrained = windowed(folders["bert"], 12, 5)
    together = vectors_of(transformer, pretrained, LONG)
    for row, words in zip(together, LONG, strict=True):
        (alone,) = vectors_of(transformer, pretrained, [words])
        torch.testing.assert_close(row[: len(words)], alone, atol=1e-5, rtol=1e-4)


def test_a_window_is_never_larger_than_the_transformer_can_take(folders):
    assert windowed(folders["bert"], 0, 0)[0].window == 64 - 2
    assert windowed(folders["bert"], 1000, 0)[0].window == 64 - 2
    assert windowed(folders["roberta"], 0, 0)[0].window == 34 - 2 - 2  # its first place has the number 2
    transformer, pretrained = windowed(folders["roberta"], 0, 0)
    assert vectors_of(transformer, pretrained, [WORDS]).isfinite().all()


# In the network


@pytest.mark.parametrize(
    "settings",
    [{}, {"lstm_layers": 0}, {"word_size": 0, "char_filters": 0}, {"lstm_layers": 0, "word_size": 0}],
    ids=str,
)
@pytest.mark.parametrize("tags", ["none", "gold"])
def test_a_sentence_has_the_same_scores_alone_and_in_a_batch(folders, settings, tags):
    parser = parser_of(network=with_transformer(folders["bert"], **settings), tags=tags)
    corpus = corpus_for(parser)
    parser.network.eval()
    with torch.inference_mode():
        together = parser.network(corpus.batch(np.arange(len(TREES))))
        for k, tree in enumerate(TREES):
            n = len(tree.tokens)
            alone = parser.network(corpus.batch(np.array([k])))
            torch.testing.assert_close(together.arcs[k, :n, : n + 1], alone.arcs[0], atol=1e-4, rtol=1e-4)
            for head, scores in alone.auxiliary.items():
                torch.testing.assert_close(together.auxiliary[head][k, :n], scores[0], atol=1e-4, rtol=1e-4)


def test_only_a_transformer_may_do_without_words_characters_and_lstms():
    for name in ("word_size", "char_filters", "lstm_layers"):
        with pytest.raises(ConfigError, match=f"{name}: expected at least 1"):
            NetworkSettings(**{name: 0})
        assert getattr(NetworkSettings(encoder="hf:x", **{name: 0}), name) == 0


@pytest.mark.parametrize("encoder", ["", "hf", "hf:", "bert", "gru"])
def test_an_encoder_that_is_none_is_refused(encoder):
    with pytest.raises(ConfigError, match=r"encoder: expected 'lstm', or 'hf:' and a Transformer, got"):
        NetworkSettings(encoder=encoder)


def test_a_transformer_and_subword_vectors_do_not_go_together(folders):
    with pytest.raises(ConfigError, match="there is no room for both"):
        pretrained_pieces(with_transformer(folders["bert"], subwords="latin"))


def test_settings_of_a_transformer_come_back_from_json():
    assert Config.from_json(BERT.to_json(), "memory") == BERT
    without = json.loads(Config().to_json())
    for section in without.values():
        if isinstance(section, dict):
            for name in [name for name in section if "encoder" in name or name == "layer_decay"]:
                del section[name]
    assert Config.from_json(json.dumps(without), "an older model") == Config()
    assert not Config().network.transformer


# Training


def run_of(folder, las=(), seed=1, network=None, **settings):
    """A trainer's ingredients: network, corpus, LAS on dev that is settled before, settings."""
    parser = parser_of(TREES[:6], network or with_transformer(folder, lstm_layers=1), seed=seed)
    las = iter(las or range(1, 99))
    training = Training(
        **{"epochs": 3, "batch_words": 12, "learning_rate": 0.01, "encoder_learning_rate": 1e-3} | settings
    )
    return parser.network, corpus_for(parser, TREES[:6]), lambda: {"las": float(next(las))}, "las", Run(training)


def weights_of(network):
    return {name: value.detach().clone() for name, value in network.named_parameters()}


def changed(before, after):
    return {name for name in before if not torch.equal(before[name], after[name])}


@pytest.mark.slow
def test_it_learns_a_treebank_by_heart_and_the_saved_model_needs_nothing_else(folders, tmp_path):
    """With the dropout of the Transformer, without BiLSTMs, and then without the folder that it came from."""
    original = tmp_path / "hub"
    shutil.copytree(folders["bert"], original)
    sizes = {"lstm_layers": 0, "decoder_size": 48, "arc_size": 48, "label_size": 24}
    training = Training(
        epochs=20, batch_words=60, learning_rate=0.02, encoder_learning_rate=0.01, beta2=0.99, schedule="cosine",
        warmup=5, average=0.9, checkpoint_epochs=0,
    )  # fmt: skip
    settings = Config("small", saved_trees(tmp_path, TREES[:10]), with_transformer(original, **sizes), training)
    results = train(settings, tmp_path / "run")
    losses = [epoch["loss"] for epoch in results["history"]]
    assert losses[-1] < 0.1 * losses[0]
    shutil.rmtree(original)
    trees = list(Parser.from_pretrained(tmp_path / "run" / "model").parse(TREES[:10]))
    assert evaluate(TREES[:10], trees).f1 == results["scores"]["dev"]["all"]["f1"] > 90


def test_the_transformer_has_learning_rates_of_its_own(folders):
    network, *_, run = run_of(folders["bert"], learning_rate=0.01, encoder_learning_rate=0.002, layer_decay=0.5)
    trainer = Trainer(network, run.settings, run.world)
    trainer.set_learning_rate(0.005)  # half of the way
    rates = {id(weight): group["lr"] for group in trainer.optimizer.param_groups for weight in group["params"]}
    found = {name: rates[id(weight)] for name, weight in network.named_parameters()}
    begin = "encoder.pieces.model."
    assert found["arc_bilinear"] == found["encoder.pieces.mixture"] == found["encoder.words.weight"] == 0.005
    assert found[f"{begin}encoder.layer.2.output.dense.weight"] == pytest.approx(0.001)
    assert found[f"{begin}encoder.layer.0.output.dense.bias"] == pytest.approx(0.00025)
    assert found[f"{begin}embeddings.LayerNorm.weight"] == pytest.approx(0.000125)
    assert trainer.learning_rate == 0.005


def test_a_frozen_transformer_stays_as_it_is_and_drops_nothing(folders):
    network, *rest = run_of(folders["bert"], encoder_learning_rate=0.0, average=0.9)
    before = weights_of(network)
    fit(network, *rest)
    learned = changed(before, weights_of(network))
    assert not [name for name in learned if ".model." in name]
    assert {"encoder.pieces.mixture", "encoder.root", "arc_bilinear"} <= learned
    network.train()
    assert network.encoder.training
    assert not network.encoder.pieces.model.training


def test_a_transformer_that_learns_drops_and_changes(folders):
    network, *rest = run_of(folders["bert"])
    before = weights_of(network)
    fit(network, *rest)
    learned = changed(before, weights_of(network))
    assert {name for name in before if ".model." in name} - learned <= {
        "encoder.pieces.model.embeddings.position_embeddings.weight"
    }
    network.train()
    assert network.encoder.pieces.model.training


def test_recomputing_changes_no_gradient(folders):
    found = []
    for recompute in (False, True):
        network, corpus, *_ = run_of(
            folders["bert"], network=with_transformer(folders["bert"], encoder_recompute=recompute)
        )
        network.train()
        torch.manual_seed(3)
        sum(network.loss(corpus.batch(np.arange(6))).values()).backward()
        found.append({name: value.grad for name, value in network.named_parameters() if value.grad is not None})
    assert found[0].keys() == found[1].keys()
    for name, value in found[0].items():
        torch.testing.assert_close(value, found[1][name])
    assert network.encoder.pieces.model.is_gradient_checkpointing


class Interrupted(Exception):
    pass


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"schedule": "cosine", "warmup": 3, "average": 0.9, "layer_decay": 0.8},
        {"patience": 1, "decay": 0.5, "encoder_learning_rate": 0.0},
    ],
    ids=str,
)
def test_an_interrupted_run_goes_on_to_the_same_numbers(folders, tmp_path, settings):
    las = [5, 4, 8]
    network, *rest = run_of(folders["bert"], las, **settings)
    whole = fit(network, *rest)
    wanted = weights_of(network)

    def interrupt(event, numbers):
        if event == "step" and numbers["epoch"] == 3:
            raise Interrupted

    network, *rest = run_of(folders["bert"], las, **settings)
    with pytest.raises(Interrupted):
        fit(network, *rest[:-1], dataclasses.replace(rest[-1], folder=tmp_path, identity="same", report=interrupt))
    assert (tmp_path / FILE).exists()
    network, *rest = run_of(folders["bert"], las[2:], seed=2, **settings)
    again = fit(network, *rest[:-1], dataclasses.replace(rest[-1], folder=tmp_path, identity="same"))
    assert not changed(wanted, weights_of(network))
    assert [epoch["loss"] for epoch in again.history] == [epoch["loss"] for epoch in whole.history]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize("layers", [0, 1])
def test_a_gpu_trains_it_in_half_precision(folders, layers):
    network, *rest = run_of(folders["bert"], network=with_transformer(folders["bert"], lstm_layers=layers), average=0.9)
    run = dataclasses.replace(rest[-1], world=World(device=torch.device("cuda")))
    losses = [epoch["loss"] for epoch in fit(network.cuda(), *rest[:-1], run).history]
    assert losses == sorted(losses, reverse=True)


def test_every_tagger_begins_with_the_pretrained_weights(folders):
    """Folds share what was read from the disk, and none may learn from another's sentences."""
    split = split_of(TREES)
    network = with_transformer(folders["bert"])
    vocab = Vocab.build(split.encoded, ["tag"])
    pretrained = pretrained_pieces(network)
    before = {name: value.clone() for name, value in pretrained.weights.items()}
    tagger = Tagger(network, vocab, pretrained)
    corpus = Corpus([tree.tokens for tree in TREES], parser_of(network=network).forms())
    corpus.table.vocab = vocab
    corpus.learn(split.encoded)
    settings = Training(epochs=1, batch_words=60, encoder_learning_rate=0.1)
    fit(tagger, corpus, lambda: {"accuracy": 1.0}, "accuracy", Run(settings))
    assert not changed(before, pretrained.weights)
    again = Tagger(network, vocab, pretrained).encoder.pieces.model.state_dict()
    assert not changed(before, again)
    assert changed(before, tagger.encoder.pieces.model.state_dict())


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


def test_a_saved_model_gives_the_same_trees(folder, tmp_path):
    parser = parser_of(network=with_transformer(folder))
    round_weights(parser.model)
    words = [*([token.form for token in tree.tokens] for tree in TREES), ODD, SPECIAL, WORDS]
    trees = list(parser.parse(words))
    write_model(parser.model, tmp_path / "model")
    assert {str(path.relative_to(tmp_path / "model")) for path in (tmp_path / "model").rglob("*")} == {
        *(CONFIG, VOCAB, WEIGHTS, ENCODER, f"{ENCODER}/{CONFIG}", f"{ENCODER}/{TOKENIZER}")
    }
    loaded = Parser.from_pretrained(tmp_path / "model")
    assert list(loaded.parse(words)) == trees
    assert [tree.words for tree in trees] == [tuple(row) for row in words]
    write_model(loaded.model, tmp_path / "again")
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
        ({"num_hidden_layers": 10**6}, "1000000 layers, expected 1 to"),
        ({"num_hidden_layers": 0}, "0 layers, expected 1 to"),
        ({"hidden_size": 10**12}, "the number 1000000000000 is absurd"),
        ({"max_position_embeddings": 10**10}, "the number 10000000000 is absurd"),
        ({"vocab_size": 3}, "its tokenizer has pieces beyond"),
        ({"max_position_embeddings": 2}, "no room for a sentence"),
        ({"hidden_size": 15}, ""),
        ({"num_attention_heads": -1}, "num_attention_heads is -1"),
        ({"model_type": "t5"}, ""),
        ({"model_type": 7}, ""),
        ({"hidden_act": "os.system"}, ""),
    ],
    ids=str,
)
def test_a_configuration_that_does_not_fit_is_refused(saved, setting, complaint):
    path = saved / ENCODER / CONFIG
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | setting), "utf-8")
    assert complaint in refused(saved)


def test_code_that_a_configuration_names_is_not_run(saved):
    """Neither a module in the folder nor an implementation from elsewhere."""
    path = saved / ENCODER / CONFIG
    code = {"auto_map": {"AutoConfig": "evil.Config", "AutoModel": "evil.Model"}, "_attn_implementation": "evil/kernel"}
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | code), "utf-8")
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


# Where it comes from


def test_a_folder_that_is_no_transformer_is_refused(tmp_path):
    with pytest.raises(ModelError, match=rf"hf:{tmp_path}: not a Transformer that can be used: "):
        Pretrained.load(str(tmp_path))


def test_pickled_weights_are_not_read(folders, tmp_path):
    folder = tmp_path / "old"
    shutil.copytree(folders["bert"], folder)
    weights = AutoModel.from_pretrained(folder).state_dict()
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match=r"old: not a Transformer that can be used: .*safetensors"):
        Pretrained.load(str(folder))


def test_weights_that_are_missing_are_named(folders, tmp_path):
    folder = tmp_path / "short"
    shutil.copytree(folders["bert"], folder)
    settings = json.loads((folder / CONFIG).read_text("utf-8"))
    (folder / CONFIG).write_text(json.dumps(settings | {"num_hidden_layers": 4}), "utf-8")
    with pytest.raises(ModelError, match=r"short: encoder.layer.3.* is missing from its weights"):
        Pretrained.load(str(folder))


def test_a_decoder_is_refused(folders, tmp_path):
    folder = tmp_path / "t5"
    shutil.copytree(folders["bert"], folder)
    T5Model(T5Config(vocab_size=120, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)).save_pretrained(folder)
    with pytest.raises(ModelError, match=r"an encoder with a decoder"):
        Pretrained.load(str(folder))


def test_a_name_that_cannot_be_fetched_is_said_so(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match=r"^hf:nobody/nothing: neither a folder nor to be had from the hub: "):
        Pretrained.load("nobody/nothing")


def test_the_missing_extra_is_named(monkeypatch, folders, saved):
    monkeypatch.setitem(sys.modules, "transformers", None)
    missing = r"transformers is missing: pip install 'discotree\[transformers\]'"
    for attempt in (lambda: Pretrained.load(str(folders["bert"])), lambda: Parser.from_pretrained(saved)):
        with pytest.raises(MissingExtraError, match=missing):
            attempt()


def test_half_precision_on_the_disk_is_no_half_precision_in_training(folders, tmp_path):
    AutoModel.from_pretrained(folders["bert"]).half().save_pretrained(tmp_path / "half")
    shutil.copy(folders["bert"] / TOKENIZER, tmp_path / "half")
    shutil.copy(folders["bert"] / "tokenizer_config.json", tmp_path / "half")
    parser = parser_of(network=with_transformer(tmp_path / "half"))
    assert {weight.dtype for weight in parser.network.parameters()} == {torch.float32}
    write_model(parser.model, tmp_path / "model")
    loaded = Parser.from_pretrained(tmp_path / "model")
    assert {weight.dtype for weight in loaded.network.parameters()} == {torch.float32}
    assert loaded.model.subwords.config.to_dict().get("dtype") in (None, "float32", torch.float32)


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


def test_windows_overlap_only_so_much(folders):
    with pytest.raises(ModelError, match=r"encoder_stride: expected at least 4, got 1"):
        windowed(folders["bert"], 0, 1)


def test_many_pieces_are_read_in_chunks_with_the_same_vectors(folders, monkeypatch):
    part, pretrained = windowed(folders["bert"], 0, 0)
    expected = vectors_of(part, pretrained, LONG)
    monkeypatch.setattr(module, "MAX_PAIRS", 5000)
    torch.testing.assert_close(vectors_of(part, pretrained, LONG), expected, atol=1e-5, rtol=1e-4)


def test_a_normalizer_that_doubles_is_refused_with_its_address(saved):
    path = saved / ENCODER / TOKENIZER
    step = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
    rules = json.loads(path.read_text("utf-8")) | {"normalizer": {"type": "Sequence", "normalizers": [step] * 40}}
    path.write_text(json.dumps(rules), "utf-8")
    assert "its normalizer may make a word 1,099,511,627,776 times as long" in refused(saved)


def test_a_template_with_an_unknown_token_is_refused_without_a_panic(saved, capfd):
    path = saved / ENCODER / TOKENIZER
    rules = json.loads(path.read_text("utf-8"))
    rules["post_processor"]["special_tokens"].popitem()
    path.write_text(json.dumps(rules), "utf-8")
    assert "its template has the token" in refused(saved)
    assert "panicked" not in capfd.readouterr().err
