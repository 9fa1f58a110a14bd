"""Predicted tags: no model tags what it has seen, nothing is lost, and a parser can learn from the file."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.networks import TREES, split_of
from support.tiny import TINY, small_recipe

from discotree import Node, Token, Tree, write
from discotree.config.recipes import load_recipe
from discotree.config.schema import Config, Training
from discotree.errors import ConfigError, DiscotreeError, TreebankError
from discotree.network.batch import Corpus
from discotree.training import tagger
from discotree.training.data import Split, format_tags, load_splits, read_tags, resolve
from discotree.training.distributed import ProcessGroup
from discotree.training.tagger import Tagger, accuracies, enough_epochs, jackknife, tag


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return load_recipe(small_recipe(tmp_path), [f"data.folder={tmp_path}", *TINY])


# Folds


@pytest.mark.parametrize(("size", "count"), [(20, 2), (20, 3), (14, 10), (14, 14), (1003, 10)])
def test_every_training_sentence_is_in_one_fold_and_the_folds_are_about_equal(size: int, count: int) -> None:
    trees = split_of([dataclasses.replace(TREES[k % 20], id=str(k)) for k in range(size)])
    held_out = split_of([dataclasses.replace(TREES[0], id="dev")]), split_of([dataclasses.replace(TREES[0], id="test")])
    *folds, last = jackknife({"train": trees, "dev": held_out[0], "test": held_out[1]}, count)
    assert len(folds) == count
    for fold in folds:
        ids = [tree.id for tree in fold.seen], [tree.id for tree in fold.unseen]
        assert sorted(ids[0] + ids[1], key=int) == [str(k) for k in range(size)]
        assert size // count - 10 <= len(ids[1]) <= size // count + 10
    assert sorted((tree.id for fold in folds for tree in fold.unseen), key=int) == [str(k) for k in range(size)]
    assert last.seen == trees.encoded
    assert [tree.id for tree in last.unseen] == ["dev", "test"]


def test_neighbours_stay_together_and_a_fold_has_some_of_every_text() -> None:
    trees = split_of([dataclasses.replace(TREES[0], id=str(k)) for k in range(2000)])
    first = jackknife({"train": trees, "dev": split_of([]), "test": split_of([])}, 10)[0]
    numbers = [int(tree.id) for tree in first.unseen]
    assert numbers[:20] == list(range(20))
    assert [number // 200 for number in numbers[::20]] == list(range(10))


@pytest.mark.parametrize("count", [1, 21])
def test_folds_have_to_have_something_in_them(count: int) -> None:
    with pytest.raises(ConfigError, match=f"20 training sentences cannot be divided into {count} folds"):
        jackknife({"train": split_of(TREES)}, count)


def test_no_sentence_is_tagged_by_a_model_that_has_seen_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sentence has a word of its own, which shows what a model was given."""
    trees = [
        Tree((Token(f"only{chr(97 + k)}", "NN"), Token("ist", "V")), Node("ROOT", [0, 1]), str(k)) for k in range(12)
    ]
    write(trees, tmp_path / "own.export")
    sources = [f'data.{split}=[{{file="own.export", sentences="{numbers}"}}]'
               for split, numbers in (("train", "1-8"), ("dev", "9-10"), ("test", "11-12"))]  # fmt: skip
    config = load_recipe(small_recipe(tmp_path), [f"data.folder={tmp_path}", *TINY, *sources])
    seen: dict[Tagger, set[str]] = {}
    fit, predict = tagger.fit, Tagger.predict

    def own_words(corpus: Corpus) -> set[str]:
        words = {number: form for form, number in corpus.table.index.items()}
        return {words[number] for number in corpus.forms.tolist()} - {"ist"}

    def watched_fit(network: Any, corpus: Corpus, *rest: Any) -> Any:
        seen[network] = own_words(corpus)
        assert set(corpus.table.vocab.words.symbols) == seen[network] | {"ist"}
        return fit(network, corpus, *rest)

    def watched_predict(self: Tagger, corpus: Corpus, device: Any) -> Any:
        assert not seen[self] & own_words(corpus)
        tagged.update(own_words(corpus))
        return predict(self, corpus, device)

    tagged: set[str] = set()
    monkeypatch.setattr(tagger, "fit", watched_fit)
    monkeypatch.setattr(Tagger, "predict", watched_predict)
    tag(config, tmp_path / "tags.tsv", folds=4, epochs=1)
    assert sorted(len(words) for words in seen.values()) == [6, 6, 6, 6, 8]
    assert len(tagged) == 12


# The file


