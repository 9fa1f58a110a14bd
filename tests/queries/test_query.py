"""Queries find what their definition by enumeration finds, on random trees and random queries."""

import os
import random
import re
import time
from dataclasses import replace

import pytest
from queries.definition import matches, tries
from queries.random_queries import random_query
from support.strategies import random_tree

from discotree import QueryError, SecondaryEdge
from discotree.queries.query import Query

MAX_TRIES = 100_000  # about a second; a few of a thousand queries would take minutes


def random_case(rng):
    tree = random_tree(rng, rng.randint(1, 4))
    nodes = sum(1 for _ in tree.nodes())
    end = len(tree) + nodes
    edges = [SecondaryEdge(rng.choice(("MO", "SB")), rng.randrange(end), rng.randrange(len(tree), end))]
    confidences = tuple(rng.random() for _ in range(nodes)) if rng.random() < 0.5 else ()
    edges = edges[: rng.randint(0, 1)]
    if rng.random() < 0.5:
        tree = replace(tree, tokens=tuple(t._replace(tag="$,") if rng.random() < 0.4 else t for t in tree.tokens))
    return replace(tree, secondary=tuple(edges), confidences=confidences)


def readable_query(rng):
    while True:
        text = random_query(rng)
        try:
            return Query(text)
        except QueryError as error:
            if not re.search("never gets a value|every alternative needs", str(error)):
                raise


def compare(seed, count):
    rng = random.Random(seed)
    found = compared = 0
    for _ in range(count):
        query = readable_query(rng)
        tree = random_case(rng)
        if len(query.variables) > 2 and len(tree) > 2:
            tree = replace(random_tree(rng, 2))
        if tries(query, tree) > MAX_TRIES:
            continue
        compared += 1
        ours = [tuple(match.bindings.values()) for match in query.matches(tree)]
        assert len(ours) == len(set(ours)), query.text
        assert set(ours) == matches(query, tree), f"{query.text}   in   {tree}"
        found += len(ours)
    assert compared > 0.9 * count
    return found


def test_matches_are_those_of_the_definition():
    assert compare(1, 100) > 100


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_matches_of_many_queries_are_those_of_the_definition(seed):
    assert compare(100 + seed, int(os.environ.get("DISCOTREE_QUERIES", "500"))) > 500


def nested(alternatives, depth):
    """Alternatives inside of ``without``, which multiply with those around it."""
    query = choice = " & ".join(["(#a>#b | #b>#a)"] * alternatives)
    for _ in range(depth):
        query = f"{choice} & without({query})"
    return query


RELATIONS = " & ".join(f"#n{k}>#n{m}" for k in range(50) for m in range(50) if k != m)


@pytest.mark.parametrize("query", [nested(5, 2), nested(9, 1), RELATIONS[: RELATIONS.rindex("&", 0, 20_000)]])
def test_a_query_that_takes_too_long_to_plan_is_refused(query):
    began = time.process_time()
    with pytest.raises(QueryError, match="the query is too complex"):
        Query(query)
    assert time.process_time() - began < 10
