"""Write the language files of the JavaScript package: the rules for sentences and tokens of every language.

    python tools/make_javascript.py

Reads src/discotree/text and writes js/src/languages. The regular expressions are those of Python, translated from their
syntax tree: JavaScript has other names for the classes of characters, and no groups that ignore case.
"""

import json
import re
import sys
from collections.abc import Iterable
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

from discotree import text
from discotree.text import segmentation, streams
from discotree.text.segmentation import Convention

if sys.version_info >= (3, 11):
    from re import _constants as sre
    from re import _parser as parser
else:
    import sre_constants as sre
    import sre_parse as parser

FOLDER = Path(__file__).parent.parent / "js" / "src" / "languages"
NOTE = "// Written by tools/make_javascript.py from src/discotree/text. Do not edit.\n"
CLASSES = {  # Python's classes of characters; JavaScript's \s has U+FEFF and lacks U+001C to U+001F and U+0085
    sre.CATEGORY_SPACE: r"\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000",
    sre.CATEGORY_DIGIT: r"\p{Nd}",
    sre.CATEGORY_WORD: r"\p{L}\p{N}_",
}
OPPOSITES = {
    sre.CATEGORY_NOT_SPACE: sre.CATEGORY_SPACE,
    sre.CATEGORY_NOT_DIGIT: sre.CATEGORY_DIGIT,
    sre.CATEGORY_NOT_WORD: sre.CATEGORY_WORD,
}
EVERY_CHARACTER = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))


def translate(pattern: str) -> str:
    """Return a regular expression of Python as one of JavaScript with the flag ``u``."""
    return _alternatives(parser.parse(pattern), False)


def _alternatives(sequence: Iterable[Any], any_case: bool) -> str:
    return "".join([_node(kind, value, any_case) for kind, value in sequence])


def _node(kind: Any, value: Any, any_case: bool) -> str:
    if kind is sre.LITERAL:
        return _class([(kind, value)], True) if any_case else _character(value)
    if kind is sre.NOT_LITERAL and not any_case:
        return f"[^{_character(value)}]"
    if kind is sre.ANY:
        return r"[^\n]"
    if kind is sre.IN:
        return _class(value, any_case)
    if kind is sre.BRANCH:
        return f"(?:{'|'.join([_alternatives(option, any_case) for option in value[1]])})"
    if kind is sre.SUBPATTERN:
        group, add, remove, content = value
        if add & ~re.IGNORECASE or remove:
            raise ValueError("a group may only ignore case")
        inner = _alternatives(content, any_case or bool(add & re.IGNORECASE))
        return f"(?:{inner})" if group is None else f"({inner})"
    if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT):
        least, most, content = value
        inner = _alternatives(content, any_case)
        if not content.getwidth()[0]:  # JavaScript takes no empty match of a repeated group
            if (least, most) != (0, 1) or kind is sre.MIN_REPEAT:
                raise ValueError("repeats an expression that may be empty")
            return f"(?:{inner}|)"
        if len(content) != 1 or content[0][0] not in (sre.LITERAL, sre.IN, sre.SUBPATTERN, sre.BRANCH, sre.ANY):
            inner = f"(?:{inner})"
        counts = {(0, 1): "?", (0, sre.MAXREPEAT): "*", (1, sre.MAXREPEAT): "+"}
        upper = "" if most == least else "," if most == sre.MAXREPEAT else f",{most}"
        count = counts.get((least, most)) or f"{{{least}{upper}}}"
        return inner + count + ("?" if kind is sre.MIN_REPEAT else "")
    if kind in (sre.ASSERT, sre.ASSERT_NOT):
        direction, content = value
        return (
            f"(?{'<' if direction < 0 else ''}{'=' if kind is sre.ASSERT else '!'}{_alternatives(content, any_case)})"
        )
    if kind is sre.AT and value in (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING):
        return "^"
    if kind is sre.AT and value is sre.AT_END_STRING:
        return "$"
    raise ValueError(f"{kind} {value} has no translation")


def _class(items: list[Any], any_case: bool) -> str:
    """Return a set of characters. JavaScript has no name for the opposites of our classes inside a set."""
    negated = items[0][0] is sre.NEGATE
    if any_case:
        return f"[{'^' if negated else ''}{_ranges(_any_case(repr(items), tuple(items[negated:])))}]"
    inner, required = "", []
    for kind, value in items[negated:]:
        if kind is sre.CATEGORY and value in OPPOSITES:
            required.append(CLASSES[OPPOSITES[value]])
        elif kind is sre.CATEGORY:
            inner += CLASSES[value]
        elif kind is sre.RANGE:
            inner += f"{_character(value[0], True)}-{_character(value[1], True)}"
        else:
            inner += _character(value, True)
    if not required:
        return f"[{'^' if negated else ''}{inner}]"
    if negated:  # [^\W\d]: a word character, but not a digit
        *others, last = required
        return f"(?:(?![{inner}]){''.join([f'(?=[{other}])' for other in others])}[{last}])"
    return f"(?:[{inner}]|{'|'.join([f'[^{other}]' for other in required])})"


@cache
def _any_case(_key: str, items: tuple[Any, ...]) -> tuple[str, ...]:
    """Return the characters that a set matches if case is ignored."""
    parts = [
        re.escape(chr(value)) if kind is sre.LITERAL else f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
        for kind, value in items
    ]
    return tuple(re.findall(f"(?i:[{''.join(parts)}])", EVERY_CHARACTER))


def _ranges(characters: Iterable[str]) -> str:
    """Return characters as the inner part of a set."""
    codes, text = sorted(map(ord, characters)), ""
    while codes:
        end = 0
        while end + 1 < len(codes) and codes[end + 1] == codes[end] + 1:
            end += 1
        first, last = codes[0], codes[end]
        text += _character(first, True) + (f"{'-' if end > 1 else ''}{_character(last, True)}" if end else "")
        codes = codes[end + 1 :]
    return text


