"""The presets that a recipe starts from, and the scenarios of the paper."""

from dataclasses import replace

from discotree.config.distillation import Distillation
from discotree.config.schema import LSTM, MAX_BITS, Config, Data, Decoding, NetworkSettings, Training

# The paper's network, its hyper-parameters and its search
PAPER = Config(
    data=Data(unaries="drop"),
    training=Training(fit_dev=False),
    decoding=Decoding(method="beam"),
)

# The best parser without a Transformer
DEFAULT = Config(
    network=NetworkSettings(
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

# The default with a Transformer, which learns slowly and needs fewer epochs. Recipes name one of their own language.
BERT = Config(
    network=replace(
        DEFAULT.network,
        encoder="hf:google-bert/bert-base-multilingual-cased",
        subwords="",
        subword_dropout=0.0,
        lstm_layers=1,
        agreement_weight=0.0,
    ),
    training=replace(DEFAULT.training, epochs=20, learning_rate=0.001, warmup=500),
    decoding=DEFAULT.decoding,
)

# A fast network for `discotree distill`; what large models make of text is plenty to learn from, so little is dropped
SMALL = Config(
    network=replace(
        DEFAULT.network,
        char_size=50,
        lstm_size=256,
        lstm_layers=2,
        decoder_size=256,
        arc_size=256,
        label_size=64,
        embedding_dropout=0.1,
        lstm_dropout=0.15,
        recurrent_dropout=0.15,
        mlp_dropout=0.15,
        subword_dropout=0.1,
        spine_weight=0.0,
        agreement_weight=0.0,
    ),
    training=replace(
        DEFAULT.training, batch_words=5120, epochs=40, learning_rate=0.004, warmup=200, weight_bits=MAX_BITS
    ),
    decoding=DEFAULT.decoding,
    distillation=Distillation(sentences=400_000, epoch_sentences=60_000),
)

# For a model that has learned already: gentle steps, and few of them
FINE_TUNING = Training(
    schedule="cosine",
    epochs=10,
    beta2=0.99,
    average=0.999,
    batch_words=160,  # small batches: a hundred sentences are few steps
    learning_rate=0.001,
    encoder_learning_rate=2e-5,
    warmup=20,
)

PRESETS = {"paper": PAPER, "default": DEFAULT, "bert": BERT, "small": SMALL}

# The rows of the paper's table of results: what the network gets as input beside the words
SCENARIOS: dict[str, dict[str, dict[str, object]]] = {
    "gold-pos": {"data": {"tags": "gold"}},
    "predicted-pos": {"data": {"tags": "predicted"}},
    "no-pos": {"data": {"tags": "none"}},
    "bare": {"data": {"tags": "none", "vectors": ""}, "network": {"subwords": "", "encoder": LSTM}},
}
