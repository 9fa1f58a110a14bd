"""What the folder of a Transformer from elsewhere may ask for: its configuration and its tokenizer.

Weights justify sizes: a file that has them is as large as they are. All that grows without weights has a limit here.
"""

import base64
import json
import math
import re
import struct
from typing import Any

CONFIG, TOKENIZER = "config.json", "tokenizer.json"
MAX_FILE_BYTES = 1 << 26  # limit for either file; the largest tokenizers have 35 MB
MAX_NUMBER = 1 << 24  # in a configuration: no Transformer has more pieces, positions or features
MAX_GROWTH = 1024  # times that normalizing may lengthen a word: about 600 by these estimates for ALBERT's
MAX_STEPS = 100  # steps of normalizing and splitting
MAX_CONSTANT = 64  # characters of what a rule of the tokenizer puts in
MAX_PATTERN = 1000  # characters of a regular expression; those in use have up to 350
MAX_REPEATS = 2  # unbounded repetitions in an alternative of one
SIZE_KEYS = re.compile("num_.*|.*_size")
DROPPED_KEYS = re.compile("_.*|auto_map|.*_implementation|quantization_config|(torch_)?dtype|architectures")

# Characters that normalizing may make of one; ﷺ becomes 18.
GROWTH = {
    **dict.fromkeys(("NFC", "NFD", "NFKC", "NFKD"), 18),
    **dict.fromkeys(("Nmt", "StripAccents", "Strip", "Lowercase", "BertNormalizer", "ByteLevel"), 4),
}
_REPEAT = re.compile(r"[*+]|\{\d*,\}")
_ESCAPE = re.compile(r"\\[pP]\{\^?\w+\}|\\.", re.DOTALL)
_CLASS = re.compile(r"\[(?:\\.|\[[^\]]*\]|[^\]\\])*\]")


def table_of(text: str, name: str) -> dict[str, Any]:
    """Parse a file of JSON that holds a table."""
    table = json.loads(text)
    if not isinstance(table, dict):
        raise ValueError(f"{name}: expected a table, got {table!r:.50}")
    return table


def plain(value: Any) -> Any:
    """Return a configuration without keys that name code or a precision; refuse absurd numbers."""
    if isinstance(value, dict):
        for name, number in value.items():
            if SIZE_KEYS.fullmatch(name) and isinstance(number, int) and number < 0:
                raise ValueError(f"{CONFIG}: {name} is {number}, expected a number of things")
        return {name: plain(item) for name, item in value.items() if not DROPPED_KEYS.fullmatch(name)}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, int) and value > MAX_NUMBER:
        raise ValueError(f"{CONFIG}: the number {value} is absurd, expected at most {MAX_NUMBER}")
    return value


def check_tokenizer(rules: dict[str, Any]) -> None:
    """Refuse a tokenizer whose rules blow up a word, match it in more than about quadratic time, or make it panic."""
    if (grown := growth(rules.get("normalizer"))) > MAX_GROWTH:
        raise ValueError(f"{TOKENIZER}: its normalizer may make a word {grown:,.0f} times as long")
    steps = sum(_check_patterns(rules.get(part)) for part in ("normalizer", "pre_tokenizer"))
    if steps > MAX_STEPS:
        raise ValueError(f"{TOKENIZER}: {steps:,} steps of normalizing and splitting, expected at most {MAX_STEPS}")
    _check_template(rules.get("post_processor"))


def growth(normalizer: Any) -> float:
    """Return how many times as long a word may get."""
    if normalizer is None:
        return 1
    kind = normalizer["type"]
    if kind == "Sequence":
        steps = normalizer["normalizers"]
        usual = max([1.0, *(growth(step) for step in steps if step["type"] in GROWTH)])  # the next one finds it normal
        return usual * math.prod(growth(step) for step in steps if step["type"] not in GROWTH)
    if kind == "Prepend":
        return 1 + len(normalizer["prepend"])
    if kind == "Replace":
        content, pattern = str(normalizer["content"]), normalizer["pattern"]
        return max(1.0, len(content) / max(1, len(pattern["String"]))) if "String" in pattern else 1.0 + len(content)
    if kind == "Precompiled":
        return _longest_replacement(normalizer["precompiled_charsmap"])
    if kind not in GROWTH:
        raise ValueError(f"{TOKENIZER}: unknown normalizer {kind!r:.50}")
    return GROWTH[kind]


def _longest_replacement(charsmap: str | list[int] | None) -> int:
    """Return the bytes of the longest text in a table of SentencePiece: size of a trie, trie, texts that end in 0."""
    if not charsmap:
        return 1
    table = base64.b64decode(charsmap) if isinstance(charsmap, str) else bytes(charsmap)
    (trie,) = struct.unpack_from("<I", table)
    return max(map(len, table[4 + trie :].split(b"\0")), default=1)


def _check_patterns(part: Any) -> int:
    """Refuse long constants, and regular expressions that may take for ever; return the number of steps."""
    if isinstance(part, list):
        return sum(map(_check_patterns, part))
    if not isinstance(part, dict):
        return 0
    for name, value in part.items():
        if name == "Regex":
            _check_regex(str(value))
        elif name in ("content", "prepend", "replacement") and len(str(value)) > MAX_CONSTANT:
            raise ValueError(f"{TOKENIZER}: a rule puts in {len(str(value)):,} characters")
    return ("type" in part) + sum(map(_check_patterns, part.values()))


def _check_template(part: Any) -> None:
    """Refuse a sentence's template with a token that it does not define; the library would print a panic."""
    steps = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    for step in steps:
        _check_template(step)
    if isinstance(part, dict) and "single" in part and "special_tokens" in part:  # whatever "type" says
        for name in (piece["SpecialToken"]["id"] for piece in part["single"] if "SpecialToken" in piece):
            if name not in part["special_tokens"]:
                raise ValueError(f"{TOKENIZER}: its template has the token {name!r:.50}, which it does not define")


def _check_regex(pattern: str) -> None:
    bare = _CLASS.sub("x", _ESCAPE.sub("x", pattern))
    repeats = max(len(_REPEAT.findall(alternative)) for alternative in bare.split("|"))
    if len(pattern) > MAX_PATTERN or repeats > MAX_REPEATS or re.search(r"\)(?:[*+]|\{)|\}[*+{]", bare):
        raise ValueError(f"{TOKENIZER}: the regular expression {pattern!r:.50} may take too long")
