import pytest
from hypothesis import given
from hypothesis import strategies as st

from discotree.encoding import dependencies as module
from discotree.encoding.dependencies import JOINER, escape, split_chain, split_level

labels = st.text(st.sampled_from("SNP+#\\^1- é"), min_size=1, max_size=5)


@given(st.lists(labels, min_size=1, max_size=4), labels)
def test_a_chain_of_any_labels_comes_apart_as_it_was_put_together(chain, root):
    joined = JOINER.join(escape(label, root) for label in chain)
    assert split_chain(joined, root) == tuple(chain)
    assert split_level(f"{joined}#3", root) == (tuple(chain), 3)


@given(st.lists(labels, max_size=3), labels)
def test_the_bare_root_label_disappears_from_a_chain(chain, root):
    joined = JOINER.join([*(escape(label, root) for label in chain), escape(root)])
    assert split_chain(joined, root) == tuple(chain)


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("NP#2", (("NP",), 2)),
        ("S+VP#10", (("S", "VP"), 10)),
        ("NP", (("NP",), 1)),
        ("NP#", (("NP#",), 1)),
        ("NP#x", (("NP#x",), 1)),
        ("NP#-1", (("NP#-1",), 1)),
        ("NP#²", (("NP#²",), 1)),
        ("NP#٣", (("NP#٣",), 1)),
        ("NP#0", (("NP",), 0)),
        ("NP#007", (("NP",), 7)),
        ("NP#1234567890", (("NP#1234567890",), 1)),
        ("NP#1#2", (("NP#1",), 2)),
        ("", (("--",), 1)),
        ("#3", (("--",), 3)),
        ("+", (("--", "--"), 1)),
        ("\\", (("\\",), 1)),
        ("ROOT#2", ((), 2)),
        ("ROOT+S#2", (("S",), 2)),
        ("\\^ROOT#2", (("ROOT",), 2)),
        ("\\^", (("--",), 1)),
    ],
)
def test_odd_labels_have_one_meaning(label, expected):
    assert split_level(label, "ROOT") == expected


def test_long_labels_are_split_alike_and_not_remembered():
    long = "+".join(["NP"] * 500)
    before = module._split_chain.cache_info().currsize, module._split_level.cache_info().currsize
    assert module.split_chain(long, "ROOT") == ("NP",) * 500
    assert module.split_level(f"{long}#7", "ROOT") == (("NP",) * 500, 7)
    assert (module._split_chain.cache_info().currsize, module._split_level.cache_info().currsize) == before
    assert module._split_level.cache_info().maxsize == module._split_chain.cache_info().maxsize == 10_000
