"""The card of a model, as in card.json: its data, licence, scores and weaknesses; and its page on the hub."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path

from discotree.errors import ModelError, requires_extra
from discotree.files.reading import read_regular_file
from discotree.models import MAX_CONFIG_BYTES
from discotree.validation import from_table

CARD, README = "card.json", "README.md"


@dataclass(frozen=True, slots=True)
class Source:
    """A treebank that a model learned from, or an encoder of others that it is built on."""

    name: str
    url: str
    licence: str


@dataclass(frozen=True, slots=True)
class RawText(Source):
    """Text without trees that a model learned from: its encoder, or with its teachers' trees."""

    words: int


@dataclass(frozen=True, slots=True)
class Metrics:
    """Quality on unseen sentences, in percent; None if it was not measured."""

    f1: float | None
    discontinuous_f1: float | None
    exact: float | None
    tags: float | None
    functions: float | None
    lemmas: float | None = None


UNMEASURED = Metrics(None, None, None, None, None)


@dataclass(frozen=True, slots=True)
class SplitMetrics:
    """The metrics of the held-out splits."""

    dev: Metrics
    test: Metrics
    together: Metrics = UNMEASURED  # dev and test as one set, where each of them is small


@dataclass(frozen=True, slots=True)
class Card:
    """The data, the licence and the scores of a model."""

    name: str
    language: str  # in English
    code: str
    treebanks: tuple[Source, ...]  # the first is the one that it is scored on
    licence: str  # an SPDX expression
    commercial: bool  # whether the licence allows commercial use
    sentences: int  # in the training split
    scores: SplitMetrics
    commit: str  # discotree's commit when the model was trained
    weaknesses: str
    base: str = ""  # the model that it was fine-tuned from: name, version, fingerprint
    speed: float | None = None  # sentences per second from tokens to trees, on two cores
    gpu_speed: float | None = None  # the same with one NVIDIA H200
    texts: tuple[RawText, ...] = ()
    encoders: tuple[Source, ...] = ()
    teachers: tuple[str, ...] = ()  # the models that it was distilled from
    other_scores: dict[str, SplitMetrics] = field(default_factory=dict)  # by the name of a treebank

    @classmethod
    def read(cls, path: Path) -> "Card":
        """Read a card from its file."""
        try:
            table = json.loads(read_regular_file(path, MAX_CONFIG_BYTES))
        except (OSError, ValueError, RecursionError) as error:
            raise ModelError(f"{path}: not a card: {error}") from None
        return from_table(cls, table, str(path), ModelError)

    def to_json(self) -> str:
        """Return the text that ``read`` reads."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n"


TASK, TASK_NAME = "token-classification", "Discontinuous constituency parsing"  # parsing has no task of its own
TAGS = ["constituency-parsing", "discontinuous-constituency-parsing"]
METRICS = {  # by field of Metrics: its name on the hub, its name in the table
    "f1": ("f1", "F1"),
    "discontinuous_f1": ("f1", "discontinuous F1"),
    "exact": ("exact_match", "exact match"),
    "tags": ("accuracy", "tags"),
    "functions": ("accuracy", "functions"),
    "lemmas": ("accuracy", "lemmas"),
}
OPTIONAL = "lemmas"  # no column of the table, if no row has them
LANGUAGES = {  # names, and a sentence to try
    "de": ("German", "Darüber hat er nie ein Wort verloren."),
    "de-early": ("Early New High German", "Das buoch hab ich gelesen."),
    "en": ("English", "The train that we took was late."),
    "es": ("Spanish", "La casa que compraron es muy antigua."),
    "fo": ("Faroese", "Ein maður kom, sum eingin kendi."),
    "fro": ("Old French", "Chevaliers i avoit qui n'osoient issir de la tor."),
    "grc": ("Ancient Greek", "ἰδὼν δὲ ὁ γεωργὸς τὸν λύκον ἔφυγεν."),
    "is": ("Icelandic", "Þá sagði hann að konan hafði séð hestinn."),
    "nl": ("Dutch", "Ik heb het hem niet kunnen zeggen."),
    "yi": ("Yiddish", "vos iz dos far a bukh?"),
}
CODES_ON_THE_HUB = {"de-early": "de"}  # it takes ISO codes only
# Licences with a name on the hub that a model may have
LICENCES = """
afl-3.0 agpl-3.0 apache-2.0 artistic-2.0 bsd bsd-2-clause bsd-3-clause bsl-1.0 cc cc0-1.0 cc-by-2.0 cc-by-2.5 cc-by-3.0
cc-by-4.0 cc-by-nc-2.0 cc-by-nc-3.0 cc-by-nc-4.0 cc-by-nc-nd-3.0 cc-by-nc-nd-4.0 cc-by-nc-sa-2.0 cc-by-nc-sa-3.0
cc-by-nc-sa-4.0 cc-by-nd-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cdla-permissive-1.0 cdla-permissive-2.0 cdla-sharing-1.0 epl-2.0
eupl-1.1 gfdl gpl gpl-2.0 gpl-3.0 isc lgpl lgpl-2.1 lgpl-3.0 lgpl-lr mit mpl-2.0 odbl odc-by openrail pddl unlicense
"""


def page(card: Card, name: str, rows: Mapping[str, Metrics] | None = None, made: str = "discotree") -> str:
    """Return the whole page. ``load`` knows the model by ``name``; ``rows`` are those of the table of metrics."""
    return f"{metadata(card)}\n{readme(card, name, rows, made)}"


def readme(card: Card, name: str, rows: Mapping[str, Metrics] | None = None, made: str = "discotree") -> str:
    """Return the part of the page for people."""
    rows = dict(rows or table_rows(card.scores))
    for treebank, scores in card.other_scores.items():
        rows |= table_rows(scores, treebank)
    if not any(found != UNMEASURED for found in rows.values()):
        table = "Its quality has not been measured."
    else:
        has_lemmas = any(found.lemmas is not None for found in rows.values())
        columns = {key: ours for key, (_, ours) in METRICS.items() if key != OPTIONAL or has_lemmas}
        lines = [f"| {row} | {' | '.join(_shown(getattr(m, key)) for key in columns)} |" for row, m in rows.items()]
        table = f"""| | {" | ".join(columns.values())} |
