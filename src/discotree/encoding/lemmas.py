"""Lemmas as classes: edit scripts between a word and its lemma, and the table of exceptions.

A script says how to make the lemma from the word. Its parts, in this order:

    +           optional: put the separated particle of this verb in front of the lemma (``is_particle``)
    l, c or k   casing: work on the lower-cased word; the same, and capitalise the lemma; keep the word's case
    3           the number of characters to cut off the end of the word
    +en         the characters to add there, after a plus sign; often none
    ;ö>a        any number of times: replace characters in what is left after cutting, at their last occurrence
    ;ge<        or, with ``<``, at their first occurrence

``=`` and a lemma is a script of its own, for words that have nothing in common with their lemma. ``$`` at either end of
a word, where IcePaHC splits words, is not part of the word for a script. Examples:

    huizen → huis        l3+s          opgebeld → opbellen  l1+len;ge>
    Löndum → land        l2+;ö>a       Häuser → Haus        k2+;ä>a
    ben → zijn           =zijn         belt (… op) → opbellen   +l1+len

The scripts are the classes of the auxiliary head ``lemma``, in vocab.json under ``outputs``. Beside them, ``lemmas`` in
vocab.json has the exceptions: an object by tag, of objects by lower-cased word, with the lemma: ``{"ww": {"had":
"hebben"}}``. The lemma of a word is that of the table for its predicted tag; else that of the predicted script; and if
the script does not fit the word, because it is too short or has not the characters to replace, the word itself,
lower-cased if the script is for lower case. ``+`` holds in all these cases.
"""

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from discotree.encoding.dependencies import Dependencies
from discotree.trees.tree import FUNCTION, LEMMA, NONE
from discotree.trees.verbs import is_particle

NO_LEMMA = ""  # the class of words without a lemma, which are not learned from
JOIN, WHOLE = "+", "="
LOWER, CAPITAL, KEEP = "l", "c", "k"
EDIT, LAST, FIRST = ";", ">", "<"
SPLIT_MARK = "$"

Exceptions = Mapping[str, Mapping[str, str]]


def edit_script(form: str, lemma: str) -> str:
    """Return the script that makes the lemma of a word: the inverse of ``apply_script``."""
    if lemma == lemma.lower():
        casings = [LOWER, KEEP]
    elif lemma == _capitalised(lemma.lower()):
        casings = [KEEP, CAPITAL]
    else:
        casings = [KEEP]
    scripts = [casing + _edits(*_cased(casing, form, lemma)) for casing in casings]
    fitting = [script for script in scripts if len(script) > 1 and apply_script(script, form) == lemma]
    return min(fitting, key=len, default=WHOLE + lemma)


def apply_script(script: str, form: str) -> str | None:
    """Return the lemma that a script, without ``+``, makes of a word; None if it does not fit."""
    if script.startswith(WHOLE):
        return script[1:]
    casing, (ending, *edits) = script[0], script[1:].split(EDIT)
    cut, _, suffix = ending.partition("+")
    stem = _base(form) if casing == KEEP else _base(form).lower()
    if int(cut) > len(stem):
        return None
    stem = stem[: len(stem) - int(cut)]
    for edit in edits:
        old, sign, new = edit.partition(LAST)
        if not sign:
            old, _, new = edit.partition(FIRST)
        start = stem.rfind(old) if sign else stem.find(old)
        if start < 0:
            return None
        stem = stem[:start] + new + stem[start + len(old) :]
    lemma = stem + suffix
    return (_capitalised(lemma) if casing == CAPITAL else lemma) or None


def lemma_of(script: str, form: str, tag: str, exceptions: Exceptions) -> str:
    """Return the lemma of a word with a predicted script and tag, without its separated particle."""
    known = exceptions.get(tag, {}).get(form.lower())
    if known is not None:
        return known
    script = script.removeprefix(JOIN)
    return apply_script(script, form) or (_base(form).lower() if script[0] == LOWER else _base(form))


def join_particles(
    lemmas: list[str], joins: Sequence[bool], forms: Sequence[str], tags: Sequence[str], functions: Sequence[str],
    heads: Sequence[int],
) -> None:  # fmt: skip
    """Put the particles of a sentence in front of the lemmas of their heads, where the scripts of these say so."""
    joined = set()
    for position, head in enumerate(heads):
        if head >= 0 and joins[head] and head not in joined and is_particle(tags[position], functions[position]):
            lemmas[head] = forms[position].lower() + lemmas[head]
            joined.add(head)


def scripts(tree: Dependencies) -> list[str]:
    """Return the script of every word; ``NO_LEMMA`` for words without a lemma."""
    found = [NO_LEMMA if token[LEMMA] == NONE else _script(token.form, token[LEMMA]) for token in tree.tokens]
    for token, head in zip(tree.tokens, tree.heads, strict=True):
        if head >= 0 and is_particle(token.tag, token[FUNCTION]):
            verb, particle = tree.tokens[head], token.form.lower()
            lemma = verb[LEMMA].removeprefix(particle)
            if lemma not in ("", verb[LEMMA]) and not verb.form.lower().startswith(particle):
                found[head] = JOIN + _script(verb.form, lemma)
    return found


_script = lru_cache(1 << 16)(edit_script)


def _base(form: str) -> str:
    return form.strip(SPLIT_MARK) or form


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def _cased(casing: str, form: str, lemma: str) -> tuple[str, str]:
    base = _base(form)
    return (base, lemma) if casing == KEEP else (base.lower(), lemma.lower())


def _edits(word: str, lemma: str) -> str:
    """Return the script for a word and its lemma, without casing; "" if they have nothing in common.

    It does not give the lemma if the two contain characters with a meaning in scripts.
    """
    same = next((k for k, (a, b) in enumerate(zip(word, lemma, strict=False)) if a != b), min(len(word), len(lemma)))
    blocks = SequenceMatcher(None, word[same:], lemma[same:], autojunk=False).get_matching_blocks()[:-1]
    ends = [(same, same), *((same + block.a, same + block.b) for block in blocks)]
    starts = [(same, same), *((same + b.a + b.size, same + b.b + b.size) for b in blocks)]
    cut, suffix = len(word) - starts[-1][0], lemma[starts[-1][1] :]
    if cut == len(word):
        return ""
    stem, edits = word[: starts[-1][0]], []
    for (a, b), (next_a, next_b) in zip(starts, ends[1:], strict=False):
        if (a, b) != (next_a, next_b):
            old, new = word[a:next_a], lemma[b:next_b]
            edit, stem = _replacement(stem, b, old, new)
            edits.append(edit)
    return f"{cut}+{suffix}" + "".join(EDIT + edit for edit in edits)


def _replacement(stem: str, start: int, old: str, new: str) -> tuple[str, str]:
    """Return the edit that replaces characters at a position of the stem, and the new stem.

    Characters before them are added until they can be found, and one after them if there are none before.
    """
    result = stem[:start] + new + stem[start + len(old) :]
    if not old and not start:
        old, new = stem[:1], new + stem[:1]
    while not old or start not in (stem.rfind(old), stem.find(old)):
        start -= 1
        old, new = stem[start] + old, stem[start] + new
    return f"{old}{LAST if stem.rfind(old) == start else FIRST}{new}", result
