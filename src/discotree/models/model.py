"""Model: weights, and all that is needed to read words and to name what the network finds."""

from dataclasses import dataclass
from math import prod
from pathlib import Path

from discotree.config import Config
from discotree.encoding.head_rules import HeadRules, parse
from discotree.errors import requires_extra
from discotree.network.calibration import Calibration
from discotree.network.subwords import Subwords
from discotree.network.transformer import Pretrained
from discotree.network.vocab import Vocab
from discotree.network.weights import Weights


@dataclass(frozen=True, eq=False)
class Model:
    """What a model's folder holds."""

    config: Config
    vocab: Vocab
    weights: Weights  # by their names in the network
    subwords: Subwords | Pretrained | None  # pretrained sub-word vectors, or a Transformer
    folder: Path | None = None  # where it was read from
    own_head_rules: str = ""  # the text of those that it learned with, where they are none of ours
    calibration: Calibration | None = None  # without one, confidences are raw probabilities

    @classmethod
    def new(cls, settings: Config, vocab: Vocab, subwords: Subwords | Pretrained | None = None) -> "Model":
        """Make an untrained model; ``subwords`` are read from disk unless they are given."""
        with requires_extra("train"):
            from discotree.network.pytorch.encoder import pretrained_pieces
            from discotree.network.pytorch.engine import weights_of
            from discotree.network.pytorch.model import PointerNetwork
        subwords = pretrained_pieces(settings.network) if subwords is None else subwords
        network = PointerNetwork(settings.network, vocab, settings.data.tags != "none", subwords)
        return cls(settings, vocab, weights_of(network), subwords)

    @property
    def has_tags(self) -> bool:
        """Whether the network looks at the tags of the words."""
        return self.config.data.tags != "none"

    @property
    def head_rules(self) -> HeadRules:
        """The head rules that it learned with; where they got lost, children marked as heads are heads.

        They are ours or come with the model: no other file is read, whatever the settings name.
        """
        data = self.config.data
        if data.heads in HeadRules.names():
            return HeadRules.load(data.heads, marked_first=data.marked_heads)
        if self.own_head_rules:
            return HeadRules(parse(self.own_head_rules, data.heads), marked_first=data.marked_heads)
        return HeadRules.marked()

    @property
    def size(self) -> int:
        """The number of weights."""
        return sum(prod(weight.shape) for weight in self.weights.values())
