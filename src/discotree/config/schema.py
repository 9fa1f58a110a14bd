"""Everything that can be set, as frozen dataclasses: what a recipe says and what a model remembers.

A recipe is a TOML file with the sections below and, at its top, a preset to start from and perhaps the recipe that it
is a variant of (``base``). Those in the folder ``recipes`` come with discotree and go by their names. Settings are
named ``section.name`` on the command line: ``--set training.seed=7``.
"""

import dataclasses
import json
import math
import sys
import typing
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from discotree.config.validation import MAX_NUMBER, updated, within
from discotree.errors import ConfigError
from discotree.trees.transforms import Punctuation

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

RECIPES = Path(__file__).parent / "recipes"
SUFFIX = ".toml"
Method = Literal["greedy", "beam", "exact"]
MAX_LAYERS = 100
HALF = 16  # bits
LSTM, HF = "lstm", "hf:"  # how an encoder's name begins


@dataclass(frozen=True)
class Source:
    """Some trees of a treebank: a file, folder, archive or pattern, and which of its sentences."""

    file: str
    split: str = ""  # those that the table of splits gives this name
    sentences: str = ""  # those at these places, counted from 1, broken ones included: "1-18602", "5,7,10-"
    splits: str = ""  # a table of its own, where that of the recipe is another treebank's
    scheme: Literal["", "squoia"] = ""  # what the trees are brought from to the scheme of the others (schemes.py)
    format: str = ""
    skip_broken: bool = False

    @classmethod
    def of(cls, item: object, where: str) -> "Source":
        """A source as a recipe writes it: a table, or just the file."""
        if isinstance(item, str):
            return cls(item)
        source = updated(cls(""), item, where)
        if not source.file:
            raise ConfigError(f"{where}: a source needs a file: {item!r}")
        return source


@dataclass(frozen=True)
class Data:
    """Where the trees come from and what is done to them before the network sees them."""

    folder: str = ""  # files below are looked for in it, then right here; empty: $DISCOTREE_DATA
    splits: str = ""  # a table with the columns id and split
    train: tuple[Source, ...] = ()
    dev: tuple[Source, ...] = ()
    test: tuple[Source, ...] = ()
    drop_repeats: bool = False  # leave out of train what is word for word in dev or test, out of dev what is in test
    heads: str = "negra"  # head rules: a name or a file
    marked_heads: bool = False  # children that the treebank marks as heads win before the rules
    punctuation: Punctuation = "move"
    unaries: Literal["keep", "drop"] = "keep"
    tags: Literal["none", "gold", "predicted"] = "none"  # tags that the network may look at
    predicted_tags: str = ""  # the file that `discotree tag` wrote
    vectors: str = ""  # pretrained word vectors: word2vec, GloVe or fastText


@dataclass(frozen=True)
class Network:
    """The shape of the network. The first block is the paper's table of hyper-parameters."""

    word_size: int = 100
    char_size: int = 100
    char_filters: int = 50
    char_window: int = 3
    tag_size: int = 100  # used where the data has tags to look at
    lstm_size: int = 512  # per direction
    lstm_layers: int = 3
    decoder_size: int = 512
    arc_size: int = 512
    label_size: int = 128
    embedding_dropout: float = 0.33  # of a word's whole vector, character vector, tag vector
    lstm_dropout: float = 0.33  # of inputs, one mask for all words of a sentence
    recurrent_dropout: float = 0.33  # of the hidden state between words
    mlp_dropout: float = 0.33
    unknown: float = 0.5  # probability that a word seen once is unknown in training
    max_chars: int = 45  # of a word
    # Beyond the paper
    subwords: Literal["", "latin"] = ""  # pretrained sub-word vectors beside the word embedding
    subword_dropout: float = 0.33  # of a word's whole sub-word vector, or of that which a Transformer gives it
    tag_weight: float = 0.0  # of the small heads in the loss; 0: the head is not there
    morph_weight: float = 0.0
    function_weight: float = 0.0
    unary_weight: float = 0.0
    spine_weight: float = 0.0  # all phrases that a word heads, as one class: only helps the encoder to learn
    label_smoothing: float = 0.0
    agreement_weight: float = 0.0  # of two passes with different dropout agreeing with each other (R-Drop); 0: one pass
    # A Transformer below the BiLSTMs. With one, word_size, char_filters and lstm_layers may be 0: not there
    encoder: str = "lstm"  # or "hf:" and a folder, or a name on the Hugging Face hub
    encoder_layers: int = 4  # from the top, whose mixture is the vector of a piece
    encoder_pooling: Literal["first", "mean"] = "mean"  # what a word gets from its pieces
    encoder_window: int = 0  # pieces that it sees at once; 0: as many as it can
    encoder_stride: int = 0  # pieces from one window of a long sentence to the next; 0: half a window
    encoder_recompute: bool = False  # compute again what learning needs: saves memory, costs time

    def __post_init__(self) -> None:
        optional = {"encoder_window", "encoder_stride"}
        if self.transformer:
            optional |= {"word_size", "char_filters", "lstm_layers"}
        for entry in dataclasses.fields(self):
            if entry.name.endswith("_weight"):
                within(self, entry.name, 0, math.inf)
            elif entry.type is float:
                within(self, entry.name, 0, 1)
            elif entry.type is int:
                within(self, entry.name, int(entry.name not in optional), MAX_NUMBER)
        within(self, "lstm_layers", 0, MAX_LAYERS)
        if self.encoder != LSTM and not self.transformer:
            raise ConfigError(
                f"encoder: expected {LSTM!r}, or {HF!r} and the name of a Transformer, got {self.encoder!r}"
            )

    @property
    def transformer(self) -> str:
        """The folder or name of the Transformer; empty where there is none."""
        return self.encoder.removeprefix(HF) if self.encoder.startswith(HF) else ""


