"""A Transformer as the encoder: vectors against the plain model, windows, the network, and where it comes from."""

import json
import shutil
import sys
from functools import cache

import numpy as np
import pytest
import torch
from support.encoders import WORDS, loaded, with_transformer
from support.networks import TREES, corpus_for, parser_of, tensors, torch_parser
from torch import nn
from transformers import AutoModel, T5Config, T5Model

from discotree.config.schema import NetworkSettings
from discotree.errors import ConfigError, MissingExtraError, ModelError
from discotree.models import CONFIG
from discotree.models.folder import read_model, write_model
from discotree.network.pytorch import transformer as module
from discotree.network.pytorch.model import pretrained_pieces
from discotree.network.pytorch.transformer import Transformer, WithoutNumbers, load_transformer
from discotree.network.transformer import TOKENIZER
from discotree.training.run import network_in


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


# Vectors


@cache
def plain(folder):
    return AutoModel.from_pretrained(folder).eval()


def by_hand(folder, words, layers):
    """One sentence through the plain model, mixed evenly and pooled in loops."""
    pretrained, model = loaded(folder), plain(folder)
    rows = [pretrained.pieces(word) for word in words]
    ids = [*pretrained.before, *(piece for row in rows for piece in row), *pretrained.after]
    with torch.no_grad():
        states = model(torch.tensor([ids]), output_hidden_states=True).hidden_states
    mean = torch.stack(states[-layers:]).mean(0)[0]
    vectors, place = [], len(pretrained.before)
    for row in rows:
        vectors.append(mean[place : place + len(row)].mean(0))
        place += len(row)
    return torch.stack(vectors)


@pytest.mark.parametrize("layers", [2, 99])
def test_vectors_are_those_of_the_plain_model_sentence_by_sentence(folder, layers):
    settings = NetworkSettings(encoder=f"hf:{folder}", encoder_layers=layers)
    pretrained = loaded(folder)
    transformer = Transformer(pretrained, settings)
    sentences = [WORDS[:5], WORDS[5:6], ["😀", "\u200b", "Hund"], WORDS[7:14]]
    found = vectors_of(transformer, pretrained, sentences)
    for row, words in zip(found, sentences, strict=True):
        torch.testing.assert_close(row[: len(words)], by_hand(folder, words, layers), atol=1e-5, rtol=1e-4)


def windowed(folder, window=0, stride=0):
    pretrained = loaded(folder)
    transformer = Transformer(pretrained, NetworkSettings(encoder=f"hf:{folder}"))
    if window:
        transformer.window, transformer.stride = window, stride
    return transformer, pretrained


LONG = [WORDS[:60], WORDS[60:63], WORDS[30:55], WORDS[:17], ["x" * 99, *WORDS[:20]]]


@pytest.mark.parametrize(("window", "stride"), [(10, 5), (9, 4), (7, 7), (1, 1)])
def test_where_a_vector_depends_on_its_piece_alone_windows_change_nothing(folders, window, stride):
    whole, pretrained = windowed(folders["bert"])
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
    transformer, pretrained = windowed(folders["bert"], window, stride)
    transformer.eval()
    for words in LONG:
        flat = torch.tensor([piece for word in words for piece in pretrained.pieces(word)])
        with torch.no_grad():
            (row,) = transformer.read_in_windows(flat[None], torch.tensor([len(flat)]))
        starts = [0]
        while starts[-1] + window < len(flat):
            starts.append(starts[-1] + stride)
        read = {}
        for start in starts:
            part = flat[start : start + window]
            with torch.no_grad():
                read[start] = transformer.read(part[None], torch.tensor([len(part)]))[0]
        for place, vector in enumerate(row):
            room = {start: min(place - start, start + window - 1 - place) for start in starts}
            most = max(room.values())
            candidates = [read[start][place - start] for start in starts if 0 <= room[start] >= most - 1]
            near = [torch.allclose(vector, candidate, atol=1e-5) for candidate in candidates]
            assert any(near)


def test_a_sentence_has_the_same_vectors_whatever_stands_beside_it(folders):
    transformer, pretrained = windowed(folders["bert"], 12, 5)
    together = vectors_of(transformer, pretrained, LONG)
    for row, words in zip(together, LONG, strict=True):
        (alone,) = vectors_of(transformer, pretrained, [words])
        torch.testing.assert_close(row[: len(words)], alone, atol=1e-5, rtol=1e-4)


def test_a_window_is_never_larger_than_the_transformer_can_take(folders):
    assert windowed(folders["bert"])[0].window == 64 - 2
    transformer, pretrained = windowed(folders["roberta"])
    assert transformer.window == 34 - 2 - 2  # its first place has the number 2
    assert vectors_of(transformer, pretrained, [WORDS]).isfinite().all()


def test_many_pieces_are_read_in_chunks_with_the_same_vectors(folders, monkeypatch):
    part, pretrained = windowed(folders["bert"], 0, 0)
    expected = vectors_of(part, pretrained, LONG)
    monkeypatch.setattr(module, "MAX_PAIRS", 5000)
    torch.testing.assert_close(vectors_of(part, pretrained, LONG), expected, atol=1e-5, rtol=1e-4)