def _character(code: int, in_set: bool = False) -> str:
    character = chr(code)
    if character in r"\/^$.*+?()[]{}|" or (in_set and character == "-"):
        return "\\" + character
    if character.isascii() and character.isprintable():
        return character
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\u{{{code:x}}}"


def _digits() -> str:
    """Return the set of the characters for which ``str.isdigit`` is true, such as ²."""
    others = [character for character in EVERY_CHARACTER if character.isdigit() and not character.isdecimal()]
    return rf"[\p{{Nd}}{_ranges(others)}]"


def patterns() -> str:
    """Return the module with the expressions that all languages share."""
    s, all_of = segmentation, "^(?:{})$".format
    sources = {
        "SPACES": (translate(r"\s+"), "gu"),
        "DIGIT": (_digits(), "u"),
        "ANY_DIGIT": (translate(r"\d"), "gu"),
        "PARAGRAPH_BREAK": (translate(streams._PARAGRAPH_BREAK.pattern), "gu"),
        "INVISIBLE": (translate(streams._INVISIBLE.pattern), "u"),
        "SENTENCE_BREAK": (translate(streams._SENTENCE_BREAK.pattern), "gu"),
        "DOTTED": (all_of(translate(s._DOTTED.pattern)), "u"),
        "AT_END": (translate(s._AT_END.pattern), "uy"),
        "PICTURE": (all_of(translate(s._PICTURE)), "u"),
        "ADDRESS": (all_of(translate(s._ADDRESS)), "u"),
        "FOREIGN": (all_of(translate(s._FOREIGN)), "u"),
        "CANDIDATES": (translate(s._candidates(False).pattern), "gu"),
        "CANDIDATES_WITH_COLONS": (translate(s._candidates(True).pattern), "gu"),
        "FOLLOWING": (translate(s._FOLLOWING.pattern), "uy"),
        "STRAY_CLOSING": (translate(s._STRAY_CLOSING.pattern), "uy"),
        "STRAY_QUOTE": (translate(s._STRAY_QUOTE.pattern), "uy"),
        "STRAY_FACES": (translate(s._STRAY_FACES.pattern), "uy"),
        "QUOTE": (translate(s._QUOTE.pattern), "gu"),
        "ITEM": (translate(s._ITEM.pattern), "uy"),
        "LABEL": (all_of(translate(s._LABEL.pattern)), "u"),
        "INITIALS": (all_of(translate(s._INITIALS.pattern)), "u"),
        "ORDINAL": (all_of(translate(s._ORDINAL.pattern)), "u"),
        "SHORTENED": (all_of(translate(s._SHORTENED.pattern)), "u"),
        "FULL_WORD": (all_of(translate(s._FULL_WORD.pattern)), "u"),
        "LINE": (translate(s._LINE.pattern), "gu"),
        "BULLET": (translate(s._BULLET.pattern), "uy"),
        "LINE_ITEM": (translate(s._LINE_ITEM.pattern), "uy"),
        "ROW": (translate(s._ROW.pattern), "u"),
        "LINE_ORDINAL": (all_of(translate(s._LINE_ORDINAL.pattern)), "u"),
    }
    texts = {
        "CLOSING": s.CLOSING,
        "QUOTES": s.QUOTES,
        "BULLETS": "".join(sorted(s.BULLETS)),
        "STOPS": s._STOPS,
        "INNER": s._INNER,
        "MARKERS": "".join(sorted(s._MARKERS)),
        "LINE_OPENING": s._LINE_OPENING,
        "FINAL": "".join(sorted(s._FINAL)),
        "UNFINISHED": "".join(sorted(s._UNFINISHED)),
    }
    lines = [f"export const {name} = {_json(value)};" for name, value in texts.items()]
    lines += [f"export const {name} = /{source}/{flags};" for name, (source, flags) in sources.items()]
    return NOTE + "\n".join(lines) + "\n"


def language(convention: Convention) -> str:
    """Return the module of one language."""
    rules: dict[str, object] = {}
    for field in fields(convention):
        value = getattr(convention, field.name)
        if isinstance(value, segmentation.WordSet):
            value = sorted(value)
        elif isinstance(value, segmentation.Expression | segmentation.Contractions):
            continue  # they are part of the expression for tokens
        words = field.name.split("_")
        rules["".join([words[0], *map(str.capitalize, words[1:])])] = value
    pattern = segmentation._pattern(convention, False)
    names = {number: name for name, number in pattern.groupindex.items()}
    kinds = _json([names[number] for number in range(1, pattern.groups + 1)])
    lines = [f"  {name}: {_json(value)}," for name, value in rules.items()]
    lines.append(f"  /** The meaning of each group of `token`. */\n  kinds: {kinds},")
    lines.append(f"  token: /{translate(pattern.pattern)}/gu,")
    return f'{NOTE}/** @type {{import("../text.js").Convention}} */\nexport default {{\n' + "\n".join(lines) + "\n};\n"


def _json(value: object) -> str:
    if isinstance(value, frozenset):
        value = sorted(value)
    return json.dumps(value, ensure_ascii=False)


def modules() -> dict[str, str]:
    """Return all modules by their file names."""
    files = {f"{code}.js": language(text.convention(code)) for code in text.LANGUAGES}
    return {"patterns.js": patterns(), **files}


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path in FOLDER.glob("*.js"):
        path.unlink()
    for name, content in modules().items():
        (FOLDER / name).write_text(content, "utf-8")


if __name__ == "__main__":
    main()
