"""The settings of pretraining, and the sizes that they start from: what ``discotree pretrain --set`` changes.

They are declared like those of a recipe (schema.py), and named ``section.name`` in the same way.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from discotree.config.recipes import with_settings
from discotree.config.schema import MAX_LAYERS, MAX_SIZE
from discotree.errors import ConfigError
from discotree.validation import check_bounds, setting

MAX_VOCAB = 1 << 20
MAX_LENGTH = 1 << 13
SPECIAL_PIECES = 2  # around a sequence: [CLS] in front and [SEP] at the end


@dataclass(frozen=True)
class TextSettings:
    """How text becomes pieces."""

    vocab_size: int = setting(24_000, "Pieces of the vocabulary; fewer if the text has fewer.", 16, MAX_VOCAB + 1)
    min_count: int = setting(2, "A pair of pieces that is rarer than this does not become one piece.", 1)
    alphabet: int = setting(1000, "The most frequent characters that are pieces; others are unknown.", 1, MAX_VOCAB + 1)
    length: int = setting(128, "Pieces of a sequence, with those around it.", SPECIAL_PIECES + 2, MAX_LENGTH + 1)
    hold_out_words: int = setting(
        5, "Held-out sentences of this many words are searched for inside lines, shorter ones as whole lines.", 1
    )

    def __post_init__(self) -> None:
        check_bounds(self)


@dataclass(frozen=True)
class EncoderSettings:
    """The size of the encoder. With `--from`, it is that of the encoder that training continues."""

    layers: int = setting(8, "Layers of the encoder.", 1, MAX_LAYERS)
    hidden_size: int = setting(384, "Size of a piece's vector, which the attention heads divide.", 1, MAX_SIZE + 1)
    heads: int = setting(6, "Attention heads.", 1, MAX_SIZE + 1)
    inner_size: int = setting(1536, "Size of the inner vectors of the feed-forward layers.", 1, 8 * MAX_SIZE)
    dropout: float = setting(0.0, "Dropout in pretraining. Training on top uses 0.1 as BERT does.", 0, 1)

    def __post_init__(self) -> None:
        check_bounds(self)


@dataclass(frozen=True)
class ObjectiveSettings:
    """What the encoder learns."""

    name: Literal["masked", "replaced"] = setting(
        "masked", "Guess masked pieces, or tell the pieces that a small generator replaced."
    )
    share: float = setting(0.2, "Share of the pieces that are masked or replaced.", 0.01, 0.9)
    whole_words: bool = setting(False, "Mask all pieces of a word together.")
    generator: float = setting(0.33, "Replaced: width of the generator, relative to the encoder's.", 0.01, 1.01)
    replaced_weight: float = setting(50.0, "Replaced: weight of telling replaced pieces; the generator's is 1.", 0)

    def __post_init__(self) -> None:
        check_bounds(self)


@dataclass(frozen=True)
class PretrainingSettings:
    """How the encoder learns, and for how long."""

    seed: int = setting(1, "Seed of the weights, the order of sequences and the masks.", 0)
    passes: float = setting(4.0, "Passes over the text, if neither `steps` nor `max_seconds` is set.", 0)
    steps: int = setting(0, "Steps of training. 0: as many as the passes take.", 0)
    max_seconds: float = setting(
        0.0, "Train for this long: the learning rate follows the clock and ends at 0. 0: no limit.", 0
    )
    batch: int = setting(768, "Sequences of a batch.", 1, 1 << 20)
    optimizer: Literal["adamw", "muon"] = setting(
        "muon", "AdamW for all weights, or Muon for the matrices of layers and AdamW for the rest."
    )
    learning_rate: float = setting(0.001, "The full learning rate.", 0)
    schedule: Literal["linear", "cosine"] = setting("linear", "How the learning rate falls to 0 after the warm-up.")
    warmup: float = setting(0.05, "Share of the run until the full learning rate.", 0, 1)
    beta1: float = setting(0.9, "AdamW's decay of the mean of gradients.", 0, 1)
    beta2: float = setting(0.98, "AdamW's decay of the mean of squared gradients.", 0, 1)
    epsilon: float = setting(1e-6, "AdamW's term against division by zero.", 0)
    momentum: float = setting(0.95, "Muon's decay of the mean of gradients.", 0, 1)
    weight_decay: float = setting(0.01, "Decoupled weight decay of matrices.", 0)
    clip: float = setting(1.0, "Clip the gradient to this norm. 0: never.", 0)
    precision: Literal["auto", "float32", "bfloat16"] = setting(
        "auto", "Precision of the forward pass; `auto` is `bfloat16` on a GPU and `float32` elsewhere."
    )
    compile: bool = setting(True, "Compile the network on a GPU, which takes a minute and then pays.")
    device: str = setting("", "`cpu`, `cuda`, `cuda:1`. Empty: a GPU if there is one.")
    report_steps: int = setting(20, "Steps between two lines of the log.", 1)
    checkpoint_seconds: float = setting(120.0, "Seconds between two checkpoints. 0: none by the clock.", 0)
    checkpoint_steps: int = setting(0, "Steps between two checkpoints. 0: none by the step.", 0)

    def __post_init__(self) -> None:
        check_bounds(self)


# What may differ between two runs of which the second resumes the first: where, how fast and for how long it runs.
FREE = ("device", "compile", "report_steps", "checkpoint_seconds", "checkpoint_steps", "max_seconds")


@dataclass(frozen=True)
class Pretraining:
    """The settings of pretraining: all sections of ``discotree pretrain --set``."""

    text: TextSettings = field(default_factory=TextSettings)
    network: EncoderSettings = field(default_factory=EncoderSettings)
    objective: ObjectiveSettings = field(default_factory=ObjectiveSettings)
    training: PretrainingSettings = field(default_factory=PretrainingSettings)

    def facts(self) -> dict[str, object]:
        """Return what tells runs apart whose checkpoints must not be mixed: settings by their names."""
        sections = dataclasses.asdict(self)
        return {
            f"{section}.{name}": value
            for section, table in sections.items()
            for name, value in table.items()
            if (section, name) not in {("training", free) for free in FREE}
        }


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
        raise ConfigError(f"unknown size {size!r}, expected one of {', '.join(SIZES)}")
    config = with_settings(SIZES[size], settings)
    network, training = config.network, config.training  # settings arrive one by one: only now do they have to agree
    if network.hidden_size % network.heads:
        raise ConfigError(
            f"network.hidden_size: {network.hidden_size} does not divide into {network.heads} attention heads"
        )
    if not (training.passes or training.steps or training.max_seconds):
        raise ConfigError("training.passes, training.steps, training.max_seconds: one of them has to limit the run")
    if training.steps and training.max_seconds:
        raise ConfigError("training.steps, training.max_seconds: expected one limit, got both")
    return config
