"""Lemmas: edit scripts between a word and its lemma, and the rules that choose a script by tag and ending.

A script says how to make the lemma from the word. Its parts, in this order:

    l, c or k   casing: work on the lower-cased word; the same, and capitalise the lemma; keep the word's case
    3           the number of characters to cut off the end of the word
    +en         the characters to add there, after a plus sign; often none
    ;ö>a        any number of times: replace characters in what is left after cutting, at their last occurrence
    ;ge<        or, with ``<``, at their first occurrence

``=`` and a lemma is a script of its own, for words that have nothing in common with their lemma. ``$`` at either end of
a word, where IcePaHC splits words, is not part of the word. Examples:

    huizen → huis   l3+s          opgebeld → opbellen   l1+len;ge>
    Löndum → land   l2+;ö>a       Häuser → Haus         k2+;ä>a          ben → zijn   =zijn

A model has its rules in vocab.json, as the object ``lemmas`` with these keys:

    scripts     a list of lists: the scripts of each rule, the most frequent first
    endings     by tag, two objects, for words whose first letter is not a capital and for those where it is. They give
                the number of a rule in the list by an ending of the lower-cased word, of at most 8 characters, or by
                ``^`` and the whole word: {"ww": [{"": 0, "den": 3, "^had": 17}, {…}]}
    particles   separated particles (``is_particle``) that belong to the lemma of their verb: *belt … op* → *opbellen*

The whole word decides, or else the longest of its endings that has a rule; "" is an ending of every word. If one of the
two objects is empty, the other one is used for all words. A word whose tag has no rules is its own lemma.

The first script of a rule holds, unless its lemma is neither the word itself, with or without capitals, nor in the
model's vocabulary (``words`` in vocab.json): then the first of the others whose lemma is another word in the vocabulary
holds, if there is one. A script does not fit a word that is too short or lacks the characters to replace: then the
lemma is the word, lower-cased if the script begins with ``l``. Finally, particles whose head is a verb (``is_verb``)
are lower-cased and put in front of the lemma of that verb; only the first, if a verb has several.
"""

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any
from unicodedata import normalize

from discotree.encoding.dependencies import Dependencies
from discotree.trees.tree import NONE
from discotree.trees.verbs import is_particle, is_verb

WHOLE_LEMMA = "="
LOWER, CAPITAL, KEEP = "l", "c", "k"
EDIT, LAST, FIRST = ";", ">", "<"
SPLIT_MARK = "$"
WHOLE_WORD = "^"
MAX_ENDING = 8
MAX_COMPOSED = 1000
MIN_SHARE = 0.5  # share of the words of a treebank that must have a lemma, to learn from them
MAX_COUNT = 3  # occurrences of a word that count for the scripts of its endings: rare words say more about new ones
MAX_SCRIPTS = 4  # of one ending
ARTICLE_TAG = "D-"
MAX_STORED = 1 << 14  # lemmas of known words: the first ones of a text are the most frequent ones
MIN_GAIN = 2  # words that the rule of a longer ending, or a further script of a rule, must correct
_SCRIPT = re.compile(r"=.+|[lck][0-9]{1,4}\+[^;]*(;([^;<>]+>[^;<>]*|[^;<>]+<[^;<>]*))*", re.DOTALL)


# Scripts


def edit_script(form: str, lemma: str) -> str:
    """Return the script that makes the lemma of a word: the inverse of ``apply_script``."""
    if lemma == lemma.lower():
        casings = [LOWER, KEEP]
    elif lemma == _capitalised(lemma.lower()):
        casings = [KEEP, CAPITAL]
    else:
        casings = [KEEP]
    scripts = [casing + _edits(*_cased(casing, form, lemma)) for casing in casings]
    fitting = [script for script in scripts if _SCRIPT.fullmatch(script) and apply_script(script, form) == lemma]
    return min(fitting, key=len, default=WHOLE_LEMMA + lemma)


def apply_script(script: str, form: str) -> str | None:
    """Return the lemma that a script makes of a word; None if it does not fit."""
    if script[0] == WHOLE_LEMMA:
        return script[1:]
    casing, cut, suffix, edits = _parts(script)
    stem = _base(form) if casing == KEEP else _base(form).lower()
    if cut > len(stem):
        return None
    stem = stem[: len(stem) - cut]
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


@lru_cache(1 << 12)
def _parts(script: str) -> tuple[str, int, str, list[str]]:
    """Return the casing, the number of characters to cut, those to add, and the edits."""
    ending, *edits = script[1:].split(EDIT)
    cut, _, suffix = ending.partition("+")
    return script[0], int(cut), suffix, edits


def composed(form: str) -> str:
    """Return a word in NFC. A very long word stays as it is: it is in no vocabulary, and may take minutes."""
    return normalize("NFC", form) if len(form) <= MAX_COMPOSED else form


def _base(form: str) -> str:
    return composed(form.strip(SPLIT_MARK) or form)


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
            edit, stem = _replacement(stem, b, word[a:next_a], lemma[b:next_b])
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


# Rules

Endings = dict[str, int]
Words = Container[str | None]


