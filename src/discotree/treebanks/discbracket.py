"""disco-dop's discbracket format: one tree a line, as ``str(tree)`` writes it (see trees/tree.py).

After a tab a line may carry a comment. A comment of one word is read as the sentence's id; an id that is not just
the tree's number is written there instead of the comment.
"""

import re
from collections.abc import Iterator

from discotree.errors import TreeError
from discotree.treebanks.source import RunningNumber, Source
from discotree.treebanks.writer import Writer, check_texts, unsupported
from discotree.trees.tree import NONE, Tree, parse_brackets, parse_line, tree_of_columns

_SEPARATOR = re.compile(r"[ \t\r\n]")
_SUSPICIOUS = ("\t", "\r", "\n", "=)")  # the last may be an empty word

_BRACKET = re.compile(r"[()]")


def read_discbracket(source: Source) -> Iterator[Tree]:
    seen = source.seen
    for number, line in source.lines():
        text, _, comment = line.partition("\t")
        text = text.strip(" ")
        if not text:
            continue
        seen += 1
        if source.is_damaged():
            continue
        identity = comment if comment and " " not in comment else RunningNumber(seen)
        try:
            plain = parse_line(text) if identity == comment or not comment else None
            if plain:
                yield tree_of_columns(*plain, identity)
            else:
                yield Tree(*parse_brackets(text), identity, comment="" if identity == comment else comment)
        except TreeError as error:
            source.broken(number, str(error))


class DiscbracketWriter(Writer):
    def tree(self, tree: Tree, number: int) -> str:
        text = str(tree)
        # A line with exactly the spaces that its brackets need, and nothing suspicious, needs no further check.
        if text.count(" ") != text.count("(") - 1 + len(tree) or any(part in text for part in _SUSPICIOUS):
            check_texts(tree, "discbracket", "word", tree.words, _SEPARATOR)
            check_texts(tree, "discbracket", "tag", [token.tag or NONE for token in tree.tokens], _SEPARATOR)
            check_texts(tree, "discbracket", "label", [node.label for node in tree.nodes()], _SEPARATOR)
        if "[" in text or "]" in text:  # for ( and ) in tags and labels, of which only the tag $( is read back
            for tag in [token.tag for token in tree.tokens]:
                if tag == "$[" or (tag != "$(" and _BRACKET.search(tag)):
                    raise unsupported(tree, "discbracket", "tag", tag)
            check_texts(tree, "discbracket", "label", [node.label for node in tree.nodes()], _BRACKET)
        note = tree.id if tree.id != str(number) else ""
        if note:
            check_texts(tree, "discbracket", "id", [note], _SEPARATOR)
        elif " " in tree.comment.strip():  # one word would be taken for an id
            note = " ".join(tree.comment.split())
        return f"{text}\t{note}\n" if note else f"{text}\n"
