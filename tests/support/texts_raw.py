"""Raw text to pretrain on, made of a few words by a seed, and settings that pretrain in a moment."""

import random
from pathlib import Path

from discotree.config.pretraining import Pretraining, load_pretraining

NOUNS = [
    *("man", "vrouw", "hond", "kat", "boom", "huis", "boek", "stoel", "tafel"),
    *("fiets", "auto", "trein", "brug", "kerk", "school", "dokter", "koning", "schrijver"),
]
VERBS = ["ziet", "hoort", "vindt", "zoekt", "koopt", "bouwt", "leest", "maakt", "draagt", "volgt", "roept", "helpt"]
ENDS = ["in de stad", "op het plein", "met een glimlach", "zonder reden", "na het eten", "voor de oorlog"]

TINY_SETTINGS = (
    "network.layers=2",
    "network.hidden_size=16",
    "network.heads=2",
    "network.inner_size=24",
    "text.vocab_size=200",
    "text.length=32",
    "training.batch=8",
    "training.steps=12",
    "training.report_steps=3",
    "training.checkpoint_seconds=0",
    "training.learning_rate=0.01",
    "training.device=cpu",
)


def sentence(draw: random.Random) -> str:
    words = ["De", draw.choice(NOUNS), draw.choice(VERBS), "een", draw.choice(NOUNS), draw.choice(ENDS)]
    return " ".join(words) + "."


def written_text(path: Path, lines: int = 200, seed: int = 1) -> Path:
    """A file of raw text."""
    draw = random.Random(seed)
    path.write_text("".join(f"{sentence(draw)} {sentence(draw)}\n" for _ in range(lines)), "utf-8")
    return path


def tiny(*settings: str) -> Pretraining:
    """Settings that pretrain in a moment, and others."""
    return load_pretraining("small", [*TINY_SETTINGS, *settings])
