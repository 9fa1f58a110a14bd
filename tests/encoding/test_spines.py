import random
from collections import Counter

from support.strategies import random_heads

from discotree.encoding.dependencies import heads_first, spine_phrases


def test_heads_come_before_their_dependents():
    rng = random.Random(3)
    for _ in range(200):
        heads = random_heads(rng, rng.randrange(1, 12))
        dependents, order = heads_first(heads)
        assert sorted(order) == list(range(len(heads)))
        assert dependents == [[d for d, head in enumerate(heads) if head == k] for k in [*range(len(heads)), -1]]
        assert all(head < 0 or order.index(head) < order.index(d) for d, head in enumerate(heads))


def test_words_on_a_cycle_are_left_out_of_the_order():
    assert heads_first([1, 0, -1, 0])[1] == [2]


def test_phrases_of_a_spine_are_what_their_definition_says():
    rng = random.Random(5)
    for _ in range(500):
        levels = [((rng.choice("AB"),), rng.randrange(1, 4)) for _ in range(8)]
        dependents = sorted(rng.sample(range(8), rng.randrange(9)))
        expected = []
        for level in sorted({levels[d][1] for d in dependents}):
            group = [d for d in dependents if levels[d][1] == level]
            votes = Counter(levels[d][0] for d in group)
            winner = max(votes, key=lambda chain: (votes[chain], -[levels[d][0] for d in group].index(chain)))
            expected.append((winner, group))
        assert spine_phrases(dependents, levels) == expected


def test_a_spine_without_dependents_has_no_phrases():
    assert spine_phrases([], []) == []