def test_tags_can_be_learned_from(config: Config, tmp_path: Path) -> None:
    path = tmp_path / "tags.tsv"
    assert list(tag(config, path, folds=2, epochs=1)) == ["train", "dev", "test"]
    assert list(read_tags(path)) == [tree.id for tree in TREES]
    data = dataclasses.replace(config.data, tags="predicted", predicted_tags=str(path))
    splits = load_splits(resolve(data))
    rows = read_tags(path)
    found = [[token.tag for token in tokens] for tokens in splits["train"].inputs]
    assert found == [rows[tree.id] for tree in TREES[:14]]
    known = {token.tag for tree in TREES[:14] for token in tree.tokens}
    assert {tag for row in rows.values() for tag in row} <= known
    assert not Path(f"{path}.folds").exists()


@pytest.mark.slow
def test_a_tagger_learns(config: Config, tmp_path: Path) -> None:
    """Dev is among the training sentences, so the tagger can learn it by heart."""
    plain = ["training.schedule=plateau", "training.ema_decay=0.0", "training.learning_rate=0.02"]
    small = [*plain, "training.batch_words=60", "network.lstm_size=24", "network.unknown=0.0"]
    calm = [f"network.{name}_dropout=0.0" for name in ("embedding", "lstm", "recurrent")]
    dev = 'data.dev=[{file="small.export", sentences="1-3"}]'
    test = "data.test=[]"
    settings = [f"data.folder={tmp_path}", *TINY, *small, *calm, dev, test]
    config = load_recipe(tmp_path / "small.toml", settings)
    with pytest.raises(TreebankError, match="2 sentences have the id 's1'"):
        tag(config, tmp_path / "tags.tsv", folds=2, epochs=16)
    write([dataclasses.replace(tree, id=f"dev{tree.id}") for tree in TREES[:3]], tmp_path / "dev.export")
    config = load_recipe(tmp_path / "small.toml", [*settings, 'data.dev=["dev.export"]'])
    found = tag(config, tmp_path / "tags.tsv", folds=2, epochs=16)
    assert found["dev"] > 90 > found["train"]
    assert list(found) == ["train", "dev"]


def test_the_same_seed_gives_the_same_tags(config: Config, tmp_path: Path) -> None:
    texts = []
    for name in ("a.tsv", "b.tsv"):
        tag(config, tmp_path / name, folds=2, epochs=2)
        texts.append((tmp_path / name).read_text("utf-8"))
    assert texts[0] == texts[1]


def test_nothing_is_lost_when_the_work_is_interrupted(config: Config, tmp_path: Path) -> None:
    tag(config, tmp_path / "whole.tsv", folds=3, epochs=2)
    epochs: list[tuple[float, float]] = []

    def report(stop: tuple[float, float] | None) -> Callable[[str, dict[str, float]], None]:
        def note(event: str, metrics: dict[str, float]) -> None:
            where = metrics["fold"], metrics["epoch"]
            if event == "epoch":
                epochs.append(where)
            elif where == stop:
                raise KeyboardInterrupt

        return note

    path = tmp_path / "tags.tsv"
    with pytest.raises(KeyboardInterrupt):
        tag(config, path, folds=3, epochs=2, report=report((2, 2)))
    assert not path.exists()
    with pytest.raises(
        DiscotreeError, match=r"tags\.tsv\.folds was started with different settings: folds was 3, now 4"
    ):
        tag(config, path, folds=4, epochs=2)
    tag(config, path, folds=3, epochs=2, report=report(None))
    assert epochs == [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2), (4, 1), (4, 2)]
    assert path.read_text("utf-8") == (tmp_path / "whole.tsv").read_text("utf-8")


def test_pretrained_vectors_are_used(config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "vectors.txt").write_text("Hund 1 2 3\nBuch 4 5 6\nDarauf 7 8 9\n", "utf-8")
    config = dataclasses.replace(config, data=dataclasses.replace(config.data, vectors="vectors.txt"))
    put = tagger.copy_vectors
    found = []

    def watched(vectors: Any, vocab: Any, table: Any) -> None:
        put(vectors, vocab, table)
        found.append(table.weight[vocab.words.ids["Buch"]].tolist())
        assert "Darauf" in vocab.words.ids or len(found) < 3  # a test word, of which training knows nothing

    monkeypatch.setattr(tagger, "copy_vectors", watched)
    tag(config, tmp_path / "tags.tsv", folds=2, epochs=1)
    assert found == [[4, 5, 6]] * 3


