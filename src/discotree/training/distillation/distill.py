"""Distil large models into a small one: draw sentences from raw text, let the teachers score them, and train.

    distill(load_recipe("alpino"), DistillationInput(["news.txt.bz2"], ["nl-large"]), "runs/small")

The folder then contains the output of ``train``, the sentences (``text/``) and the teachers' targets (``targets/``).
Sentences and targets can also be made beforehand, by ``prepare``, and used by several runs.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discotree.config.schema import Config
from discotree.errors import ConfigError, ModelError
from discotree.files.jobs import JobLock
from discotree.training.distillation.targets import ScoredText, TeacherTargets
from discotree.training.distillation.teachers import (
    Teacher,
    Teachers,
    check_scheme,
    check_teachers,
    score,
)
from discotree.training.distillation.text import (
    HELD_OUT,
    TARGETS,
    TEXT,
    SentenceJob,
    SentenceShards,
    checksum_of,
    prepare_sentences,
)
from discotree.training.distributed import ProcessGroup
from discotree.training.fit import Report, autocast, silent
from discotree.training.held_out import HeldOutSentence, dev_and_test, held_out_sentences
from discotree.training.run import remove_folder_on_error, train
from discotree.training.text_sources import TextReport, silent_text, text_sources

LOCK, TEXT_FOLDER, TARGETS_FOLDER = ".lock", "text", "targets"


@dataclass(frozen=True)
class DistillationInput:
    """Text and teachers, or a folder of prepared text, with or without targets."""

    texts: Sequence[str] = ()
    teachers: Sequence[str] = ()
    prepared: str = ""
    hold_out: Sequence[str] = ()  # other recipes, whose dev and test are held out, and treebanks

    def __post_init__(self) -> None:
        if bool(self.texts) == bool(self.prepared):
            raise ConfigError("expected either text files or a folder of prepared text")
        if self.prepared and self.hold_out:
            raise ConfigError("sentences are held out when text is prepared; pass --hold-out to that command")
        if self.has_targets and self.teachers:
            raise ConfigError(f"{self.prepared}: already scored by teachers; remove --teacher")

    @property
    def has_targets(self) -> bool:
        """Whether the prepared text has been scored."""
        return bool(self.prepared) and (Path(self.prepared) / TARGETS).exists()


def prepare(
    config: Config,
    source: DistillationInput,
    folder: str | Path,
    report: TextReport = silent_text,
    process_group: ProcessGroup | None = None,
) -> dict[str, Any]:
    """Prepare text in a folder, for several runs: the sentences, and if teachers are given their targets."""
    process_group = process_group or ProcessGroup.join(config.training.device)
    if source.prepared and (source.has_targets or not source.teachers):
        raise ConfigError(f"{source.prepared}: already prepared; pass --teacher to score text that has no targets yet")
    folder = Path(folder)
    with remove_folder_on_error(folder), JobLock(folder / LOCK, folder):
        if not source.teachers:
            return _load_sentences(config, source, folder, report).read_summary()
        text = folder / TEXT_FOLDER
        return _make_targets(config, source, text, folder, report, process_group).shards.read_summary()


def distill(
    config: Config,
    source: DistillationInput,
    folder: str | Path,
    report: Report = silent,
    text_report: TextReport = silent_text,
    process_group: ProcessGroup | None = None,
) -> dict[str, Any]:
    """Prepare text, let the teachers score it, train on it and on the treebank; return the content of results.json.

    Steps that are complete are not repeated.
    """
    process_group = process_group or ProcessGroup.join(config.training.device)
    folder = Path(folder)
    if config.data.tags != "none":
        raise ConfigError(
            f"data.tags: expected 'none' for distillation, because raw text has no tags; got {config.data.tags!r}"
        )
    if not source.has_targets and not source.teachers:
        raise ConfigError("expected at least one teacher")

    def load() -> TeacherTargets:
        if not source.has_targets:
            text, targets = folder / TEXT_FOLDER, folder / TARGETS_FOLDER
            return _make_targets(config, source, text, targets, text_report, process_group)
        scored = SentenceShards(Path(source.prepared), TARGETS)
        check_prepared(config, scored)
        check_scheme(f"the targets in {source.prepared}", scored.read_summary()["scheme"], config)
        return TeacherTargets(scored)

    first = process_group.is_first
    with remove_folder_on_error(folder), JobLock(folder / LOCK, folder) if first else nullcontext():
        targets = load() if first else None
        process_group.wait()
        targets = targets or load()
        return train(config, folder, report, process_group=process_group, extra=ScoredText(targets, config))


def _make_targets(
    config: Config, source: DistillationInput, text: Path, folder: Path, report: TextReport, process_group: ProcessGroup
) -> TeacherTargets:
    teachers = [Teacher.load(name) for name in source.teachers]
    check_teachers(teachers, config)
    settings, device = config.distillation, process_group.device
    sentences = _load_sentences(config, source, text, report)
    together = Teachers(teachers, settings.top, autocast(config.training, device), device)
    return score(sentences, together, settings, folder, report)


def _load_sentences(config: Config, source: DistillationInput, folder: Path, report: TextReport) -> SentenceShards:
    """Return the prepared sentences, or draw them from the text without those of the recipe's dev and test."""
    if source.prepared:
        prepared = SentenceShards(Path(source.prepared), TEXT)
        if not prepared.is_complete:
            raise ModelError(f"{source.prepared}: not a folder of prepared text, or incomplete")
        check_prepared(config, prepared)
        return prepared
    held_out = [(name, held_out_sentences([name])) for name in source.hold_out]
    held_out = [(config.name, recipe_held_out(config)), *held_out]
    job = SentenceJob(text_sources(source.texts), config.language, config.distillation, held_out)
    return prepare_sentences(job, folder, report)


def recipe_held_out(config: Config) -> list[HeldOutSentence]:
    """Return the sentences of dev and test of a recipe."""
    return [HeldOutSentence(config.name, tree.id, tree.words) for tree in dev_and_test(config.data)]


def check_prepared(config: Config, prepared: SentenceShards) -> None:
    """Refuse prepared text in another language, or from which dev and test of this recipe were not held out."""
    facts = prepared.read_summary()["facts"]
    if facts["language"] != config.language:
        raise ConfigError(
            f"{prepared.path}: the language is {facts['language']!r}, but {config.language!r} in the recipe"
        )
    if checksum_of(recipe_held_out(config)) not in [checksum for _, checksum in facts[HELD_OUT]]:
        raise ConfigError(
            f"{prepared.path}: dev and test of {config.name} were not held out from this text; "
            f"prepare it with --recipe {config.name} or --hold-out {config.name}"
        )
