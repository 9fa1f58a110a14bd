"""The vocabulary of a model: words, characters, tags and labels, and their ids.

It is built from training trees alone; words of dev and test enter only where pretrained vectors know them. Words have 0
for every digit, characters do not.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from discotree.encoding.dependencies import JOINER, Dependencies, spines, split_chain, split_level
from discotree.encoding.lemmas import LemmaRules, composed
from discotree.errors import ModelError
from discotree.trees.tree import FUNCTION, MORPH, NONE

PADDING = 0  # id of a missing character
UNKNOWN = 0  # id of unknown words and tags
UNKNOWN_CHAR = 1
MAX_SYMBOL_CHARS = 1000  # labels, tags, functions and morphology: trees repeat them for every word
MAX_CHAIN = 100  # phrases that one label or unary may stand for
SPINE = "spine"  # the auxiliary head that no tree shows
_DIGIT = re.compile(r"\d")


def normalized(form: str) -> str:
    """Return a word as the vocabulary has it: with 0 for every digit, and letters with accents as one character."""
    return _DIGIT.sub("0", composed(form))


@dataclass
class Alphabet:
    """Symbols and their ids; the first ids may be reserved, such as that of unknown words."""

    symbols: list[str]
    reserved: int = 0
    ids: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.ids = dict(zip(self.symbols, range(self.reserved, len(self)), strict=True))
        if len(self.ids) != len(self.symbols):
            raise ModelError("a symbol stands twice in an alphabet, expected distinct ones")

    def __len__(self) -> int:
        return self.reserved + len(self.symbols)

    def __getitem__(self, number: int) -> str:
        return self.symbols[number - self.reserved]

    def extended(self, other: "Alphabet") -> "Alphabet":
        """Return this alphabet with the new symbols of another one at its end."""
        return Alphabet(self.symbols + [symbol for symbol in other.symbols if symbol not in self.ids], self.reserved)


@dataclass
class Vocab:
    """All alphabets, the usual functions of head children, and the rules for lemmas."""

    words: Alphabet  # 0: unknown
    singletons: frozenset[str]  # words that occur once in training
    chars: Alphabet  # 0: padding, 1: unknown
    tags: Alphabet  # input tags; 0: unknown
    labels: Alphabet  # arc labels: NP#2
    outputs: dict[str, Alphabet]  # classes by auxiliary head: tag, morph, function, unary, spine
    head_functions: dict[str, str]  # "parent child" → the most frequent function of such a head child
    root: str
    lemmas: LemmaRules | None = None

    def __post_init__(self) -> None:
        chains = [*self.labels.symbols, *(self.outputs["unary"].symbols if "unary" in self.outputs else ())]
        named = [alphabet.symbols for head, alphabet in self.outputs.items() if head != SPINE]
        scripts = chain.from_iterable(self.lemmas.scripts if self.lemmas else ())
        for symbol in chain(chains, *named, scripts, self.tags.symbols, self.head_functions.values(), [self.root]):
            if len(symbol) > MAX_SYMBOL_CHARS:
                raise ModelError(f"a symbol of {len(symbol):,} characters, expected at most {MAX_SYMBOL_CHARS:,}")
        for symbol in chains:
            if symbol.count(JOINER) >= MAX_CHAIN:
                raise ModelError(f"the label {symbol!r:.50} is a chain of more than {MAX_CHAIN} phrases")

    @classmethod
    def build(
        cls,
        trees: Sequence[Dependencies],
        heads: Sequence[str] = (),
        tags: Iterable[Sequence[str]] = (),
        also: Iterable[str] = (),
        pretrained: Callable[[str], bool] = lambda _: False,
        ignored: Sequence[Collection[str]] = (),
    ) -> "Vocab":
        """Build the vocabulary of training trees.

        ``heads`` are the auxiliary heads, ``tags`` those that the network looks at. Further words, ``also``, are added
        where ``pretrained`` says that there is a vector for them. ``ignored`` holds for every tree the auxiliary heads
        that learn nothing from it.
        """
        words: Counter[str] = Counter()
        chars: set[str] = set()
        labels: Counter[str] = Counter()
        outputs: dict[str, Counter[str]] = {head: Counter() for head in heads}
        pairs: dict[str, Counter[str]] = {}
        roots: Counter[str] = Counter()
        for tree, without in zip(trees, ignored or [()] * len(trees), strict=True):
            words.update(normalized(token.form) for token in tree.tokens)
            for token in tree.tokens:
                chars.update(composed(token.form))
            labels.update(tree.labels)
            roots[tree.root] += 1
            for head in heads:
                if head not in without:
                    outputs[head].update(targets(tree, head))
            if "function" in heads and "function" not in without:
                untagged = replace(tree, tokens=tuple(token._replace(tag=NONE) for token in tree.tokens))
                pairs_of_tags = () if "tag" in without else head_functions(tree)
                for pair, function in chain(pairs_of_tags, head_functions(untagged)):
                    pairs.setdefault(pair, Counter())[function] += 1
        input_tags = sorted({tag for row in tags for tag in row})
        further = {normalized(word) for word in also if pretrained(word)} - words.keys()
        return cls(
            words=Alphabet(_by_count(words) + sorted(further), 1),
            singletons=frozenset(word for word, count in words.items() if count == 1),
            chars=Alphabet(sorted(chars), 2),
            tags=Alphabet(input_tags, 1),
            labels=Alphabet(_by_count(labels)),
            outputs={head: Alphabet(_by_count(counts)) for head, counts in outputs.items()},
            head_functions={pair: _by_count(counts)[0] for pair, counts in sorted(pairs.items())},
            root=_by_count(roots)[0],
        )

    def with_lemmas(
        self,
        trees: Sequence[Dependencies],
        ignored: Sequence[Collection[str]] = (),
        lexicon: Iterable[tuple[str, str, str]] = (),
    ) -> "Vocab":
        """Return this vocabulary with rules for lemmas, if the model has tags.

        The rules are learned from the trees whose tags the model learns, and from a ``lexicon`` of words, tags and
        lemmas. They depend on the words that the model knows, so the vocabulary must be complete.
        """
        if "tag" not in self.outputs and not self.tags.symbols:
            return self
        pairs = zip(trees, ignored or [()] * len(trees), strict=True)
        tagged = [tree for tree, without in pairs if "tag" not in without]
        return replace(self, lemmas=LemmaRules.learn(tagged, self.words.ids, lexicon))

    def extended(self, other: "Vocab") -> "Vocab":
        """Return this vocabulary with the new symbols of another one; existing ids do not change.

        The auxiliary heads are those of the other one. Of its words that occur once, those that are known here count
        as frequent. Rules for lemmas stay, if there are any.
        """
        known = self.words.ids
        return Vocab(
            words=self.words.extended(other.words),
            singletons=self.singletons | {word for word in other.singletons if word not in known},
            chars=self.chars.extended(other.chars),
            tags=self.tags.extended(other.tags),
            labels=self.labels.extended(other.labels),
            outputs={
                head: self.outputs[head].extended(classes) if head in self.outputs else classes
                for head, classes in other.outputs.items()
            },
            head_functions=other.head_functions | self.head_functions,
            root=self.root,
            lemmas=self.lemmas or other.lemmas,
        )

    @property
    def levels(self) -> list[int]:
        """The levels of all labels: 2 for NP#2."""
        return [split_level(label, self.root)[1] for label in self.labels.symbols]

    def class_counts(self, heads: Iterable[str]) -> dict[str, int]:
        """Return the number of classes of auxiliary heads.

        A head with one class, such as morphology in a treebank without it, has nothing to learn and does not exist.
        """
        counts = {head: len(self.outputs[head]) for head in heads}
        return {head: count for head, count in counts.items() if count > 1}

    def inventory(self) -> dict[str, list[str]]:
        """Return the labels, tags and functions of the training trees, roughly the frequent ones first."""
        labels = [name for label in self.labels.symbols for name in split_level(label, self.root)[0]]
        for chain_of_labels in self.outputs["unary"].symbols if "unary" in self.outputs else []:
            labels += split_chain(chain_of_labels) if chain_of_labels else ()
        tags = self.outputs["tag"].symbols if "tag" in self.outputs else self.tags.symbols
        functions = self.outputs["function"].symbols if "function" in self.outputs else []
        found = {"labels": [*labels, self.root], "tags": tags, "functions": [*functions, *self.head_functions.values()]}
        return {
            kind: [symbol for symbol in dict.fromkeys(symbols) if symbol != NONE] for kind, symbols in found.items()
        }

    def to_json(self) -> str:
        return json.dumps(
            {
                "words": self.words.symbols,
                "singletons": sorted(self.singletons),
                "chars": "".join(self.chars.symbols),
                "tags": self.tags.symbols,
                "labels": self.labels.symbols,
                "outputs": {head: alphabet.symbols for head, alphabet in self.outputs.items()},
                "head_functions": self.head_functions,
                "root": self.root,
                **({"lemmas": self.lemmas.to_table()} if self.lemmas else {}),
            },
            ensure_ascii=False,
            indent=0,
        )

    @classmethod
    def from_json(cls, text: str, where: str) -> "Vocab":
        try:
            table = json.loads(text)
            if not table["labels"] or not all(table["outputs"].values()) or not table["root"]:
                raise ValueError("labels, root or classes are missing")
            return cls(
                words=Alphabet(_strings(table["words"]), 1),
                singletons=frozenset(_strings(table["singletons"])),
                chars=Alphabet(list(str(table["chars"])), 2),
                tags=Alphabet(_strings(table["tags"]), 1),
                labels=Alphabet(_strings(table["labels"])),
                outputs={str(head): Alphabet(_strings(symbols)) for head, symbols in table["outputs"].items()},
                head_functions={str(pair): str(name) for pair, name in table["head_functions"].items()},
                root=str(table["root"]),
                lemmas=LemmaRules.from_table(table["lemmas"]) if "lemmas" in table else None,
            )
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, ModelError) as error:
            raise ModelError(f"{where}: not a vocabulary: {error!r}") from None


