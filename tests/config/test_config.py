"""Recipes: what they may say, who has the last word, and that every mistake is named."""

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discotree.config import (
    DEFAULT,
    PAPER,
    PRESETS,
    SCENARIOS,
    Config,
    Data,
    Network,
    Source,
    Training,
    recipe_names,
    recipe_path,
)
from discotree.config.validation import updated
from discotree.errors import ConfigError


@pytest.fixture
def load(tmp_path):
    """Load a recipe with this content."""

    def load(content="", *settings, scenario=""):
        path = tmp_path / "small.toml"
        path.write_text(content, "utf-8")
        return Config.load(path, settings, scenario)

    return load


def refused(load, content="", *settings, scenario=""):
    with pytest.raises(ConfigError) as caught:
        load(content, *settings, scenario=scenario)
    return str(caught.value)


# Recipes


def test_there_are_recipes():
    assert {"alpino", "pcc", "craft", "icepahc"} <= set(recipe_names())


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_loads_in_every_scenario(name):
    config = Config.load(name)
    assert config.name == name
    assert Config.load(recipe_path(name)) == config
    assert all((config.data.train, config.data.dev, config.data.test))
    networks = [preset.network for preset in PRESETS.values()]
    assert config.network in [dataclasses.replace(network, encoder=config.network.encoder) for network in networks]
    for scenario in SCENARIOS:
        assert Config.load(name, scenario=scenario).data.train == config.data.train


def test_an_empty_recipe_is_the_default_with_the_name_of_its_file(load):
    assert load() == dataclasses.replace(DEFAULT, name="small")


def test_a_recipe_says_everything_that_can_be_set(load):
    config = load(
        """
        preset = "paper"
        name = "mine"
        [data]
        folder = "somewhere"
        train = ["a.export", { file = "b/*.xml", split = "train", sentences = "1-5,9-", format = "alpino" }]
        dev = [{ file = "c", skip_broken = true }]
        tags = "gold"
        [network]
        lstm_size = 7
        lstm_dropout = 0
        [training]
        learning_rate = 1e-2
        max_seconds = 60
        [decoding]
        consistent = true
        """
    )
    assert config.name == "mine"
    assert config.data.train == (Source("a.export"), Source("b/*.xml", "train", "1-5,9-", format="alpino"))
    assert config.data.dev == (Source("c", skip_broken=True),)
    assert (config.data.folder, config.data.tags, config.data.unaries) == ("somewhere", "gold", "drop")
    assert (config.network.lstm_size, config.network.lstm_layers) == (7, 3)
    assert repr(config.network.lstm_dropout) == "0.0"  # a number with a point stays one
    assert (config.training.learning_rate, config.training.max_seconds) == (0.01, 60.0)
    assert (config.decoding.method, config.decoding.consistent) == ("beam", True)


def test_a_recipe_may_be_a_variant_of_another(load):
    """Its sections take the place of the other's setting by setting, and its preset is its own."""
    config = load('base = "negra"\npreset = "paper"\n[data]\nheads = "ptb"\n[training]\nseed = 3')
    negra = Config.load("negra", preset="paper")
    assert (config.data.train, config.language) == (negra.data.train, "de")
    assert (config.name, config.data.heads, config.training.seed) == ("small", "ptb", 3)
    assert config.network == PAPER.network
    assert "klingon: neither one of the recipes" in refused(load, 'base = "klingon"')
    assert "base: neither" in refused(load, "base = [1]").replace("[1]", "base")


@pytest.mark.parametrize("preset", [PAPER, DEFAULT], ids=["paper", "default"])
def test_presets_have_the_sizes_of_the_papers_table(preset):
    network = preset.network
    assert (network.char_window, network.char_filters) == (3, 50)
    assert (network.lstm_layers, network.lstm_size, network.decoder_size) == (3, 512, 512)
    assert (network.tag_size, network.word_size, network.char_size) == (100, 100, 100)
    assert (network.arc_size, network.label_size) == (512, 128)
    assert (preset.training.beta1, preset.training.decay, preset.training.clip) == (0.9, 0.75, 5.0)
    assert preset.decoding.beam == 10


def test_the_paper_preset_is_the_papers_table():
    network = PAPER.network
    dropouts = {value for name, value in vars(network).items() if "dropout" in name}
    assert dropouts == {0.33}
    assert (PAPER.training.learning_rate, PAPER.training.beta2, PAPER.training.schedule) == (0.001, 0.9, "plateau")
    assert (PAPER.data.unaries, PAPER.decoding.method, PAPER.decoding.consistent) == ("drop", "beam", False)
    assert not network.subwords
    assert not any(value for name, value in vars(network).items() if name.endswith("_weight"))
    assert not network.label_smoothing


