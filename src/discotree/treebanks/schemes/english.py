"""Bring GENIA and MASC nearer to CRAFT, so that one English model can learn from all three.

GENIA annotates noun phrases in its own way. ``genia_to_craft`` changes the structures that are rare in CRAFT and MASC:

* A phrase before a noun is an NML, not an NP: ``(NP (NML NF-kappa B) activation)``; a single word gets no phrase.
* A noun phrase that ends in another one after nothing but words is flat: ``(NP the Tax protein)``. A coordination
  there is an NML: ``(NP the (NML (NML clinical signs) or (NML metabolic consequences)))``.
* Conjuncts of one word each get no phrases: ``(NP ELAM-1 and ICAM-1)``.
* Conjuncts that share a head are a phrase of their own: ``(NP (ADJP acute and chronic) HBV infection)``. GENIA has
  right node raising here, whose traces must be left out of the files: ``(NP (NP acute) and (NP chronic) (NP HBV …))``.

The words of both treebanks are unchanged. CRAFT's tags are used where they can be determined: the preposition *to*,
symbols, square brackets, quotation marks.
"""

from discotree.trees.transforms import Draft
from discotree.trees.tree import NONE, Tree

NP, NML, ADJP, UCP = "NP", "NML", "ADJP", "UCP"
NOUNS = ("NN", "NNS", "NNP", "NNPS")
ADJECTIVES = ("JJ", "JJR", "JJS", "VBN", "VBG")
COORDINATORS = ("CC", "CONJP")
SEPARATORS = (*COORDINATORS, ",", ":", "-LRB-", "-RRB-")
POSSESSIVE = "POS"
NOT_INFINITIVE = ("PP", "WHPP", "QP", "CONJP", "NP", "NML")  # phrases in which "to" is a preposition
SYMBOLS = ("=", "<", ">", "+", "+/-")
SQUARE_BRACKETS = {"-LSB-": "-LRB-", "-RSB-": "-RRB-"}
QUOTE, OPENING, CLOSING = '"', "``", "''"


def genia_to_craft(tree: Tree) -> Tree:
    """Return a tree of GENIA, without right node raising, with the noun phrases and tags of CRAFT."""
    draft = Draft(tree)
    _mark_prepositions(draft)
    for position, token in enumerate(tree.tokens):
        if token.form in SYMBOLS:
            draft.tags[position] = "SYM"
    for index in reversed(range(len(draft.labels))):  # children first
        if draft.labels[index] == NP:
            _group_conjuncts(draft, index)
            _flatten_end(draft, index)
            _mark_modifiers(draft, index)
        _flatten_conjuncts(draft, index)
    return draft.tree()


def masc_to_craft(tree: Tree) -> Tree:
    """Return a tree of MASC with the tags of CRAFT, and without brackets that have no label."""
    draft = Draft(tree)
    _mark_prepositions(draft)
    draft.tags = [SQUARE_BRACKETS.get(tag, tag) for tag in draft.tags]
    quotes = [position for position, token in enumerate(tree.tokens) if token.form == QUOTE]
    if len(quotes) % 2 == 0:  # an odd number: a quotation continues in another sentence
        for number, position in enumerate(quotes):
            draft.tags[position] = CLOSING if number % 2 else OPENING
    for siblings in (*reversed(draft.children), draft.top):  # children first
        for child in [x for x in siblings if not draft.is_word(x) and draft.name(x) == NONE]:
            draft.dissolve(siblings, child)
    return draft.tree()


def _mark_prepositions(draft: Draft) -> None:
    """Give the preposition "to" the tag IN; the infinitive's is TO."""
    for label, children in zip(draft.labels, draft.children, strict=True):
        if label in NOT_INFINITIVE:
            for child in filter(draft.is_word, children):
                if draft.tags[child] == "TO":
                    draft.tags[child] = "IN"


def _is_coordination(draft: Draft, index: int) -> bool:
    return any(draft.name(child) in COORDINATORS for child in draft.children[index])


def _group_conjuncts(draft: Draft, index: int) -> None:
    """Put a phrase around conjuncts that share the noun phrase after them, and dissolve that one."""
    siblings = draft.children[index]
    names = [draft.name(child) for child in siblings]
    if len(names) < 4 or names[-2:] != [NP, NP]:
        return
    begin, end = names.index(NP), len(names) - 1
    if not {"CC"} <= set(names[begin:end]) <= {NP, "CC", ","}:
        return
    shared = draft.phrase(siblings[-1])
    if _is_coordination(draft, shared) or draft.name(draft.children[shared][0]) == NP:
        return
    group = draft.wrap(siblings, begin, end, NML)
    draft.dissolve(siblings, siblings[-1])
    kinds = set()
    for child in [member for member in draft.children[group] if draft.name(member) == NP]:
        names = [draft.name(part) for part in draft.children[draft.phrase(child)]]
        if names == [ADJP]:
            draft.dissolve(draft.children[group], child)
        elif names[-1] in ADJECTIVES:
            draft.labels[draft.phrase(child)] = ADJP
        else:
            _make_nominal(draft, child)
            kinds.add(NML)
            continue
        kinds.add(ADJP)
    draft.labels[group] = UCP if len(kinds) > 1 else kinds.pop()
    _flatten_conjuncts(draft, group)


def _flatten_end(draft: Draft, index: int) -> None:
    """Dissolve a noun phrase at the end of another one, after nothing but words."""
    siblings = draft.children[index]
    *before, last = siblings
    if not before or draft.is_word(last) or draft.name(last) != NP or not all(map(draft.is_word, before)):
        return
    if not _is_coordination(draft, draft.phrase(last)):
        draft.dissolve(siblings, last)
    elif not any(draft.name(child) in NOUNS for child in before):  # or else it is an apposition
        _make_nominal(draft, last)


def _mark_modifiers(draft: Draft, index: int) -> None:
    """Make noun phrases before a noun NML, and dissolve them if they have one word; possessive ones stay."""
    siblings = draft.children[index]
    for child in [x for x in siblings if not draft.is_word(x) and draft.name(x) == NP]:
        names = [draft.name(sibling) for sibling in siblings[siblings.index(child) + 1 :]]
        noun = next((at for at, name in enumerate(names) if name in NOUNS), None)
        is_possessive = draft.name(draft.children[draft.phrase(child)][-1]) == POSSESSIVE
        if noun is None or is_possessive or any(name in SEPARATORS for name in names[:noun]):
            continue
        if draft.has_one_word(child):
            draft.dissolve(siblings, child)
        else:
            _make_nominal(draft, child)


def _make_nominal(draft: Draft, child: int) -> None:
    """Make a noun phrase an NML, and so its conjuncts and theirs."""
    waiting = [draft.phrase(child)]
    for index in waiting:  # grows while we walk it
        draft.labels[index] = NML
        draft.functions[index] = NONE
        if _is_coordination(draft, index):
            waiting += [draft.phrase(child) for child in draft.children[index] if draft.name(child) == NP]


def _flatten_conjuncts(draft: Draft, index: int) -> None:
    """Dissolve the conjuncts of a coordination if each of them has one word."""
    siblings = draft.children[index]
    phrases = [child for child in siblings if not draft.is_word(child)]
    if draft.labels[index] not in (NP, NML, ADJP, UCP) or "CC" not in map(draft.name, siblings):
        return
    if all(draft.has_one_word(child) and draft.name(child) in (NP, NML, ADJP) for child in phrases):
        for child in phrases:
            draft.dissolve(siblings, child)
