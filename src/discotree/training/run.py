"""From a recipe to a model: read, build, train, evaluate, and write everything down.

    results = train(load_recipe("alpino"), "runs/alpino")

The folder then holds the model (``model/``) and results.json: settings, checksums of the data, versions, the history of
training and all scores. ``discotree train`` does the same; under ``torchrun`` several processes train together.
"""

import hashlib
import json
import platform
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Protocol

import torch

from discotree.config import Config
from discotree.errors import ConfigError
from discotree.models import RESULTS
from discotree.models.card import CARD, README, UNMEASURED, SplitMetrics
from discotree.models.card_page import readme
from discotree.models.description import metrics_of
from discotree.models.folder import write_model
from discotree.models.model import Model
from discotree.network.batch import Corpus
from discotree.network.pytorch.encoder import pretrained_pieces
from discotree.network.pytorch.engine import TorchEngine, load_weights, weights_of
from discotree.network.pytorch.model import PointerNetwork
from discotree.network.vectors import Vectors, read_vectors, spellings
from discotree.network.vocab import Vocab
from discotree.network.weights import rounded
from discotree.parsing.parser import Parser
from discotree.training.calibrate import finished
from discotree.training.data import Split, checksums, corpus_of, load_splits, own_head_rules, resolve, words_of
from discotree.training.distributed import World
from discotree.training.fit import Epochs, Report, Run, fit, silent
from discotree.training.results import attachment, score_split, summarize, write_results
from discotree.training.start import MIN_DEV, Start, ignore_missing
from discotree.version import __version__

MODEL = "model"
LIMITS = ("epochs", "max_seconds", "max_decays", "checkpoint_epochs", "fit_dev")  # when a run ends, not which one it is


class MoreText(Protocol):
    """What a network learns from beside its treebank (distillation)."""

    @property
    def identity(self) -> str:
        """What tells runs apart whose checkpoints must not be mixed."""

    def extended(self, vocab: Vocab) -> Vocab:
        """Return the treebank's vocabulary with more in it."""

    def epochs(self, treebank: Corpus, parser: Parser) -> Epochs:
        """Return what each epoch learns from: the treebank, and more."""

    def record(self) -> dict[str, Any]:
        """Return what results.json says of it."""


def train(
    config: Config,
    folder: str | Path,
    report: Report = silent,
    compare: bool = False,
    world: World | None = None,
    more: MoreText | None = None,
) -> dict[str, Any]:
    """Train one model and return the content of its results.json.

    ``compare`` scores every decoding method. ``world`` is given by a caller that has joined it already. ``more`` is
    what the network learns from beside the treebank.
    """
    folder = Path(folder)
    with no_empty_folder(folder):
        return _train(config, folder, report, compare, world or World.join(config.training.device), more)


