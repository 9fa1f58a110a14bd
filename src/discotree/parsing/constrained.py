"""Trees of one sentence under constraints: the search, phrases over single words, and conflicts."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from discotree.decoding.constrained import MAX_STEPS, ConstrainedSearch
from discotree.decoding.decode import Decoded
from discotree.decoding.trees import LEAST, TreeBuilder
from discotree.errors import ConstraintError, InputError, expected
from discotree.log import logger
from discotree.network.scores import Auxiliary, Scores
from discotree.trees.constraints import Constraint, IsConstituent, WordHas, describe, impose
from discotree.trees.tree import Token, Tree

UNARY = "unary"  # the auxiliary head for phrases over single words
USUAL_WORDS = 30  # longer sentences have fewer steps, because each takes more time
STEPS_PER_TREE = 50  # more steps for every further tree
CONFLICT_STEPS = 200  # steps to find out whether some of the constraints conflict


class ConstrainedParse:
    """The trees of one sentence under constraints."""

    def __init__(
        self,
        tokens: Sequence[Token],
        constraints: Sequence[Constraint],
        search: ConstrainedSearch,
        builder: TreeBuilder,
    ) -> None:
        """Raises InputError for a label that the model does not have."""
        self.tokens, self.constraints, self.search, self.builder = tokens, constraints, search, builder
        self.forms = [token.form for token in tokens]
        for one in constraints:
            if isinstance(one, IsConstituent) and not search.is_root(one):
                chains = search.chains if len(one.words) > 1 else builder.unaries
                known = sorted({label for chain in chains for label in chain})
                if not known or one.label not in (*known, None):
                    words = "more than one word" if len(one.words) > 1 else "a single word"
                    reason = f"the model does not have this label over {words}{expected(one.label, known)}"
                    raise InputError(f"{describe(one, self.forms)}: {reason}")

    @property
    def is_structural(self) -> bool:
        """Whether there is more to satisfy than tags, functions and phrases over single words."""
        return any(one.head is not None if isinstance(one, WordHas) else len(one.words) > 1 for one in self.constraints)

    def search_for(self, k: int, max_steps: int | None = None) -> list[Decoded]:
        """Return the k best trees, fewer if there are fewer; raises ConstraintError if there is none."""
        steps = (max_steps or MAX_STEPS) * USUAL_WORDS // max(USUAL_WORDS, len(self.tokens)) + STEPS_PER_TREE * (k - 1)
        decoded = self.search.best(self.constraints, k, steps)
        if not decoded and self.search.exhausted:
            raise InputError(f"no tree was found in {2 * steps:,} steps; use fewer constraints")
        if not decoded:
            raise self._conflict()
        if self.search.exhausted:
            logger.warning("the tree satisfies the constraints, but may not be the best: stopped after %d steps", steps)
        return decoded

    def trees(self, decoded: Sequence[Decoded], scores: Scores, id: str) -> list[Tree]:
        """Return the trees without duplicates, with the tags, functions and single-word phrases of the constraints."""
        chains = self._chains(self.constraints)
        if not all(chains.values()):
            raise self._conflict()
        if UNARY in scores.auxiliary:
            predicted = scores.auxiliary[UNARY]
            classes, logs = predicted.classes.copy(), predicted.log_probability.copy()
            for word, fitting in chains.items():
                if classes[0, word] not in fitting:
                    classes[0, word] = fitting[0]
                    logs[0, word] = np.log1p(-min(np.exp(logs[0, word]), 1 - LEAST))  # the most that is left for it
            scores = replace(scores, auxiliary={**scores.auxiliary, UNARY: Auxiliary(classes, logs)})
        trees = [self.builder.trees([self.tokens], one, scores, [id])[0] for one in decoded]
        return list(dict.fromkeys(impose(tree, self.constraints) for tree in trees))

    def _chains(self, constraints: Sequence[Constraint]) -> dict[int, list[int]]:
        """Return the chains of phrases, most frequent first, for every single word that constraints are about."""
        chains: dict[int, list[int]] = {}
        known = self.builder.unaries or [()]
        for one in constraints:
            if not isinstance(one, WordHas) and len(one.words) == 1 and not self.search.is_root(one):
                having = {k for k, chain in enumerate(known) if (chain if one.label is None else one.label in chain)}
                fitting = having if isinstance(one, IsConstituent) else {*range(len(known))} - having
                chains[one.words[0]] = sorted(fitting.intersection(chains.get(one.words[0], fitting)))
        return chains

    def _conflict(self) -> ConstraintError:
        """Return the error for constraints that no tree satisfies, with as few of them as possible."""
        conflicting = minimal(self.constraints, self._is_impossible)
        names = " and ".join(describe(constraint, self.forms) for constraint in conflicting)
        several = len(conflicting) > 1
        problem = "conflicting constraints" if several else "no tree of this model satisfies the constraint"
        return ConstraintError(f"{problem}: {names}", conflicting)

    def _is_impossible(self, constraints: Sequence[Constraint]) -> bool:
        if not all(self._chains(constraints).values()):
            return True
        return not self.search.best(constraints, 1, CONFLICT_STEPS, penalise=False) and not self.search.exhausted


def minimal(constraints: Sequence[Constraint], is_impossible: Callable[[list[Constraint]], bool]) -> list[Constraint]:
    """Return impossible constraints that are possible without any one of them, given some that are impossible."""
    remaining = list(constraints)
    for constraint in constraints:
        others = [other for other in remaining if other is not constraint]
        if is_impossible(others):
            remaining = others
    return remaining