@dataclass(frozen=True)
class Training:
    """How the network is trained."""

    seed: int = 1
    epochs: int = 100
    batch_words: int = 640  # padding included
    learning_rate: float = 0.001
    encoder_learning_rate: float = 5e-5  # of a Transformer; 0: it stays as it is
    layer_decay: float = 1.0  # of a Transformer's learning rate, from each layer to the one below
    beta1: float = 0.9
    beta2: float = 0.9
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    clip: float = 5.0
    schedule: Literal["plateau", "cosine"] = "plateau"
    decay: float = 0.75  # plateau: of the learning rate
    patience: int = 5  # plateau: epochs without a better dev score before a decay
    max_decays: int = 9  # plateau: early stopping
    warmup: int = 100  # cosine: steps until the full learning rate
    average: float = 0.0  # decay of the moving average of the weights; 0: no average
    max_seconds: float = 0.0  # stop after the epoch that ends later than this; 0: no limit
    checkpoint_epochs: int = 1  # how often the state is written; 0: never
    weight_bits: int = 16  # of a saved weight: 16 is half precision, 8 and less are steps of each row's largest
    precision: Literal["auto", "float32", "bfloat16"] = "auto"  # auto: bfloat16 on a GPU
    device: str = ""  # empty: a GPU if there is one

    def __post_init__(self) -> None:
        for name in ("beta1", "beta2", "average"):
            within(self, name, 0, 1)
        for name in ("learning_rate", "encoder_learning_rate", "layer_decay"):
            within(self, name, 0, math.inf)
        for name in ("epsilon", "weight_decay", "clip", "decay", "max_seconds"):
            within(self, name, 0, math.inf)
        for name in ("seed", "epochs", "patience", "max_decays", "warmup", "checkpoint_epochs"):
            within(self, name, 0, math.inf)
        within(self, "batch_words", 1, math.inf)
        if self.weight_bits != HALF and not 2 <= self.weight_bits <= 8:
            raise ConfigError(f"weight_bits: expected 16, or 2 to 8, got {self.weight_bits}")


@dataclass(frozen=True)
class Decoding:
    """How scores become a tree."""

    method: Method = "exact"
    beam: int = 10
    consistent: bool = False  # one label per phrase, chosen by the sum over the arcs that form it

    def __post_init__(self) -> None:
        within(self, "beam", 1, MAX_NUMBER)


