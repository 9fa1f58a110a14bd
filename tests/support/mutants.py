"""Damaged copies of a file, the same on every run."""

import random


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


def mutants(name, raw, tokens, count):
    """Return damaged copies, each with its number; ``name`` seeds them."""
    rng = random.Random(name)
    for number in range(count):
        yield number, mutate(rng, raw, tokens)
