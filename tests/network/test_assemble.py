"""The assembler makes the trees of the slow and obvious way, whatever was decided."""

from hypothesis import given
from hypothesis import strategies as st
from support.assembly import assembled

from discotree.network.assemble import Assembler, Decisions
from discotree.network.vocab import Alphabet, Vocab
from discotree.trees.tree import NONE, Token

LABELS = ["A#1", "B#1", "A#2", "B+C#1", "ROOT#1", "ROOT+A#2", "ROOT#2", "A", "ROOT", "#3", "A#9"]
UNARIES = ["", "X", "X+Y", "ROOT", "Y+ROOT"]
USUAL = {"A T": "a-t", "B U": "b-u", "A B": "a-b", "A A": "a-a", "ROOT A": "root-a", "X T": "x-t", "C X": "c-x"}
HEADS = {"tag": ["T", "U"], "morph": ["m", "n"], "function": ["f", "g", NONE], "unary": UNARIES}


def vocab_of(heads):
    return Vocab(
        words=Alphabet([], 1),
        singletons=frozenset(),
        chars=Alphabet([], 2),
        tags=Alphabet([], 1),
        labels=Alphabet(LABELS),
        outputs={head: Alphabet(HEADS[head]) for head in heads},
        head_functions=USUAL,
        root="ROOT",
    )


@st.composite
def decisions(draw):
    """Any arcs that form a tree or several, with any labels, from a model with any auxiliary heads."""
    n = draw(st.integers(1, 9))
    order = draw(st.permutations(range(n)))
    heads = [-1] * n
    for place, word in enumerate(order):
        heads[word] = draw(st.sampled_from([-1, *order[:place]])) if place else -1
    auxiliary = draw(st.lists(st.sampled_from(sorted(HEADS)), unique=True))
    probabilities = st.lists(st.floats(0.01, 1), min_size=n, max_size=n)

    def of(count):
        return draw(st.lists(st.integers(0, count - 1), min_size=n, max_size=n))

    classes = {head: of(len(HEADS[head])) for head in auxiliary}
    unaries = draw(probabilities) if "unary" in auxiliary else [1.0] * n
    return Decisions(heads, of(len(LABELS)), draw(probabilities), classes, unaries, draw(st.floats(0, 1)))


@given(decisions())
def test_one_walk_makes_the_same_tree_as_all_the_steps(decided):
    vocab = vocab_of(decided.auxiliary)
    words = [Token(f"w{k}", "T" if k % 2 else "U", "lemma", "morph", "function") for k in range(len(decided.heads))]
    found, expected = Assembler(vocab).tree(words, decided, "7"), assembled(words, decided, vocab, "7")
    assert found == expected
    assert found.confidence == expected.confidence
    assert all(abs(a - b) < 1e-9 for a, b in zip(found.confidences, expected.confidences, strict=True))
