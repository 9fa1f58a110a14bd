"""From raw text to an encoder: prepare, build, train, and write everything down.

    pretrain(TextInput(["news.txt.bz2", "novels.txt*8"]), "encoder", load_pretraining("small"))

The folder is then one that ``network.encoder = "hf:FOLDER"`` takes, and ``AutoModel.from_pretrained``. While the run
lasts, its subfolder ``unfinished`` keeps the pieces of the text and a checkpoint.
"""

import hashlib
import json
import platform
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from discotree.config.pretraining import Pretraining
from discotree.errors import ConfigError, DiscotreeError
from discotree.files.writing import writable
from discotree.network.encoder_config import EncoderConfig
from discotree.network.pytorch.device import usable
from discotree.network.untrusted import CONFIG, TOKENIZER
from discotree.parsing.output_job import JobIdentity, lock_output, unlock_output
from discotree.training.checkpoint import FILE as CHECKPOINT
from discotree.training.pretraining.bert import Bert
from discotree.training.pretraining.encoder_folder import (
    TOKENIZER_CONFIG,
    WEIGHTS,
    EncoderFiles,
    fill,
    new_settings,
    read_encoder,
    write_encoder,
)
from discotree.training.pretraining.held_out import HeldOut, held_out_sentences
from discotree.training.pretraining.loop import PretrainingLoop, PretrainingReport, silent_steps
from discotree.training.pretraining.objectives import OBJECTIVES, Objective, PieceKinds
from discotree.training.pretraining.prepared import (
    HELD_OUT,
    PIECES,
    TEXT,
    PreparedText,
    TextJob,
    TextReport,
    checksum_of,
    open_prepared,
    prepare,
    silent_text,
)
from discotree.training.pretraining.sequences import Sequences
from discotree.training.pretraining.vocabulary import BEGIN, END, INSIDE, MASK, PADDING, SPECIAL, load_tokenizer
from discotree.training.results import write_results
from discotree.training.run import no_empty_folder
from discotree.training.text_sources import text_sources
from discotree.version import __version__

RECORD, LOG, LOCK = "pretraining.json", "log.jsonl", ".lock"
UNFINISHED, TEXT_FOLDER, IDENTITY = "unfinished", "text", "run.json"
OURS = (CONFIG, TOKENIZER, TOKENIZER_CONFIG, WEIGHTS, RECORD, LOG, HELD_OUT, PIECES, TEXT, CHECKPOINT, IDENTITY)
OTHER_FOLDER = "choose another folder"
REMEDY = f"repeat the command of that run, or {OTHER_FOLDER}"


@dataclass(frozen=True)
class TextInput:
    """Where the text of a run comes from: files (``FILE*8`` reads one eight times), or a folder of prepared text."""

    files: Sequence[str] = ()
    hold_out: Sequence[str] = ()  # recipes, whose dev and test are held out, and treebanks
    prepared: str = ""

    def __post_init__(self) -> None:
        if bool(self.files) == bool(self.prepared):
            raise ConfigError("expected files of text or a folder of prepared text, one of the two")
        if self.prepared and self.hold_out:
            raise ConfigError("sentences are held out when text is prepared: name them there")

    def source(self, config: Pretraining, start: EncoderFiles | None) -> TextJob | PreparedText:
        """Return the prepared text, or what there is to prepare; treebanks are read."""
        if self.prepared:
            return open_prepared(Path(self.prepared))
        held_out = HeldOut(held_out_sentences(self.hold_out), config.text.hold_out_words)
        tokenizer = start.tokenizer if start else ""
        return TextJob(text_sources(self.files), config.text, held_out, tokenizer, self.hold_out)


def _used(config: Pretraining, source: PreparedText) -> dict[str, Any]:
    """Return all settings; text that was prepared before has its own."""
    table = asdict(config)
    for name in table["text"]:
        table["text"][name] = source.facts.get(f"text.{name}") or table["text"][name]
    return table


