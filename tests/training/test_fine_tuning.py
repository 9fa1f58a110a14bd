"""Fine-tuning: what comes from the model and what from the recipe, and that what the model knows is kept."""

import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.encoders import saved_bert, with_transformer
from support.models import with_card
from support.networks import CALM, TREES, overfitted, parser_of, saved_trees
from support.tiny import small_recipe

import discotree as dt
from discotree import ConfigError, ModelError
from discotree.config.recipes import DEFAULT
from discotree.config.schema import Config, DataSource, Training
from discotree.decoding.trees import Calibration
from discotree.encoding.lemmas import LemmaRules
from discotree.models import CALIBRATION, CONFIG, RESULTS, VOCAB, WEIGHTS
from discotree.models.card import CARD, README, Card
from discotree.models.finding import fingerprint
from discotree.models.folder import public, read_model, write_model
from discotree.network.vocab import UNKNOWN, UNKNOWN_CHAR
from discotree.network.weights import QuantizedMatrix, dense, rounded
from discotree.parsing.parser import Parser
from discotree.training import run as module
from discotree.training.data import load_splits, resolve
from discotree.training.fine_tuning import BaseModel, fine_tuning, grow
from discotree.training.run import MODEL, build, train
from discotree.trees.tree import NONE

QUICK = ["training.epochs=2", "training.batch_words=20", "training.device=cpu", "training.warmup=1"]


def base(folder, trees=TREES[:8], bits=16):
    """A model that knows the words and labels of some trees, but has learned nothing."""
    made = parser_of(trees, CALM).model
    settings = dataclasses.replace(made.config, name="base", language="de", training=Training(seed=3, weight_bits=bits))
    write_model(dataclasses.replace(made, config=settings, weights=rounded(made.weights, bits)), folder)
    return str(folder)


def new_trees(folder, trees=TREES, name="mine.export"):
    dt.write(trees, folder / name)
    return str(folder / name)


def started(config):
    """The parser that a run begins with, and the model that it starts from."""
    splits = load_splits(resolve(config.data))
    base_model = BaseModel.read(config)
    return build(config, splits, base=base_model), base_model


def longer_recipe(folder, end, start=""):
    """Write the small recipe with more text."""
    recipe = small_recipe(folder)
    recipe.write_text(f"{start}{recipe.read_text()}{end}")
    return recipe


# Settings


def test_the_model_brings_its_network_and_scheme_and_the_recipe_its_trees(tmp_path):
    made = parser_of(network=CALM).model
    scheme = dataclasses.replace(made.config.data, punctuation="keep", heads="ptb", folder="/secret")
    write_model(dataclasses.replace(made, config=dataclasses.replace(made.config, data=scheme)), tmp_path / "base")
    extra = 'heads = "negra"\ntags = "gold"\n[network]\nlstm_size = 99\n[training]\nepochs = 70\n'
    recipe = longer_recipe(tmp_path, extra)
    config, notes = fine_tuning(str(tmp_path / "base"), recipe, ["training.seed=9"])
    assert (config.name, config.training.seed) == ("small", 9)
    assert config.training.base_model == str(tmp_path / "base")
    assert config.training.epochs < 70
    assert config.training.learning_rate < DEFAULT.training.learning_rate
    assert config.network == CALM
    assert (config.data.punctuation, config.data.heads, config.data.tags) == ("keep", "ptb", "none")
    assert (config.data.folder, config.data.hold_out) == ("", 0)
    assert [source.sentences for source in config.data.dev] == ["15-17"]
    [note] = notes
    for kept in ("data.heads=ptb (the recipe has negra)", "network.lstm_size=5 (the recipe has 99)",
                 "data.tags=none (the recipe has gold)", "training.epochs="):  # fmt: skip
        assert kept in note
    _, [note] = fine_tuning(str(tmp_path / "base"), recipe, ["data.heads=negra", "training.epochs=3"])
    assert "data.tags=none" in note
    assert not re.search("heads|epochs", note)


