"""brat's stand-off format: annotations in NAME.ann with offsets in NAME.txt, whose lines are the sentences.

Constituents are text-bound annotations (``T2 NP 0 5;10 15 text``), which contain each other as in the tree. If two
cover the same words, the first one is higher. A tag is an annotation of a word with the attribute Word. Functions are
attributes; lemmas, morphology and ids of sentences are notes. White space in labels is percent-encoded. Without
NAME.txt, the text is restored from the annotations that cover whole sentences, such as the roots that we write.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import accumulate, pairwise

from discotree.errors import TreebankError
from discotree.files.reading import open_binary, open_compressed, readable
from discotree.treebanks.conllu import percent_decoded, percent_encoded
from discotree.treebanks.source import RunningNumber, Source, Span, tree_from_spans
from discotree.treebanks.writer import OUTER_SPACE, DocumentWriter, check_texts
from discotree.trees.transforms import add_root
from discotree.trees.tree import NONE, Token, Tree

ATTRIBUTES = ("Word", "Function")  # the other values are notes
OTHER_KINDS = ("R", "E", "N", "*")  # relations, events, normalisations, equivalences: not part of a tree
_TEXT_BOUND = re.compile(r"(T\S*)\t(\S+) ([0-9]{1,15} [0-9]{1,15}(?:;[0-9]{1,15} [0-9]{1,15})*)(?:\t(.*))?")
_ATTRIBUTE_OR_NOTE = re.compile(r"[AM#]\S*\t(\S+) (\S+)(?:[ \t](.*))?")
_IN_FIELD = re.compile(r"\s|%(?=[0-9A-F]{2,6};)")
_IN_NOTE = re.compile(r"[\r\n]|%(?=[0-9A-F]{2,6};)")
_WORD = re.compile(r"\S+")


def read_brat(source: Source) -> Iterator[Tree]:
    try:
        found = _annotations(source)
        if source.is_damaged():
            return
        text = _read_text(source) if source.text_path else _restore_text(found)
        for a in found:
            _check(source, a, text)
    except TreebankError as error:
        source.on_error(error)
        return
    begins = [0, *(match.end() for match in re.finditer("\n", text)), len(text) + 1]
    here: list[list[Span]] = [[] for _ in begins]
    for a in found:
        here[bisect_right(begins, a.fragments[0][0]) - 1].append(a)
    sentences = [k for k, (begin, end) in enumerate(pairwise(begins)) if text[begin:end].strip()]
    for number, k in enumerate(sentences, 1):
        try:
            yield _tree(source, text, begins[k], begins[k + 1] - 1, here[k], RunningNumber(number))
        except TreebankError as error:
            source.on_error(error)


def _annotations(source: Source) -> list[Span]:
    """Return the text-bound annotations in the order of the file."""
    found: dict[str, Span] = {}
    values: list[tuple[str, str, str]] = []
    for number, line in source.lines():
        if match := _TEXT_BOUND.fullmatch(line):
            name, label, offsets, text = match.groups()
            if name in found:
                raise source.error(number, f"the id {name} is used twice")
            fragments = [(int(start), int(end)) for start, end in (part.split(" ") for part in offsets.split(";"))]
            found[name] = Span(number, percent_decoded(label), fragments=fragments, text=text)
        elif match := _ATTRIBUTE_OR_NOTE.fullmatch(line):
            values.append((match[2], match[1].lower(), percent_decoded(match[3] or "")))
        elif line.strip() and not line.startswith(OTHER_KINDS):
            raise source.error(number, f"expected an annotation such as T1<tab>NP 0 5<tab>text, got {line!r:.50}")
    for target, name, value in values:
        if target in found:
            found[target].values[name] = value
    return list(found.values())


def _read_text(source: Source) -> str:
    path = source.text_path
    with readable(path), open_binary(path) as raw, open_compressed(raw, path, source.limits) as stream:
        text = Source(path, stream, source.encoding).decode(stream.read(), 1)
    return " " + text[1:] if text.startswith("\ufeff") else text  # brat's offsets count the byte order mark


def _restore_text(found: list[Span]) -> str:
    """Return the text that annotations without gaps hold; one character between them is a line end."""
    pieces: list[str] = []
    length = 0
    for (start, end), text in sorted((a.fragments[0], a.text or "") for a in found if len(a.fragments) == 1):
        if start <= length + 1 and length < end == start + len(text):
            pieces.append("\n" * (start - length) + text[max(length - start, 0) :])
            length = end
    return "".join(pieces)


def _check(source: Source, a: Span, text: str) -> None:
    """Raise an error if the annotation does not belong to the text; the number of spaces does not count."""
    offsets = [offset for fragment in a.fragments for offset in fragment]
    if sorted(offsets) != offsets or offsets[-1] > len(text):
        hint = "" if source.text_path else "; the text file (.txt) is missing"
        raise source.error(a.line, f"the offsets are not in order or lie outside the text{hint}")
    if a.text is not None:
        covered = " ".join(text[start:end] for start, end in a.fragments)
        if "".join(a.text.split()) != "".join(covered.split()):
            raise source.error(a.line, f"the annotation covers {a.text!r:.50}, but the text has {covered!r:.50} there")


def _tree(source: Source, text: str, position: int, end: int, found: list[Span], identity: str) -> Tree:
    """Return the tree of the line of the text that begins at a position."""
    edges = sorted({offset for a in found for fragment in a.fragments for offset in fragment})
    tokens: dict[tuple[int, int], Token] = {}
    for word in [*sorted((a for a in found if "word" in a.values), key=lambda a: a.fragments), None]:
        span = word.fragments[0] if word else (end, end)
        for match in _WORD.finditer(text, position, span[0]):
            # Words without a tag are separated by spaces and by the edges of annotations.
            cuts = [match.start(), *edges[bisect_right(edges, match.start()) : bisect_left(edges, match.end())]]
            tokens |= {pair: Token(text[slice(*pair)]) for pair in zip(cuts, [*cuts[1:], match.end()], strict=True)}
        if word:
            if not position <= span[0] < span[1] <= end or len(word.fragments) > 1:
                raise source.error(word.line, "a word overlaps another word or the end of the line, or has a gap")
            lemma, morph, function = [word.values.get(name, NONE) for name in ("lemma", "morph", "function")]
            tokens[span] = Token(text[slice(*span)], word.label, lemma, morph, function)
            position = span[1]
    starts, ends = [start for start, _ in tokens], [end for _, end in tokens]
    phrases = [a for a in found if "word" not in a.values]
    for a in phrases:
        for left, right in a.fragments:
            first, last = bisect_right(ends, left), bisect_left(starts, right)
            if first >= last or starts[first] < left or ends[last - 1] > right or right > end:
                raise source.error(a.line, f"{a.label!r} does not begin and end at the edges of words of one line")
            a.mask |= (1 << last) - (1 << first)
        identity = a.values.get("id") or identity
    comment = "; ".join(a.values["annotatornotes"] for a in phrases if "annotatornotes" in a.values)
    return tree_from_spans(source, list(tokens.values()), phrases, identity, comment)


class BratWriter(DocumentWriter):
    def part(self, tree: Tree, number: int, offset: int, count: int) -> tuple[str, int, int]:
        check_texts(tree, "brat", "word", tree.words, OUTER_SPACE)
        tree = add_root(tree)
        text = " ".join(tree.words)
        begins = list(accumulate((len(word) + 1 for word in tree.words), initial=0))
        identity = NONE if tree.id in ("", str(number)) else tree.id
        annotations = [(node.label, node.spans, {"Function": node.function}) for node in tree.nodes()]
        annotations[0][2].update({"Id": identity, "AnnotatorNotes": tree.comment or NONE})
        for k, (_, tag, lemma, morph, function) in enumerate(tree.tokens):
            values = {"Function": function, "Lemma": lemma, "Morph": morph, "Word": ""}
            annotations.append((tag or NONE, ((k, k + 1),), values))
        lines: list[str] = []
        for n, (label, spans, values) in enumerate(annotations, count + 1):
            parts = [(begins[start], begins[end] - 1) for start, end in spans]
            offsets = ";".join(f"{offset + start} {offset + end}" for start, end in parts)
            covered = " ".join(text[start:end] for start, end in parts)
            lines.append(f"T{n}\t{percent_encoded(label, _IN_FIELD)} {offsets}\t{covered}")
            for k, (name, value) in enumerate(values.items(), 4 * n):
                if name in ATTRIBUTES and value != NONE:
                    lines.append(f"A{k}\t{name} T{n} {percent_encoded(value, _IN_FIELD)}".rstrip())
                elif value != NONE:
                    lines.append(f"#{k}\t{name} T{n}\t{percent_encoded(value, _IN_NOTE)}")
        return "\n".join(lines) + "\n", offset + len(text) + 1, count + len(annotations)