@pytest.mark.parametrize(
    ("sentences", "most", "epochs"),
    [(20, 60, 60), (20, 5, 5), (20_000, 60, 30), (20_000, 20, 20), (200_000, 60, 10)],
)
def test_small_treebanks_take_more_epochs(sentences: int, most: int, epochs: int) -> None:
    train = Split([TREES[0]] * sentences)  # of five words each
    assert enough_epochs(train, Training(epochs=most, batch_words=1000)) == epochs


# Accuracies


def test_accuracies_by_hand() -> None:
    trees = [
        Tree((Token("a1", "A"), Token("b", "B")), Node("ROOT", [0, 1]), "1"),
        Tree((Token("a2", "A"), Token("c", "C")), Node("ROOT", [0, 1]), "2"),
        Tree((Token("b", "B"), Token("d", "D"), Token("c", "C")), Node("ROOT", [0, 1, 2]), "3"),
    ]
    splits = {"train": split_of(trees[:2]), "dev": split_of(trees[2:]), "test": split_of([])}
    tags = {"1": ["A", "X"], "2": ["A", "C"], "3": ["B", "X", "X"]}
    assert accuracies(splits, tags) == {"train": 75, "dev": pytest.approx(100 / 3)}


# What is refused


@pytest.mark.parametrize(("id", "tags"), [("a\tb", ["NN"]), ("a\nb", ["NN"]), ("a", ["N N"]), ("a", ["NN", ""])])
def test_tags_that_the_file_cannot_hold_are_refused(id: str, tags: list[str]) -> None:
    with pytest.raises(TreebankError, match="cannot write the tags of"):
        format_tags([(id, tags)])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("s1\tNN\ns2 NN\n", r"tags\.tsv:2: expected an id, a tab and tags"),
        ("s1\tNN\ns1\tNN\n", r"tags\.tsv:2: the sentence 's1' occurs twice"),
        ("", r"tags\.tsv:1: expected an id"),
    ],
)
def test_a_file_of_tags_that_is_wrong_is_refused_with_the_line(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "tags.tsv"
    path.write_text(content)
    with pytest.raises(TreebankError, match=message):
        read_tags(path)


def test_ids_with_odd_characters_come_back(tmp_path: Path) -> None:
    rows = [("a b\x85c\u2028", ["NN", "$("]), ("Ü/1", ["VV"])]
    path = tmp_path / "tags.tsv"
    path.write_text(format_tags(rows), "utf-8")
    assert list(read_tags(path).items()) == rows


pytestmark = pytest.mark.slow  # every process imports torch


# Folds


def test_folds_in_parallel_give_the_same_tags(tmp_path: Path) -> None:
    config = load_recipe(small_recipe(tmp_path), [f"data.folder={tmp_path}", *TINY])
    tag(config, tmp_path / "one.tsv", folds=2, epochs=2)
    epochs: list[float] = []

    def note(event: str, metrics: dict[str, float]) -> None:
        if event == "epoch":
            epochs.append(metrics["fold"])

    tag(config, tmp_path / "two.tsv", folds=2, epochs=2, report=note, jobs=2)
    assert sorted(epochs) == [1, 2, 3], "every process reports its last epoch"
    assert (tmp_path / "two.tsv").read_text("utf-8") == (tmp_path / "one.tsv").read_text("utf-8")
    assert not (tmp_path / "two.tsv.folds").exists()


def test_finished_folds_are_kept_when_the_work_is_interrupted(tmp_path: Path) -> None:
    config = load_recipe(small_recipe(tmp_path), [f"data.folder={tmp_path}", *TINY])

    def until(fold: float) -> Callable[[str, dict[str, float]], None]:
        def note(event: str, metrics: dict[str, float]) -> None:
            seen.append((event, metrics["fold"]))
            if event == "epoch" and metrics["fold"] == fold:
                raise KeyboardInterrupt

        return note

    seen: list[tuple[str, float]] = []
    path = tmp_path / "tags.tsv"
    with pytest.raises(KeyboardInterrupt):
        tag(config, path, folds=2, epochs=1, report=until(2), jobs=1)
    assert [file.name for file in Path(f"{path}.folds").glob("*.tsv")] == ["1.tsv"]
    seen.clear()
    tag(config, path, folds=2, epochs=1, report=until(-1), jobs=2)
    assert 1 not in {fold for _, fold in seen}
    assert path.exists()


def test_several_jobs_cannot_be_combined_with_torchrun(tmp_path: Path) -> None:
    config = load_recipe(small_recipe(tmp_path), [f"data.folder={tmp_path}", *TINY])
    with pytest.raises(ConfigError, match="several jobs cannot be combined with torchrun"):
        tag(config, tmp_path / "tags.tsv", folds=2, process_group=ProcessGroup(size=2), jobs=2)