def _strings(value: object) -> list[str]:
    if not isinstance(value, list) or not {*map(type, value)} <= {str}:
        raise TypeError("expected a list of strings")
    return value


def _by_count(counts: Counter[str]) -> list[str]:
    """Sort symbols by descending count, then alphabetically, so that every run gives the same ids."""
    return sorted(counts, key=lambda symbol: (-counts[symbol], symbol))


# Targets of the auxiliary heads


def targets(tree: Dependencies, head: str) -> Sequence[str]:
    """Return the class that an auxiliary head should predict for every word."""
    if head == "tag":
        return [token.tag for token in tree.tokens]
    if head == "morph":
        return [token[MORPH] for token in tree.tokens]
    if head == "unary":
        return tree.unaries or [""] * len(tree.tokens)
    if head == "function":
        return top_functions(tree)
    if head == SPINE:
        return [" ".join(labels) for labels in spines(tree)]
    raise ModelError(f"unknown auxiliary head {head!r}")


def top_functions(tree: Dependencies) -> list[str]:
    """Return for every word the function of the largest phrase that it heads, or its own where it heads none.

    This is the function that the arc to its head stands for. The rest of the spine are head children, whose functions
    hardly vary.
    """
    if not tree.functions:
        return [token[FUNCTION] for token in tree.tokens]
    return [spine[-1] if spine else token[FUNCTION] for spine, token in zip(tree.functions, tree.tokens, strict=True)]


def head_functions(tree: Dependencies) -> Iterable[tuple[str, str]]:
    """Yield for every head child the pair "parent child" and its function."""
    for position, labels in enumerate(spines(tree)):
        token = tree.tokens[position]
        spine = tree.functions[position] if tree.functions else (NONE,) * len(labels)
        children = [token.tag, *labels]
        functions = [token[FUNCTION], *spine]
        for child, function, parent in zip(children, functions, labels, strict=False):
            yield f"{parent} {child}", function
