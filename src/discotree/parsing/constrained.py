"""Trees of one sentence under constraints: constraints → requirements of the search → trees that satisfy them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_

import numpy as np

from discotree.decoding.constrained import MAX_STEPS, ConstrainedSearch, Requirements
from discotree.decoding.decode import Decoded
from discotree.decoding.trees import TreeBuilder
from discotree.errors import ConstraintError, InputError, expected
from discotree.log import logger
from discotree.network.scores import UNARY, Auxiliary, Scores
from discotree.network.vocab import Vocab
from discotree.trees.constraints import (
    Constraint,
    IsConstituent,
    NotConstituent,
    WordHas,
    check_constraints,
    constraints_of,
    describe,
    impose,
)
from discotree.trees.tree import NONE, Token, Tree

Constraints = Sequence[Constraint] | Tree
"""The constraints on one sentence, or a partial tree of it."""

STEPS_PER_TREE = 50  # more steps for every further tree
CONFLICT_STEPS = 200  # steps to find out whether some of the constraints conflict


def as_list(constraints: Constraints, forms: Sequence[str]) -> list[Constraint]:
    """Return the constraints on a sentence, which are checked as far as this is possible without a model."""
    if isinstance(constraints, Tree):
        for position, (form, word) in enumerate(zip(constraints.words, forms, strict=False)):
            if form != word:
                raise InputError(f"word {position} is {word!r}, but {form!r} in the partial tree")
        if len(constraints.tokens) != len(forms):
            raise InputError(f"the sentence has {len(forms)} words, but its partial tree {len(constraints.tokens)}")
        constraints = constraints_of(constraints)
    listed = list(constraints)
    check_constraints(listed, forms)
    return listed


class ConstrainedParse:
    """The trees of one sentence under constraints, given its scores."""

    def __init__(
        self,
        tokens: Sequence[Token],
        constraints: Sequence[Constraint],
        scores: Scores,
        vocab: Vocab,
        search: ConstrainedSearch,
        builder: TreeBuilder,
    ) -> None:
        """Raises InputError for an unknown label, ConstraintError for conflicts about a single word."""
        self.tokens, self.constraints, self.scores, self.vocab = tokens, constraints, scores, vocab
        self.search, self.builder = search, builder
        self.forms = [token.form for token in tokens]
        self.everything = (1 << len(tokens)) - 1
        self._check_labels()
        self.required = self._requirements(constraints)
        unaries = self._unaries(constraints)
        if unaries is None:
            raise self._conflict()
        self.unaries = unaries

    def search_for(self, k: int) -> list[Decoded]:
        """Return the k best trees, fewer if there are fewer; raises ConstraintError if there is none."""
        steps = MAX_STEPS + STEPS_PER_TREE * (k - 1)
        decoded = self.search.best(self.required, k, steps)
        if not decoded and self.search.exhausted:
            raise InputError(f"no tree that satisfies the constraints was found in {2 * steps:,} steps; use fewer")
        if not decoded:
            raise self._conflict()
        if self.search.exhausted:
            logger.warning("the tree satisfies the constraints, but may not be the best: stopped after %d steps", steps)
        return decoded

    def trees(self, decoded: Sequence[Decoded], ids: Sequence[str]) -> list[Tree]:
        """Return different trees, with the tags and functions of the constraints."""
        scores = self._with_classes()
        trees = [self.builder.trees([self.tokens], one, scores, ids)[0] for one in decoded]
        return list(dict.fromkeys(impose(tree, self.constraints) for tree in trees))

    def _is_root(self, constraint: IsConstituent | NotConstituent) -> bool:
        """Return whether the root alone decides about a constraint."""
        return _mask(constraint) == self.everything and constraint.label in (None, self.vocab.root)

    def _check_labels(self) -> None:
        """Raise InputError for a label that the model does not have, or not for so many words."""
        phrases = {label for chain in self.search.chains for label in chain}
        single = {label for chain in self.builder.unaries for label in chain}
        for constraint in self.constraints:
            if isinstance(constraint, WordHas) or self._is_root(constraint):
                continue
            known = phrases if len(constraint.words) > 1 else single
            label = constraint.label
            if isinstance(constraint, IsConstituent) and (label not in known if label is not None else not known):
                if label in phrases or label is None:
                    reason = f"the model has no {label or 'constituent'} over a single word"
                elif label in single:
                    reason = f"the model has {label} over a single word only"
                else:
                    reason = f"the model does not have the label {label!r}{expected(label, sorted(known))}"
                raise InputError(f"{describe(constraint, self.forms)}: {reason}")

    def _requirements(self, constraints: Sequence[Constraint]) -> Requirements:
        phrases: dict[int, frozenset[str]] = {}
        not_phrases, heads = [], {}
        for constraint in constraints:
            if isinstance(constraint, WordHas):
                if constraint.head is not None:
                    heads[constraint.position] = constraint.head
            elif len(constraint.words) > 1 and not self._is_root(constraint):
                mask, label = _mask(constraint), constraint.label
                if isinstance(constraint, NotConstituent):
                    not_phrases.append((mask, label))
                else:
                    phrases[mask] = phrases.get(mask, frozenset()) | ({label} if label is not None else frozenset())
        return Requirements(phrases, not_phrases, heads)

    def _unaries(self, constraints: Sequence[Constraint]) -> dict[int, int] | None:
        """Return the phrases over the single words that constraints are about; None if there are none for a word."""
        allowed: dict[int, np.typing.NDArray[np.bool_]] = {}
        chains = self.builder.unaries or [()]
        for constraint in constraints:
            if isinstance(constraint, WordHas) or (len(constraint.words) > 1 and not self._is_root(constraint)):
                continue
            wanted = isinstance(constraint, IsConstituent)
            if self._is_root(constraint):
                if not wanted:
                    return None
                continue
            fits = [
                (bool(chain) if constraint.label is None else constraint.label in chain) == wanted for chain in chains
            ]
            (word,) = constraint.words
            allowed[word] = allowed.get(word, np.ones(len(chains), bool)) & np.array(fits)
        if not all(classes.any() for classes in allowed.values()):
            return None
        if UNARY not in self.scores.auxiliary:
            return {}
        scores = self.scores.auxiliary[UNARY].all_classes
        assert scores is not None
        return {word: int(np.where(fits, scores[0, word], -np.inf).argmax()) for word, fits in allowed.items()}

    def _with_classes(self) -> Scores:
        """Return the scores with the phrases over single words and the tags of constraints as the predicted ones."""
        auxiliary = dict(self.scores.auxiliary)
        chosen: dict[str, dict[int, int]] = {UNARY: self.unaries, "tag": {}, "morph": {}}
        for constraint in self.constraints:
            if isinstance(constraint, WordHas) and constraint.tag and "tag" in auxiliary:
                position, number = constraint.position, self.vocab.outputs["tag"].ids.get(constraint.tag)
                if number is not None and auxiliary["tag"].classes[0, position] != number:
                    chosen["tag"][position] = number
                    if "morph" in auxiliary and NONE in self.vocab.outputs["morph"].ids:
                        chosen["morph"][position] = self.vocab.outputs["morph"].ids[NONE]  # predicted for another tag
        for head, classes in chosen.items():
            if classes:
                old = auxiliary[head]
                new, probability = old.classes.copy(), old.log_probability.copy()
                for word, number in classes.items():
                    new[0, word] = number
                    probability[0, word] = 0.0 if old.all_classes is None else old.all_classes[0, word, number]
                auxiliary[head] = Auxiliary(new, probability, old.all_classes)
        return replace(self.scores, auxiliary=auxiliary)

    def _conflict(self) -> ConstraintError:
        """Return the error for constraints that no tree satisfies, with as few of them as possible."""
        conflicting = minimal(self.constraints, self._is_impossible)
        names = [describe(constraint, self.forms) for constraint in conflicting]
        if len(names) == 1:
            return ConstraintError(f"no tree of this model satisfies the constraint: {names[0]}", conflicting)
        return ConstraintError(f"conflicting constraints: {', '.join(names[:-1])} and {names[-1]}", conflicting)

    def _is_impossible(self, constraints: Sequence[Constraint]) -> bool:
        if self._unaries(constraints) is None:
            return True
        required = self._requirements(constraints)
        return not self.search.best(required, 1, CONFLICT_STEPS, penalise=False) and not self.search.exhausted


def minimal(
    constraints: Sequence[Constraint], is_impossible: Callable[[Sequence[Constraint]], bool]
) -> list[Constraint]:
    """Return impossible constraints that are possible without any one of them, given some that are impossible."""
    remaining = list(constraints)
    for constraint in constraints:
        others = [other for other in remaining if other is not constraint]
        if is_impossible(others):
            remaining = others
    return remaining


def _mask(constraint: IsConstituent | NotConstituent) -> int:
    return reduce(or_, (1 << position for position in constraint.words))