def _train(
    config: Config, folder: Path, report: Report, compare: bool, world: World, more: MoreText | None
) -> dict[str, Any]:
    data = resolve(config.data)
    splits, sha256 = load_splits(data), checksums(config.data, data)
    config, vectors = with_vectors(config, data.vectors, words_of(splits))
    start = Start.read(config) if config.training.start else None
    parser = build(config, splits, vectors, world.device, own_head_rules(data), start, more)
    network = network_in(parser)
    forms = parser.forms()
    corpora = {name: corpus_of(split, forms, parser.has_tags) for name, split in splits.items()}
    scored = [name for name in ("dev", "test") if len(splits[name])]
    dev_decides = start is None or len(splits["dev"]) >= MIN_DEV
    about: dict[str, Any] = {}
    if start is not None:
        start.check_language(splits["train"].trees)
        before = {name: score_split(parser, splits[name], corpora[name]) for name in scored}
        about = {"start": {**start.about(parser.vocab, dev_decides), "scores": before}}
    identity = identity_of(config, sha256 | ({"start": start.fingerprint} if start else {}))
    identity += more.identity if more else ""
    run = Run(config.training, world, folder, identity, report, dev_decides)
    lessons = more.epochs(corpora["train"], parser) if more else corpora["train"]
    state = fit(network, lessons, lambda: attachment(parser, corpora["dev"]), "las", run)
    weights = rounded(weights_of(network), config.training.weight_bits)
    load_weights(network, weights)  # the scores are those of the saved weights
    model = finished(parser, splits["dev"]) if config.training.fit_dev and dev_decides else parser.model
    if start is not None and model.calibration is None:
        model = replace(model, calibration=start.model.calibration)
    parser = Parser(model, parser.engine)
    scores = {name: score_split(parser, splits[name], corpora[name], compare) for name in scored}
    if world.is_first:
        write_model(replace(model, weights=weights), folder / MODEL, _texts(start, config, splits, scores, folder))
    results = {
        "name": config.name,
        "config": asdict(config),
        "data": {
            "sha256": sha256,
            "sentences": {name: len(split) for name, split in splits.items()},
            "sources": {name: sizes for name, split in splits.items() if (sizes := _sizes(split))},
            "skipped": {name: split.skipped for name, split in splits.items() if split.skipped},
        },
        **({"distillation": more.record()} if more else {}),
        "versions": {"discotree": __version__, "torch": torch.__version__, "python": platform.python_version()},
        "device": torch.cuda.get_device_name(world.device) if world.device.type == "cuda" else platform.machine(),
        "parameters": sum(weight.numel() for weight in network.parameters()),
        "best_epoch": state.best_epoch,
        "seconds": sum(epoch["seconds"] + epoch["validation_seconds"] for epoch in state.history),
        "scores": scores,
        **about,
        **({"gap_prices": model.config.decoding.gap_prices} if model.config.decoding.gap_prices else {}),
        **({"confidence": model.calibration.fitted} if model.calibration else {}),
        "history": state.history,
    }
    if world.is_first:
        write_results(folder / RESULTS, results)
    return results


def _texts(
    start: Start | None, config: Config, splits: dict[str, Split], scores: dict[str, Any], folder: Path
) -> dict[str, str]:
    """Return the card and the page of a fine-tuned model, by file name; any other model gets them when it is shared."""
    if start is None:
        return {}
    found = {name: metrics_of(of_split) for name, of_split in scores.items()}
    metrics = SplitMetrics(found.get("dev", UNMEASURED), found.get("test", UNMEASURED))
    card = start.new_card(config, len(splits["train"]), metrics)
    page = readme(card, f"{folder.name}/{MODEL}", made=f"`discotree train --from {start.described.split()[0]}`")
    return {CARD: card.to_json(), README: page}


def _sizes(split: Split) -> dict[str, int]:
    return {name: len(numbers) for name, numbers in split.named().items()}


def train_seeds(
    config: Config,
    folder: str | Path,
    seeds: int,
    report: Report = silent,
    compare: bool = False,
    world: World | None = None,
) -> dict[str, Any]:
    """Train with several seeds, each in a folder of its own, and summarise their scores in results.json.

    The reported metrics say which seed they belong to.
    """
    world = world or World.join(config.training.device)
    runs = {}
    for seed in range(config.training.seed, config.training.seed + seeds):
        seeded = replace(config, training=replace(config.training, seed=seed))
        name = f"seed-{seed}"
        runs[name] = train(seeded, Path(folder, name), labelled(report, seed=seed), compare, world)
    summary = {"name": config.name, "seeds": list(runs), "scores": summarize(list(runs.values()))}
    if world.is_first:
        write_results(Path(folder, RESULTS), summary)
    return summary