|---|{"---|" * len(columns)}
{chr(10).join(lines)}

In percent, on the recipe's own split, with `proper.prm` and the words given. \
{"Tags, functions and lemmas" if has_lemmas else "Tags and functions"}: share of words."""
    known = [name for name in ("tags", "functions", "lemmas") if getattr(card.scores.test, name) is not None]
    extras = ", ".join(known[:-1]) + " and " + known[-1] if len(known) > 1 else "".join(known)
    return f"""# {card.name or "A model"}{f": {card.language}" if card.language else ""}

A discotree model that parses words into a discontinuous constituent tree{f" with {extras}" if extras else ""}.

```python
import discotree

parser = discotree.load({_quoted(name)})
print(parser({_quoted(LANGUAGES[card.code][1]) if card.code in LANGUAGES else "['Some', 'words', '.']"}).draw())
```

{_notes(card, made)}

{table}
"""


def table_rows(scores: SplitMetrics, treebank: str = "") -> dict[str, Metrics]:
    """Return the rows of the table of metrics for the splits of a treebank."""
    named = {"dev": scores.dev, "test": scores.test, "dev and test together": scores.together}
    front = f"{treebank}, " if treebank else ""
    return {
        f"{front}{split}": found
        for split, found in named.items()
        if found != UNMEASURED or (not treebank and split in ("dev", "test"))
    }


