"""All settings as frozen dataclasses: the content of a recipe, which is stored in every model.

Every setting declares its default, its description and its bounds once. The reference of the settings
(docs/reference/settings.md) is made of these declarations. A setting is named ``section.name`` on the command line:
``--set training.seed=7``.
"""

import dataclasses
import json
import re
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from discotree.errors import ConfigError
from discotree.trees.transforms import Punctuation
from discotree.validation import DESCRIPTION, MAX_NUMBER, check_bounds, check_within, setting, updated

MAX_SENTENCES = 10_000_000  # of one run; the chosen lines are kept in memory
MAX_TOP = 16
CODE = re.compile(r"[a-z]{2,3}(-[a-z]+)?")  # a language, and optionally a treebank that has its own rules


class Settings:
    """A section of settings."""

    def __post_init__(self) -> None:
        check_bounds(self)


@dataclass(frozen=True)
class Distillation(Settings):
    """How a small network, the student, learns from raw text that larger models, its teachers, have parsed.

    Only `discotree distill` reads these settings. The first three decide on the text and the stored targets, the others
    on how the student learns from them.
    """

    sentences: int = setting(200_000, "Sentences to draw from the text, at most.", 1, MAX_SENTENCES + 1)
    seed: int = setting(1, "Seed of the choice of sentences.", 0)
    top: int = setting(4, "Most probable heads, labels and classes to store for every word.", 1, MAX_TOP + 1)

    epoch_sentences: int = setting(20_000, "Sentences of the text in each epoch, beside the treebank.", 1, MAX_NUMBER)
    min_confidence: float = setting(
        0.0, "Leave out sentences whose mean probability of a word's head and label is lower.", 0, 1
    )
    min_agreement: float = setting(
        0.0, "Leave out words whose head is the best head of a smaller share of the teachers.", 0, 1.01
    )
    vocabulary: int = setting(
        20_000, "Most frequent words of the text that get an embedding, beside the words of the treebank.", 0
    )
    min_count: int = setting(5, "Words and labels that are rarer in the text do not enter the vocabulary.", 1)


Method = Literal["greedy", "beam", "exact"]
MAX_TREES = 1000  # that k_best returns for a sentence; time and memory grow with them
EngineName = Literal["onnx", "onnx-float32", "torch"]
# A model comes with its settings, and may not ask for more memory and time than its weights justify.
MAX_LAYERS = 100
MAX_SIZE = 1 << 14  # length of a vector; the largest in use have 8,192 numbers
MAX_CHARS = 256  # characters of a word that a network reads
MAX_BEAM = 256
MAX_REPEAT = 1001
MAX_GAP_PENALTY = 100.0  # higher than any difference between trees; sums of penalties must not lose digits
MAX_GAP_PENALTIES = 10_000  # phrase labels with a penalty
HALF_PRECISION_BITS = 16  # bits of a weight in half precision
MIN_BITS, MAX_BITS = 2, 8  # bits of a quantized weight
AUXILIARY_HEADS = ("tag", "morph", "function", "unary", "spine")
LSTM, HF = "lstm", "hf:"  # prefixes of an encoder's name


@dataclass(frozen=True)
class DataSource(Settings):
    """Sentences of one treebank, for training or evaluation.

    A recipe names a source by a table with these keys, or by its file alone.
    """

    SHORTHAND: ClassVar[str] = "file"  # the key that a bare string sets

    file: str = field(
        metadata={DESCRIPTION: "A file, a folder, an archive or a glob pattern, relative to `data.folder`."}
    )
    split: str = setting("", "Use the sentences that the table of splits assigns to this split. Empty: all of them.")
    sentences: str = setting(
        "",
        'Use the sentences with these numbers: `"1-18602"`, `"5,7,10-"`. Counted from 1, broken trees included.',
    )
    splits: str = setting("", "A table of splits for this source alone, in place of `data.splits`.")
    scheme: Literal["", "squoia", "squoia-low", "genia", "masc"] = setting(
        "",
        "Convert the trees from this annotation scheme: SQUOIA's to TIGER's (`squoia-low` also puts what belongs to a "
        "verb into its phrase), GENIA's and MASC's to CRAFT's. Convert training trees only: scores on converted trees "
        "cannot be compared with those of others.",
    )
    drop_tags: tuple[str, ...] = setting((), "Leave out words with these tags: mark-up that is not part of the text.")
    ignore: tuple[Literal["tag", "morph", "function", "unary", "spine"], ...] = setting(
        (), "Annotation that this source lacks, or that belongs to another set: its auxiliary heads learn nothing here."
    )
    lemmas: str = setting(
        "",
        "Replace the lemmas of these trees by those of a table: a file with the tab-separated columns lemma, tag, and "
        "forms with spaces between them. Words that it lacks have no lemma. `lemmas/de.tsv` comes with discotree.",
    )
    repeat: int = setting(1, "How many times an epoch goes through these sentences. For training only.", 1, MAX_REPEAT)
    name: str = setting("", "Also report the scores of these dev or test sentences separately, under this name.")
    format: str = setting("", "The treebank format. Empty: detect it.")
    skip_broken: bool = setting(False, "Skip trees that cannot be read, instead of stopping at the first one.")


