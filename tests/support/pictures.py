"""Trees and dependencies that the tests of all renderers draw."""

import random
from pathlib import Path

from hypothesis import strategies as st
from support.helpers import tree_of
from support.strategies import random_heads, random_tree

from discotree import Dependencies, Token, read

DATA = Path(__file__).parents[1] / "data"
DRAWINGS = DATA / "drawings"
(FIGURE1,) = read(DATA / "figure1.export")
GOLD = {tree.id: tree for tree in read(DRAWINGS / "trees.export")}
WRONG = tree_of("(ROOT (S (PPER 0=Es) (VVFIN 1=kam) (AP (PIS 2=nichts) (ADJA 3=Interessantes)) ($. 4=.)))", "1")
some_trees = st.builds(
    lambda seed, size: random_tree(random.Random(seed), size), st.integers(0, 2**32), st.integers(1, 14)
)
some_dependencies = st.builds(
    lambda seed, size: Dependencies(
        tuple([Token(f"w{k}") for k in range(size)]),
        random_heads(random.Random(seed), size),
        tuple([f"NP#{k}" for k in range(size)]),
    ),
    st.integers(0, 2**32),
    st.integers(1, 14),
)
