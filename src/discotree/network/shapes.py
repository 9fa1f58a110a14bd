"""The names and shapes of a network's weights, from its settings and its vocabulary. Shapes are those of PyTorch."""

from collections.abc import Iterator

from discotree.config import NetworkSettings
from discotree.network.subwords import Subwords
from discotree.network.transformer import Pretrained
from discotree.network.vocab import Vocab

Shape = tuple[int, ...]
GATES = 4  # in an LSTM


def shapes(
    settings: NetworkSettings, vocab: Vocab, has_tags: bool, pieces: Subwords | Pretrained | None
) -> dict[str, Shape]:
    """Return the shape of every weight that a model's file holds."""
    return dict(_shapes(settings, vocab, has_tags, pieces))


def input_size(settings: NetworkSettings, has_tags: bool, pieces: Subwords | Pretrained | None) -> int:
    """Return the size of what the network knows about a word by itself."""
    own = settings.word_size + settings.char_filters + (settings.tag_size if has_tags else 0)
    return own + (pieces.size if pieces is not None else 0)


def outputs(settings: NetworkSettings, vocab: Vocab) -> dict[str, int]:
    """Return the auxiliary heads and their numbers of classes.

    A head with one class, such as morphology in a treebank without it, has nothing to learn and does not exist.
    """
    counts = {head: len(vocab.outputs[head]) for head in settings.auxiliary_heads}
    return {head: count for head, count in counts.items() if count > 1}


def _shapes(
    settings: NetworkSettings, vocab: Vocab, has_tags: bool, pieces: Subwords | Pretrained | None
) -> Iterator[tuple[str, Shape]]:
    if settings.word_size:
        yield "encoder.words.weight", (len(vocab.words), settings.word_size)
    if settings.char_filters:
        yield "encoder.chars.table.weight", (len(vocab.chars), settings.char_size)
        window = (settings.char_filters, settings.char_size, settings.char_window)
        yield "encoder.chars.convolution.weight", window
        yield "encoder.chars.convolution.bias", (settings.char_filters,)
    if has_tags:
        yield "encoder.tags.weight", (len(vocab.tags), settings.tag_size)
    if isinstance(pieces, Pretrained):
        yield "encoder.pieces.mixture", (min(settings.encoder_layers, pieces.layers + 1),)
        yield "encoder.pieces.scale", (1,)
        for name, shape in _transformer(pieces).items():
            yield f"encoder.pieces.model.{name}", shape
    width = input_size(settings, has_tags, pieces)
    yield "encoder.root", (width,)
    for layer in range(settings.lstm_layers):
        for direction in ("", "_reverse"):
            yield from _lstm(f"encoder.lstm.layers.{layer}", width, settings.lstm_size, direction)
        width = 2 * settings.lstm_size
    state = settings.decoder_size
    yield from _linear("decoder.start", state, width)
    yield from _lstm("decoder.lstm", width, state)
    for name, inputs, size in (
        ("arc_dependent", state, settings.arc_size),
        ("arc_head", width, settings.arc_size),
        ("label_dependent", state, settings.label_size),
        ("label_head", width, settings.label_size),
    ):
        yield from _linear(name, size, inputs)
    yield "arc_bilinear", (settings.arc_size + 1, settings.arc_size + 1)
    yield "label_bilinear", (len(vocab.labels), settings.label_size + 1, settings.label_size + 1)
    for head, classes in outputs(settings, vocab).items():
        yield from _linear(f"auxiliary.{head}", classes, width + state)


def _transformer(pieces: Pretrained) -> dict[str, Shape]:
    if pieces.config is not None:
        return pieces.config.shapes()
    from discotree.network.pytorch.pretrained import build  # the library knows the others

    return {name: tuple(value.shape) for name, value in build(pieces).state_dict().items()}


def _linear(name: str, size: int, inputs: int) -> Iterator[tuple[str, Shape]]:
    yield f"{name}.weight", (size, inputs)
    yield f"{name}.bias", (size,)


def _lstm(name: str, inputs: int, size: int, direction: str = "") -> Iterator[tuple[str, Shape]]:
    yield f"{name}.weight_ih_l0{direction}", (GATES * size, inputs)
    yield f"{name}.weight_hh_l0{direction}", (GATES * size, size)
    yield f"{name}.bias_ih_l0{direction}", (GATES * size,)
    yield f"{name}.bias_hh_l0{direction}", (GATES * size,)
