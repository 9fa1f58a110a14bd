"""Clients take turns."""

from hypothesis import given
from hypothesis import strategies as st

from discotree.web.limits import FairQueue


def drained(queue: FairQueue[str]) -> list[str]:
    found = []
    while taken := queue.take():
        found.append(taken[1])
    return found


def test_clients_take_turns_and_keep_their_order() -> None:
    queue: FairQueue[str] = FairQueue()
    for item in ("a1", "a2", "a3", "b1", "c1", "c2"):
        queue.add(item[0], item)
    assert len(queue) == 6
    assert list(queue.of("a")) == ["a1", "a2", "a3"]
    assert drained(queue) == ["a1", "b1", "c1", "a2", "c2", "a3"]
    assert queue.take() is None


def test_only_what_fits_is_taken_and_the_unwanted_goes() -> None:
    queue: FairQueue[str] = FairQueue()
    for item in ("a1", "a2", "b1"):
        queue.add(item[0], item)
    assert queue.take(lambda item: item == "a2") == ("a", "a2")
    assert queue.take(lambda item: item == "x") is None
    queue.discard(lambda item: item.startswith("b"))
    assert list(queue) == ["a1"]


@given(st.lists(st.sampled_from("abc"), max_size=30))
def test_nobody_waits_for_more_than_one_item_of_each_other_client(clients: list[str]) -> None:
    queue: FairQueue[str] = FairQueue()
    for client in clients:
        queue.add(client, client)
    found = drained(queue)
    assert sorted(found) == sorted(clients)
    for client in set(clients):
        turns = [index for index, other in enumerate(found) if other == client]
        for before, after in zip([-1, *turns], turns, strict=False):
            between = found[before + 1 : after]
            assert len(between) == len(set(between))
