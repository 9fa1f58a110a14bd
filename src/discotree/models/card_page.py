"""The page of a model on the Hugging Face hub: YAML metadata for machines, then a README for people."""

import json
import re
from collections.abc import Mapping
from dataclasses import astuple

from discotree.errors import requires_extra
from discotree.models.card import UNMEASURED, BaseEncoder, Card, Metrics, RawText, SplitMetrics, Treebank

TASK, TASK_NAME = "token-classification", "Discontinuous constituency parsing"  # parsing has no task of its own
TAGS = ["constituency-parsing", "discontinuous-constituency-parsing"]
METRICS = {  # by field of Metrics: its name on the hub, its name in the table
    "f1": ("f1", "F1"),
    "discontinuous_f1": ("f1", "discontinuous F1"),
    "exact": ("exact_match", "exact match"),
    "tags": ("accuracy", "tags"),
    "functions": ("accuracy", "functions"),
}
LANGUAGES = {  # names, and a sentence to try
    "de": ("German", "Darüber hat er nie ein Wort verloren."),
    "en": ("English", "The train that we took was late."),
    "is": ("Icelandic", "Þá sagði hann að konan hafði séð hestinn."),
    "nl": ("Dutch", "Ik heb het hem niet kunnen zeggen."),
}
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
    rows = {**(rows or table_rows(card.scores)), **_other_rows(card)}
    if not any(found != UNMEASURED for found in rows.values()):
        table = "How good it is, nobody has measured."
    else:
        table = f"""| | {" | ".join(ours for _, ours in METRICS.values())} |
|---|{"---|" * len(METRICS)}
{chr(10).join(f"| {row} | {' | '.join(map(_shown, astuple(found)))} |" for row, found in rows.items())}

In percent. F1 is that of the recipe's own split, with `proper.prm`, words given. Tags and functions: share of words."""
    extras = " and ".join(name for name in ("tags", "functions") if getattr(card.scores.test, name) is not None)
    return f"""# {card.name or "A model"}{f": {card.language}" if card.language else ""}

A model of discotree: from words to a discontinuous constituent tree{f" with {extras}" if extras else ""}.

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


def _other_rows(card: Card) -> dict[str, Metrics]:
    return {row: found for name, scores in card.other_scores.items() for row, found in table_rows(scores, name).items()}


def metadata(card: Card) -> str:
    """Return the part of the page for machines."""
    with requires_extra("hub"):
        from huggingface_hub import EvalResult, ModelCardData
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
        for scored, scores in _scores_by_treebank(card).items()
        for split, found in (("test", scores.test), ("dev", scores.dev))
        for value, (kind, name) in zip(astuple(found), METRICS.values(), strict=True)
        if value is not None
    ]
    licence, licence_name = _licence(card.licence)
    data = ModelCardData(
        language=card.code or None,
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


def _scores_by_treebank(card: Card) -> dict[str, SplitMetrics]:
    """Return the scores of every treebank; those of the model are those of its first one if no others go by its name.

    A model with several test sets has each of them under its own name; their mixture is on the page for people alone.
    """
    own = card.treebanks[0].name if card.treebanks else "unknown"
    return card.other_scores if own in card.other_scores else {own: card.scores, **card.other_scores}


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
    banks = ", ".join(map(_link, card.treebanks)) or "unknown"
    warning = "" if card.commercial or not card.licence else " **Not for commercial use.**"
    both = ", that of the model it was fine-tuned from; the licence of its own data applies, too" if card.base else ""
    return "\n".join(
        [
            *([f"- Fine-tuned from {card.base}."] if card.base else []),
            *(
                [f"- Distilled: it also learned from what {_teachers(card)} of {_taught(card)}."]
                if card.teachers
                else []
            ),
            f"- Data: {banks}{f'; {card.sentences:,} sentences of training' if card.sentences else ''}.",
            *([f"- Encoder: {_encoder(card)}."] if card.encoders or (card.texts and not card.teachers) else []),
            f"- Licence: {card.licence or 'unknown: ask its authors'}{both}.{warning}",
            f"- Made by {made}{f' at commit {card.commit}' if card.commit else ''}; settings: config.json.",
            *([f"- Speed: about {_speeds(card)}."] if card.speed or card.gpu_speed else []),
            *([f"- Not good at: {card.weaknesses}"] if card.weaknesses else []),
        ]
    )


def _teachers(card: Card) -> str:
    return f"{' and '.join(card.teachers)} {'make' if len(card.teachers) > 1 else 'makes'}"


def _encoder(card: Card) -> str:
    """Return what the encoder is and what it has read, as a clause."""
    bases = ", ".join(map(_link, card.encoders))
    if not card.texts:
        return bases
    return f"{bases}, pretrained further on {_texts(card)}" if bases else f"pretrained on {_texts(card)}"


def _texts(card: Card) -> str:
    return ", ".join(f"{_link(text)}, {text.words / 1e6:.1f} million words" for text in card.texts)


def _taught(card: Card) -> str:
    """Return what its teachers parsed for a distilled model."""
    return f"sentences of {_texts(card)}" if card.texts else "text"


def _speeds(card: Card) -> str:
    speeds = {"two cores": card.speed, "one H200": card.gpu_speed}
    return ", ".join(f"{speed:,.0f} sentences per second on {on}" for on, speed in speeds.items() if speed)


def _link(source: Treebank | RawText | BaseEncoder) -> str:
    named = f"[{source.name}]({source.url})" if source.url else source.name
    return f"{named} ({source.licence})" if source.licence else named


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _shown(metric: float | None) -> str:
    return "–" if metric is None else f"{metric:.2f}"
