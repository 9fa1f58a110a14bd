"""From raw text to an encoder: prepare, build, train, and write everything down.

    pretrain(["news.txt.bz2", "novels.txt*8"], "encoder", load_pretraining("small"))

The folder is then one that ``network.encoder = "hf:FOLDER"`` takes, and ``AutoModel.from_pretrained``. While the run
lasts, its subfolder ``unfinished`` keeps the pieces of the text and a checkpoint.
"""

import hashlib
import json
import platform
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import torch

from discotree.config.pretraining import Pretraining
from discotree.errors import ConfigError, DiscotreeError
from discotree.files.jobs import Fingerprint, JobLock
from discotree.network.pytorch.engine import usable
from discotree.network.transformer import CONFIG, EncoderConfig
from discotree.training.distributed import device_name
from discotree.training.fit import CHECKPOINT, Report, silent
from discotree.training.held_out import HeldOut, held_out_sentences
from discotree.training.pretraining.encoder import (
    Bert,
    EncoderFiles,
    MaskedPieces,
    fill,
    new_settings,
    read_encoder,
    write_encoder,
)
from discotree.training.pretraining.loop import PretrainingLoop, Sequences
from discotree.training.pretraining.text import (
    BEGIN,
    END,
    HELD_OUT,
    MASK,
    PADDING,
    SPECIAL,
    PreparedText,
    TextJob,
    checksum_of,
    load_tokenizer,
    prepare,
)
from discotree.training.results import write_results
from discotree.training.run import remove_folder_on_error
from discotree.training.text_sources import TextReport, silent_text, text_sources
from discotree.version import __version__

RECORD, LOG, LOCK = "pretraining.json", "log.jsonl", ".lock"
UNFINISHED, TEXT_FOLDER, IDENTITY = "unfinished", "text", "run.json"
OTHER_FOLDER = "choose another folder"
REMEDY = f"repeat the command of that run, or {OTHER_FOLDER}"


def prepare_text(
    texts: Sequence[str],
    folder: str | Path,
    config: Pretraining,
    hold_out: Sequence[str] = (),
    start: str = "",
    report: TextReport = silent_text,
) -> PreparedText:
    """Prepare text for several runs: learn the vocabulary and tokenise. The arguments are those of ``pretrain``."""
    folder = Path(folder)
    job = _job(texts, hold_out, config, read_encoder(Path(start)) if start else None)
    with remove_folder_on_error(folder), JobLock(folder / LOCK, folder):
        return prepare(job, folder, report)


def _job(texts: Sequence[str], hold_out: Sequence[str], config: Pretraining, first: EncoderFiles | None) -> TextJob:
    held_out = HeldOut(held_out_sentences(hold_out))
    return TextJob(text_sources(texts), config.text, held_out, first.tokenizer if first else "", hold_out)


