"""Random queries over the labels, tags and functions of random trees."""

LABELS = ("S", "NP", "VP", "PP", "ROOT")
TAGS = ("NN", "VVFIN", "ADV", "ww", "$,")
RELATIONS = (
    *(">", ">", ">*", ">2", ">1,3", ">HD", ">SB", '>"--"', ">/[Hh][Dd]/", ">@l", ">@r"),
    *(".", ".*", ".2", ".1,3", "$", "$.*", ">~", ">~MO", ">~SB"),
)
FUNCTIONS = ("HD", "SB", "hd", "su", "--")


def random_query(rng, depth=0):
    """The text of a query with few nodes, so that all ways to bind them can be tried."""
    names = ["#a", "#b", "#c"][: rng.randint(1, 2 if depth else 3)]
    units = [unit(rng, names, depth) for _ in range(rng.randint(1, 3))]
    text = units[0]
    for other in units[1:]:
        text = f"({text}) {rng.choice('&&&|')} {other}"
    return text


def unit(rng, names, depth):
    kind = rng.random()
    if kind < 0.2:
        return node(rng, names)
    if kind < 0.7:
        return f"{node(rng, names)} {relation(rng)} {node(rng, names)}"
    if kind < 0.85 or depth:
        return predicate(rng, names)
    return f"without({random_query(rng, depth + 1)})"


def node(rng, names):
    if rng.random() < 0.3:
        return rng.choice(names)
    name = f"{rng.choice(names)}:" if rng.random() < 0.7 else ""
    return f"{name}[{features(rng) if rng.random() < 0.8 else ''}]"


def features(rng, depth=0):
    kind = rng.random()
    if depth < 2 and kind < 0.15:
        return f"!({features(rng, depth + 1)})"
    if depth < 2 and kind < 0.35:
        return f"({features(rng, depth + 1)} {rng.choice('&|')} {features(rng, depth + 1)})"
    if kind < 0.45:
        return rng.choice(("T", "NT"))
    if kind < 0.5:
        return rng.choice(("pos", "cat", "edge")) + "=#v" + rng.choice(("", ":/[NS].*/", ':!"NN"'))
    name, values = rng.choice((("cat", LABELS), ("pos", TAGS), ("edge", FUNCTIONS), ("word", ("w0", "w1", "w3"))))
    return f"{name}{rng.choice(('=', '=', '!='))}{value(rng, values)}"


def value(rng, values):
    kind = rng.random()
    if kind < 0.6:
        return f'"{rng.choice(values)}"'
    if kind < 0.75:
        return f'("{rng.choice(values)}"|"{rng.choice(values)}")'
    if kind < 0.85:
        return f'!"{rng.choice(values)}"'
    return rng.choice(("/.*P/", "/[A-Zw].*/", "/S|ROOT/", "/w[13]/", "/NP?.*/", "/w(1|3)/"))


def relation(rng):
    chosen = rng.choice(RELATIONS)
    return f"!{chosen}" if rng.random() < 0.2 else chosen


def predicate(rng, names):
    one, number = rng.choice(names), rng.randint(0, 3)
    chosen = rng.choice(
        (
            f"root({one})",
            f"arity({one},{number})",
            f"arity({one},{number},{number + 1})",
            f"tokenarity({one},{number},{number + 2})",
            f"continuous({one}{rng.choice(('', ', all'))})",
            f"discontinuous({one}{rng.choice(('', ', all'))})",
            f"gap-degree({one},{number}{rng.choice(('', ', all'))})",
            f"gap-degree({one},{number},{number + 2}{rng.choice(('', ', all'))})",
            f"within({one},{rng.choice(names)},{number})",
            f"confidence({one}) {rng.choice(('<', '<=', '>', '>='))} 0.{rng.randint(1, 9)}",
        )
    )
    return f"!{chosen}" if rng.random() < 0.2 else chosen
