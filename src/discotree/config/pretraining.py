"""Settings of pretraining and of word vectors: everything that ``discotree pretrain --set`` changes."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from discotree.config.recipes import with_settings
from discotree.config.schema import MAX_LAYERS, MAX_SIZE, Settings
from discotree.errors import ConfigError, expected
from discotree.validation import MAX_NUMBER, setting

MAX_VOCAB = 1 << 20
MAX_LENGTH = 1 << 13
SPECIAL_PIECES = 2  # around a sequence: [CLS] in front and [SEP] at the end


@dataclass(frozen=True)
class TextSettings(Settings):
    """How text is split into pieces."""

    vocab_size: int = setting(24_000, "Size of the vocabulary; smaller if the text is short.", 16, MAX_VOCAB + 1)
    length: int = setting(128, "Pieces of a sequence, [CLS] and [SEP] included.", SPECIAL_PIECES + 2, MAX_LENGTH + 1)


@dataclass(frozen=True)
class EncoderSettings(Settings):
    """The size of the encoder. With `--continue`, it is that of the encoder whose training continues."""

    layers: int = setting(8, "Layers of the encoder.", 1, MAX_LAYERS)
    hidden_size: int = setting(384, "Size of a piece's vector; a multiple of the attention heads.", 1, MAX_SIZE + 1)
    heads: int = setting(6, "Attention heads.", 1, MAX_SIZE + 1)
    inner_size: int = setting(1536, "Size of the inner vectors of the feed-forward layers.", 1, 8 * MAX_SIZE)
    dropout: float = setting(0.0, "Dropout in pretraining. Training a parser on top uses 0.1, as BERT does.", 0, 1)


@dataclass(frozen=True)
class PretrainingSettings(Settings):
    """How the encoder is trained, and for how long."""

    seed: int = setting(1, "Seed of the weights, the order of sequences and the masks.", 0)
    mask_share: float = setting(0.2, "Share of the pieces that are masked, and that the encoder guesses.", 0.01, 0.9)
    passes: float = setting(4.0, "Passes over the text, if neither `steps` nor `max_seconds` is set.", 0)
    steps: int = setting(0, "Steps of training. 0: as many as the passes take.", 0)
    max_seconds: float = setting(
        0.0, "Train for this long: the learning rate follows the clock and ends at 0. 0: no limit.", 0
    )
    batch: int = setting(768, "Sequences of a batch.", 1, 1 << 20)
    optimizer: Literal["adamw", "muon"] = setting(
        "muon", "AdamW for all weights, or Muon for the matrices of layers and AdamW for the other weights."
    )
    learning_rate: float = setting(0.001, "The full learning rate; it falls to 0 linearly after the warm-up.", 0)
    warmup: float = setting(0.05, "Share of the run until the full learning rate.", 0, 1)
    device: str = setting("", "`cpu`, `cuda`, `cuda:1`. Empty: a GPU if there is one.")
    report_steps: int = setting(20, "Steps between two lines of the log.", 1)
    checkpoint_seconds: float = setting(120.0, "Seconds between two checkpoints, at least. 0: at every report.", 0)


# Settings that may differ when a run is resumed: they do not change the weights, except for the length of the run.
FREE = ("training.device", "training.report_steps", "training.checkpoint_seconds", "training.max_seconds")


@dataclass(frozen=True)
class Pretraining:
    """All settings of ``discotree pretrain``."""

    text: TextSettings = field(default_factory=TextSettings)
    network: EncoderSettings = field(default_factory=EncoderSettings)
    training: PretrainingSettings = field(default_factory=PretrainingSettings)

    def facts(self) -> dict[str, object]:
        """Return the settings that belong to the fingerprint of a run, by name."""
        tables = dataclasses.asdict(self)
        facts = {f"{section}.{name}": value for section, table in tables.items() for name, value in table.items()}
        return {name: value for name, value in facts.items() if name not in FREE}


SIZES = {
    "small": Pretraining(),
    "base": Pretraining(
        text=TextSettings(vocab_size=32_000),
        network=EncoderSettings(layers=12, hidden_size=512, heads=8, inner_size=2048),
        training=replace(PretrainingSettings(), learning_rate=0.0007),
    ),
}


def load_pretraining(size: str = "small", settings: Sequence[str] = ()) -> Pretraining:
    """Return the settings of a size, with single ones (``section.name=value``) changed."""
    if size not in SIZES:
        raise ConfigError(f"unknown size {size!r}{expected(size, SIZES)}")
    config = with_settings(SIZES[size], settings)
    network, training = config.network, config.training  # checked here because settings are applied one by one
    if network.hidden_size % network.heads:
        raise ConfigError(
            f"network.hidden_size: expected a multiple of network.heads ({network.heads}), got {network.hidden_size}"
        )
    if not (training.passes or training.steps or training.max_seconds):
        raise ConfigError("expected one of training.passes, training.steps and training.max_seconds to limit the run")
    if training.steps and training.max_seconds:
        raise ConfigError("training.steps and training.max_seconds cannot be combined: set only one of them")
    return config


MAX_WINDOW = 100


@dataclass(frozen=True)
class VectorSettings(Settings):
    """How word vectors are learned from raw text; the default size is that of the paper's vectors."""

    size: int = setting(100, "Size of a vector.", 1, MAX_SIZE + 1)
    window: int = setting(5, "Neighbours on each side that a word predicts, at most.", 1, MAX_WINDOW)
    min_count: int = setting(5, "Leave out words that occur less often.", 1, MAX_NUMBER)
    max_words: int = setting(200_000, "Learn vectors of the most frequent words, at most this many.", 1, MAX_NUMBER)
    subsample: float = setting(
        1e-4, "Frequency of a word above which some of its occurrences are skipped. 0: none are.", 0, 1
    )
    epochs: int = setting(5, "Passes over the text.", 1, MAX_NUMBER)
    max_seconds: float = setting(
        0.0, "Learn for at most this long; the learning rate follows the clock. 0: no limit.", 0
    )
    learning_rate: float = setting(0.1, "Adagrad's initial learning rate; it falls to 0.", 0)
    seed: int = setting(1, "Seed of the initial vectors, the order of the text and the negative samples.", 0)
    device: str = setting("", "`cpu`, `cuda`, `cuda:1`. Empty: a GPU if there is one.")


@dataclass(frozen=True)
class Vectors:
    """All settings of ``discotree pretrain --vectors``."""

    vectors: VectorSettings = field(default_factory=VectorSettings)


def vector_settings(settings: Sequence[str]) -> VectorSettings:
    """Return the default settings with some of them changed, each given as ``vectors.size=200``."""
    return with_settings(Vectors(), settings).vectors