def pretrain(
    texts: Sequence[str],
    folder: str | Path,
    config: Pretraining,
    hold_out: Sequence[str] = (),
    prepared: str = "",
    start: str = "",
    report: Report = silent,
    text_report: TextReport = silent_text,
) -> dict[str, Any]:
    """Train an encoder, or resume its training, and return the content of its pretraining.json.

    ``texts`` are files (``FILE*8`` reads one eight times), without lines that contain sentences of ``hold_out``:
    recipes, whose dev and test are held out, and treebanks. ``prepared`` is a folder of prepared text, used instead.
    ``start`` is the folder of an encoder whose training continues, with its own vocabulary.
    """
    if bool(texts) == bool(prepared):
        raise ConfigError("expected either text files or a folder of prepared text")
    if prepared and hold_out:
        raise ConfigError("sentences are held out when text is prepared; pass --hold-out to that command")
    folder = Path(folder)
    device = usable(config.training.device or None, ConfigError, "training.device: ")
    first = read_encoder(Path(start)) if start else None
    source = PreparedText(Path(prepared)) if prepared else _job(texts, hold_out, config, first)
    fingerprint = Fingerprint(
        {**config.facts(), **source.fingerprint, "encoder to start from": _encoder_checksum(first)}
    )
    work = folder / UNFINISHED
    with remove_folder_on_error(folder), JobLock(folder / LOCK, folder):
        if (folder / RECORD).exists():
            record: dict[str, Any] = json.loads((folder / RECORD).read_text("utf-8"))
            fingerprint.check(folder, Fingerprint(record["identity"]), REMEDY)
            return record
        if (work / IDENTITY).exists():
            fingerprint.claim(work / IDENTITY, REMEDY)
        elif (folder / CONFIG).exists():
            raise DiscotreeError(f"{folder}: contains a model that discotree pretrain did not write; {OTHER_FOLDER}")
        if isinstance(source, TextJob):
            source = prepare(source, work / TEXT_FOLDER, text_report)
        objective, sequences, settings = build(source, config, first, start)
        work.mkdir(exist_ok=True)
        fingerprint.claim(work / IDENTITY, REMEDY)
        checksum = checksum_of(fingerprint.to_json().decode())
        loop = PretrainingLoop(objective, sequences, config.training, device, work / CHECKPOINT, checksum)

        def log(event: str, metrics: dict[str, float]) -> None:
            """Append a line to the log, or drop the lines after the checkpoint from which a run resumes."""
            is_step = event == "step"
            with (folder / LOG).open("a" if is_step else "w", encoding="utf-8") as stream:
                stream.writelines(json.dumps(row) + "\n" for row in loop.state.history[-1 if is_step else 0 :])
            report(event, metrics)

        loop.report = log
        (folder / LOG).unlink(missing_ok=True)
        state = loop.run()
        weights = {name: weight.detach() for name, weight in objective.named_weights().items()}
        write_encoder(folder, settings, source.tokenizer, weights)
        shutil.copyfile(source.folder / HELD_OUT, folder / HELD_OUT)
        table = asdict(config)
        table["text"]["vocab_size"] = source.fingerprint.get("text.vocab_size") or config.text.vocab_size
        record = {
            "text": source.files,
            "held_out": source.hold_out,
            "start": start,
            "config": table,
            "vocab": objective.encoder.config.vocab,
            "parameters": sum(weight.numel() for weight in objective.encoder.parameters()),
            "words": sum(file["words"] * file["repeat"] for file in source.files),  # one pass reads as many
            "pieces": sum(file["pieces"] * file["repeat"] for file in source.files),
            "passes": state.step * config.training.batch / sequences.per_pass,
            "steps": state.step,
            "seconds": state.seconds,
            "loss": state.history[-1]["loss"] if state.history else None,
            "device": device_name(device),
            "versions": {
                "discotree": __version__,
                "torch": torch.__version__,
                "tokenizers": version("tokenizers"),
                "python": platform.python_version(),
            },
            "identity": fingerprint.settings,
            "history": state.history,
        }
        write_results(folder / RECORD, record)
        shutil.rmtree(work, ignore_errors=True)
        return record


def build(
    prepared: PreparedText, config: Pretraining, first: EncoderFiles | None, start: str
) -> tuple[MaskedPieces, Sequences, dict[str, Any]]:
    """Return the objective, with a new or given encoder, its training data, and the configuration of the encoder."""
    vocab: dict[str, int] = load_tokenizer(prepared.tokenizer).get_vocab()
    if missing := [name for name in SPECIAL if name not in vocab]:
        raise ConfigError(f"{start or prepared.folder}: expected the tokenizer of a BERT, but it has no {missing[0]}")
    if first:
        if checksum_of(first.tokenizer) != checksum_of(prepared.tokenizer):
            raise ConfigError(f"{prepared.folder}: was not prepared with --continue {start}, so its vocabulary differs")
        settings, sizes = first.settings, first.config
    else:
        settings = new_settings(config.network, len(vocab), config.text.length, vocab[PADDING])
        sizes = cast(EncoderConfig, EncoderConfig.from_settings(settings))
    if max(vocab.values()) >= sizes.vocab:
        raise ConfigError(f"{start}: its tokenizer has {max(vocab.values()) + 1:,} pieces, its weights {sizes.vocab:,}")
    if config.text.length > sizes.positions:
        raise ConfigError(f"text.length: {start} reads at most {sizes.positions} pieces, got {config.text.length}")
    torch.manual_seed(config.training.seed)
    encoder = Bert(sizes, config.network.dropout)
    objective = MaskedPieces(encoder, config.training.mask_share, vocab[MASK], [vocab[name] for name in SPECIAL])
    if first:
        fill(objective.named_weights(), first.weights)
    repeats = [file["repeat"] for file in prepared.files]
    length, seed = config.text.length, config.training.seed
    return objective, Sequences(prepared.pieces, repeats, length, vocab[BEGIN], vocab[END], seed), settings


def _encoder_checksum(first: EncoderFiles | None) -> str:
    """Return a checksum of an encoder's configuration and weights."""
    if first is None:
        return ""
    digest = hashlib.sha256(json.dumps(first.settings, sort_keys=True).encode())
    for name, weight in sorted(first.weights.items()):
        digest.update(name.encode() + weight.numpy().tobytes())
    return digest.hexdigest()