def test_a_recipe_for_another_language_brings_its_head_rules(tmp_path):
    folder = base(tmp_path / "base")
    recipe = longer_recipe(tmp_path, 'heads = "icepahc"\n', start='language = "is"\n')
    config, notes = fine_tuning(folder, recipe)
    assert (config.language, config.data.heads) == ("is", "icepahc")
    assert any(note.startswith("the language of the recipe is 'is', that of ") for note in notes)
    assert not any("heads" in note for note in notes)


def test_a_recipe_that_names_its_model_says_how_to_train(tmp_path):
    folder = base(tmp_path / "base")
    recipe = longer_recipe(tmp_path, f"[training]\nbase_model = {json.dumps(folder)}\nepochs = 70\n")
    config, notes = fine_tuning(folder, recipe)
    assert (config.training.epochs, notes) == (70, [])


def test_trees_alone_make_a_run_and_give_every_tenth_sentence_to_dev(tmp_path):
    config = fine_tuning(base(tmp_path / "base"), train=[new_trees(tmp_path)])[0]
    assert (config.name, config.data.hold_out) == ("base-mine", 10)
    splits = load_splits(resolve(config.data))
    assert [tree.id for tree in splits["dev"].trees] == ["s10", "s20"]
    assert len(splits["train"]) == 18
    few = dataclasses.replace(config.data, train=(DataSource(config.data.train[0].file, sentences="1-3"),))
    assert [len(split) for split in load_splits(resolve(few)).values()] == [2, 1, 0]
    named = fine_tuning(base(tmp_path / "base"), train=["a"], dev=["b"], test=["c", "d"])[0].data
    assert [len(sources) for sources in (named.train, named.dev, named.test)] == [1, 1, 2]
    assert named.hold_out == 0


@pytest.mark.parametrize("setting", ["network.lstm_size=7", "network.encoder=hf:bert", "data.tags=gold"])
def test_another_network_is_refused_with_both_values(tmp_path, setting):
    with pytest.raises(ConfigError, match=rf"{setting.partition('=')[0]}: .*expected .* as in the base model .*base"):
        fine_tuning(base(tmp_path / "base"), train=["trees"], settings=[setting])
    config = fine_tuning(base(tmp_path / "base"), train=[new_trees(tmp_path)])[0]
    other = dataclasses.replace(config, network=dataclasses.replace(config.network, lstm_size=6))
    with pytest.raises(ConfigError, match="as in the base model"):
        train(other, tmp_path / "out")


def test_nothing_to_learn_from_and_no_such_model_are_told(tmp_path):
    with pytest.raises(ConfigError, match="no training trees: pass a recipe or --train"):
        fine_tuning(base(tmp_path / "base"))
    with pytest.raises(ModelError, match="there is no model 'nowhere'"):
        fine_tuning("nowhere", train=["trees"])


@pytest.mark.slow
def test_head_rules_of_its_own_go_from_model_to_model(tmp_path):
    made = parser_of(TREES[:8], CALM).model
    settings = dataclasses.replace(made.config, data=dataclasses.replace(made.config.data, heads="lost.headrules"))
    write_model(dataclasses.replace(made, config=settings), tmp_path / "lost")
    with pytest.raises(ConfigError, match=r"the head rules 'lost.headrules' are neither built in nor in"):
        fine_tuning(str(tmp_path / "lost"), train=["trees"])
    rules = "S right VVFIN VAFIN\n* left *\n"
    write_model(dataclasses.replace(made, config=settings, own_head_rules=rules), tmp_path / "own")
    config = fine_tuning(str(tmp_path / "own"), train=[new_trees(tmp_path)], settings=QUICK)[0]
    train(config, tmp_path / "out")
    assert read_model(tmp_path / "out" / MODEL).own_head_rules == rules


def test_a_model_that_is_shared_does_not_tell_where_its_base_was():
    settings = Config(training=Training(base_model="/home/me/models/mine"))
    assert public(settings).training.base_model == "mine"
    for kept in ("nl", "hub:me/dutch@v2"):
        assert public(Config(training=Training(base_model=kept))).training.base_model == kept


# Weights


