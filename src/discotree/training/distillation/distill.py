"""From raw text and large models to a small one: sentences, targets, training.

    distill(load_recipe("alpino"), DistillationInput(["news.txt.bz2"], ["nl-large"]), "runs/small")

The folder then holds what ``train`` leaves there, and beside it the sentences (``text/``) and what the teachers make of
them (``targets/``). Both can be made ahead, by ``prepare``, and serve several runs.
"""

import hashlib
import json
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from discotree.config import Config
from discotree.errors import ConfigError, ModelError
from discotree.network.batch import Corpus
from discotree.network.vocab import Vocab
from discotree.parsing.parser import Parser
from discotree.training.distillation.corpus import Slices, Targets
from discotree.training.distillation.scoring import score
from discotree.training.distillation.sentences import (
    HELD_OUT,
    SentenceJob,
    TextReport,
    checksum_of,
    prepare_sentences,
)
from discotree.training.distillation.shards import TARGETS, TEXT, SentenceShards, locked
from discotree.training.distillation.teachers import Teacher, Teachers, check_teachers, scheme_of
from discotree.training.distributed import World
from discotree.training.fit import Epochs, Report, silent
from discotree.training.pretraining.held_out import HeldOutSentence, dev_and_test, held_out_sentences
from discotree.training.run import no_empty_folder, train
from discotree.training.text_sources import text_sources
from discotree.training.trainer import autocast

TEXT_FOLDER, TARGETS_FOLDER = "text", "targets"
SAME_NAMES = 0.5  # share of the treebank's labels that the teachers must know
# These settings are part of the targets, which have an identity of their own, or do not change what is learned.
NOT_LEARNED = ("sentences", "seed", "min_words", "max_words", "hold_out_words", "top", "score_words")


def silent_progress(what: str, done: int, total: int) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class DistillationInput:
    """Text and teachers; or a folder where the text lies prepared, scored by teachers or not."""

    texts: Sequence[str] = ()
    teachers: Sequence[str] = ()
    prepared: str = ""
    hold_out: Sequence[str] = ()  # further recipes, whose dev and test are held out, and treebanks

    def __post_init__(self) -> None:
        if bool(self.texts) == bool(self.prepared):
            raise ConfigError("expected files of text or a folder of prepared text, one of the two")
        if self.prepared and self.hold_out:
            raise ConfigError("sentences are held out when text is prepared: name them there")
        if self.has_targets and self.teachers:
            raise ConfigError(f"{self.prepared}: teachers have scored this text already: name none")

    @property
    def has_targets(self) -> bool:
        """Whether the prepared text has been scored."""
        return bool(self.prepared) and (Path(self.prepared) / TARGETS).exists()


@dataclass(eq=False)
class ScoredText:
    """Targets, as what a network learns from beside its treebank."""

    targets: Targets
    config: Config

    @property
    def identity(self) -> str:
        settings = {key: value for key, value in asdict(self.config.distillation).items() if key not in NOT_LEARNED}
        return hashlib.sha256(json.dumps([settings, dict(self.targets.facts)]).encode()).hexdigest()

    def extended(self, vocab: Vocab) -> Vocab:
        known = set(self.targets.names["label"])
        common = sum(label in known for label in vocab.labels.symbols)
        if self.targets.root != vocab.root or common < SAME_NAMES * len(vocab.labels):
            raise ConfigError(
                f"the teachers and the treebank follow different schemes: the teachers know {common} of its "
                f"{len(vocab.labels)} labels, and the roots are {self.targets.root!r:.50} and {vocab.root!r:.50}"
            )
        return self.targets.extended(vocab, self.config.distillation)

    def epochs(self, treebank: Corpus, parser: Parser) -> Epochs:
        on_gpu = parser.device.startswith("cuda")
        settings, seed = self.config.distillation, self.config.training.seed
        return Slices(treebank, self.targets, settings, parser.forms, seed, ahead=on_gpu)

    def record(self) -> dict[str, Any]:
        sizes = {"sentences": self.targets.sentences, "words": self.targets.words}
        return {**sizes, "teachers": list(self.targets.teachers), "facts": dict(self.targets.facts)}


