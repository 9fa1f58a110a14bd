"""A pretrained Transformer below the network: any encoder that the library transformers knows, read from safetensors.

Shapes: B sentences, N words, P pieces in the longest sentence; R windows of W pieces; H numbers in a vector.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from discotree.config.schema import HF, NetworkSettings
from discotree.errors import ModelError, first_line, requires_extra
from discotree.network.pytorch.tensors import mean_of
from discotree.network.transformer import CONFIG, LIBRARY_EXTRA, Pretrained, strip_unsafe_keys, table_of

ENCODER = "encoder"  # folder of the Transformer in that of a parser
MAX_BUFFERS = 1 << 26  # size of all constants that a Transformer computes when it is built, such as masks
_FACTORIES = (torch.ones, torch.zeros, torch.full, torch.arange, torch.linspace, torch.eye, torch.rand, torch.randn)


class WithoutNumbers(TorchFunctionMode):
    """Inside this mode, weights have shapes but no data, which is filled in later; computed constants have both."""

    def __init__(self) -> None:
        super().__init__()
        self.size = 0  # of all constants so far

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _FACTORIES:
            self.size += func(*args, **(kwargs | {"device": "meta"})).numel()
            if self.size > MAX_BUFFERS:
                raise ValueError(f"expected constants of at most {MAX_BUFFERS:,} numbers, got {self.size:,}")
        return func(*args, **(kwargs | {"device": "meta"} if func is torch.empty else kwargs))


def load_transformer(name: str) -> Pretrained:
    """Load a Transformer from a folder or from the Hugging Face hub."""
    with requires_extra(LIBRARY_EXTRA):
        library = import_module("transformers")
    local = Path(name).is_dir()
    if local:
        _check_folder(Path(name))
    options = {"local_files_only": local, "trust_remote_code": False}
    try:
        with _quiet(library, bars=not local):
            settings = library.AutoConfig.from_pretrained(name, **options).to_json_string()
            tokenizer = library.AutoTokenizer.from_pretrained(name, use_fast=True, **options)
            cleaned = library.AutoConfig.for_model(**strip_unsafe_keys(table_of(settings, CONFIG)))
            model, report = library.AutoModel.from_pretrained(
                name, config=cleaned, use_safetensors=True, output_loading_info=True, **options
            )
    except Exception as error:  # depends on library and version
        what = "cannot use this Transformer" if local else "not a folder, and loading it from the hub failed"
        raise ModelError(f"{HF}{name}: {what}: {first_line(error)}") from None
    if getattr(tokenizer, "backend_tokenizer", None) is None:
        raise ModelError(f"{HF}{name}: tokenizer.json is missing")
    weights = {key: value.float().numpy() for key, value in _without_pooler(model).state_dict().items()}
    if not all(value.is_floating_point() for value in model.state_dict().values()):
        raise ModelError(f"{HF}{name}: integer weights cannot be trained")
    if missing := sorted(weights.keys() & set(report["missing_keys"])):
        raise ModelError(f"{HF}{name}: the weight {missing[0]} is missing")
    return Pretrained(settings, tokenizer.backend_tokenizer.to_str(), weights, HF + name)


def _check_folder(folder: Path) -> None:
    """Raise ModelError for folders that are easily mistaken for a Transformer's."""
    if not (folder / CONFIG).is_file():
        raise ModelError(f"{HF}{folder}: cannot use this Transformer: {CONFIG} is missing")
    if (folder / ENCODER / CONFIG).is_file():
        raise ModelError(f"{HF}{folder}: this is the folder of a parser; its Transformer is in {ENCODER}/")


def build(pretrained: Pretrained) -> Any:
    """Return the Transformer as a module."""
    with requires_extra(LIBRARY_EXTRA):
        library = import_module("transformers")
    try:
        with torch.device("cpu"), WithoutNumbers():
            settings = library.AutoConfig.for_model(**pretrained.settings)
            model = _without_pooler(library.AutoModel.from_config(settings, trust_remote_code=False))
    except Exception as error:
        raise ModelError(
            f"{pretrained.where}: cannot build a Transformer from its configuration: {first_line(error)}"
        ) from None
    if pretrained.weights is not None:
        model.load_state_dict({name: torch.tensor(value) for name, value in pretrained.weights.items()}, assign=True)
    return model


def _without_pooler(model: Any) -> Any:
    """Remove the layer for whole sentences, which is neither used nor trained."""
    if getattr(model, "pooler", None) is not None:
        model.pooler = None
    return model


@contextmanager
def _quiet(library: Any, bars: bool) -> Iterator[None]:
    """Silence the library's report on unused weights; progress ``bars`` are kept for downloads."""
    logging = library.utils.logging
    level, had_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    if not bars:
        logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if had_bars:
            logging.enable_progress_bar()


USUAL_WINDOW = 512  # pieces, for a Transformer without a limit
MAX_WINDOW = 8192  # pieces, for a Transformer without position embeddings
MAX_PAIRS = 1 << 24  # pairs of pieces that attend to each other in one forward pass
_LAYER = re.compile(r"\.(\d+)\.")