@pytest.mark.parametrize("bits", [16, 6])
def test_before_it_learns_the_network_finds_the_trees_of_its_base(tmp_path, bits):
    folder = base(tmp_path / "base", bits=bits)
    parser, start = started(fine_tuning(folder, train=[new_trees(tmp_path)])[0])
    before = Parser.from_pretrained(Path(folder), engine="torch", device="cpu")
    old, new = before.vocab, parser.vocab
    assert len(new.words) > len(old.words)
    assert len(new.labels) > len(old.labels)
    assert new.words.symbols[: len(old.words.symbols)] == old.words.symbols
    for tree in TREES:
        assert repr(parser([*tree.words])) == repr(before([*tree.words]))
    weights = parser.model.weights
    for name, value in before.model.weights.items():
        np.testing.assert_array_equal(dense(weights[name])[: value.shape[0]], dense(value))
    words, chars, labels = (weights[f"{name}"] for name in
                            ("encoder.words.weight", "encoder.chars.table.weight", "label_bilinear"))  # fmt: skip
    np.testing.assert_array_equal(words[-1], words[UNKNOWN])
    np.testing.assert_array_equal(chars[len(old.chars)], chars[UNKNOWN_CHAR])
    np.testing.assert_allclose(labels[-1], labels[: len(old.labels)].mean(0), atol=1e-6)
    assert isinstance(before.model.weights["encoder.words.weight"], QuantizedMatrix) == (bits == 6)
    assert start.record(new, True)["new"]["words"] == len(new.words) - len(old.words)


@pytest.mark.slow
def test_a_transformer_comes_from_the_model_not_from_where_the_settings_say(tmp_path):
    network = with_transformer(saved_bert(tmp_path / "bert"))
    settings = Config("bert", saved_trees(tmp_path), network, Training(epochs=1, batch_words=60))
    train(settings, tmp_path / "first", allow_overlap=True)
    shutil.rmtree(tmp_path / "bert")
    start = tmp_path / "first" / MODEL
    config = fine_tuning(str(start), train=[new_trees(tmp_path)], settings=[*QUICK, "training.learning_rate=0"])[0]
    train(config, tmp_path / "second")
    before, after = (read_model(folder).weights for folder in (start, tmp_path / "second" / MODEL))
    assert any(name.startswith("encoder.pieces.model.") for name in before)
    for name, value in before.items():
        np.testing.assert_array_equal(dense(after[name]), dense(value), name)


def test_trees_of_another_language_get_a_warning(tmp_path, caplog):
    _, start = started(fine_tuning(base(tmp_path / "base"), train=[new_trees(tmp_path)])[0])
    start.check_language(TREES)
    assert not caplog.records
    start.check_language(list(dt.read(Path(dt.__file__).parent / "treebanks" / "samples" / "dutch.discbracket")))
    assert [record.message for record in caplog.records] == [
        "the training trees look like Dutch; this model is for German"
    ]


def test_a_weight_that_cannot_grow_is_refused():
    with pytest.raises(ConfigError, match=r"decoder.start.weight has the shape \(2, 3\) in the base model, but"):
        grow("decoder.start.weight", np.zeros((2, 3), np.float32), np.zeros((2, 4), np.float32))


def test_a_head_that_the_model_lacks_starts_afresh(tmp_path):
    quiet = dataclasses.replace(CALM, spine_weight=0.0)
    write_model(parser_of(TREES[:8], quiet).model, tmp_path / "base")
    config = fine_tuning(
        str(tmp_path / "base"), train=[new_trees(tmp_path)], settings=["network.spine_weight=0.5", *QUICK]
    )[0]
    parser, _ = started(config)
    assert "auxiliary.spine.weight" in parser.model.weights


def test_trees_without_tags_unteach_no_tags(tmp_path):
    bare = [
        dataclasses.replace(tree, tokens=tuple(token._replace(tag=NONE, morph=NONE) for token in tree.tokens))
        for tree in TREES
    ]
    config = fine_tuning(base(tmp_path / "base"), train=[new_trees(tmp_path, bare)], settings=QUICK)[0]
    parser, _ = started(config)
    assert NONE not in parser.vocab.outputs["tag"].symbols
    results = train(config, tmp_path / "out")
    assert results["history"][0]["loss/tag"] == results["history"][0]["loss/morph"] == 0
    assert results["history"][0]["loss/function"] > 0
    assert "tag" not in results["scores"]["dev"]["attachment"]


