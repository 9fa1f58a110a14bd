"""Targets: model folders. An input is the name of a file in the folder, a line end, and its content."""

import json
import random
import shutil
import struct
import tempfile
from pathlib import Path
from typing import Any

from fuzz.targets import Target, WrongResult
from support.mutants import mutate, mutate_json

WORDS = ["Es", "kam", "nichts", "Interessantes", "."]


class ModelTarget(Target):
    """Loading a small model with one damaged file; a model that loads parses a sentence."""

    share = 0.02
    needs = ("numpy", "torch", "safetensors")

    def __init__(self, name: str, needs: tuple[str, ...] = ()) -> None:
        self.name = name
        self.needs = (*self.needs, *needs)

    def prepare(self) -> None:
        self.temporary = tempfile.TemporaryDirectory(prefix="discotree-fuzz-")
        self.folder = Path(self.temporary.name) / "model"
        super().prepare()

    def seeds(self) -> list[bytes]:
        from support.calibrations import CALIBRATION
        from support.models import CARD, saved_model, with_card

        with_card(saved_model(self.folder), CARD)
        (self.folder / "calibration.json").write_text(CALIBRATION.to_json(), "utf-8")
        return self.files(("config.json", "config.json", "vocab.json", "weights.safetensors", "calibration.json"))

    def files(self, names: Any) -> list[bytes]:
        return [name.encode() + b"\n" + (self.folder / name).read_bytes() for name in names]

    def damage(self, rng: random.Random, raw: bytes) -> bytes:
        name, _, content = raw.partition(b"\n")
        kind = rng.randrange(4)
        if kind and name.endswith(b".json"):
            content = mutate_json(rng, content)
        elif kind and name.endswith(b".safetensors"):
            content = _with_odd_header(rng, content)
        else:
            content = mutate(rng, content, ())
        return name + b"\n" + content

    def run(self, raw: bytes) -> None:
        from discotree import Token, Tree
        from discotree.parsing.parser import Parser

        name, _, content = raw.partition(b"\n")
        path = self.folder / name.decode(errors="replace").replace("\x00", "")
        if not path.is_file():  # a shorter input that is another thing
            return
        whole = path.read_bytes()
        path.write_bytes(content)
        try:
            (tree,) = Parser.from_pretrained(self.folder, "cpu")._parse_tokens([[Token(word) for word in WORDS]])
            if not isinstance(tree, Tree) or list(tree.words) != WORDS:
                raise WrongResult(f"parsing gives the words {tree.words}")
        finally:
            path.write_bytes(whole)

    def close(self) -> None:
        self.temporary.cleanup()


class EncoderTarget(ModelTarget):
    """The same for a model on top of a Transformer: the files of its encoder/ folder."""

    def seeds(self) -> list[bytes]:
        import dataclasses

        from support.encoders import saved_bert
        from support.networks import CALM, TREES, split_of
        from transformers.utils.logging import disable_progress_bar

        from discotree.config.schema import Config, Training
        from discotree.models.folder import write_model
        from discotree.training.run import build

        disable_progress_bar()
        pretrained = saved_bert(Path(self.temporary.name) / "bert")
        network = dataclasses.replace(CALM, encoder=f"hf:{pretrained}")
        settings = Config("small", network=network, training=Training(seed=1))
        write_model(build(settings, {"train": split_of(TREES)}).model, self.folder)
        shutil.rmtree(pretrained)
        inside = sorted((self.folder / "encoder").rglob("*"))
        return self.files([str(path.relative_to(self.folder)) for path in inside if path.is_file()])


def _with_odd_header(rng: random.Random, raw: bytes) -> bytes:
    """Return safetensors whose header has odd names, types, shapes or offsets."""
    try:
        (length,) = struct.unpack("<Q", raw[:8])
        header = mutate_json(rng, raw[8 : 8 + length])
        json.loads(header)
    except (struct.error, ValueError, OverflowError):  # from the corpus
        return mutate(rng, raw, ())
    return struct.pack("<Q", len(header)) + header + raw[8 + length :]


TARGETS: list[Target] = [ModelTarget("model"), EncoderTarget("encoder", ("transformers", "tokenizers"))]
