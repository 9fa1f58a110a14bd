"""Train a model from a recipe: read the data, build the network, train, evaluate and write the results.

    results = train(load_recipe("alpino"), "runs/alpino")

The folder then contains the model (``model/``) and results.json: settings, checksums of the data, versions, the history
of training and all scores. ``discotree train`` does the same; under ``torchrun`` several processes train together.
"""

import hashlib
import json
import platform
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from discotree.config.schema import Config
from discotree.errors import ConfigError
from discotree.models import RESULTS
from discotree.models.folder import Model, write_model
from discotree.network.pytorch.engine import TorchEngine, load_weights, weights_of
from discotree.network.pytorch.model import PointerNetwork, pretrained_pieces
from discotree.network.vectors import Vectors, read_vectors, spellings
from discotree.network.vocab import Vocab
from discotree.network.weights import rounded
from discotree.parsing.parser import Parser
from discotree.training.calibrate import fit_on_held_out
from discotree.training.data import Split, checksums, corpus_of, load_splits, own_head_rules, resolve, words_of
from discotree.training.distillation.targets import ScoredText
from discotree.training.distributed import ProcessGroup, device_name
from discotree.training.fine_tuning import MIN_DEV, BaseModel, ignore_missing
from discotree.training.fit import Report, Run, fit, silent
from discotree.training.results import attachment, score_split, write_results
from discotree.version import __version__

MODEL = "model"
# Settings that may differ when a run is resumed, so they are not part of its fingerprint
LIMITS = ("epochs", "max_seconds", "max_decays", "checkpoint_epochs", "calibrate_on_dev")


def train(
    config: Config,
    folder: str | Path,
    report: Report = silent,
    process_group: ProcessGroup | None = None,
    extra: ScoredText | None = None,
    allow_overlap: bool = False,
) -> dict[str, Any]:
    """Train one model and return the content of its results.json.

    Pass ``process_group`` if the process has joined one already. ``extra`` is training data beside the treebank.
    ``allow_overlap`` accepts training sentences in dev and test, for experiments in learning trees by heart.
    """
    folder = Path(folder)
    process_group = process_group or ProcessGroup.join(config.training.device)
    Run(config.training)  # refuses settings that do not fit together, before the data is read
    if config.network.transformer and not config.training.base_model:
        pretrained_pieces(config.network)
    with remove_folder_on_error(folder):
        data = resolve(config.data)
        splits, sha256 = load_splits(data, allow_overlap), checksums(config.data, data)
        config, vectors = with_vectors(config, data.vectors, words_of(splits))
        base = BaseModel.read(config) if config.training.base_model else None
        parser = build(config, splits, vectors, process_group.device, own_head_rules(data), base, extra)
        network = network_in(parser)
        forms = parser._forms()
        corpora = {name: corpus_of(split, forms, parser.has_tags) for name, split in splits.items()}
        scored = [name for name in ("dev", "test") if len(splits[name])]
        dev_decides = base is None or len(splits["dev"]) >= MIN_DEV
        about: dict[str, Any] = {}
        if base is not None:
            base.check_language(splits["train"].trees)
            before = {name: score_split(parser, splits[name], corpora[name]) for name in scored}
            about = {"start": {**base.record(parser.vocab, dev_decides), "scores": before}}
        sizes: dict[str, float] = {"weights": sum(weight.numel() for weight in network.parameters())}
        for name in ("train", *scored):
            sizes |= {f"{name} sentences": len(splits[name]), f"{name} words": sum(map(len, splits[name].trees))}
        report("start", sizes)
        fingerprint = run_fingerprint(config, sha256 | ({"base_model": base.fingerprint} if base else {}))
        fingerprint += extra.fingerprint if extra else ""
        run = Run(config.training, process_group, folder, fingerprint, report, dev_decides)
        training_data = extra.epochs(corpora["train"], parser) if extra else corpora["train"]
        state = fit(network, training_data, lambda: attachment(parser, corpora["dev"]), "las", run)
        weights = rounded(weights_of(network), config.training.weight_bits)
        load_weights(network, weights)  # the scores are those of the saved weights
        model = (
            fit_on_held_out(parser, splits["dev"]) if config.training.calibrate_on_dev and dev_decides else parser.model
        )
        if base is not None and model.calibration is None:
            model = replace(model, calibration=base.model.calibration)
        parser = Parser(model, parser.engine)
        scores = {name: score_split(parser, splits[name], corpora[name]) for name in scored}
        if process_group.is_first:
            # The models of recipes get a card when they are published.
            name = f"{folder.name}/{MODEL}"
            card = base.card_files(config, len(splits["train"]), scores, name) if base else {}
            write_model(replace(model, weights=weights), folder / MODEL, card)
        results = {
            "name": config.name,
            "config": asdict(config),
            "data": {
                "sha256": sha256,
                "sentences": {name: len(split) for name, split in splits.items()},
                "sources": {
                    name: {source: len(numbers) for source, numbers in named.items()}
                    for name, split in splits.items()
                    if (named := split.by_source_name())
                },
                "skipped": {name: split.skipped for name, split in splits.items() if split.skipped},
            },
            **({"distillation": extra.record()} if extra else {}),
            "versions": {"discotree": __version__, "torch": torch.__version__, "python": platform.python_version()},
            "device": device_name(process_group.device),
            "parameters": sizes["weights"],
            "best_epoch": state.best_epoch,
            "seconds": sum(epoch["seconds"] + epoch["validation_seconds"] for epoch in state.history),
            "scores": scores,
            **about,
            **({"gap_penalties": model.config.decoding.gap_penalties} if model.config.decoding.gap_penalties else {}),
            **({"confidence": model.calibration.fitted} if model.calibration else {}),
            "history": state.history,
        }
        if process_group.is_first:
            write_results(folder / RESULTS, results)
        return results


