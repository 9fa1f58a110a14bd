"""Recipes: what they may contain, which source overrides which, and how mistakes are reported."""

import dataclasses

import pytest

from discotree.config.recipes import DEFAULT, PAPER, PRESETS, SCENARIOS, load_recipe, recipe_names, recipe_path
from discotree.config.schema import DataSource
from discotree.errors import ConfigError


@pytest.fixture
def load(tmp_path):
    """Return a function that loads a recipe with this content."""

    def load(content="", *settings, scenario=""):
        path = tmp_path / "small.toml"
        path.write_text(content, "utf-8")
        return load_recipe(path, settings, scenario)

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
    config = load_recipe(name)
    assert config.name == name
    assert load_recipe(recipe_path(name)) == config
    assert all((config.data.train, config.data.dev, config.data.test))
    own = {name: getattr(config.network, name) for name in ("encoder", "agreement_weight", "lstm_layers", "subwords")}
    assert config.network in [dataclasses.replace(preset.network, **own) for preset in PRESETS.values()]
    for scenario in SCENARIOS:
        assert load_recipe(name, scenario=scenario).data.train == config.data.train


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
    assert config.data.train == (DataSource("a.export"), DataSource("b/*.xml", "train", "1-5,9-", format="alpino"))
    assert config.data.dev == (DataSource("c", skip_broken=True),)
    assert (config.data.folder, config.data.tags, config.data.unaries) == ("somewhere", "gold", "drop")
    assert (config.network.lstm_size, config.network.lstm_layers) == (7, 3)
    assert repr(config.network.lstm_dropout) == "0.0"  # a number with a point stays one
    assert (config.training.learning_rate, config.training.max_seconds) == (0.01, 60.0)
    assert (config.decoding.method, config.decoding.consistent) == ("beam", True)


def test_a_recipe_may_be_a_variant_of_another(load):
    """Its settings override those of the base one by one, and its preset is its own."""
    config = load('base = "negra"\npreset = "paper"\n[data]\nheads = "ptb"\n[training]\nseed = 3')
    negra = load_recipe("negra", preset="paper")
    assert (config.data.train, config.language) == (negra.data.train, "de")
    assert (config.name, config.data.heads, config.training.seed) == ("small", "ptb", 3)
    assert config.network == PAPER.network
    assert "klingon: neither a file nor one of the recipes" in refused(load, 'base = "klingon"')
    assert "base: neither a file" in refused(load, "base = [1]").replace("[1]", "base")


# Which source overrides which


