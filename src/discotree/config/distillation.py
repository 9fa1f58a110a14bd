"""The settings of distillation: a section of every recipe, which only ``discotree distill`` reads."""

from dataclasses import dataclass

from discotree.validation import MAX_NUMBER, check_bounds, setting

MAX_SENTENCES = 10_000_000  # those of one run; lines of the text wait in memory until they are chosen
MAX_SENTENCE_WORDS = 200
MAX_TOP = 16


@dataclass(frozen=True)
class Distillation:
    """How a small network learns from the trees that larger ones, its teachers, give raw text.

    Only `discotree distill` reads these settings. The first six decide what the teachers are asked, all others how the
    network learns from their answers.
    """

    sentences: int = setting(200_000, "Sentences of the text to learn from, at most.", 1, MAX_SENTENCES + 1)
    seed: int = setting(1, "Seed of the choice of sentences.", 0)
    min_words: int = setting(2, "Leave out shorter sentences.", 1, MAX_SENTENCE_WORDS)
    max_words: int = setting(60, "Leave out longer sentences.", 1, MAX_SENTENCE_WORDS + 1)
    hold_out_words: int = setting(
        5, "Held-out sentences of this many words are searched for inside lines, shorter ones as whole lines.", 1
    )
    top: int = setting(4, "Heads, labels and classes of every word to keep, the most probable ones.", 1, MAX_TOP + 1)

    score_words: int = setting(
        0, "Words of a batch that the teachers score. 0: 4,000 on a CPU, 32,000 on a GPU.", 0, MAX_NUMBER
    )
    epoch_sentences: int = setting(20_000, "Sentences of the text in each epoch, beside the treebank.", 1, MAX_NUMBER)
    weight: float = setting(1.0, "Weight of a word of the text in the loss; a word of the treebank has 1.", 0)
    confidence_power: float = setting(
        1.0, "A word's weight is multiplied by the teachers' probability of its head and label, to this power.", 0
    )
    min_confidence: float = setting(
        0.0, "Leave out sentences whose words have a lower probability of head and label, on average.", 0, 1
    )
    min_agreement: float = setting(
        0.0, "Learn only words to which this share of the teachers gives the head that all of them decide on.", 0, 1.01
    )
    vocabulary: int = setting(
        20_000, "Words of the text that get an embedding, beside those of the treebank: the most frequent ones.", 0
    )
    min_count: int = setting(5, "Words and labels that are rarer in the text do not enter the vocabulary.", 1)

    def __post_init__(self) -> None:
        check_bounds(self)