def prepare(
    config: Config,
    source: DistillationInput,
    folder: str | Path,
    report: TextReport = silent_progress,
    world: World | None = None,
) -> dict[str, Any]:
    """Make text ready in a folder, for several runs: its sentences, or if there are teachers their targets."""
    world = world or World.join(config.training.device)
    if source.has_targets:
        raise ConfigError(f"{source.prepared}: is prepared, and scored by its teachers: there is nothing to do")
    folder = Path(folder)
    with no_empty_folder(folder), locked(folder):
        if not source.teachers:
            if source.prepared:
                raise ConfigError("expected a teacher: the sentences are prepared already")
            return _sentences(config, source, folder, report).about()
        text = folder / TEXT_FOLDER
        return _targets(config, source, text, folder, report, world).shards.about()


def distill(
    config: Config,
    source: DistillationInput,
    folder: str | Path,
    report: Report = silent,
    text_report: TextReport = silent_progress,
    world: World | None = None,
) -> dict[str, Any]:
    """Prepare text, let the teachers score it, train on it and on the treebank; return the content of results.json.

    Whatever was done before is not done again.
    """
    world = world or World.join(config.training.device)
    folder = Path(folder)
    if config.data.tags != "none":
        raise ConfigError("data.tags: raw text has no tags, so a network that learns from it cannot look at them")
    if not source.has_targets and not source.teachers:
        raise ConfigError("expected at least one teacher")
    with no_empty_folder(folder), locked(folder) if world.is_first else nullcontext():
        targets = _scored(config, source, folder, text_report, world) if world.is_first else None
        world.wait()
        targets = targets or _scored(config, source, folder, text_report, world)  # all is there now
        return train(config, folder, report, world=world, more=ScoredText(targets, config))


def _scored(config: Config, source: DistillationInput, folder: Path, report: TextReport, world: World) -> Targets:
    if source.has_targets:
        scored = SentenceShards(Path(source.prepared), TARGETS)
        check_prepared(config, scored)
        check_scheme(config, scored)
        return Targets.open(scored)
    return _targets(config, source, folder / TEXT_FOLDER, folder / TARGETS_FOLDER, report, world)


def _targets(
    config: Config, source: DistillationInput, text: Path, folder: Path, report: TextReport, world: World
) -> Targets:
    teachers = [Teacher.load(name) for name in source.teachers]
    check_teachers(teachers, config)
    settings = config.distillation
    sentences = _sentences(config, source, text, report)
    together = Teachers(
        teachers, settings.top, settings.score_words, autocast(config.training, world.device), world.device
    )
    return score(sentences, together, settings, folder, report)


def own_held_out(config: Config) -> list[HeldOutSentence]:
    """Return dev and test of a recipe."""
    return [HeldOutSentence(config.name, tree.id, tree.words) for tree in dev_and_test(config.data)]


def check_prepared(config: Config, prepared: SentenceShards) -> None:
    """Refuse prepared text of another language, or with sentences that this recipe holds out."""
    facts = prepared.about()["facts"]
    if facts.get("language") != config.language:
        raise ConfigError(
            f"{prepared.path}: text in {facts.get('language')!r}, and the recipe is for {config.language!r}"
        )
    if checksum_of(own_held_out(config)) not in [checksum for _, checksum in facts.get(HELD_OUT, ())]:
        raise ConfigError(
            f"{prepared.path}: dev and test of {config.name} were not held out of this text: "
            f"prepare it with --recipe {config.name} or --hold-out {config.name}"
        )


def check_scheme(config: Config, scored: SentenceShards) -> None:
    """Refuse targets that mean something else: heads by other rules, or other trees."""
    own, theirs = scheme_of(config), scored.about().get("scheme", {})
    for what, value in own.items():
        if isinstance(theirs, dict) and theirs.get(what, value) != value:
            raise ConfigError(f"{scored.path}: {what} is {theirs[what]!r} in these targets, {value!r} in the recipe")


def _sentences(config: Config, source: DistillationInput, folder: Path, report: TextReport) -> SentenceShards:
    """Return the sentences of the text, without those of the recipe's dev and test."""
    if source.prepared:
        prepared = SentenceShards(Path(source.prepared), TEXT)
        if not prepared.is_complete:
            raise ModelError(f"{source.prepared}: holds no prepared text, or only a part of it")
        check_prepared(config, prepared)
        return prepared
    held_out = [(config.name, own_held_out(config)), *((name, held_out_sentences([name])) for name in source.hold_out)]
    job = SentenceJob(text_sources(source.texts), config.language, config.distillation, held_out)
    return prepare_sentences(job, folder, report)