@dataclass(frozen=True)
class LemmaRules:
    """The rules of a model: from a word and its tag to its lemma."""

    scripts: list[list[str]]
    endings: dict[str, tuple[Endings, Endings]]
    particles: frozenset[str]

    def lemma(self, form: str, tag: str, known: Words) -> str:
        """Return the lemma of a word with this tag, without its separated particle.

        ``known`` are the words of the model's vocabulary.
        """
        word = _base(form)
        if tag not in self.endings:
            return word
        small, capital = self.endings[tag]
        endings = (capital or small) if form[:1].isupper() else (small or capital)
        lower = word.lower()
        number = endings.get(WHOLE_WORD + lower)
        start = max(0, len(lower) - MAX_ENDING)
        while number is None:
            number = endings.get(lower[start:])
            start += 1
        script, lemma = _choose(self.scripts[number], form, known)
        return lemma or (lower if script[0] == LOWER else word)

    def lemmas(
        self,
        forms: Sequence[str],
        tags: Sequence[str],
        functions: Sequence[str],
        heads: Sequence[int],
        known: Words,
        stored: dict[tuple[str, str], str],
    ) -> list[str]:
        """Return the lemmas of words; ``heads`` are the indices of their heads, -1 for none.

        ``stored`` has the lemmas of known words with their tags, and gets new ones.
        """
        pairs = list(zip(forms, tags, strict=True))
        lemmas: list[str] = list(map(stored.get, pairs))  # type: ignore[arg-type]
        if None in lemmas:
            missing = [k for k, lemma in enumerate(lemmas) if lemma is None]
            new = {pair: self.lemma(*pair, known) for pair in {pairs[k] for k in missing}}
            if len(stored) < MAX_STORED:
                stored.update((pair, lemma) for pair, lemma in new.items() if pair[0] in known)
            for k in missing:
                lemmas[k] = new[pairs[k]]
        if self.particles:
            for verb, particle in particles_of(forms, tags, functions, heads).items():
                if particle in self.particles:
                    lemmas[verb] = particle + lemmas[verb]
        return lemmas

    @classmethod
    def learn(
        cls, trees: Iterable[Dependencies], known: Words, lexicon: Iterable[tuple[str, str, str]] = ()
    ) -> "LemmaRules | None":
        """Return the rules for the lemmas of trees; None if most words have no lemma.

        ``known`` are the words of the model's vocabulary, ``lexicon`` further words, each with its tag and lemma.
        """
        tables: dict[tuple[str, bool], Table] = {}
        joined: Counter[str] = Counter()
        words = lemmas = 0

        def count(form: str, tag: str, lemma: str) -> None:
            table = tables.setdefault((tag, form[:1].isupper()), {})
            table.setdefault(_base(form).lower(), Counter())[_cached_script(form, lemma)] += 1

        for tree in trees:
            own = _lemmas_apart(tree, joined)
            words += len(own)
            for token, lemma in zip(tree.tokens, own, strict=True):
                if lemma != NONE:
                    lemmas += 1
                    count(token.form, token.tag, lemma)
            for word in _unsplit(tree):
                count(*word)
        if lemmas < MIN_SHARE * words or not lemmas:
            return None
        for word in lexicon:
            count(*word)
        rules = {(tag, capital): _rules(table, capital, known) for (tag, capital), table in sorted(tables.items())}
        uses = Counter(scripts for table in rules.values() for scripts in table.values())
        scripts = sorted(uses, key=lambda scripts: (-uses[scripts], scripts))
        number = {scripts: k for k, scripts in enumerate(scripts)}
        numbered = {key: {ending: number[found] for ending, found in sorted(t.items())} for key, t in rules.items()}
        endings = {tag: (numbered.get((tag, False), {}), numbered.get((tag, True), {})) for tag, _ in numbered}
        particles = frozenset(word for word, uses in joined.items() if uses > 0)
        return cls(list(map(list, scripts)), endings, particles)

    def to_table(self) -> dict[str, Any]:
        """Return the object for vocab.json."""
        return {"scripts": self.scripts, "endings": self.endings, "particles": sorted(self.particles)}

    @classmethod
    def from_table(cls, table: Any) -> "LemmaRules":
        """Return the rules of an object in vocab.json; ValueError, TypeError or KeyError if it is not valid."""
        scripts = [[str(script) for script in scripts] for scripts in table["scripts"]]
        for script in chain.from_iterable(scripts):
            if not _SCRIPT.fullmatch(script):
                raise ValueError(f"lemmas: {script!r:.50} is not a script")
        if not all(scripts):
            raise ValueError("lemmas: a rule has no scripts")
        endings: dict[str, tuple[Endings, Endings]] = {}
        for tag, (small, capital) in table["endings"].items():
            endings[str(tag)] = (dict(small), dict(capital))
            if not any(endings[tag]):
                raise ValueError(f"lemmas: the tag {tag!r:.50} has no endings")
            for rules in filter(None, endings[tag]):
                if "" not in rules or not all(type(n) is int and 0 <= n < len(scripts) for n in rules.values()):
                    raise ValueError(f"lemmas: the endings of the tag {tag!r:.50} do not name scripts")
        return cls(scripts, endings, frozenset(map(str, table["particles"])))