# In the network


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [{}, {"lstm_layers": 0}, {"word_size": 0, "char_filters": 0}, {"lstm_layers": 0, "word_size": 0}],
    ids=str,
)
@pytest.mark.parametrize("tags", ["none", "gold"])
def test_a_sentence_has_the_same_scores_alone_and_in_a_batch(folders, settings, tags):
    parser = parser_of(network=with_transformer(folders["bert"], **settings), tags=tags)
    corpus = corpus_for(parser)
    network = network_in(parser).eval()
    with torch.inference_mode():
        together = network(tensors(corpus, range(len(TREES))))
        for k, tree in enumerate(TREES):
            n = len(tree.tokens)
            alone = network(tensors(corpus, [k]))
            torch.testing.assert_close(together.arcs[k, :n, : n + 1], alone.arcs[0], atol=1e-4, rtol=1e-4)
            for head, scores in alone.auxiliary.items():
                torch.testing.assert_close(together.auxiliary[head][k, :n], scores[0], atol=1e-4, rtol=1e-4)


def test_a_transformer_and_subword_vectors_do_not_go_together(folders):
    with pytest.raises(ConfigError, match="there is no room for both"):
        pretrained_pieces(with_transformer(folders["bert"], subwords="latin"))


# Where it comes from


def test_a_folder_that_is_no_transformer_is_refused(tmp_path):
    with pytest.raises(ModelError, match=rf"hf:{tmp_path}: cannot use this Transformer: config.json is missing"):
        load_transformer(str(tmp_path))
    (tmp_path / CONFIG).write_text('{"hidden_size": 8}', "utf-8")
    with pytest.raises(ModelError, match=rf"hf:{tmp_path}: cannot use this Transformer: .*model_type"):
        load_transformer(str(tmp_path))


def test_a_parser_is_no_transformer(folders, tmp_path):
    write_model(parser_of(network=with_transformer(folders["bert"])).model, tmp_path / "parser")
    with pytest.raises(ModelError, match=r"parser: this is the folder of a parser"):
        load_transformer(str(tmp_path / "parser"))


def test_pickled_weights_are_not_read(folders, tmp_path):
    folder = tmp_path / "old"
    shutil.copytree(folders["bert"], folder)
    weights = AutoModel.from_pretrained(folder).state_dict()
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match=r"old: cannot use this Transformer: .*safetensors"):
        load_transformer(str(folder))


def test_weights_that_are_missing_are_named(folders, tmp_path):
    folder = tmp_path / "short"
    shutil.copytree(folders["bert"], folder)
    settings = json.loads((folder / CONFIG).read_text("utf-8"))
    (folder / CONFIG).write_text(json.dumps(settings | {"num_hidden_layers": 4}), "utf-8")
    with pytest.raises(ModelError, match=r"short: the weight encoder.layer.3.* is missing"):
        load_transformer(str(folder))


def test_a_decoder_is_refused(folders, tmp_path):
    folder = tmp_path / "t5"
    shutil.copytree(folders["bert"], folder)
    T5Model(T5Config(vocab_size=120, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)).save_pretrained(folder)
    with pytest.raises(ModelError, match=r"got an encoder-decoder"):
        load_transformer(str(folder))


def test_a_name_that_cannot_be_fetched_is_said_so(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match=r"^hf:nobody/nothing: not a folder, and loading it from the hub failed: "):
        load_transformer("nobody/nothing")


def test_the_missing_extra_is_named(monkeypatch, folders):
    network = with_transformer(folders["bert"])
    pieces = loaded(folders["bert"])
    monkeypatch.setitem(sys.modules, "transformers", None)
    missing = r"transformers is missing: pip install 'discotree\[transformers\]'"
    for attempt in (lambda: load_transformer(str(folders["bert"])), lambda: Transformer(pieces, network)):
        with pytest.raises(MissingExtraError, match=missing):
            attempt()


def test_half_precision_on_the_disk_is_no_half_precision_in_training(folders, tmp_path):
    AutoModel.from_pretrained(folders["bert"]).half().save_pretrained(tmp_path / "half")
    shutil.copy(folders["bert"] / TOKENIZER, tmp_path / "half")
    shutil.copy(folders["bert"] / "tokenizer_config.json", tmp_path / "half")
    parser = parser_of(network=with_transformer(tmp_path / "half"))
    assert {weight.dtype for weight in network_in(parser).parameters()} == {torch.float32}
    write_model(parser.model, tmp_path / "model")
    again = torch_parser(read_model(tmp_path / "model"))
    assert {weight.dtype for weight in network_in(again).parameters()} == {torch.float32}
    assert again.model.subwords.settings.get("dtype") in (None, "float32")


def test_constants_that_a_transformer_computes_are_bounded():
    with WithoutNumbers():
        assert torch.ones(3).tolist() == [1, 1, 1]
        assert torch.empty(1 << 40).is_meta
        with pytest.raises(ValueError, match="got 1,099,511,627,779"):
            torch.ones((1 << 20, 1 << 20))
