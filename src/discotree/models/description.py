"""Describe a model: the card that it came with, or what its training left behind."""

import json
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

from discotree.config import Config, DataSource
from discotree.encoding.plain_files import read_plain
from discotree.errors import DiscotreeError
from discotree.models import MAX_CONFIG_BYTES, RESULTS
from discotree.models.card import CARD, UNMEASURED, Card, Metrics, SplitMetrics, Treebank
from discotree.models.card_page import LANGUAGES
from discotree.models.private_paths import bare
from discotree.validation import updated


def describe(folder: Path | None, settings: Config) -> Card:
    """Return the card of a model's folder; without one, a card made from its settings and training results.

    Unknown fields are empty: fill them in with ``dataclasses.replace``.
    """
    if folder and (folder / CARD).exists():
        return Card.read(folder / CARD)
    sentences, scores = _training_results(folder, settings)
    banks = dict.fromkeys(map(treebank_name, (*settings.data.test, *settings.data.train)))
    return Card(
        name=settings.name,
        language=LANGUAGES.get(settings.language, (settings.language, ""))[0],
        code=settings.language,
        treebanks=tuple(Treebank(name, "", "") for name in banks if name),
        licence="",
        commercial=False,
        sentences=sentences,
        scores=scores,
        commit="",
        weaknesses="",
    )


def metrics_of(scores: Mapping[str, Any]) -> Metrics:
    """Return a card's metrics from all that training measured on one split."""
    found = (
        scores["all"]["f1"],
        scores["discontinuous"]["f1"],
        scores["all"]["exact_match"],
        scores["attachment"].get("tag"),
        scores["attachment"].get("function"),
    )
    return Metrics(*(None if value is None else round(float(value), 2) for value in found))


def _training_results(folder: Path | None, settings: Config) -> tuple[int, SplitMetrics]:
    """Read training sentences and metrics from the results beside a model.

    Results of other settings, or results that make no sense, count as none.
    """
    nothing = 0, SplitMetrics(UNMEASURED, UNMEASURED)
    if not folder:
        return nothing
    path = folder.resolve().parent / RESULTS
    try:
        results = json.loads(read_plain(path, MAX_CONFIG_BYTES))
        if updated(Config(), results["config"], str(path)) != settings:
            return nothing
        found = {split: metrics_of(scores) for split, scores in results["scores"].items()}
        metrics = SplitMetrics(found.get("dev", UNMEASURED), found.get("test", UNMEASURED))
        return int(results["data"]["sentences"]["train"]), metrics
    except (OSError, ValueError, RecursionError, LookupError, TypeError, AttributeError, DiscotreeError):
        return nothing


def treebank_name(source: DataSource) -> str:
    """Return the folder of a treebank among all treebanks, or else its file's name; "" where the path has none."""
    parts = PurePath(bare(source.file)).parts
    return PurePath(parts[0]).stem if parts else ""