# Who has the last word


def test_a_preset_that_is_named_beats_that_of_the_recipe(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text("preset = 'default'\n[training]\nseed = 3")
    config = Config.load(path, preset="paper")
    assert (config.network, config.training.seed) == (PAPER.network, 3)
    with pytest.raises(ConfigError, match="there is no preset 'papr'"):
        Config.load(path, preset="papr")


def test_a_setting_beats_the_scenario_which_beats_the_recipe_which_beats_the_preset(load):
    recipe = """
    [data]
    tags = "predicted"
    vectors = "v.txt"
    [training]
    seed = 3
    """
    assert load(recipe).data.tags == "predicted"
    assert load(recipe).network.subwords == DEFAULT.network.subwords != ""  # of the preset
    bare = load(recipe, scenario="bare")
    assert (bare.data.tags, bare.data.vectors, bare.network.subwords, bare.training.seed) == ("none", "", "", 3)
    last = load(recipe, "data.tags=gold", "training.seed=4", "training.seed=5", scenario="bare")
    assert (last.data.tags, last.data.vectors, last.training.seed) == ("gold", "", 5)


@pytest.mark.parametrize(
    ("setting", "path", "value"),
    [
        ("training.seed=7", "training.seed", 7),
        (" training.seed = 7", "training.seed", 7),
        ("training.learning_rate=1", "training.learning_rate", 1.0),
        ("network.subwords=", "network.subwords", ""),
        ('network.subwords=""', "network.subwords", ""),
        ("decoding.method=greedy", "decoding.method", "greedy"),
        ("decoding.consistent=false", "decoding.consistent", False),
        ("data.folder=/a=b/c d", "data.folder", "/a=b/c d"),
        ("data.folder='1'", "data.folder", "1"),
        ('data.train=["a", {file="b", split="x"}]', "data.train", (Source("a"), Source("b", "x"))),
        ("name=other", "name", "other"),
    ],
)
def test_a_setting_on_the_command_line_is_toml_or_else_a_string(load, setting, path, value):
    found = load("", setting)
    for name in path.split("."):
        found = getattr(found, name)
    assert (found, type(found)) == (value, type(value))


# Mistakes


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("[training]\nsed = 1", "training: there is no setting 'sed'; there are seed,"),
        ("[trainin]\nseed = 1", "there is no setting 'trainin'; there are name, data,"),
        ("seed = 1", "there is no setting 'seed'"),
        ("[training]\nseed = '1'", "training: seed: expected int, got '1'"),
        ("[training]\nseed = 1.0", "training: seed: expected int, got 1.0"),
        ("[training]\nseed = true", "training: seed: expected int, got True"),
        ("[training]\nclip = true", "training: clip: expected float, got True"),
        ("[training]\nclip = '5'", "training: clip: expected float, got '5'"),
        ("[training]\nclip = 1" + "0" * 400, "training: clip: expected float"),
        ("[data]\ndrop_repeats = 1", "data: drop_repeats: expected bool, got 1"),
        ("[data]\nfolder = 1", "data: folder: expected str, got 1"),
        ("[data]\ntags = 'silver'", "data: tags: 'silver' is none of 'none', 'gold', 'predicted'"),
        ("[data]\ntags = ['gold']", "data: tags: ['gold'] is none of"),
        ("[data]\npunctuation = 'eat'", "data: punctuation: 'eat' is none of"),
        ("[data]\ntrain = 'a.export'", "data: train: expected tuple, got 'a.export'"),
        ("[data]\ntrain = [1]", "data: train: expected a table of settings, got 1"),
        ("[data]\ntrain = [{ split = 'a' }]", "data: train: a source needs a file"),
        ("[data]\ntrain = [{ file = 'a', spilt = 'a' }]", "data: train: there is no setting 'spilt'"),
        ("training = 1", "training: expected a table of settings, got 1"),
        ("preset = 'papr'", "there is no preset 'papr'; there are paper, default"),
        ("preset = ['paper']", "there is no preset ['paper']; there are paper, default"),
        ("[network]\nlstm_size = 0", "network: lstm_size: expected at least 1, got 0"),
        ("[network]\nlstm_layers = -1", "network: lstm_layers: expected at least 1, got -1"),
        ("[network]\nmlp_dropout = 1.0", "network: mlp_dropout: expected at least 0 and below 1, got 1.0"),
        ("[network]\nunknown = -0.5", "network: unknown: expected at least 0 and below 1, got -0.5"),
        ("[network]\nlstm_dropout = nan", "network: lstm_dropout: expected at least 0 and below 1, got nan"),
        ("[network", "small.toml: "),
    ],
)
def test_a_mistake_in_a_recipe_is_named_with_its_file_and_key(load, tmp_path, content, complaint):
    message = refused(load, content)
    assert message.startswith(f"{tmp_path / 'small.toml'}: ")
    assert complaint in message


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("training.seed", "--set training.seed: expected section.name=value"),
        ("training.seed=x", "--set training.seed=x: training: seed: expected int, got 'x'"),
        ("training.sed=1", "there is no setting 'sed'"),
        ("=1", "--set =1: there is no setting ''"),
        ("training=1", "training: expected a table of settings"),
        ("training.seed.x=1", "training: seed: expected int"),
        ("data.train=a", "data: train: expected tuple, got 'a'"),
    ],
)
def test_a_mistake_on_the_command_line_is_named_with_its_setting(load, setting, complaint):
    message = refused(load, "", setting)
    assert message.startswith(f"--set {setting}: ")
    assert complaint in message


