"""From text to a file of vectors: the same seed gives the same file, which data.vectors reads, whole or not at all."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.networks import TREES
from support.tiny import TINY, small_recipe
from torch.nn.functional import logsigmoid

from discotree.config.pretraining import VectorSettings, vector_settings
from discotree.config.recipes import load_recipe
from discotree.errors import ConfigError, TreebankError
from discotree.network.vectors import read_vectors
from discotree.parsing.parser import Parser
from discotree.text import sentences
from discotree.training import vectors
from discotree.training.run import MODEL, train
from discotree.training.text_sources import TextSource, text_sources
from discotree.training.vectors import (
    END,
    RARE,
    SkipGram,
    WordCorpus,
    climb,
    keep_probability,
    learn_vectors,
    write_vectors,
)

SMALL = VectorSettings(size=8, window=2, min_count=1, subsample=0.0, epochs=2, device="cpu")


@pytest.fixture
def text(tmp_path: Path) -> TextSource:
    """The sentences of the small treebank, thrice."""
    path = tmp_path / "text.txt"
    path.write_text("".join(" ".join(tree.words) + "\n" for tree in TREES) * 3, "utf-8")
    return TextSource(str(path))


# The corpus


def corpus_of(tmp_path: Path, *texts: str, **settings: Any) -> WordCorpus:
    names = []
    for number, content in enumerate(texts):
        path = tmp_path / f"{number}.txt"
        path.write_text(content)
        names.append(str(path) + ("*3" if number else ""))
    return WordCorpus(text_sources(names), "", VectorSettings(**{"min_count": 1, **settings}))


def test_words_are_counted_as_often_as_their_text_counts(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, "a b a\n\nc 1990 2\n", "b d\n", min_count=2)
    assert dict(zip(corpus.words, corpus.counts.tolist(), strict=True)) == {"b": 4, "d": 3, "a": 2}
    assert corpus.total == 6 + 3 * 2
    blocks = [block.tolist() for block in corpus.blocks(np.random.default_rng(1))]
    assert sorted(blocks) == sorted([[2, 0, 2, END, RARE, RARE, RARE, END], *[[0, 1, END]] * 3])
    assert corpus_of(tmp_path, "1990 b 2011\n").words == ["0000", "b"]
    assert corpus_of(tmp_path, "a b a c a b\n", max_words=2).words == ["a", "b"]


def test_text_is_read_in_blocks_of_bounded_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "BLOCK_WORDS", 7)
    corpus = corpus_of(tmp_path, "".join(f"w{chr(97 + k)} x\n" for k in range(20)))
    blocks = list(corpus.blocks(np.random.default_rng(1)))
    assert max(map(len, blocks)) == 7
    found = sorted(corpus.words[number] for block in blocks for number in block if number >= 0)
    assert found == sorted([f"w{chr(97 + k)}" for k in range(20)] + ["x"] * 20)


def test_a_text_without_frequent_words_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TreebankError, match=r"0\.txt: 3 words, none of which occurs 5 times \(vectors\.min_count\)"):
        corpus_of(tmp_path, "a b c\n", min_count=5)


# The file


@pytest.mark.parametrize("name", ["vectors.txt", "vectors.bin", "vectors.txt.gz", "vectors.bin.xz"])
def test_what_is_written_is_read_again(name: str, tmp_path: Path) -> None:
    words = ["de", "'s", "é\u00a0x", "0,0", "0"]
    matrix = np.random.default_rng(3).normal(size=(5, 20)).astype(np.float32)
    write_vectors(str(tmp_path / name), words, matrix)
    found = read_vectors(tmp_path / name)
    assert list(found.words) == words
    assert np.allclose(found.matrix, matrix, rtol=1e-4)


def test_the_same_seed_gives_the_same_file(text: TextSource, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.txt", "b.txt", "c.txt")]
    for path, seed in zip(files, (1, 1, 2), strict=True):
        learn_vectors([text], str(path), VectorSettings(**{**vars(SMALL), "seed": seed}))
    contents = [path.read_bytes() for path in files]
    assert contents[0] == contents[1] != contents[2]


def test_a_record_says_what_the_vectors_were_made_of(text: TextSource, tmp_path: Path) -> None:
    events: list[dict[str, float]] = []
    stages: list[str] = []
    path = tmp_path / "vectors.txt"
    record = learn_vectors(
        [TextSource(text.path, 2)],
        str(path),
        SMALL,
        "de",
        lambda _, metrics: events.append(metrics),
        lambda task, *_: stages.append(task),
    )
    assert json.loads(Path(f"{path}.json").read_text("utf-8")) == record
    (source,) = record["sources"]
    assert (source["file"], source["repeat"], source["sha256"]) == ("text.txt", 2, text.sha256())
    lines = Path(text.path).read_text("utf-8").splitlines()
    assert source["words"] == sum(len(words) for line in lines for words in sentences(line, "de"))
    assert record["text_words"] == 2 * source["words"]
    assert (record["passes"], record["settings"]["size"], record["language"]) == (2.0, 8, "de")
    assert record["losses"][0] > record["losses"][-1] > 0
    assert set(stages) == {"reading"}
    assert 0 < events[-1]["pairs"] <= record["pairs"]


def test_learning_ends_with_its_time(text: TextSource, tmp_path: Path) -> None:
    settings = VectorSettings(**{**vars(SMALL), "epochs": 1_000_000, "max_seconds": 0.2})
    record = learn_vectors([text], str(tmp_path / "vectors.txt"), settings)
    assert 0 < record["passes"] < 1_000_000
    assert len(read_vectors(tmp_path / "vectors.txt")) == record["words"]


def test_interrupted_learning_leaves_nothing(text: TextSource, tmp_path: Path) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(KeyboardInterrupt):
        learn_vectors([text], str(tmp_path / "vectors.txt"), SMALL, report=stop)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_settings_are_checked() -> None:
    assert vector_settings(["vectors.size=50", "vectors.subsample=0"]) == VectorSettings(size=50, subsample=0.0)
    for wrong in ("size=50", "training.seed=1", "vectors.size=0", "vectors.colour=1", "vectors.window=x"):
        with pytest.raises(ConfigError, match=f"--set {wrong}: "):
            vector_settings([wrong])


# The parser


def test_a_parser_starts_from_the_vectors_tunes_them_and_keeps_them(text: TextSource, tmp_path: Path) -> None:
    """The preset `paper` fine-tunes all embeddings; the model needs the file no more."""
    path = tmp_path / "vectors.bin"
    learn_vectors([text], str(path), SMALL)
    settings = [f"data.folder={tmp_path}", *TINY, "data.vectors=vectors.bin", "network.word_size=100"]
    config = load_recipe(small_recipe(tmp_path), settings, "no-pos", "paper")
    results = train(config, tmp_path / "run")
    assert results["config"]["network"]["word_size"] == SMALL.size
    assert "vectors.bin" in results["data"]["sha256"]
    assert set(results["scores"]["test"]["attachment"]) >= {"las", "uas"}
    vectors = read_vectors(path)
    path.unlink()
    parser = Parser.from_pretrained(tmp_path / "run" / MODEL)
    stored = parser.model.weights["encoder.words.weight"]
    words = parser.vocab.words.ids
    assert set(vectors.words) <= {*words, *(word for word in vectors.words if word[0].isdigit())}
    learned = np.stack([stored[words[word]] for word in vectors.words if word in words])
    given = np.stack([vectors.matrix[row] for word, row in vectors.words.items() if word in words])
    difference = np.abs(learned - given).max(1)
    assert (difference < 0.05).all(), "training starts from the vectors of the file"
    assert (difference > 1e-4).any(), "and changes them"
    assert [tree.words for tree in parser.parse([TREES[0].words])] == [TREES[0].words]


COUNTS = np.array([40, 30, 20, 10, 5, 5], np.int64)


def network(**settings: object) -> SkipGram:
    small = {"size": 4, "window": 2, "subsample": 0.0}
    return SkipGram(COUNTS, VectorSettings(**{**small, **settings}), torch.device("cpu"))  # type: ignore[arg-type]


def test_a_step_climbs_the_gradient_of_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    """Autograd differentiates the loss, written down pair by pair; a step has to move along the same direction."""
    monkeypatch.setattr(vectors, "SHARED_NEGATIVES", 3)
    one = network()
    one.outputs.normal_(generator=one.random)
    words, near = torch.tensor([0, 1, 0]), torch.tensor([[3, 1, 2, 0], [0, 0, 2, 3], [1, 1, 4, 5]])
    inside = torch.tensor([[1, 1, 1, 0], [0, 1, 1, 0], [1, 1, 1, 1]]).bool()
    drawn = one.draw(3)
    monkeypatch.setattr(one, "draw", lambda _: drawn)

    inputs, outputs = one.inputs.clone().requires_grad_(), one.outputs.clone().requires_grad_()
    total = torch.zeros(())
    for b, o in inside.nonzero().tolist():
        table = o * len(COUNTS)
        total = total - logsigmoid(inputs[words[b]] @ outputs[table + near[b, o]])
        for word in drawn[o]:
            total = total - 5 / 3 * logsigmoid(-inputs[words[b]] @ outputs[table + word])
    torch.autograd.backward(total)

    before = one.inputs.clone(), one.outputs.clone()
    loss = one.step(words, near, inside, learning_rate=0.1)
    assert float(loss) == pytest.approx(float(total.detach()), rel=1e-5)
    for old, new, wanted in ((before[0], one.inputs, inputs.grad), (before[1], one.outputs, outputs.grad)):
        assert wanted is not None
        rate = 0.1 / wanted.square().mean(1, keepdim=True).sqrt().clamp(min=1e-8)  # Adagrad's first step
        assert torch.allclose(new - old, -rate * wanted, atol=1e-5)


def test_rows_that_repeat_are_added_up_before_a_step() -> None:
    matrix, squares = torch.zeros(3, 2), torch.zeros(3)
    climb(matrix, squares, torch.tensor([2, 0, 2]), torch.tensor([[1.0, 0], [0, 2], [2, 0]]), 0.5)
    assert squares.tolist() == [2, 0, 4.5]
    assert matrix[1].tolist() == [0, 0]
    assert torch.allclose(matrix[2], torch.tensor([3.0, 0]) * 0.5 / 4.5**0.5)


def test_neighbours_stay_inside_the_sentence_and_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences of one word have no neighbours, and no pair reaches over the end of a sentence."""
    monkeypatch.setattr(vectors, "CPU_BATCH", 5)
    one = network(window=3)
    found = set()
    step = one.step

    def watched(words: torch.Tensor, near: torch.Tensor, inside: torch.Tensor, *rest: float, **more: bool) -> object:
        for b, o in inside.nonzero().tolist():
            found.add((int(words[b]), int(one.offsets[o]), int(near[b, o])))
        return step(words, near, inside, *rest, **more)

    monkeypatch.setattr(one, "step", watched)
    block = np.array([0, 1, -1, 5, -1, -1, 2, -2, 3, 4], np.int32)  # -2 has no vector: 2 and 3 are neighbours
    for _ in range(50):
        one.learn_block(block, 0.1)
    assert found == {(0, 1, 1), (1, -1, 0), (2, 1, 3), (2, 2, 4), (3, -1, 2), (3, 1, 4), (4, -1, 3), (4, -2, 2)}


