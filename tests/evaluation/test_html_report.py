"""The HTML report: well-formed, self-contained, and it says what the score says."""

from html.parser import HTMLParser

from support.scoring import GOLD, PREDICTED

from discotree.evaluation.analysis import Analysis, bootstrap
from discotree.evaluation.parseval import evaluate
from discotree.evaluation.report import html
from discotree.trees.tree import Tree


class Checker(HTMLParser):
    VOID = frozenset({"meta", "rect", "line"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.sources: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.sources += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.seen.append(data)


def report() -> Checker:
    analysis = Analysis()
    score = evaluate(GOLD, PREDICTED, observe=analysis)
    other = evaluate(GOLD, GOLD)
    checker = Checker()
    checker.feed(
        html(
            "a & b",
            {"all": score, "disc.": score.discontinuous},
            analysis,
            {"all": bootstrap(score, other, samples=50)},
        )
    )
    checker.close()
    return checker


def test_every_element_is_closed_and_nothing_is_fetched() -> None:
    checker = report()
    assert checker.open == []
    assert checker.sources == []


def test_it_says_what_the_score_says() -> None:
    seen = report().seen
    score = evaluate(GOLD, PREDICTED)
    assert f"{score.f1:.2f}" in seen
    assert "a & b" in seen
    assert any("NP: a … b" in text for text in seen)


def test_words_cannot_break_out_of_the_page() -> None:
    gold = Tree.parse("(ROOT (<b> (NN 0=<script>alert#LRB#1#RRB#</script>) (NN 1=b)))", "<i>")
    predicted = Tree.parse("(ROOT (X (NN 0=<script>alert#LRB#1#RRB#</script>) (NN 1=b)))", "<i>")
    analysis = Analysis()
    score = evaluate([gold], [predicted], observe=analysis)
    page = html("<u>", {"all": score}, analysis)
    for tag in ("<script", "<b>", "<i>", "<u>"):
        assert tag not in page