@dataclass(frozen=True)
class Data(Settings):
    """Where the trees come from, and how they are prepared for the network."""

    folder: str = setting(
        "",
        "Folder that paths are relative to; a file that is not there is looked up in the current folder, then beside "
        "the bundled recipes. Empty: `$DISCOTREE_DATA`.",
    )
    splits: str = setting("", "A table with the columns `id` and `split`, for sources that name a split.")
    train: tuple[DataSource, ...] = setting((), "[Sources](#sources) of the training sentences.")
    dev: tuple[DataSource, ...] = setting((), "Sources of the development sentences, which decide on the best epoch.")
    test: tuple[DataSource, ...] = setting((), "Sources of the test sentences.")
    hold_out: int = setting(
        0, "Without dev sources, hold out every n-th training sentence as dev: 10 is every tenth. 0: none.", 0
    )
    drop_repeats: bool = setting(
        False, "Drop training sentences that occur word for word in dev or test, and dev sentences that occur in test."
    )
    heads: str = setting("negra", "Head rules: a name or a file.")
    marked_heads: bool = setting(False, "Children that the treebank marks as heads take precedence over the rules.")
    punctuation: Punctuation = setting(  # noqa: RUF009 (a literal by another name)
        "move", "What to do with punctuation: leave it, attach it low, remove it, or attach it to the root."
    )
    unaries: Literal["keep", "drop"] = setting("keep", "Nodes with a single child: encode or drop them.")
    tags: Literal["none", "gold", "predicted"] = setting("none", "Part-of-speech tags that the network gets as input.")
    predicted_tags: str = setting("", "The file of predicted tags, as written by `discotree train --predict-tags`.")
    vectors: str = setting("", "Pretrained word vectors: a word2vec, GloVe or fastText file.")


