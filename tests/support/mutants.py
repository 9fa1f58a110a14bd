"""Damaged copies of a file, the same on every run."""

import json
import random

ODD_VALUES = (
    None, True, False, 0, -1, 1, 2, 3, 7, 100, 2**31, 2**63, -(2**63), 2**64, 10**30, 0.5, -0.5, 1e308, float("inf"),
    float("nan"), "", "a", "0", "cpu", "\x00", "\ud800", "../..", "/dev/zero", "x" * 300, [], [[]], [0], {}, {"a": 1},
)  # fmt: skip


def mutate(rng, raw, tokens):
    """Return the file with one to four kinds of damage."""
    raw = bytearray(raw)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if not raw:
            break
        kind = rng.randrange(8)
        start = rng.randrange(len(raw))
        end = min(len(raw), start + rng.choice((1, 1, 2, 8, 40, 300)))
        if kind == 0:  # a bit flips
            raw[start] ^= 1 << rng.randrange(8)
        elif kind == 1:  # a stretch is lost
            del raw[start:end]
        elif kind == 2:  # a stretch is doubled
            raw[start:start] = raw[start:end]
        elif kind == 3:  # the file is truncated
            del raw[start:]
        elif kind == 4:  # two lines swap, or one overwrites the other
            lines = raw.split(b"\n")
            a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[a], lines[b] = lines[b], lines[rng.choice((a, b))]
            raw = bytearray(b"\n".join(lines))
        elif kind == 5:  # a digit changes
            digits = [k for k, byte in enumerate(raw) if 48 <= byte <= 57]
            if digits:
                raw[rng.choice(digits)] = rng.randrange(48, 58)
        elif kind == 6 and tokens:  # a meaningful token appears
            raw[start:start] = rng.choice(tokens)
        else:  # a stretch moves
            stretch = raw[start:end]
            del raw[start:end]
            at = rng.randrange(len(raw) + 1)
            raw[at:at] = stretch
    return bytes(raw)


def mutate_json(rng, raw, *, odd=ODD_VALUES):
    """Return a JSON text with one to four values replaced, removed, doubled or moved to another key."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return raw
    for _ in range(rng.choice((1, 1, 2, 4))):
        inner = _container(rng, value)
        if not inner:
            break
        keys = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
        key, other = rng.choice(keys), rng.choice(keys)
        kind = rng.randrange(6)
        if kind < 3:
            inner[key] = rng.choice(odd)
        elif kind == 3:
            del inner[key]
        elif kind == 4:
            inner[key] = inner[other]
        elif isinstance(inner, list):
            inner.extend(inner[: rng.choice((1, 8, 300))])
        else:
            inner[rng.choice(("", "a", f"{key}2"))] = inner[key]
    try:
        return json.dumps(value).encode()
    except (ValueError, RecursionError):  # it contains itself
        return raw


def _container(rng, value):
    """Return an object or a list somewhere inside a value, and deep ones as often as high ones."""
    while isinstance(value, (dict, list)) and value:
        inner = list(value.values()) if isinstance(value, dict) else value
        deeper = [child for child in rng.sample(inner, min(len(inner), 8)) if isinstance(child, (dict, list)) and child]
        if not deeper or rng.random() < 0.3:
            return value
        value = rng.choice(deeper)
    return None


def mutants(name, raw, tokens, count):
    """Return damaged copies, each with its number; ``name`` seeds them."""
    rng = random.Random(name)
    for number in range(count):
        yield number, mutate(rng, raw, tokens)