@pytest.mark.parametrize(("language", "kept"), [("de", True), ("nl", False)])
def test_rules_for_lemmas_stay_if_the_language_does(tmp_path, language, kept):
    model = read_model(Path(base(tmp_path / "base")))
    vocab = dataclasses.replace(model.vocab, lemmas=LemmaRules([["l0+"]], {}, frozenset()))
    write_model(dataclasses.replace(model, vocab=vocab), tmp_path / "base")
    config = fine_tuning(str(tmp_path / "base"), train=[new_trees(tmp_path)])[0]
    parser, _ = started(dataclasses.replace(config, language=language))
    assert (parser.vocab.lemmas is not None) == kept


# The run


@pytest.mark.slow
def test_a_run_leaves_a_model_whose_card_and_results_name_its_base(tmp_path):
    folder, _ = overfitted()
    start = with_card(Path(_copied(folder / "run" / MODEL, tmp_path / "base")))
    config = fine_tuning(str(start), train=[new_trees(tmp_path)], settings=QUICK)[0]
    results = train(config, tmp_path / "out")
    model = tmp_path / "out" / MODEL
    assert {CARD, README, CONFIG, VOCAB, WEIGHTS} <= {path.name for path in model.iterdir()}
    card = Card.read(model / CARD)
    mark = fingerprint(start)
    assert card.base == f"xx ({mark[:16]})"
    assert (card.licence, card.commercial) == ("CC BY-NC 4.0", False)
    assert [treebank.name for treebank in card.treebanks] == ["mine", "Twenty Trees"]
    assert card.sentences == 18
    page = (model / README).read_text("utf-8")
    assert f"- Fine-tuned from xx ({mark[:16]})." in page
    assert "the licence of its own data also applies. **Not for commercial use.**" in page
    found = results["start"]
    assert (found["name"], found["fingerprint"], found["licence"]) == (str(start), mark, "CC BY-NC 4.0")
    assert (found["new"], found["dev_decides"]) == ({}, False)
    assert found["scores"]["dev"]["all"]["f1"] == 100.0  # it knows these trees by heart, and forgets nothing
    assert results["scores"]["dev"]["all"]["f1"] == 100.0
    assert json.loads((tmp_path / "out" / RESULTS).read_text("utf-8"))["start"] == found


def _copied(source, target):
    write_model(read_model(source), target)
    return target


CALIBRATED = Calibration.from_json(
    (Path(dt.__file__).parents[2] / "models/nl/src/discotree_nl/model/calibration.json").read_text("utf-8"), "nl"
)


@pytest.mark.parametrize(("needed", "epoch"), [(200, 3), pytest.param(2, None, marks=pytest.mark.slow)])
def test_a_small_dev_set_decides_nothing(tmp_path, monkeypatch, needed, epoch):
    """The last epoch is kept, and prices and confidences are those of the base; a larger one refits all."""
    monkeypatch.setattr(module, "MIN_DEV", needed)
    made = parser_of(TREES, CALM).model
    priced = dataclasses.replace(
        made.config, decoding=dataclasses.replace(made.config.decoding, gap_penalties={"S": 2.5})
    )
    write_model(dataclasses.replace(made, config=priced, calibration=CALIBRATED), tmp_path / "base")
    settings = [*QUICK, "training.epochs=3", "training.learning_rate=0.0"]  # all epochs are equal: the first is best
    config = fine_tuning(str(tmp_path / "base"), train=[new_trees(tmp_path)], settings=settings)[0]
    results = train(config, tmp_path / "out")
    assert results["start"]["dev_decides"] == (epoch is None)
    assert results["best_epoch"] == (epoch or 1)
    model = read_model(tmp_path / "out" / MODEL)
    assert (model.config.decoding.gap_penalties == {"S": 2.5}) == (epoch is not None)
    assert (tmp_path / "out" / MODEL / CALIBRATION).exists()
    assert model.calibration.bias == CALIBRATED.bias  # of two sentences, nothing is learned about confidences


