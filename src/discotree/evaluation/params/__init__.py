"""Parameters of the evaluation: which labels and words are deleted, and which count as equal.

``.prm`` files have the syntax that EVALB and disco-dop share: one name with its values per line, and comments on lines
that start with ``#``. ``proper`` and ``all`` come with discotree.

    CUTOFF_LEN 40                 adds a column for sentences up to this length
    LABELED 1                     0: labels do not count
    DELETE_LABEL NAME             phrases with this label are spliced out, words with this tag removed
    DELETE_WORD WORD              words of this form are removed, whatever their tag
    DELETE_LABEL_FOR_LENGTH NAME  words with this tag do not count towards the length of a sentence
    EQ_LABEL A B …                labels (or tags) that count as equal
    EQ_WORD A B …                 ignored; it has no effect in disco-dop, which aligns words first
    DISC_ONLY 1                   only discontinuous constituents count
"""

from dataclasses import dataclass, field
from pathlib import Path

from discotree.errors import EvaluationError
from discotree.files.writing import read_text

FOLDER = Path(__file__).parent
IGNORED = frozenset({"DEBUG", "MAX_ERROR", "EQ_WORD"})
UNSUPPORTED = frozenset({"LA", "TED", "DEP", "DELETE_ROOT_PRETERMS"})  # metrics that do not count brackets


@dataclass(frozen=True)
class Params:
    """Labels and words that are deleted before scoring, and labels that count as equal."""

    delete_label: frozenset[str] = frozenset()
    delete_word: frozenset[str] = frozenset()
    delete_label_for_length: frozenset[str] = frozenset()
    eq_label: dict[str, str] = field(default_factory=dict)  # member of a class → its first member
    cutoff_len: int = 40
    labelled: bool = True
    disc_only: bool = False

    @classmethod
    def load(cls, name: str | Path) -> "Params":
        """Read the parameters that come with discotree (``proper``, ``all``) or a .prm file."""
        if str(name) in cls.names():
            text = (FOLDER / f"{name}.prm").read_text("utf-8")
        else:
            try:
                text = read_text(name)
            except (OSError, UnicodeDecodeError) as error:
                known = ", ".join(cls.names())
                raise EvaluationError(f"{name}: expected {known} or a .prm file: {error}") from None
        return _parse(text, str(name))

    @staticmethod
    def names() -> list[str]:
        """Return the names of the parameters that come with discotree."""
        return sorted(path.stem for path in FOLDER.glob("*.prm"))


def _parse(text: str, source: str) -> Params:
    sets: dict[str, set[str]] = {"DELETE_LABEL": set(), "DELETE_WORD": set(), "DELETE_LABEL_FOR_LENGTH": set()}
    classes: dict[str, str] = {}
    numbers = {"CUTOFF_LEN": 40, "LABELED": 1, "DISC_ONLY": 0}
    for number, line in enumerate(text.splitlines(), 1):
        key, *values = line.split() or [""]
        if not key or key.startswith("#") or key in IGNORED:
            continue
        if not values:
            raise EvaluationError(f"{source}:{number}: {key} has no value")
        if key in UNSUPPORTED:
            if values != ["0"]:
                raise EvaluationError(f"{source}:{number}: {key} is not supported; set it to 0")
        elif key in sets:
            if len(values) > 1:
                raise EvaluationError(f"{source}:{number}: {key} expects one value, got {len(values)}")
            sets[key].add(values[0])
        elif key == "EQ_LABEL":
            _merge(classes, values)
        elif key in numbers:
            if not (values[0].isascii() and values[0].isdecimal()):
                raise EvaluationError(f"{source}:{number}: {key} expects a number, got {values[0]!r}")
            numbers[key] = int(values[0])
        else:
            known = ", ".join([*sets, "EQ_LABEL", *numbers])
            raise EvaluationError(f"{source}:{number}: unknown parameter {key}; expected one of {known}")
    return Params(
        frozenset(sets["DELETE_LABEL"]),
        frozenset(sets["DELETE_WORD"]),
        frozenset(sets["DELETE_LABEL_FOR_LENGTH"]),
        classes,
        numbers["CUTOFF_LEN"],
        bool(numbers["LABELED"]),
        bool(numbers["DISC_ONLY"]),
    )


def _merge(classes: dict[str, str], members: list[str]) -> None:
    """Merge the members, and all classes that they belong to, into one class."""
    old = {classes[member] for member in members if member in classes}
    everyone = [*(member for member, first in classes.items() if first in old), *members]
    classes.update(dict.fromkeys(everyone, everyone[0]))


PROPER = Params.load("proper")
ALL = Params.load("all")
