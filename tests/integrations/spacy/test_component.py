"""The component in a pipeline: settings, batches, threads, processes, saving."""

import dataclasses
import io
import pickle
import random
import shutil
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import spacy
import torch
from spacy.lang.de import German
from spacy.language import Language
from spacy.tokens import Doc
from support.models import CARD, saved_model, with_card
from support.packages import model_package, use_models_of
from support.spacy_docs import brackets_of, pipeline

import discotree
from discotree import ConfigError, InputError, ModelError, Parser, Token
from discotree.config.schema import Decoding
from discotree.encoding.lemmas import LemmaRules
from discotree.integrations.spacy import DiscotreePipe, component
from discotree.models.folder import write_model


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"model": "nonsense"}, "there is no model 'nonsense': .* nor an installed model"),
        ({"decode": "fast"}, "decode: expected one of greedy, beam, exact, got 'fast'"),
        ({"tokens": "mine"}, "tokens: expected 'spacy' or 'model', got 'mine'"),
        ({"engine": "abacus"}, "unknown engine 'abacus', expected one of onnx, onnx-float32, torch"),
        ({"engine": "onnx", "device": "cuda"}, "the engine onnx runs on the CPU only"),
        ({"batch_words": -1}, "batch_words: expected 0 or more, got -1"),
        ({"device": "abacus"}, "device 'abacus' cannot be used"),
    ],
)
def test_settings_that_make_no_sense_are_refused_at_once(folder: Path, config: dict[str, Any], message: str) -> None:
    with pytest.raises((ConfigError, ModelError), match=message):
        spacy.blank("de").add_pipe("discotree", config={"model": str(folder), **config})


def test_without_a_name_the_model_is_that_of_the_language(dutch: Language) -> None:
    assert dutch.get_pipe("discotree").settings.model == "nl"
    with pytest.raises(ModelError, match="there is no model 'xx'"):
        spacy.blank("xx").add_pipe("discotree")
    assert spacy.blank("de").add_pipe("discotree").settings.model == "de"


def test_a_model_that_is_not_for_commercial_use_has_to_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = model_package(tmp_path, "de")
    alone.mkdir()
    with_card(alone, CARD | {"name": "de"})
    use_models_of(tmp_path, monkeypatch)
    with pytest.raises(ConfigError, match=r'non-commercial use only .*; to use it, set \{"model": "de"\}'):
        spacy.blank("de").add_pipe("discotree")


