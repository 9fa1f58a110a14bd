"""Pretrained Transformers as modules: loaded from safetensors by the library transformers, or built to be filled."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from discotree import config
from discotree.errors import ModelError, first_line, requires_extra
from discotree.network.transformer import LIBRARY_EXTRA, Pretrained
from discotree.network.untrusted import CONFIG, plain, table_of

ENCODER = "encoder"  # folder of the Transformer in that of a parser
MAX_BUFFERS = 1 << 26  # numbers in all constants that a Transformer computes when it is built, such as masks
_FACTORIES = (torch.ones, torch.zeros, torch.full, torch.arange, torch.linspace, torch.eye, torch.rand, torch.randn)


class WithoutNumbers(TorchFunctionMode):
    """Inside, weights have shapes but no numbers, which are filled in later; what a module computes has both."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = 0  # in constants, so far

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _FACTORIES:
            self.numbers += func(*args, **(kwargs | {"device": "meta"})).numel()
            if self.numbers > MAX_BUFFERS:
                raise ValueError(f"constants of {self.numbers:,} numbers, expected at most {MAX_BUFFERS:,}")
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
            cleaned = library.AutoConfig.for_model(**plain(table_of(settings, CONFIG)))
            model, report = library.AutoModel.from_pretrained(
                name, config=cleaned, use_safetensors=True, output_loading_info=True, **options
            )
    except Exception as error:  # depends on library and version
        what = "not a Transformer that can be used" if local else "neither a folder nor to be had from the hub"
        raise ModelError(f"{config.HF}{name}: {what}: {first_line(error)}") from None
    if getattr(tokenizer, "backend_tokenizer", None) is None:
        raise ModelError(f"{config.HF}{name}: it has no tokenizer.json")
    weights = {key: value.float().numpy() for key, value in _without_pooler(model).state_dict().items()}
    if not all(value.is_floating_point() for value in model.state_dict().values()):
        raise ModelError(f"{config.HF}{name}: it has integer weights, which cannot be trained")
    if missing := sorted(weights.keys() & set(report["missing_keys"])):
        raise ModelError(f"{config.HF}{name}: {missing[0]} is missing from its weights")
    return Pretrained(settings, tokenizer.backend_tokenizer.to_str(), weights, config.HF + name)


def _check_folder(folder: Path) -> None:
    """Refuse folders that one might take for that of a Transformer; the library's messages are of little help."""
    if not (folder / CONFIG).is_file():
        raise ModelError(f"{config.HF}{folder}: not a Transformer that can be used: there is no {CONFIG} in it")
    if (folder / ENCODER / CONFIG).is_file():
        raise ModelError(
            f"{config.HF}{folder}: not a Transformer that can be used: it is a parser, which has one inside"
        )


def build(pretrained: Pretrained) -> Any:
    """Return the Transformer as a module."""
    with requires_extra(LIBRARY_EXTRA):
        library = import_module("transformers")
    try:
        with torch.device("cpu"), WithoutNumbers():
            settings = library.AutoConfig.for_model(**pretrained.settings)
            model = _without_pooler(library.AutoModel.from_config(settings, trust_remote_code=False))
    except Exception as error:
        raise ModelError(f"{pretrained.where}: its configuration makes no Transformer: {first_line(error)}") from None
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
    """Silence the library's report on unused weights; progress ``bars`` stay for downloads."""
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
