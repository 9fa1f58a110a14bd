"""Teachers, text and targets of a moment: what the tests of distillation share."""

from dataclasses import replace
from pathlib import Path

import torch
from support.models import saved_model
from support.networks import CALM, saved_trees

from discotree.config.schema import Config, DataSource, Distillation, Training
from discotree.training.distillation import text as sentence_module
from discotree.training.distillation.targets import TeacherTargets
from discotree.training.distillation.teachers import Teacher, Teachers, score
from discotree.training.distillation.text import SentenceJob, SentenceShards, prepare_sentences
from discotree.training.fit import autocast
from discotree.training.text_sources import text_sources

NAMES = ("Anna", "Otto", "Eva", "Hans", "Ida")
LINES = [
    f"{one} {verb} {other} {place}."
    for one in NAMES
    for verb in ("sieht", "hört")
    for other in ("ihn", "sie")
    for place in ("heute", "dort")
]  # 40 sentences
EASY = Distillation(min_count=1, epoch_sentences=16)


def text_file(folder: Path, name: str = "text.txt", lines: list[str] | None = None) -> str:
    (folder / name).write_text("".join(line + "\n" for line in lines or LINES), "utf-8")
    return str(folder / name)


def config_of(folder: Path, distillation: Distillation = EASY, **training: object) -> Config:
    """A recipe whose treebank has ten sentences; the other ones are dev and test."""
    data = saved_trees(
        folder,
        train=(DataSource("small.export", sentences="1-10"),),
        dev=(DataSource("small.export", sentences="11-15"),),
        test=(DataSource("small.export", sentences="16-20"),),
    )
    settings = Training(**{"epochs": 2, "batch_words": 60, "device": "cpu"} | training)  # type: ignore[arg-type]
    network = replace(CALM, lstm_layers=1)
    return Config("small", data, network, settings, language="de", distillation=distillation)


def job_of(folder: Path, settings: Distillation = EASY, text: str = "") -> SentenceJob:
    return SentenceJob(text_sources([text or text_file(folder)]), "de", settings, ())


def small_shards(monkeypatch, size: int = 10) -> None:
    monkeypatch.setattr(sentence_module, "SHARD_SENTENCES", size)


def quiet(what: str, done: int, total: int) -> None:
    """Report nothing."""


def sentences_in(folder: Path, settings: Distillation = EASY) -> SentenceShards:
    return prepare_sentences(job_of(folder, settings), folder / "sentences", quiet)


def teachers_of(*names: str, top: int = 4) -> Teachers:
    cpu = torch.device("cpu")
    return Teachers([Teacher.load(name) for name in names], top, autocast(Training(), cpu), cpu)


def teacher_in(folder: Path, name: str = "teacher", language: str = "de") -> str:
    return str(saved_model(folder / name, language))


def targets_in(folder: Path, settings: Distillation = EASY) -> TeacherTargets:
    teachers = teachers_of(teacher_in(folder))
    return score(sentences_in(folder, settings), teachers, settings, folder / "targets", quiet)