@contextmanager
def no_empty_folder(folder: Path) -> Iterator[None]:
    """Make a folder and those around it; if the block fails, remove those of them that are empty."""
    new = [path for path in (folder, *folder.absolute().parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        with suppress(OSError):  # not empty, or another process was faster
            for path in new:
                path.rmdir()
        raise


def labelled(report: Report, **labels: float) -> Report:
    """Return a report that adds to the metrics which of several runs they belong to."""
    return lambda event, metrics: report(event, {**metrics, **labels})


def identity_of(config: Config, sha256: dict[str, str]) -> str:
    """Return what tells runs apart whose checkpoints must not be mixed: settings that training depends on, and data.

    The same run may go on for longer, so its limits do not count.
    """
    learned = [asdict(section) for section in (config.data, config.network, config.training)]
    learned[-1] = {name: value for name, value in learned[-1].items() if name not in LIMITS}
    return hashlib.sha256(json.dumps([learned, sha256]).encode()).hexdigest()


def build(
    config: Config,
    splits: dict[str, Split],
    vectors: Vectors | None = None,
    device: torch.device | str = "cpu",
    head_rules: str = "",
    start: Start | None = None,
    more: MoreText | None = None,
) -> Parser:
    """Build the vocabulary and a network: a fresh one, with pretrained word vectors if there are any, or one to go on.

    ``head_rules`` is the text of those that come with the model, where they are none of ours. With a ``start``, its
    vocabulary is extended and its weights are taken.
    """
    train = splits["train"]
    if start is not None:
        for split in splits.values():
            ignore_missing(split, start.model.vocab)
    has_tags = config.data.tags != "none"
    vocab = Vocab.build(
        train.encoded,
        list(config.network.auxiliary_heads),
        [[token.tag for token in tokens] for tokens in train.inputs] if has_tags else (),
        words_of(splits) if vectors else (),
        lambda word: vectors is not None and vectors.lookup(word) is not None,
        [source.ignore for source in train.sources],
    )
    vocab = more.extended(vocab) if more else vocab
    if start is not None:
        vocab = start.vocab(vocab)
    for head, classes in vocab.outputs.items():
        if not len(classes):
            raise ConfigError(f"every training source ignores {head!r}: set network.{head}_weight=0")
    pieces = pretrained_pieces(config.network) if start is None else start.model.subwords
    torch.manual_seed(config.training.seed)
    network = PointerNetwork(config.network, vocab, has_tags, pieces)
    if start is not None:
        load_weights(network, start.weights(weights_of(network)))
    if vectors is not None and network.encoder.words is not None:
        copy_vectors(vectors, vocab, network.encoder.words)
    model = Model(config, vocab, weights_of(network), pieces, own_head_rules=head_rules)
    return Parser(model, TorchEngine(network, device))


def network_in(parser: Parser) -> PointerNetwork:
    """Return the network that a parser runs, which must be one that can learn."""
    if not isinstance(parser.engine, TorchEngine):
        raise ConfigError(f"the engine {parser.engine.name} cannot learn: load the model with the engine torch")
    return parser.engine.network


def with_vectors(config: Config, path: str, words: Iterable[str]) -> tuple[Config, Vectors | None]:
    """Read the vectors of these words from a file, if there is one; their size becomes that of a word embedding."""
    if not path:
        return config, None
    needed = {spelling for word in words for spelling in spellings(word)}
    vectors = read_vectors(path, needed.__contains__, digits_to_zero=True)  # as in the vocabulary
    if not len(vectors):
        raise ConfigError(f"{path}: no word of the treebank has a vector in this file")
    network = replace(config.network, word_size=vectors.dimension)
    return replace(config, network=network), vectors


def copy_vectors(vectors: Vectors, vocab: Vocab, embedding: torch.nn.Embedding) -> None:
    """Initialise the embeddings of words that have a pretrained vector."""
    rows = {number: vectors.lookup(word) for word, number in vocab.words.ids.items()}
    known = {number: row for number, row in rows.items() if row is not None}
    with torch.no_grad():
        values = torch.from_numpy(vectors.matrix[list(known.values())])
        embedding.weight[list(known)] = values.to(embedding.weight.device)