def test_words_are_drawn_by_their_frequency_to_a_power(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "POWER", 0.5)
    one = network()
    counts = torch.bincount(one.draw(50_000).flatten(), minlength=6).double()
    wanted = torch.from_numpy(COUNTS).double().sqrt()
    assert torch.allclose(counts / counts.sum(), wanted / wanted.sum(), atol=0.01)


def test_frequent_words_are_left_out_now_and_then() -> None:
    share = keep_probability(torch.tensor([0.1, 0.001, 1e-6]).double(), 1e-3)
    assert share.tolist() == pytest.approx([0.11, 1, 1])
    assert keep_probability(torch.tensor([0.5]), 0.0).tolist() == [1]


def text_of_two_kinds(count: int) -> np.ndarray:
    """Sentences in which 0 and 1 stand before 2 and 3, never after them; 4 and 5 stand anywhere."""
    draw = np.random.default_rng(7)
    rows = [[draw.integers(0, 2), draw.integers(2, 4), draw.integers(4, 6), -1] for _ in range(count)]
    return np.array(rows, np.int32).ravel()


def test_words_that_stand_alike_get_similar_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "CPU_BATCH", 64)
    monkeypatch.setattr(vectors, "SHARED_NEGATIVES", 3)
    one = network(size=8)
    for _ in range(10):
        one.learn_block(text_of_two_kinds(1000), 0.1)
    unit = torch.nn.functional.normalize(one.inputs, dim=1)
    similar = unit @ unit.T
    assert min(similar[0, 1], similar[2, 3], similar[4, 5]) > 0.8
    assert max(similar[0, 2], similar[0, 4], similar[2, 4]) < 0.5
