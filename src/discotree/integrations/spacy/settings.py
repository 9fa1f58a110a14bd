"""The settings of the component in a pipeline's configuration."""

from dataclasses import dataclass
from typing import get_args

from discotree.config import Method
from discotree.errors import ConfigError
from discotree.network.engine import check_engine

SPACY_TOKENS, MODEL_TOKENS = "spacy", "model"


@dataclass(frozen=True)
class ComponentSettings:
    model: str = ""  # a name, a folder or hub:ORG/NAME; empty: the name is the pipeline's language
    device: str = ""  # empty: a GPU if there is one
    engine: str = ""  # empty: torch on a GPU, onnx on a CPU
    decode: str = ""  # empty: the model's method
    tokens: str = SPACY_TOKENS  # tokens to parse: spaCy's, or the model's own tokenisation of the text
    batch_words: int = 0  # words per forward pass; 0: what suits the device
    set_tags: bool = False  # set Token.tag, too
    include_model: bool = False  # save the model with the pipeline

    def __post_init__(self) -> None:
        check_engine(self.engine)
        if self.decode not in ("", *get_args(Method)):
            raise ConfigError(f"decode: expected one of {', '.join(get_args(Method))}, got {self.decode!r}")
        if self.tokens not in (SPACY_TOKENS, MODEL_TOKENS):
            raise ConfigError(f"tokens: expected {SPACY_TOKENS!r} or {MODEL_TOKENS!r}, got {self.tokens!r}")
        if self.batch_words < 0:
            raise ConfigError(f"batch_words: expected 0 or more, got {self.batch_words}")