@dataclass(frozen=True)
class Config:
    """A whole recipe."""

    name: str = ""
    data: Data = field(default_factory=Data)
    network: Network = field(default_factory=Network)
    training: Training = field(default_factory=Training)
    decoding: Decoding = field(default_factory=Decoding)
    language: str = ""  # whose rules cut raw text into words (text/conventions.py)

    @classmethod
    def load(cls, recipe: str | Path, settings: Sequence[str] = (), scenario: str = "", preset: str = "") -> "Config":
        """Read a recipe, a file or one of ours by its name.

        Whoever speaks later wins: the preset (the one named here, or else in the file), the recipe, the scenario,
        single settings (``section.name=value``).
        """
        path = recipe_path(recipe)
        table = _recipe(path)
        if "base" in table:
            table = _merged(_recipe(recipe_path(str(table.pop("base")))), table)
        preset = preset or table.get("preset", "default")
        table.pop("preset", None)
        if not isinstance(preset, str) or preset not in PRESETS:
            raise ConfigError(f"{path}: there is no preset {preset!r}; there are {', '.join(PRESETS)}")
        table.setdefault("name", path.stem)
        config = updated(PRESETS[preset], table, str(path))
        if scenario:
            if scenario not in SCENARIOS:
                raise ConfigError(f"there is no scenario {scenario!r}; there are {', '.join(SCENARIOS)}")
            config = updated(config, SCENARIOS[scenario], f"scenario {scenario}")
        for setting in settings:
            config = updated(config, _parsed(setting), f"--set {setting}")
        return config

    @classmethod
    def from_json(cls, text: str, where: str) -> "Config":
        try:
            table = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{where}: not JSON: {error}") from None
        return updated(cls(), table, where)

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=2)


def _recipe(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from None


def _merged(base: dict[str, Any], table: dict[str, Any]) -> dict[str, Any]:
    """The first table with what the second says in place of its own, section by section."""
    sections = [name for name in base if isinstance(base[name], dict) and isinstance(table.get(name), dict)]
    return base | table | {name: base[name] | table[name] for name in sections}


def recipe_names() -> list[str]:
    """The recipes that come with discotree."""
    return sorted(path.stem for path in RECIPES.glob(f"*{SUFFIX}"))


def recipe_path(recipe: str | Path) -> Path:
    """The file of a recipe. A name means one of ours even where a file or folder has the same name."""
    if str(recipe) in recipe_names():
        return RECIPES / f"{recipe}{SUFFIX}"
    path = Path(recipe)
    if not path.is_file():
        raise ConfigError(f"{recipe}: neither one of the recipes {', '.join(recipe_names())} nor a file")
    return path


def _parsed(setting: str) -> dict[str, Any]:
    """``training.seed=7`` as a nested table; the value is TOML, or else a string."""
    name, equals, value = setting.partition("=")
    if not equals:
        raise ConfigError(f"--set {setting}: expected section.name=value")
    try:
        table = tomllib.loads(f"value = {value}")
        result: Any = table["value"] if len(table) == 1 else value
    except tomllib.TOMLDecodeError:
        result = value
    for part in reversed(name.strip().split(".")):
        result = {part: result}
    return typing.cast("dict[str, Any]", result)


PAPER = Config(
    data=Data(unaries="drop"),
    decoding=Decoding(method="beam"),
)
DEFAULT = Config(
    network=Network(
        embedding_dropout=0.25,
        subwords="latin",
        subword_dropout=0.2,
        tag_weight=0.2,
        morph_weight=0.2,
        function_weight=0.2,
        unary_weight=0.2,
        spine_weight=0.2,
        label_smoothing=0.05,
        agreement_weight=0.25,
    ),
    training=Training(schedule="cosine", epochs=60, beta2=0.99, average=0.999, batch_words=1280, learning_rate=0.003),
    decoding=Decoding(consistent=True),
)
# The default with a Transformer, which learns slowly and needs fewer epochs. A recipe names that of its language.
BERT = Config(
    network=dataclasses.replace(
        DEFAULT.network,
        encoder="hf:google-bert/bert-base-multilingual-cased",
        subwords="",
        subword_dropout=0.0,
        lstm_layers=1,
        agreement_weight=0.0,
    ),
    training=dataclasses.replace(DEFAULT.training, epochs=20, learning_rate=0.001, warmup=500),
    decoding=DEFAULT.decoding,
)
PRESETS = {"paper": PAPER, "default": DEFAULT, "bert": BERT}

# The paper's table: what the network may look at beside the words.
SCENARIOS: dict[str, dict[str, dict[str, object]]] = {
    "gold-pos": {"data": {"tags": "gold"}},
    "predicted-pos": {"data": {"tags": "predicted"}},
    "no-pos": {"data": {"tags": "none"}},
    "bare": {"data": {"tags": "none", "vectors": ""}, "network": {"subwords": "", "encoder": LSTM}},
}