def test_an_unknown_scenario_is_named(load):
    expected = "there is no scenario 'no-tags'; there are gold-pos, predicted-pos, no-pos, bare"
    assert refused(load, scenario="no-tags") == expected


def test_a_recipe_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "latin.toml").write_bytes(b"name = '\xe4'")
    for name in ("missing.toml", "latin.toml", "."):
        with pytest.raises(ConfigError) as caught:
            Config.load(tmp_path / name)
        assert str(caught.value).startswith(f"{tmp_path / name}: ")


# JSON


@pytest.mark.parametrize("name", recipe_names())
def test_recipes_come_back_from_json(name):
    config = Config.load(name)
    assert Config.from_json(config.to_json(), "memory") == config


@given(
    st.builds(
        Config,
        name=st.text(),
        data=st.builds(
            Data,
            folder=st.text(),
            train=st.lists(st.builds(Source, st.text(min_size=1), st.text(), skip_broken=st.booleans())).map(tuple),
            tags=st.sampled_from(["none", "gold", "predicted"]),
        ),
        network=st.builds(Network, lstm_size=st.integers(1, 2**40), unknown=st.floats(0, 0.99)),
        training=st.builds(Training, seed=st.integers(0), learning_rate=st.floats(0, 1e300)),
    )
)
def test_any_configuration_comes_back_from_json(config):
    assert Config.from_json(config.to_json(), "memory") == config


@pytest.mark.parametrize("text", ["", "{", "[]", "1", '"name"', "null", '{"name": 1}', '{"data": []}', "[" * 100_000])
def test_json_that_is_no_configuration_is_refused(text):
    with pytest.raises(ConfigError, match=r"^here: "):
        Config.from_json(text, "here")


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3), lambda below: (
    st.lists(below, max_size=3)
    | st.dictionaries(st.sampled_from(["name", "data", "network", "training", "train", "lstm_size", "clip"]), below)
)))  # fmt: skip
def test_any_json_is_a_configuration_or_a_config_error(table):
    config, complaint = None, ""
    try:
        config = Config.from_json(json.dumps(table), "here")
    except ConfigError as error:
        complaint = str(error)
    assert config is not None or complaint.startswith("here")
    assert config is None or Config.from_json(config.to_json(), "again").data == config.data


def test_updating_leaves_the_given_one_as_it_is():
    assert updated(PAPER, {"training": {"seed": 9}}, "").training.seed == 9
    assert PAPER.training.seed == 1


@pytest.mark.parametrize(
    "setting",
    [
        "training.seed=-1",
        "training.epochs=-1",
        "training.batch_words=0",
        "training.learning_rate=-1.0",
        "training.clip=nan",
        "training.beta2=1.5",
        "training.encoder_learning_rate=-1.0",
        "training.layer_decay=nan",
        "network.encoder_layers=0",
        "network.encoder_stride=-1",
        "training.average=2.0",
        "network.tag_weight=nan",
        "network.tag_weight=-1.0",
        "network.lstm_layers=20000",
        "decoding.beam=0",
    ],
)
def test_training_settings_that_make_no_sense_are_refused(setting, tmp_path):
    recipe = tmp_path / "a.toml"
    recipe.write_text("")
    with pytest.raises(ConfigError, match=r"expected at least [01]"):
        Config.load(recipe, [setting])
