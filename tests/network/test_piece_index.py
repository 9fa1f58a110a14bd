"""Pieces are found by how they begin, and none is missed."""

from hypothesis import given
from hypothesis import strategies as st

from discotree.network.piece_index import WORD_START, PieceIndex

PIECE = st.text(WORD_START + "abé€𝄞.", min_size=1, max_size=5)


@given(st.lists(PIECE, unique=True), st.text(WORD_START + "abxé€𝄞.", min_size=1, max_size=12))
def test_all_pieces_of_a_text_are_found(pieces: list[str], text: str) -> None:
    index = PieceIndex("\n".join(["", *pieces]).encode())
    known = {piece: number for number, piece in enumerate(pieces, 1)}
    assert (len(index), index.ids(), index.longest) == (len(pieces) + 1, known, max(map(len, pieces), default=0))
    for begin in range(len(text)):
        found, longest = index.beginning(text, begin)
        assert found.items() <= known.items()
        parts = [text[begin:end] for end in range(begin + 1, len(text) + 1)]
        assert [found.get(part) for part in parts] == [known.get(part) for part in parts]
        assert longest == max(map(len, found), default=0)


def test_only_pieces_that_begin_alike_are_made() -> None:
    index = PieceIndex("\n".join(["", "ab", "abc", "▁ab", "a", "▁", "b", "ac", "▁b"]).encode())
    assert [set(index.beginning(text, 0)[0]) for text in ("abx", "▁abx", "▁", "x", "b")] == [
        {"ab", "abc", "▁ab", "a", "▁"},
        {"ab", "abc", "▁ab", "a", "▁"},
        {"▁"},
        {"▁"},
        {"b", "▁b", "▁"},
    ]