def test_a_second_component_is_reported(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It would overwrite the trees of the first."""
    nlp = pipeline(folder)
    nlp.replace_pipe("discotree", "discotree", config={"model": str(folder)})
    assert caplog.text == ""
    nlp.add_pipe("discotree", name="again", config={"model": str(folder)})
    assert "again: the pipeline already has a discotree component" in caplog.text


def test_decoding_is_as_the_settings_say(folder: Path) -> None:
    words = ["Was", "hat", "sie", "denn", "gesagt", "?"]
    parser = discotree.load(str(folder))
    for method in ("greedy", "beam", "exact"):
        doc = pipeline(folder, decode=method, batch_words=7)(" ".join(words))
        (expected,) = parser._parse_tokens([[Token(word) for word in words]], Decoding(method))
        assert doc._.trees == [expected]


def test_a_model_that_looks_at_tags_takes_those_of_the_tokens(tmp_path: Path) -> None:
    model = saved_model(tmp_path / "model", tags="gold")
    nlp = pipeline(model)
    words, tags = ["Er", "kam", " ", "."], ["PPER", "VVFIN", "_SP", "$."]
    (tree,) = nlp(Doc(nlp.vocab, words=words, tags=tags))._.trees
    tokens = [Token(word, tag) for word, tag in zip(words, tags, strict=True) if word != " "]
    assert tree == discotree.load(str(model))(tokens)
    with pytest.raises(InputError, match=r"needs tags, but 'Er' has none.*before discotree"):
        nlp("Er kam.")
    with pytest.raises(ConfigError, match="needs tags; use 'spacy' instead of 'model'"):
        pipeline(model, tokens="model")


def test_tags_are_set_only_on_demand(folder: Path) -> None:
    text = "Er  kam."
    assert not pipeline(folder)(text).has_annotation("TAG")
    doc = pipeline(folder, set_tags=True)(text)
    assert [token.tag_ for token in doc if not token.is_space] == [token.tag for token in doc._.trees[0].tokens]
    assert doc[1].tag_ == ""


def test_lemmas_are_set_where_there_are_none(tmp_path: Path) -> None:
    parser = discotree.load(saved_model(tmp_path / "small"))
    tags = parser.vocab.outputs["tag"].symbols
    rules = LemmaRules([["l0+"]], {tag: ({"": 0}, {}) for tag in tags}, frozenset())
    vocab = dataclasses.replace(parser.vocab, lemmas=rules)
    write_model(dataclasses.replace(parser.model, vocab=vocab), tmp_path / "model")
    nlp = pipeline(tmp_path / "model")
    doc = nlp("Er  KAM.")
    assert [token.lemma_ for token in doc] == ["er", "", "kam", "."]
    assert not doc.has_annotation("TAG")
    other = Doc(nlp.vocab, words=["Er", "kam"], lemmas=["ER", ""])
    assert [token.lemma_ for token in nlp(other)] == ["ER", "kam"]


def texts() -> list[str]:
    words = ["Er", "sie", "es", "kam", "ging", "sah", "lange", "das", "Buch", "."]
    rng = random.Random(1)
    return [" ".join(rng.choices(words, k=rng.randrange(12))) for _ in range(24)]


def test_a_stream_gives_the_same_as_one_by_one(small: Language) -> None:
    expected = [brackets_of(small(text)) for text in texts()]
    for size in (7, 1000):
        assert [brackets_of(doc) for doc in small.pipe(texts(), batch_size=size)] == expected
    pairs = small.pipe(zip(texts(), range(24), strict=True), as_tuples=True)
    assert [(brackets_of(doc), k) for doc, k in pairs] == [(row, k) for k, row in enumerate(expected)]


def test_a_stream_is_read_only_as_far_as_some_batches_need_it(folder: Path) -> None:
    read = 0

    def endless() -> Iterator[str]:
        nonlocal read
        while True:
            read += 1
            yield "Er kam gestern Abend nach Hause ."

    nlp = pipeline(folder, batch_words=14)
    next(nlp.pipe(endless(), batch_size=10**6))
    assert read == 2 * nlp.get_pipe("discotree").parser.engine.read_ahead  # two sentences in a batch of 14 words


def test_one_bad_doc_does_not_cost_the_others(tmp_path: Path) -> None:
    nlp = pipeline(saved_model(tmp_path / "model", language=""))
    good = [Doc(nlp.vocab, words=["Er", "kam"], sent_starts=[True, False]) for _ in range(4)]
    docs = [*good[:2], Doc(nlp.vocab, words=["ohne", "Grenzen"]), *good[2:]]
    failed = []
    nlp.set_error_handler(lambda name, _, docs, error: failed.append((name, [doc.text for doc in docs], str(error))))
    assert [doc.text.strip() for doc in nlp.pipe(docs)] == ["Er kam"] * 4
    ((name, bad, message),) = failed
    assert (name, bad) == ("discotree", ["ohne Grenzen "])
    assert "no sentence boundaries" in message


def test_a_sentence_that_fails_costs_only_its_own_doc(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nlp = pipeline(folder)
    parser = nlp.get_pipe("discotree").parser
    parse_tokens = parser._parse_checked

    def picky(sentences: Any, *rest: Any) -> Any:
        if any(token.form == "bad" for sentence in sentences for token in sentence):
            raise RuntimeError("out of memory")
        return parse_tokens(sentences, *rest)

    monkeypatch.setattr(parser, "_parse_checked", picky)
    failed = []
    nlp.set_error_handler(lambda _, __, docs, error: failed.append(([doc.text for doc in docs], str(error))))
    docs = list(nlp.pipe(["Er kam.", "Er kam. Sie bad .", "Sie ging."]))
    assert [doc.text for doc in docs] == ["Er kam.", "Sie ging."]
    assert all(len(doc._.trees) == 1 for doc in docs)
    assert failed == [(["Er kam. Sie bad ."], "out of memory")]


def test_threads_may_share_a_pipeline(small: Language) -> None:
    expected = [brackets_of(small(text)) for text in texts()]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda text: brackets_of(small(text)), texts())) == expected


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("engine", ["onnx", "torch"])
def test_several_processes_give_the_same_as_one(folder: Path, engine: str) -> None:
    """Forked while the engine has threads, which are not there in the workers."""
    nlp = pipeline(folder, engine=engine)
    threads = torch.get_num_threads()
    torch.set_num_threads(4)
    try:
        expected = [brackets_of(doc) for doc in nlp.pipe(texts() * 4)]
        assert [brackets_of(doc) for doc in nlp.pipe(texts() * 4, n_process=2, batch_size=40)] == expected
        assert torch.backends.mkldnn.enabled == torch.backends.mkldnn.is_available()  # only workers do without it
    finally:
        torch.set_num_threads(threads)


def handler(*_: Any) -> None:
    """One that can be pickled."""


def test_a_pickled_component_loads_its_model_itself(folder: Path) -> None:
    pipe = pipeline(folder, decode="greedy").get_pipe("discotree")
    assert isinstance(pipe, DiscotreePipe)
    pipe.set_error_handler(handler)
    data = pickle.dumps(pipe)
    assert len(data) < 2000
    again = pickle.loads(data)
    assert (again.settings, again.get_error_handler()) == (pipe.settings, handler)
    doc = spacy.blank("de")("Er kam.")
    assert brackets_of(again(doc.copy())) == brackets_of(pipe(doc))
    pickle.dumps(spacy.tokens.underscore.Underscore.get_state())  # goes to the workers where they are not forked


def test_a_pipeline_is_saved_with_its_settings(folder: Path, tmp_path: Path) -> None:
    nlp = pipeline(folder, decode="greedy", set_tags=True)
    expected = brackets_of(nlp("Er kam."))
    nlp.to_disk(tmp_path / "pipeline")
    assert not (tmp_path / "pipeline" / "discotree").exists()  # a name is enough
    loaded = spacy.load(tmp_path / "pipeline")
    again = German.from_config(nlp.config).from_bytes(nlp.to_bytes())
    for other in (loaded, again):
        assert other.get_pipe("discotree").settings == nlp.get_pipe("discotree").settings
        assert brackets_of(other("Er kam.")) == expected
    elsewhere = {"components": {"discotree": {"model": "nonsense"}}}
    with pytest.raises(ModelError, match="there is no model 'nonsense'"):
        spacy.load(tmp_path / "pipeline", config=elsewhere)


def test_a_pipeline_may_take_its_model_along(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "model")
    nlp = pipeline(tmp_path / "model", include_model=True)
    expected = brackets_of(nlp("Er kam."))
    for _ in range(2):  # over itself, too
        nlp.to_disk(tmp_path / "pipeline")
    data = nlp.to_bytes()
    component = pickle.dumps(nlp.get_pipe("discotree"))
    shutil.rmtree(tmp_path / "model")
    assert brackets_of(spacy.load(tmp_path / "pipeline")("Er kam.")) == expected
    other = German.from_config(nlp.config)
    with pytest.raises(ModelError, match="there is no model"):
        other("Er kam.")
    assert brackets_of(other.from_bytes(data)("Er kam.")) == expected
    assert brackets_of(pickle.loads(component)(spacy.blank("de")("Er kam."))) == expected
    shutil.rmtree(tmp_path / "pipeline" / "discotree")
    with pytest.raises(ModelError, match=r"not a model|there is no model"):
        spacy.load(tmp_path / "pipeline")


def test_a_model_that_came_along_is_the_only_one_that_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the one of that name nor the hub is asked, and the licence comes along."""
    model = with_card(saved_model(tmp_path / "model"))
    nlp = pipeline(model, include_model=True)
    nlp.to_disk(tmp_path / "pipeline")
    data = nlp.to_bytes()
    taken = []

    def load(name: str, device: str, engine: str) -> Parser:
        taken.append(name)
        return discotree.load(name, device, engine=engine)

    monkeypatch.setattr(component, "load", load)
    elsewhere = {"components": {"discotree": {"model": "hub:me/../nonsense"}}}  # asking for it would be an error
    loaded = spacy.load(tmp_path / "pipeline", config=elsewhere)
    assert taken == [str(tmp_path / "pipeline" / "discotree")]
    again = German.from_config(loaded.config).from_bytes(data)
    assert len(taken) == 2
    again.to_disk(tmp_path / "again")
    for name in ("card.json", "README.md"):
        assert (tmp_path / "again" / "discotree" / name).read_text() == (model / name).read_text()


def test_a_model_that_is_to_come_along_is_loaded_once_and_refused_late(folder: Path) -> None:
    nlp = pipeline(folder, include_model=True)
    pipe = nlp.get_pipe("discotree")
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(lambda _: id(pipe.parser), range(4)))) == 1
    wrong = pipeline("hub:x", include_model=True)
    with pytest.raises(ModelError, match="'x' is not the name of a rep"):
        wrong("Er kam.")
    with pytest.raises(ModelError, match=r"'x' is not the name of a rep"):
        wrong.to_bytes()
    with pytest.raises(ModelError, match="device 'abacus' cannot be used"):
        pipeline(folder, include_model=True, device="abacus")("Er kam.")


def test_a_model_in_bytes_stays_in_its_folder(folder: Path, tmp_path: Path) -> None:
    pipe = pipeline(folder, include_model=True).get_pipe("discotree")
    for name in ("../escaped", str(tmp_path / "escaped")):
        with zipfile.ZipFile(stream := io.BytesIO(), "w") as archive:
            archive.writestr(name, b"x")
        with pytest.raises(ModelError):
            pipe.from_bytes(stream.getvalue())
    assert not (tmp_path / "escaped").exists()
