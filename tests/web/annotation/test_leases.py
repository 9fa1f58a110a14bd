"""A sentence that somebody has open is kept for them, and not for ever."""

from discotree.web.annotation.session import LEASE_SECONDS, MAX_SESSIONS, Leases


def test_a_sentence_is_kept_until_its_annotator_moves_on_or_goes_silent() -> None:
    now = [0.0]
    leases = Leases(lambda: now[0])
    leases.take("a", 1, "Ann")
    leases.take("b", 2, "Bob")
    assert leases.of_others("a") == {2: ["Bob"]}
    assert leases.of_others("c") == {1: ["Ann"], 2: ["Bob"]}
    leases.take("a", 3, "Ann")
    assert leases.of_others("b") == {3: ["Ann"]}
    now[0] = LEASE_SECONDS - 1
    leases.take("b", 2, "Bob")  # renewed
    now[0] = LEASE_SECONDS + 1
    assert leases.of_others("c") == {2: ["Bob"]}
    leases.release("b")
    leases.release("nobody")
    assert leases.of_others("c") == {}


def test_sessions_do_not_fill_the_memory() -> None:
    leases = Leases()
    for number in range(MAX_SESSIONS + 10):
        leases.take(str(number), number, "Ann")
    assert len(leases.sessions) == MAX_SESSIONS
    assert "0" not in leases.sessions