@pytest.mark.slow
def test_another_base_does_not_go_on_in_the_same_folder(tmp_path):
    trees = new_trees(tmp_path)
    folder = base(tmp_path / "base")
    config = fine_tuning(folder, train=[trees], settings=QUICK)[0]
    train(config, tmp_path / "out")
    base(tmp_path / "base", TREES[:9])
    with pytest.raises(ModelError, match="written with different settings or data"):
        train(config, tmp_path / "out")


@pytest.mark.slow
def test_the_pull_keeps_weights_near_their_start(tmp_path):
    folder, trees = base(tmp_path / "base", TREES), new_trees(tmp_path)
    moved = []
    for pull in (0, 50):
        settings = [*QUICK, "training.learning_rate=0.01", f"training.l2_sp={pull}", "training.ema_decay=0"]
        config = fine_tuning(folder, train=[trees], settings=settings)[0]
        train(config, tmp_path / f"out{pull}")
        weights = [read_model(path).weights["arc_bilinear"] for path in (Path(folder), tmp_path / f"out{pull}" / MODEL)]
        moved.append(float(np.abs(dense(weights[0]) - dense(weights[1])).mean()))
    assert 0 < moved[1] < 0.7 * moved[0]


@pytest.mark.slow
def test_a_killed_fine_tuning_resumes_to_the_same_bytes(tmp_path):
    folder, trees = base(tmp_path / "base"), new_trees(tmp_path)
    settings = ["--set", "training.epochs=12", "--set", "training.batch_words=20", "--set", "training.l2_sp=5"]
    command = [sys.executable, "-m", "discotree", "train", "--base", folder, "--train", trees, *settings,
               "-o"]  # fmt: skip
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    subprocess.run([*command, str(tmp_path / "whole")], check=True, env=env, capture_output=True)
    with subprocess.Popen([*command, str(tmp_path / "killed")], env=env, stderr=subprocess.PIPE, text=True) as killed:
        while not killed.stderr.readline().startswith("epoch 2/"):
            pass
        os.kill(killed.pid, signal.SIGKILL)
        killed.stderr.read()
    assert not (tmp_path / "killed" / RESULTS).exists()
    again = subprocess.run([*command, str(tmp_path / "killed")], check=True, env=env, capture_output=True, text=True)
    assert "resuming after epoch" in again.stderr
    one, other = (tmp_path / name / MODEL for name in ("whole", "killed"))
    assert sorted(path.name for path in one.iterdir()) == sorted(path.name for path in other.iterdir())
    for path in one.iterdir():
        expected = path.read_bytes().replace(b"whole/model", b"killed/model")
        assert (other / path.name).read_bytes() == expected, path.name


@pytest.mark.slow
@pytest.mark.data
def test_fine_tuning_beats_training_from_nothing_on_200_sentences_of_a_new_domain(tmp_path):
    """Newspaper commentaries, which `de` has not seen; scored on others of them."""
    if not os.environ.get("DISCOTREE_DATA"):
        pytest.skip("DISCOTREE_DATA does not say where the treebanks are")
    news = list(dt.read(Path(os.environ["DISCOTREE_DATA"], "pcc/syntax")))
    trees, test = new_trees(tmp_path, news[:200]), new_trees(tmp_path, news[200:600], "test.export")
    (tmp_path / "nothing.toml").write_text(
        f'language = "de"\n[data]\ntrain = ["{trees}"]\nhold_out = 10\ntest = ["{test}"]\nheads = "negra"\n'
    )
    small = [f"network.{name}=96" for name in ("lstm_size", "decoder_size", "arc_size", "label_size")]
    quick = ["network.agreement_weight=0", "training.batch_words=160", "training.epochs=8", "training.device=cpu"]
    recipe = dt.config.load_recipe(tmp_path / "nothing.toml", [*small, *quick])
    nothing = train(recipe, tmp_path / "nothing")
    few = ["training.epochs=3", "training.device=cpu"]
    results = train(fine_tuning("de", train=[trees], test=[test], settings=few)[0], tmp_path / "tuned")
    f1 = [scores["test"]["all"]["f1"] for scores in (nothing["scores"], results["start"]["scores"], results["scores"])]
    assert f1[0] + 10 < f1[2], f1
    assert f1[1] - 1 < f1[2], f1  # `de` is so good on these trees that so few add nothing