def test_a_preset_that_is_named_beats_that_of_the_recipe(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text("preset = 'default'\n[training]\nseed = 3")
    config = load_recipe(path, preset="paper")
    assert (config.network, config.training.seed) == (PAPER.network, 3)
    with pytest.raises(ConfigError, match="unknown preset 'papr'"):
        load_recipe(path, preset="papr")


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
        ('data.train=["a", {file="b", split="x"}]', "data.train", (DataSource("a"), DataSource("b", "x"))),
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
        ("[training]\nsed = 1", "training: unknown key 'sed'; did you mean 'seed'?"),
        ("[trainin]\nseed = 1", "unknown key 'trainin'; did you mean 'training'?"),
        ("seed = 1", "unknown key 'seed', expected one of name, data,"),
        ("[training]\nseed = '1'", "training: seed: expected int, got '1'"),
        ("[training]\nseed = 1.0", "training: seed: expected int, got 1.0"),
        ("[training]\nseed = true", "training: seed: expected int, got True"),
        ("[training]\nepsilon = true", "training: epsilon: expected float, got True"),
        ("[training]\nepsilon = '5'", "training: epsilon: expected float, got '5'"),
        ("[training]\nepsilon = 1" + "0" * 400, "training: epsilon: expected float"),
        ("[data]\ndrop_repeats = 1", "data: drop_repeats: expected bool, got 1"),
        ("[data]\nfolder = 1", "data: folder: expected str, got 1"),
        ("[data]\ntags = 'silver'", "data: tags: expected one of 'none', 'gold', 'predicted', got 'silver'"),
        ("[data]\ntags = ['gold']", "data: tags: expected one of 'none', 'gold', 'predicted', got ['gold']"),
        (
            "[data]\npunctuation = 'eat'",
            "data: punctuation: expected one of 'keep', 'move', 'remove', 'root', got 'eat'",
        ),
        ("[data]\ntrain = 'a.export'", "data: train: expected a list, got 'a.export'"),
        ("[data]\ntrain = [1]", "data: train: expected a table, got 1"),
        ("[data]\ntrain = [{ split = 'a' }]", "data: train: 'file' is missing"),
        ("[data]\ntrain = [{ file = 'a', spilt = 'a' }]", "data: train: unknown key 'spilt'"),
        ("training = 1", "training: expected a table, got 1"),
        ("preset = 'papr'", "unknown preset 'papr'; did you mean 'paper'?"),
        ("preset = ['paper']", "unknown preset ['paper'], expected one of paper, default"),
        ("[network]\nlstm_size = 0", "network: lstm_size: expected at least 1 and below 16,385, got 0"),
        ("[network]\nlstm_layers = -1", "network: lstm_layers: expected at least 1, got -1"),
        ("[network]\nmlp_dropout = 1.0", "network: mlp_dropout: expected at least 0 and below 1, got 1.0"),
        ("[network]\nunknown = -0.5", "network: unknown: expected at least 0 and below 1, got -0.5"),
        ("[network]\nlstm_dropout = nan", "network: lstm_dropout: expected at least 0 and below 1, got nan"),
        ("name = = 1", "Invalid value"),
    ],
)
def test_a_mistake_in_a_recipe_is_named_with_its_file_and_key(load, tmp_path, content, complaint):
    message = refused(load, content)
    line = len(content.splitlines())  # the last one has the mistake, or the name of its table
    assert message.startswith(
        (f"{tmp_path / 'small.toml'}:{line}: ", f"{tmp_path / 'small.toml'}:1: unknown key 'trainin'")
    )
    assert complaint in message


def test_the_line_of_a_mistake_is_named_in_a_long_recipe(load, tmp_path):
    content = """# a recipe
name = "x"

[training]
seed = 1 # of the weights
epochs = "many"

[[data.train]]
file = "a"
[[data.train]]
file = "b"
repeat = 0

[network]
lstm_size = 0
"""
    for line, removed in ((6, ""), (12, 'epochs = "many"'), (15, 'epochs = "many"|repeat = 0')):
        kept = content
        for text in filter(None, removed.split("|")):
            kept = kept.replace(text, "")
        assert refused(load, kept).startswith(f"{tmp_path / 'small.toml'}:{line}: ")


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("training.seed", "--set training.seed: expected section.name=value"),
        ("training.seed=x", "--set training.seed=x: training: seed: expected int, got 'x'"),
        ("training.sed=1", "unknown key 'sed'"),
        ("=1", "--set =1: unknown key ''"),
        ("training=1", "training: expected a table"),
        ("training.seed.x=1", "training: seed: expected int"),
        ("data.train=a", "data: train: expected a list, got 'a'"),
    ],
)
def test_a_mistake_on_the_command_line_is_named_with_its_setting(load, setting, complaint):
    message = refused(load, "", setting)
    assert message.startswith(f"--set {setting}: ")
    assert complaint in message


def test_an_unknown_scenario_is_named(load):
    expected = "unknown scenario 'no-tags', expected one of gold-pos, predicted-pos, no-pos, bare"
    assert refused(load, scenario="no-tags") == expected


def test_a_recipe_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "latin.toml").write_bytes(b"name = '\xe4'")
    for name in ("missing.toml", "latin.toml", "."):
        with pytest.raises(ConfigError) as caught:
            load_recipe(tmp_path / name)
        assert str(caught.value).startswith(f"{tmp_path / name}: ")
