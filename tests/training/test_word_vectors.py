"""From text to a file of vectors: the same seed gives the same file, which data.vectors reads, whole or not at all."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.networks import TREES
from support.tiny import TINY, small_recipe

from discotree.config import VectorSettings, load_recipe, vector_settings
from discotree.errors import ConfigError, TreebankError
from discotree.network.vectors import read_vectors
from discotree.parsing.parser import Parser
from discotree.training import word_corpus
from discotree.training.run import MODEL, train
from discotree.training.text_sources import TextSource, text_sources
from discotree.training.word_corpus import END, RARE, WordCorpus
from discotree.training.word_vectors import VectorProgress, learn_vectors, write_vectors

SMALL = VectorSettings(size=8, window=2, min_count=1, subsample=0.0, epochs=2, batch=32, device="cpu")


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
    return WordCorpus(text_sources(names), "", VectorSettings(**{"min_count": 1, **settings}), tmp_path)


def test_words_are_counted_as_often_as_their_text_counts(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, "a b a\n\nc 1990 2\n", "b d\n", min_count=2)
    assert dict(zip(corpus.words, corpus.counts.tolist(), strict=True)) == {"b": 4, "d": 3, "a": 2}
    assert corpus.total == 6 + 3 * 2
    blocks = [block.tolist() for block in corpus.blocks(np.random.default_rng(1))]
    assert sorted(blocks) == sorted([[2, 0, 2, END, RARE, RARE, RARE, END], *[[0, 1, END]] * 3])
    assert corpus_of(tmp_path, "1990 b 2011\n").words == ["0000", "b"]
    assert corpus_of(tmp_path, "1990 b 1990\n", zero_digits=False).words == ["1990", "b"]
    assert corpus_of(tmp_path, "a b a c a b\n", max_words=2).words == ["a", "b"]


def test_text_is_read_in_blocks_of_bounded_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_corpus, "BLOCK_WORDS", 7)
    monkeypatch.setattr(word_corpus, "BUFFER_WORDS", 5)
    corpus = corpus_of(tmp_path, "".join(f"w{chr(97 + k)} x\n" for k in range(20)))
    blocks = list(corpus.blocks(np.random.default_rng(1)))
    assert max(map(len, blocks)) == 7
    found = sorted(corpus.words[number] for block in blocks for number in block if number >= 0)
    assert found == sorted([f"w{chr(97 + k)}" for k in range(20)] + ["x"] * 20)


def test_more_distinct_words_than_memory_holds_cost_only_the_rare_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_corpus, "MAX_KNOWN_WORDS", 10)
    names = [f"{a}{b}" for a in "pqrst" for b in "uvwxyz"]
    corpus = corpus_of(tmp_path, "".join(f"often {name}\n" for name in names))
    assert corpus.words[0] == "often"
    assert corpus.counts[0] == 30
    assert len(corpus.words) <= 11
    (block,) = corpus.blocks(np.random.default_rng(1))
    assert block.tolist().count(0) == 30


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
    events: list[VectorProgress] = []
    path = tmp_path / "vectors.txt"
    record = learn_vectors([TextSource(text.path, 2)], str(path), SMALL, "de", events.append)
    assert json.loads(Path(f"{path}.json").read_text("utf-8")) == record
    (source,) = record["sources"]
    assert (source["file"], source["repeat"], source["sha256"]) == ("text.txt", 2, text.sha256())
    assert (
        record["text_words"]
        == 2 * source["words"]
        == sum(len(sentence) for _ in range(2) for sentence in text.sentences("de"))
    )
    assert (record["passes"], record["settings"]["size"], record["language"]) == (2.0, 8, "de")
    assert record["losses"][0] > record["losses"][-1] > 0
    assert {event.stage for event in events} == {"reading", "learning"}
    assert events[-1].count == record["pairs"]


def test_learning_ends_with_its_time(text: TextSource, tmp_path: Path) -> None:
    settings = VectorSettings(**{**vars(SMALL), "epochs": 1_000_000, "max_seconds": 0.2})
    record = learn_vectors([text], str(tmp_path / "vectors.txt"), settings)
    assert 0 < record["passes"] < 1_000_000
    assert len(read_vectors(tmp_path / "vectors.txt")) == record["words"]


def test_interrupted_learning_leaves_nothing(text: TextSource, tmp_path: Path) -> None:
    def stop(progress: VectorProgress) -> None:
        if progress.stage == "learning":
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
