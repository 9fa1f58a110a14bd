"""The settings of `discotree vectors`. No model remembers them: the record beside the vectors does."""

from collections.abc import Sequence
from dataclasses import dataclass

from discotree.config.recipes import parsed_setting
from discotree.config.schema import MAX_SIZE
from discotree.errors import ConfigError
from discotree.validation import MAX_NUMBER, check_bounds, setting, updated

SECTION = "vectors"
MAX_WINDOW = 100


@dataclass(frozen=True)
class VectorSettings:
    """How word vectors are learned from raw text; the sizes are those of the paper's vectors."""

    size: int = setting(100, "Numbers of a vector.", 1, MAX_SIZE + 1)
    window: int = setting(5, "Words to the left and to the right that a word has to predict, at most.", 1, MAX_WINDOW)
    positions: bool = setting(
        True, "Structured skip-gram: a matrix of output vectors for each relative position. Otherwise: one for all."
    )
    min_count: int = setting(5, "Leave out words that occur less often.", 1, MAX_NUMBER)
    max_words: int = setting(200_000, "Learn the vectors of the most frequent words, at most this many.", 1, MAX_NUMBER)
    zero_digits: bool = setting(True, "Replace every digit by 0, as the parser's vocabulary does.")
    subsample: float = setting(1e-4, "Frequency above which occurrences of a word are left out. 0: none are.", 0, 1)
    epochs: int = setting(5, "Passes over the text.", 1, MAX_NUMBER)
    max_seconds: float = setting(
        0.0, "Learn for this long, at most; the learning rate falls with the time. 0: no limit.", 0
    )
    negatives: int = setting(5, "Weight of drawn words against each word of the text.", 1, MAX_NUMBER)
    shared_negatives: int = setting(32, "Words drawn for each position of a batch, shared by the batch.", 1, MAX_SIZE)
    power: float = setting(0.75, "Words are drawn by their frequency to this power.", 0)
    batch: int = setting(0, "Words of a batch. 0: 1,024 on a CPU, 16,384 on a GPU.", 0, MAX_NUMBER)
    learning_rate: float = setting(0.1, "Adagrad's learning rate at the beginning; it falls to 0.", 0)
    seed: int = setting(1, "Seed of the first vectors, the order of the text and the drawn words.", 0)
    device: str = setting("", "`cpu`, `cuda`, `cuda:1`. Empty: a GPU if there is one.")

    def __post_init__(self) -> None:
        check_bounds(self)


def vector_settings(settings: Sequence[str]) -> VectorSettings:
    """Return the settings with some of them changed: ``vectors.size=200``."""
    result = VectorSettings()
    for text in settings:
        table = parsed_setting(text)
        if list(table) != [SECTION]:
            raise ConfigError(f"--set {text}: expected {SECTION}.NAME=VALUE")
        result = updated(result, table[SECTION], f"--set {text}")
    return result