def metadata(card: Card) -> str:
    """Return the part of the page for machines."""
    with requires_extra("hub"):
        from huggingface_hub import EvalResult, ModelCardData
    # A model with several test sets has each of them under its own name; their mixture is on the page for people only.
    first = card.treebanks[0].name if card.treebanks else "unknown"
    by_treebank = card.other_scores if first in card.other_scores else {first: card.scores, **card.other_scores}
    results = [
        EvalResult(
            task_type=TASK,
            task_name=TASK_NAME,
            dataset_name=scored,
            dataset_type=_slug(scored),
            dataset_split=split,
            metric_type=kind,
            metric_name=name,
            metric_value=value,
        )
        for scored, scores in by_treebank.items()
        for split, found in (("test", scores.test), ("dev", scores.dev))
        for value, (kind, name) in zip(astuple(found), METRICS.values(), strict=True)
        if value is not None
    ]
    licence, licence_name = _licence(card.licence)
    data = ModelCardData(
        language=CODES_ON_THE_HUB.get(card.code, card.code) or None,
        license=licence,
        license_name=licence_name,
        library_name="discotree",
        tags=TAGS,
        datasets=[_slug(treebank.name) for treebank in card.treebanks] or None,
        metrics=list(dict.fromkeys(result.metric_type for result in results)) or None,
        model_name=(card.name or "discotree") if results else None,
        eval_results=results or None,
    )
    return f"---\n{data.to_yaml()}\n---\n"


def without_metadata(text: str) -> str:
    """Return the part of a page for people."""
    return text.partition("\n---\n")[2].lstrip("\n") if text.startswith("---\n") else text


def _licence(licence: str) -> tuple[str, str | None]:
    """Return the hub's name of an SPDX licence, or "other" and our name; "or later" is left out."""
    if not licence:
        return "unknown", None
    known = re.sub(r"\s+", "-", licence.strip().lower()).removesuffix("-or-later")
    return (known, None) if known in LICENCES.split() else ("other", _slug(licence))


def _slug(name: str) -> str:
    """Return a name in the spelling of the hub; the name of a dataset there, ORG/NAME, stays as it is."""
    return re.sub(r"[^\w./]+", "-", name.lower()).strip("-./") or "unknown"


def _notes(card: Card, made: str) -> str:
    texts = ", ".join(f"{_link(text)}, {text.words / 1e6:.1f} million words" for text in card.texts)
    encoder = ", ".join(map(_link, card.encoders))
    if card.texts:
        encoder = f"{encoder}, pretrained further on {texts}" if encoder else f"pretrained on {texts}"
    teachers = f"{' and '.join(card.teachers)} {'predict' if len(card.teachers) > 1 else 'predicts'}"
    sentences = f"; {card.sentences:,} training sentences" if card.sentences else ""
    both = ", that of the model it was fine-tuned from; the licence of its own data also applies" if card.base else ""
    warning = "" if card.commercial or not card.licence else " **Not for commercial use.**"
    speeds = {"two cores": card.speed, "one H200": card.gpu_speed}
    speed = ", ".join(f"{speed:,.0f} sentences per second on {on}" for on, speed in speeds.items() if speed)
    taught = f"sentences of {texts}" if texts else "text"
    from_itself = any(teacher.partition(" ")[0] == card.name for teacher in card.teachers)  # from an earlier version
    notes = {
        f"Fine-tuned from {card.base}.": card.base,
        f"Distilled: it also learned from the trees that {teachers} for {taught}.": card.teachers,
        f"Data: {', '.join(map(_link, card.treebanks)) or 'unknown'}{sentences}.": True,
        f"Encoder: {encoder}.": card.encoders or (texts and (from_itself or not card.teachers)),
        f"Licence: {card.licence or 'unknown: ask its authors'}{both}.{warning}": True,
        f"Made by {made}{f' at commit {card.commit}' if card.commit else ''}; settings: config.json.": True,
        f"Speed: about {speed}.": speed,
        f"Weaknesses: {card.weaknesses}": card.weaknesses,
    }
    return "\n".join(f"- {note}" for note, applies in notes.items() if applies)


def _link(source: Source) -> str:
    named = f"[{source.name}]({source.url})" if source.url else source.name
    return f"{named} ({source.licence})" if source.licence else named


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _shown(metric: float | None) -> str:
    return "–" if metric is None else f"{metric:.2f}"