@dataclass(frozen=True)
class NetworkSettings(Settings):
    """The size of the network and its regularisation.

    The settings up to `max_chars` are the paper's table of hyper-parameters.
    """

    word_size: int = setting(100, "Size of a word embedding.", 0, MAX_SIZE + 1)
    char_size: int = setting(100, "Size of a character embedding.", 1, MAX_SIZE + 1)
    char_filters: int = setting(50, "Filters of the convolution over the characters of a word.", 0, MAX_SIZE + 1)
    char_window: int = setting(3, "Characters that a filter covers.", 1, MAX_CHARS + 1)
    tag_size: int = setting(100, "Size of a tag embedding; used if `data.tags` provides tags.", 1, MAX_SIZE + 1)
    lstm_size: int = setting(512, "Hidden size of the encoder's BiLSTMs, per direction.", 1, MAX_SIZE + 1)
    lstm_layers: int = setting(3, "BiLSTM layers of the encoder.", 0, MAX_LAYERS)
    decoder_size: int = setting(512, "Hidden size of the decoder LSTM.", 1, MAX_SIZE + 1)
    arc_size: int = setting(512, "Size of the vectors that score arcs.", 1, MAX_SIZE + 1)
    label_size: int = setting(128, "Size of the vectors that score labels.", 1, MAX_SIZE + 1)
    embedding_dropout: float = setting(
        0.33, "Probability of dropping a word's entire word, character or tag vector.", 0, 1
    )
    lstm_dropout: float = setting(0.33, "Dropout of LSTM inputs, with one mask for all words of a sentence.", 0, 1)
    recurrent_dropout: float = setting(0.33, "Dropout of the hidden state between words.", 0, 1)
    mlp_dropout: float = setting(0.33, "Dropout of the vectors that score arcs and labels.", 0, 1)
    unknown: float = setting(0.5, "Probability of replacing a word seen once by the unknown word in training.", 0, 1)
    max_chars: int = setting(45, "Characters of a word that the network reads; the rest is cut off.", 1, MAX_CHARS + 1)

    # Beyond the paper
    subwords: Literal["", "latin"] = setting("", "Pretrained sub-word vectors beside the word embedding.")
    subword_dropout: float = setting(
        0.33, "Probability of dropping a word's entire sub-word or Transformer vector.", 0, 1
    )
    tag_weight: float = setting(0.0, "Weight of the auxiliary head for tags in the loss. 0: no such head.", 0)
    morph_weight: float = setting(0.0, "Weight of the auxiliary head for morphology. 0: no such head.", 0)
    function_weight: float = setting(0.0, "Weight of the auxiliary head for functions. 0: no such head.", 0)
    unary_weight: float = setting(0.0, "Weight of the auxiliary head for unary phrases. 0: no such head.", 0)
    spine_weight: float = setting(
        0.0,
        "Weight of the auxiliary head for spines (all phrases that a word heads, as one class), "
        "which only helps the encoder to learn. 0: no such head.",
        0,
    )
    label_smoothing: float = setting(0.0, "Probability mass that label smoothing spreads over the other classes.", 0, 1)
    agreement_weight: float = setting(
        0.0, "Weight of the agreement of two passes with different dropout (R-Drop). 0: one pass.", 0
    )

    # A Transformer below the BiLSTMs. With one, word_size, char_filters and lstm_layers may be 0.
    encoder: str = setting("lstm", "`lstm`, or `hf:` and a Transformer: a folder or a name on the Hugging Face hub.")
    encoder_layers: int = setting(4, "Upper layers of the Transformer whose mixture represents a piece.", 1, MAX_NUMBER)

    def __post_init__(self) -> None:
        if not self.transformer:
            if self.encoder != LSTM:
                raise ConfigError(f"encoder: expected {LSTM!r}, or {HF!r} and a Transformer, got {self.encoder!r}")
            for name in ("word_size", "char_filters", "lstm_layers"):
                check_within(self, name, 1)
        super().__post_init__()

    @property
    def auxiliary_heads(self) -> dict[str, float]:
        """The auxiliary heads that are switched on, and their weights in the loss."""
        weights = {head: float(getattr(self, f"{head}_weight")) for head in AUXILIARY_HEADS}
        return {head: weight for head, weight in weights.items() if weight > 0}

    @property
    def transformer(self) -> str:
        """The folder or name of the Transformer; empty without one."""
        return self.encoder.removeprefix(HF) if self.encoder.startswith(HF) else ""


