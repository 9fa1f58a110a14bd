"""Text → targets: teachers score one shard of sentences after the other. A killed run goes on with the next shard."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from discotree.config import Distillation
from discotree.parsing.output_job import JobIdentity
from discotree.training.distillation.corpus import Targets
from discotree.training.distillation.sentences import TextReport
from discotree.training.distillation.shards import TARGETS, Sentences, SentenceShards
from discotree.training.distillation.teachers import Teacher, Teachers, scheme_of


def target_facts(text: SentenceShards, teachers: Sequence[Teacher], settings: Distillation) -> dict[str, Any]:
    """Return what tells targets apart. Batches and precision change them by rounding at most."""
    return {
        **text.about()["facts"],
        "teachers": [[teacher.name, teacher.fingerprint] for teacher in teachers],
        "distillation.top": settings.top,
    }


def score(
    text: SentenceShards, teachers: Teachers, settings: Distillation, folder: Path, report: TextReport
) -> Targets:
    """Fill a folder with the targets of a text, go on with one that is not complete, or open it."""
    shards = SentenceShards(folder, TARGETS)
    facts = target_facts(text, teachers.teachers, settings)
    shards.begin(JobIdentity.of(facts))
    if shards.is_complete:
        return Targets.open(shards)
    about = text.about()
    total, done = int(about["sentences"]), 0
    for number, arrays in enumerate(text.shards()):
        sentences = Sentences.from_arrays(arrays)
        if shards.shard(number).exists():
            shards.read_shard(number)  # is it sound?
            done += len(sentences)
            continue

        def on_done(count: int) -> None:
            nonlocal done
            done += count
            report("scoring", done, total)

        shards.write_shard(number, {**arrays, **teachers.targets(sentences, on_done)})
    first = teachers.teachers[0]
    shards.finish(
        {
            "facts": facts,
            "shards": about["shards"],
            "sentences": total,
            "words": about["words"],
            "text": {key: about[key] for key in ("held_out", "repeated", "length")},
            "teachers": [teacher.name for teacher in teachers.teachers],
            "names": {name: alphabet.symbols for name, alphabet in teachers.names.items()},
            "head_functions": first.vocab.head_functions,
            "root": first.vocab.root,
            "scheme": scheme_of(first.model.config),
        }
    )
    return Targets.open(shards)
