"""Bring GENIA nearer to CRAFT, so that one English model can learn from both.

GENIA annotates noun phrases in its own way. ``genia_to_craft`` changes the structures that are rare in CRAFT and MASC:

* A phrase before a noun is an NML, not an NP: ``(NP (NML NF-kappa B) activation)``; a single word gets no phrase.
* A noun phrase that ends in another one after nothing but words is flat: ``(NP the Tax protein)``. A coordination
  there is an NML: ``(NP the (NML (NML clinical signs) or (NML metabolic consequences)))``.
* Conjuncts of one word each get no phrases: ``(NP ELAM-1 and ICAM-1)``.
* Conjuncts that share a head are a phrase of their own: ``(NP (ADJP acute and chronic) HBV infection)``. GENIA has
  right node raising here, whose traces must be left out of the files: ``(NP (NP acute) and (NP chronic) (NP HBV …))``.

The words are unchanged. CRAFT's tags are used where they can be determined: the preposition *to* and symbols.
"""

from discotree.queries.edit import EditedTree
from discotree.trees.tree import NONE, Tree

NP, NML, ADJP, UCP = "NP", "NML", "ADJP", "UCP"
NOUNS = ("NN", "NNS", "NNP", "NNPS")
ADJECTIVES = ("JJ", "JJR", "JJS", "VBN", "VBG")
COORDINATORS = ("CC", "CONJP")
SEPARATORS = (*COORDINATORS, ",", ":", "-LRB-", "-RRB-")
POSSESSIVE = "POS"
NOT_INFINITIVE = ("PP", "WHPP", "QP", "CONJP", "NP", "NML")  # phrases in which "to" is a preposition
SYMBOLS = ("=", "<", ">", "+", "+/-")


def genia_to_craft(tree: Tree) -> Tree:
    """Return a tree of GENIA, without right node raising, with the noun phrases and tags of CRAFT."""
    edited = EditedTree(tree)
    for position, token in enumerate(tree.tokens):
        if token.tag == "TO" and _name(edited, edited.parents[position]) in NOT_INFINITIVE:
            edited.set_value(position, "pos", "IN")
        if token.form in SYMBOLS:
            edited.set_value(position, "pos", "SYM")
    for node in reversed(range(edited.root + 1, edited.size)):  # children first
        if _name(edited, node) == NP:
            _group_conjuncts(edited, node)
            _flatten_end(edited, node)
            _mark_modifiers(edited, node)
        _flatten_conjuncts(edited, node)
    return edited.build()


def _name(tree: EditedTree, node: int) -> str:
    """Return the tag of a word, the label of a phrase."""
    return tree.value(node, "pos" if node < tree.terminals else "cat") or NONE


def _names(tree: EditedTree, node: int) -> list[str]:
    return [_name(tree, child) for child in tree.below(node)]


def _has_one_word(tree: EditedTree, node: int) -> bool:
    """Return whether a node is a phrase whose only child is a word."""
    children = tree.below(node)
    return len(children) == 1 and children[0] < tree.terminals


def _is_coordination(tree: EditedTree, node: int) -> bool:
    return any(name in COORDINATORS for name in _names(tree, node))


def _group_conjuncts(tree: EditedTree, node: int) -> None:
    """Put a phrase around conjuncts that share the noun phrase after them, and dissolve that one."""
    names = _names(tree, node)
    if len(names) < 4 or names[-2:] != [NP, NP]:
        return
    begin, end = names.index(NP), len(names) - 1
    if not {"CC"} <= set(names[begin:end]) <= {NP, "CC", ","}:
        return
    shared = tree.below(node)[-1]
    if _is_coordination(tree, shared) or _names(tree, shared)[0] == NP:
        return
    group = tree.insert(NML, NONE, tree.below(node)[begin:end])
    tree.delete(shared)
    kinds = set()
    for child in [member for member in tree.below(group) if _name(tree, member) == NP]:
        names = _names(tree, child)
        if names == [ADJP]:
            tree.delete(child)
        elif names[-1] in ADJECTIVES:
            tree.set_value(child, "cat", ADJP)
        else:
            _make_nominal(tree, child)
            kinds.add(NML)
            continue
        kinds.add(ADJP)
    tree.set_value(group, "cat", UCP if len(kinds) > 1 else kinds.pop())
    _flatten_conjuncts(tree, group)


def _flatten_end(tree: EditedTree, node: int) -> None:
    """Dissolve a noun phrase at the end of another one, after nothing but words."""
    *before, last = tree.below(node)
    if not before or last < tree.terminals or _name(tree, last) != NP or max(before) >= tree.terminals:
        return
    if not _is_coordination(tree, last):
        tree.delete(last)
    elif not any(_name(tree, child) in NOUNS for child in before):  # or else it is an apposition
        _make_nominal(tree, last)


def _mark_modifiers(tree: EditedTree, node: int) -> None:
    """Make noun phrases before a noun NML, and dissolve them if they have one word; possessive ones stay."""
    siblings = tree.below(node)
    for child in [x for x in siblings if x >= tree.terminals and _name(tree, x) == NP]:
        names = [_name(tree, sibling) for sibling in siblings[siblings.index(child) + 1 :]]
        noun = next((at for at, name in enumerate(names) if name in NOUNS), None)
        is_possessive = _names(tree, child)[-1] == POSSESSIVE
        if noun is None or is_possessive or any(name in SEPARATORS for name in names[:noun]):
            continue
        if _has_one_word(tree, child):
            tree.delete(child)
        else:
            _make_nominal(tree, child)


def _make_nominal(tree: EditedTree, node: int) -> None:
    """Make a noun phrase an NML, and so its conjuncts and theirs."""
    waiting = [node]
    for phrase in waiting:  # grows while we walk it
        tree.set_value(phrase, "cat", NML)
        tree.set_value(phrase, "edge", NONE)
        if _is_coordination(tree, phrase):
            waiting += [child for child in tree.below(phrase) if _name(tree, child) == NP]


def _flatten_conjuncts(tree: EditedTree, node: int) -> None:
    """Dissolve the conjuncts of a coordination if each of them has one word."""
    if _name(tree, node) not in (NP, NML, ADJP, UCP) or "CC" not in _names(tree, node):
        return
    phrases = [child for child in tree.below(node) if child >= tree.terminals]
    if all(_has_one_word(tree, child) and _name(tree, child) in (NP, NML, ADJP) for child in phrases):
        for child in phrases:
            tree.delete(child)