def _choose(scripts: Sequence[str], form: str, known: Words) -> tuple[str, str | None]:
    """Return the script of a rule that holds for a word, and the lemma that it makes, None if it does not fit."""
    first = scripts[0]
    lemma = apply_script(first, form)
    if len(scripts) > 1 and lemma not in known:
        same = (_base(form), _base(form).lower())
        for script in scripts[1:] if lemma not in same else ():
            other = apply_script(script, form)
            if other in known and other not in same:
                return script, other
    return first, lemma


def particles_of(
    forms: Sequence[str], tags: Sequence[str], functions: Sequence[str], heads: Sequence[int]
) -> dict[int, str]:
    """Return the lower-cased separated particle of each verb that has one, by the position of the verb."""
    particles: dict[int, str] = {}
    kinds = {pair for pair in set(zip(tags, functions, strict=True)) if is_particle(*pair)}  # few
    words = [k for k, pair in enumerate(zip(tags, functions, strict=True)) if pair in kinds] if kinds else []
    for head, form in ((heads[k], forms[k]) for k in words):
        if head >= 0 and is_verb(tags[head]):
            particles.setdefault(head, form.lower())
    return particles


# Learning

Table = dict[str, Counter[str]]  # by lower-cased word: how often it has which script
_cached_script = lru_cache(1 << 16)(edit_script)


def _lemmas_apart(tree: Dependencies, joined: Counter[str]) -> list[str]:
    """Return the lemmas of a sentence without separated particles, and count which of these belonged to a lemma."""
    forms, tags, lemmas, _, functions = map(list, zip(*tree.tokens, strict=True))
    for verb, particle in particles_of(forms, tags, functions, tree.heads).items():
        if lemmas[verb] != NONE:
            is_joined = lemmas[verb].startswith(particle) and lemmas[verb] != particle
            joined[particle] += 1 if is_joined else -1
            lemmas[verb] = lemmas[verb].removeprefix(particle) if is_joined else lemmas[verb]
    return lemmas


def _unsplit(tree: Dependencies) -> Iterator[tuple[str, str, str]]:
    """Yield nouns with the article that IcePaHC splits off, hest$ $inn, as text has them: hestinn."""
    for (noun, tag, lemma, _, _), (article, other, *_) in pairwise(tree.tokens):
        is_split = noun.endswith(SPLIT_MARK) and article.startswith(SPLIT_MARK)
        if is_split and other.startswith(ARTICLE_TAG) and lemma != NONE:
            yield noun.removesuffix(SPLIT_MARK) + article.removeprefix(SPLIT_MARK), tag, lemma


def _rules(words: Table, capital: bool, known: Words) -> dict[str, tuple[str, ...]]:
    """Return the scripts of endings and whole words.

    A longer ending, or the whole word, has a rule only where that of the shorter one would be wrong.
    """

    def times_right(word: str, scripts: Sequence[str]) -> int:
        """Return how often a rule is right for a word."""
        chosen, _ = _choose(scripts, _capitalised(word) if capital else word, known)
        return words[word][chosen]

    def total_right(group: Sequence[str], scripts: Sequence[str]) -> float:
        """Return how often a rule is right for words, of which each counts MAX_COUNT times at most."""
        return sum(weights[word] * times_right(word, scripts) / totals[word] for word in group)

    totals = {word: sum(counts.values()) for word, counts in words.items()}
    weights = {word: min(MAX_COUNT, total) for word, total in totals.items()}
    rules: dict[str, tuple[str, ...]] = {}
    groups: list[tuple[str, list[str], tuple[str, ...]]] = [("", sorted(words), ())]  # ending, words, their scripts
    while groups:
        ending, group, scripts = groups.pop()
        counts: Counter[str] = Counter()
        for word in group:
            for script, count in words[word].items():
                counts[script] += weights[word] * count / totals[word]  # type: ignore[assignment]
        first, *others = sorted(counts, key=lambda own: (-counts[own], own))[:MAX_SCRIPTS]
        best: tuple[str, ...] = (first,)
        right = total_right(group, best)
        for script in others:
            with_script = total_right(group, (*best, script))
            if with_script - right >= MIN_GAIN:
                best, right = (*best, script), with_script
        if not scripts or right - total_right(group, scripts) >= MIN_GAIN:
            rules[ending] = scripts = best
        longer: dict[str, list[str]] = {}
        for word in group:
            if len(ending) < min(len(word), MAX_ENDING):
                longer.setdefault(word[-len(ending) - 1 :], []).append(word)
        groups += [(ending, group, scripts) for ending, group in longer.items() if len(group) > 1]
        several = {word for group in longer.values() if len(group) > 1 for word in group}
        for word in group:
            if word not in several:
                own = max(words[word], key=lambda script: (words[word][script], script))
                if words[word][own] > times_right(word, scripts):
                    rules[WHOLE_WORD + word] = (own,)
    return rules