def prepare_text(
    text: TextInput, folder: str | Path, config: Pretraining, start: str = "", report: TextReport = silent_text
) -> PreparedText:
    """Make text ready, for several runs: learn the vocabulary and tokenise. ``start`` is as in ``pretrain``."""
    folder = Path(folder)
    source = text.source(config, read_encoder(Path(start)) if start else None)
    if isinstance(source, PreparedText):
        return source
    with no_empty_folder(folder), locked(folder), nothing_half_done(folder):
        return prepare(source, folder, report)


def pretrain(
    text: TextInput,
    folder: str | Path,
    config: Pretraining,
    start: str = "",
    report: PretrainingReport = silent_steps,
    text_report: TextReport = silent_text,
) -> dict[str, Any]:
    """Train an encoder, or resume its training, and return the content of its pretraining.json.

    ``start`` is the folder of an encoder whose training goes on, with its own vocabulary.
    """
    folder = Path(folder)
    device = usable(config.training.device, ConfigError, "training.device: ")
    first = read_encoder(Path(start)) if start else None
    source = text.source(config, first)
    identity = JobIdentity.of({**config.facts(), **source.facts, "encoder to start from": _fingerprint(first)})
    work = folder / UNFINISHED
    with no_empty_folder(folder), locked(folder), nothing_half_done(folder):
        check_folder(folder, identity)
        if (folder / RECORD).exists():
            return dict(json.loads((folder / RECORD).read_text("utf-8")))
        if isinstance(source, TextJob):
            source = prepare(source, work / TEXT_FOLDER, text_report)
        objective, settings = build(source, config, first, start)
        sequences = sequences_of(source, config)
        work.mkdir(exist_ok=True)
        _write(work / IDENTITY, identity.to_json(1))
        loop = PretrainingLoop(
            objective, sequences, config.training, device, work / CHECKPOINT, checksum_of(identity.to_json().decode())
        )
        loop.report = Log(folder / LOG, loop, report)
        state = loop.run()
        weights = {name: weight.detach() for name, weight in objective.named_weights().items()}
        write_encoder(folder, settings, source.tokenizer, weights)
        shutil.copyfile(source.folder / HELD_OUT, folder / HELD_OUT)
        record = {
            "text": [asdict(file) for file in source.files],
            "held_out": list(source.hold_out),
            "start": start,
            "config": _used(config, source),
            "vocab": objective.encoder.config.vocab,
            "parameters": sum(weight.numel() for weight in objective.encoder.parameters()),
            "words": sum(file.words * file.repeat for file in source.files),  # one pass reads as many
            "pieces": sum(file.pieces * file.repeat for file in source.files),
            "passes": state.step * config.training.batch / sequences.per_pass,
            "steps": state.step,
            "seconds": state.seconds,
            "loss": state.history[-1]["loss"] if state.history else None,
            "device": torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine(),
            "versions": versions(),
            "identity": identity.facts,
            "history": state.history,
        }
        write_results(folder / RECORD, record)
        shutil.rmtree(work, ignore_errors=True)
        return record


class Log:
    """Writes a line of JSON for each report; a resumed run forgets what was reported after its checkpoint."""

    def __init__(self, path: Path, loop: PretrainingLoop, report: PretrainingReport) -> None:
        self.path = path
        self.loop = loop
        self.report = report
        self.rewrite()

    def rewrite(self) -> None:
        _write(self.path, "".join(json.dumps(row) + "\n" for row in self.loop.state.history).encode())

    def __call__(self, event: str, metrics: dict[str, float]) -> None:
        if event == "step":
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(metrics) + "\n")
        else:
            self.rewrite()
        self.report(event, metrics)


def check_folder(folder: Path, identity: JobIdentity) -> None:
    """Refuse a folder with an encoder of another run, or of no run of ours."""
    for path, key in ((folder / RECORD, "identity"), (folder / UNFINISHED / IDENTITY, "")):
        if path.exists():
            try:
                table = json.loads(path.read_text("utf-8"))
                begun = JobIdentity(dict(table[key] if key else table))
            except (OSError, ValueError, KeyError, TypeError, RecursionError):
                raise DiscotreeError(f"{path}: does not say which run this is; choose another folder") from None
            identity.check(str(folder), begun, REMEDY)
            return
    if (folder / CONFIG).exists():
        raise DiscotreeError(f"{folder}: holds a model that no run of discotree pretrain left there; {OTHER_FOLDER}")