class Transformer(nn.Module):
    """Pieces of sentences → vectors of words.

    A sentence that is too long is read in overlapping windows; each piece takes its vector from the window in which it
    is furthest from an edge.
    """

    before: Tensor
    after: Tensor

    def __init__(self, pretrained: Pretrained, settings: NetworkSettings) -> None:
        super().__init__()
        self.model = build(pretrained)
        self.layers = pretrained.layers
        self.size = pretrained.size
        self.padding = pretrained.padding
        self.mixture = nn.Parameter(torch.zeros(min(settings.encoder_layers, self.layers + 1)))
        self.scale = nn.Parameter(torch.ones(1))
        with torch.device("cpu"):
            self.register_buffer("before", torch.tensor(pretrained.before, dtype=torch.long), persistent=False)
            self.register_buffer("after", torch.tensor(pretrained.after, dtype=torch.long), persistent=False)
        self.window = room(self.model) - len(pretrained.before) - len(pretrained.after)
        if self.window < 1:
            raise ModelError(f"{pretrained.where}: the Transformer has too few positions for a sentence")
        self.stride = (self.window + 1) // 2

    def pretrained(self) -> dict[str, int]:
        """Return the names of the pretrained weights, and the number of layers above each."""
        return {f"model.{name}": self._above(name) for name, _ in self.model.named_parameters()}

    def _above(self, name: str) -> int:
        layer = _LAYER.search(name)
        if layer:
            return self.layers - 1 - int(layer[1])
        return self.layers if "embed" in name else 0

    def train(self, mode: bool = True) -> "Transformer":
        """Use dropout only if the Transformer is trained."""
        return super().train(mode and any(weight.requires_grad for weight in self.model.parameters()))

    def forward(self, pieces: Tensor, first: Tensor, last: Tensor) -> Tensor:
        """``pieces`` (B, P); ``first`` and ``last`` (B, N) are each word's columns in a row. Gives (B, N, H)."""
        lengths = last.amax(1) + 1  # (B,)
        vectors = (self.read if pieces.shape[1] <= self.window else self.read_in_windows)(pieces, lengths)
        return mean_of(vectors, first, last)

    def read_in_windows(self, pieces: Tensor, lengths: Tensor) -> Tensor:
        """Return the vectors (B, P, H) of any number of pieces."""
        width, stride = self.window, self.stride
        columns = torch.arange(pieces.shape[1], device=pieces.device)  # (P,)
        counts = (lengths - width + stride - 1).clamp_min(0) // stride + 1  # (B,) windows per sentence
        starts = torch.arange(int(counts.max()), device=pieces.device) * stride  # (K,)
        inside = (starts[:, None] + columns[:width]).clamp_max(len(columns) - 1)  # (K, W)
        real = starts < (counts * stride)[:, None]  # (B, K)
        sizes = (lengths[:, None] - starts).clamp(0, width)  # (B, K)
        vectors = self.read(pieces[:, inside][real], sizes[real])  # (R, W, H)
        rows = real.flatten().cumsum(0).view_as(real) - 1  # (B, K) row of each window
        nearest = ((columns - width // 2 + stride // 2) // stride).clamp_min(0).expand_as(pieces)  # (B, P)
        nearest = torch.minimum(nearest, counts[:, None] - 1)
        return vectors[rows.gather(1, nearest), (columns - nearest * stride).clamp_max(width - 1)]

    def read(self, pieces: Tensor, lengths: Tensor) -> Tensor:
        """Return the vectors (B, P, H) of pieces that fit one window."""
        rows = max(1, MAX_PAIRS // max(1, pieces.shape[1]) ** 2)
        if rows < len(pieces):
            pairs = zip(torch.split(pieces, rows), torch.split(lengths, rows), strict=True)
            return torch.cat([self.read(*pair) for pair in pairs])
        columns = torch.arange(pieces.shape[1] + len(self.before) + len(self.after), device=pieces.device)
        begin, end = len(self.before), len(self.before) + pieces.shape[1]
        ids = pieces.new_full((len(pieces), len(columns)), self.padding)
        ids[:, :begin] = self.before
        ids[:, begin:end] = pieces.masked_fill(columns[: pieces.shape[1]] >= lengths[:, None], self.padding)
        where = begin + lengths[:, None] + columns[: len(self.after)]
        ids.scatter_(1, where, self.after.expand_as(where))
        mask = columns < (lengths + len(self.before) + len(self.after))[:, None]
        layers = self.model(input_ids=ids, attention_mask=mask.long(), output_hidden_states=True).hidden_states
        weights = self.scale * self.mixture.softmax(0)
        layers = torch.stack(layers[-len(weights) :])[:, :, begin:end]  # (layers, B, P, H)
        return (weights[:, None, None, None] * layers).sum(0)


def room(model: Any) -> int:
    """Return how many pieces a Transformer can read at once; in some, positions start after the id of the padding."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            return module.num_embeddings - (0 if module.padding_idx is None else module.padding_idx + 1)
    return min(MAX_WINDOW, int(getattr(model.config, "max_position_embeddings", 0) or USUAL_WINDOW))