@dataclass(frozen=True)
class Training(Settings):
    """How the network is trained."""

    seed: int = setting(1, "Seed of the weights, the order of batches and dropout.", 0)
    epochs: int = setting(100, "Passes over the training sentences, at most.", 0)
    batch_words: int = setting(640, "Words of a batch, padding included.", 1)
    learning_rate: float = setting(0.001, "The full learning rate.", 0)
    encoder_learning_rate: float = setting(5e-5, "The full learning rate of a Transformer. 0: it is frozen.", 0)
    layer_decay: float = setting(1.0, "Factor of a Transformer's learning rate from each layer to the one below.", 0)
    beta2: float = setting(0.9, "Adam's decay of the mean of squared gradients.", 0, 1)
    epsilon: float = setting(1e-8, "Adam's term against division by zero.", 0)
    schedule: Literal["plateau", "cosine", "clock"] = setting(
        "plateau",
        "Lower the learning rate when dev stops improving, or along a cosine after a warm-up: over all epochs, or by "
        "the clock over `max_seconds`.",
    )
    plateau_factor: float = setting(0.75, "Plateau: factor of the learning rate at each decay.", 0)
    patience: int = setting(5, "Plateau: epochs without a better dev score before a decay.", 0)
    max_decays: int = setting(9, "Plateau: stop when more decays than these are due.", 0)
    warmup: int = setting(100, "Cosine, clock: steps until the full learning rate.", 0)
    ema_decay: float = setting(0.0, "Decay of the exponential moving average of the weights. 0: no average.", 0, 1)
    base_model: str = setting(
        "", "Model to fine-tune: a name, a folder or `hub:ORG/NAME`, as with `--base`. Empty: random weights."
    )
    l2_sp: float = setting(
        0.0, "Fine-tuning: decoupled decay of the weights towards those of the base model (L2-SP). 0: none.", 0
    )
    max_seconds: float = setting(
        0.0, "Stop after the first epoch that ends later than this; on the schedule `clock` at once. 0: no limit.", 0
    )
    checkpoint_epochs: int = setting(1, "Epochs between two checkpoints. 0: no checkpoints.", 0)
    calibrate_on_dev: bool = setting(
        True, "After training, fit the gap penalties and the confidences on dev, as `discotree calibrate` does."
    )
    weight_bits: int = setting(
        HALF_PRECISION_BITS,
        "Bits of a saved weight: 16 is half precision, 2 to 8 are integers with one scale per row.",
    )
    quantize_from: float = setting(
        1.0,
        "Share of the epochs after which training is quantisation-aware: the network learns with weights rounded to "
        "`weight_bits`, if these are 8 or fewer. 1: never; weights are rounded when they are saved.",
        0,
        1.01,
    )
    precision: Literal["auto", "float32", "bfloat16"] = setting(
        "auto", "Precision of the forward pass; `auto` is `bfloat16` on a GPU and `float32` elsewhere."
    )
    device: str = setting("", "`cpu`, `cuda`, `cuda:1`. Empty: a GPU if there is one.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weight_bits != HALF_PRECISION_BITS and not MIN_BITS <= self.weight_bits <= MAX_BITS:
            raise ConfigError(
                f"weight_bits: expected {HALF_PRECISION_BITS}, or {MIN_BITS} to {MAX_BITS}, got {self.weight_bits}"
            )


@dataclass(frozen=True)
class Decoding(Settings):
    """How scores become a tree."""

    method: Method = setting(  # noqa: RUF009 (a literal by another name)
        "exact", "The search for heads: the paper's left-to-right search, greedy or with a beam, or the exact maximum."
    )
    beam: int = setting(10, "Partial trees that beam search keeps.", 1, MAX_BEAM + 1)
    consistent: bool = setting(False, "Choose one label per phrase, by the sum over the arcs that form it.")
    gap_penalties: dict[str, float] = field(
        default_factory=dict,
        metadata={
            DESCRIPTION: "Gap penalty of each phrase label, in log-probability; "
            "trees with gaps are searched again. Empty: no penalties."
        },
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.gap_penalties) > MAX_GAP_PENALTIES:
            raise ConfigError(
                f"gap_penalties: expected at most {MAX_GAP_PENALTIES:,} labels, got {len(self.gap_penalties):,}"
            )
        for label, penalty in self.gap_penalties.items():
            if not 0 <= penalty <= MAX_GAP_PENALTY:
                raise ConfigError(f"gap_penalties: {label!r:.50}: expected 0 to {MAX_GAP_PENALTY:g}, got {penalty}")


@dataclass(frozen=True)
class Config:
    """The settings of a model: all sections of a recipe."""

    name: str = setting("", "Name of the model. Empty: the recipe's file name.")
    data: Data = field(default_factory=Data)
    network: NetworkSettings = field(default_factory=NetworkSettings)
    training: Training = field(default_factory=Training)
    decoding: Decoding = field(default_factory=Decoding)
    language: str = setting(
        "", "Language whose rules split raw text into sentences and tokens: `de`, `en`, `is`, `nl` …"
    )
    distillation: Distillation = field(default_factory=Distillation)

    def __post_init__(self) -> None:
        if self.language and not CODE.fullmatch(self.language):
            from discotree.text.recognition import frequent_words

            codes = {known.name.lower(): code for code, known in frequent_words().items()}
            hint = codes.get(self.language.lower(), "de, en, is, nl …")
            raise ConfigError(f"language: expected the code of a language ({hint}), got {self.language!r:.50}")

    @classmethod
    def from_json(cls, text: str, where: str) -> "Config":
        """Read a configuration from JSON; ``where`` is its address in error messages."""
        try:
            table = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{where}: not JSON: {error}") from None
        return updated(cls(), table, where)

    def to_json(self) -> str:
        """Return the configuration as JSON, as ``from_json`` reads it."""
        return json.dumps(dataclasses.asdict(self), indent=2)