def build(
    prepared: PreparedText, config: Pretraining, first: EncoderFiles | None, start: str
) -> tuple[Objective, dict[str, Any]]:
    """Build the objective around a fresh or a given encoder; return the encoder's configuration, too."""
    tokenizer = load_tokenizer(prepared.tokenizer)
    vocab: dict[str, int] = tokenizer.get_vocab()
    if missing := [name for name in SPECIAL if name not in vocab]:
        raise ConfigError(f"{start or prepared.folder}: its tokenizer has no {missing[0]}; expected that of a BERT")
    if first:
        if checksum_of(first.tokenizer) != checksum_of(prepared.tokenizer):
            raise ConfigError(f"{prepared.folder}: was not prepared with the vocabulary of {start}: use --from there")
        settings, sizes = first.settings, first.config
    else:
        settings = new_settings(config.network, len(vocab), config.text.length, vocab[PADDING])
        found = EncoderConfig.of(settings)
        assert found is not None  # settings of our own
        sizes = found
    if max(vocab.values()) >= sizes.vocab:
        raise ConfigError(f"{start}: its tokenizer has {max(vocab.values()) + 1:,} pieces, its weights {sizes.vocab:,}")
    if config.text.length > sizes.positions:
        raise ConfigError(f"text.length: {start} reads at most {sizes.positions} pieces, got {config.text.length}")
    torch.manual_seed(config.training.seed)
    inside = [False] * sizes.vocab
    for piece, number in vocab.items():
        inside[number] = piece.startswith(INSIDE)
    kinds = PieceKinds(vocab[MASK], [vocab[name] for name in SPECIAL], inside)
    objective = OBJECTIVES[config.objective.name](Bert(sizes, config.network.dropout), config.objective, kinds)
    if first:
        fill(objective.named_weights(), first.weights)
    return objective, settings


def sequences_of(prepared: PreparedText, config: Pretraining) -> Sequences:
    """Return the sequences of prepared text."""
    numbers = load_tokenizer(prepared.tokenizer)
    begin, end = (int(numbers.token_to_id(name)) for name in (BEGIN, END))
    repeats = [file.repeat for file in prepared.files]
    return Sequences(prepared.pieces(), repeats, config.text.length, begin, end, config.training.seed)


def versions() -> dict[str, str]:
    """Return the versions of everything that the weights depend on."""
    return {
        "discotree": __version__,
        "torch": torch.__version__,
        "tokenizers": version("tokenizers"),
        "python": platform.python_version(),
    }


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes out of a folder."""
    lock = lock_output(str(folder / LOCK), str(folder))
    try:
        yield
    finally:
        unlock_output(lock)


@contextmanager
def nothing_half_done(folder: Path) -> Iterator[None]:
    """Remove what killed processes have left half written; if the block fails with nothing to keep, what is new."""
    for place in (folder, folder / UNFINISHED, folder / UNFINISHED / TEXT_FOLDER):
        for path in (path for name in OURS for path in place.glob(f"{name}.*.tmp")):
            path.unlink()
    new = [folder / name for name in (UNFINISHED, *OURS) if not (folder / name).exists()]
    try:
        yield
    except BaseException:
        if not any(path for name in (TEXT, CHECKPOINT, CONFIG) for path in folder.rglob(name)):
            for path in filter(Path.exists, new):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        raise


def _fingerprint(first: EncoderFiles | None) -> str:
    """Return what tells the weights of encoders apart."""
    if first is None:
        return ""
    digest = hashlib.sha256(json.dumps(first.settings, sort_keys=True).encode())
    for name, weight in sorted(first.weights.items()):
        digest.update(name.encode() + weight.numpy().tobytes())
    return digest.hexdigest()


def _write(path: Path, content: bytes) -> None:
    with writable(str(path)) as stream:
        stream.write(content)