@contextmanager
def remove_folder_on_error(folder: Path) -> Iterator[None]:
    """Create a folder and its parents; if the block fails, remove those that were created and are empty."""
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
    """Return a report function that adds these labels, such as the seed, to the metrics."""
    return lambda event, metrics: report(event, {**metrics, **labels})


def run_fingerprint(config: Config, sha256: dict[str, str]) -> str:
    """Return the checksum of everything that training depends on: settings, without the limits of a run, and data."""
    learned = [asdict(section) for section in (config.data, config.network, config.training)]
    learned[-1] = {name: value for name, value in learned[-1].items() if name not in LIMITS}
    return hashlib.sha256(json.dumps([learned, sha256]).encode()).hexdigest()


def build(
    config: Config,
    splits: dict[str, Split],
    vectors: Vectors | None = None,
    device: torch.device | str = "cpu",
    head_rules: str = "",
    base: BaseModel | None = None,
    extra: ScoredText | None = None,
) -> Parser:
    """Build the vocabulary and the network, with random weights or the weights of a base model.

    ``head_rules`` is the text of the recipe's own head rules, which become part of the model. The vocabulary of a base
    model is extended.
    """
    train = splits["train"]
    if base is not None:
        for split in splits.values():
            ignore_missing(split, base.model.vocab)
    has_tags = config.data.tags != "none"
    ignored = [source.ignore for source in train.sources]
    vocab = Vocab.build(
        train.encoded,
        list(config.network.auxiliary_heads),
        [[token.tag for token in tokens] for tokens in train.inputs] if has_tags else (),
        words_of(splits) if vectors else (),
        lambda word: vectors is not None and vectors.lookup(word) is not None,
        ignored,
    )
    vocab = extra.extend_vocab(vocab) if extra else vocab
    vocab = vocab.with_lemmas(train.encoded, ignored, train.lexicon())
    if base is not None:
        vocab = base.extend_vocab(vocab, config.language)
    for head, classes in vocab.outputs.items():
        if not len(classes):
            raise ConfigError(f"every training source ignores {head!r}; set network.{head}_weight=0")
    pieces = pretrained_pieces(config.network) if base is None else base.model.subwords
    torch.manual_seed(config.training.seed)
    network = PointerNetwork(config.network, vocab, has_tags, pieces)
    if base is not None:
        load_weights(network, base.weights(weights_of(network)))
    if vectors is not None and network.encoder.words is not None:
        copy_vectors(vectors, vocab, network.encoder.words)
    model = Model(config, vocab, weights_of(network), pieces, own_head_rules=head_rules)
    return Parser(model, TorchEngine(network, device))


def network_in(parser: Parser) -> PointerNetwork:
    """Return the PyTorch network of a parser."""
    if not isinstance(parser.engine, TorchEngine):
        raise ConfigError(f'the engine {parser.engine.name} cannot be trained; load the model with engine="torch"')
    return parser.engine.network


def with_vectors(config: Config, path: str, words: Iterable[str]) -> tuple[Config, Vectors | None]:
    """Read the vectors of these words, if a file is given, and set the size of a word embedding to theirs."""
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
