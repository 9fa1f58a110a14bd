"""The models of this checkout: installed, as good as they say, each in a package with a licence of its own."""

import json
import os
import re
from functools import cache
from pathlib import Path
from unicodedata import normalize

import pytest
from model_package import LICENCE_TEXTS, MAX_WHEEL_MB, MODELS, model_folder, notice, project, version_of
from model_sources import ABOUT, ATTRIBUTIONS
from packaging.licenses import canonicalize_license_expression
from support.pages import PROJECT, ROOT

import discotree as dt
from discotree import config
from discotree.models.card import Card
from discotree.models.finding import find, installed, published, tier
from discotree.training.data import load_held_out, resolve
from discotree.trees.tree import format_brackets
from discotree.validation import updated

TEXTS = {
    "nl": ("Ik heb het hem niet kunnen zeggen.", "inf"),
    "de": ("Er hat ein Buch gekauft, das niemand kennt.", "S"),
    "en": ("The mice that we analyzed were fed a normal diet.", "VP"),
    "is": ("Þá sagði hann að konan hafði séð hestinn.", "IP"),
    "fo": ("Hvønn leita tit eftir?", "IP"),
    "es": ("La casa que compraron es muy antigua.", "S"),
    "fro": ("Chevaliers i avoit qui n'osoient issir de la tor.", "CP"),
    "yi": ("vos iz dos far a bukh?", "IP"),
    "grc": ("ἰδὼν δὲ ὁ γεωργὸς τὸν λύκον ἔφυγεν.", "CL"),
    "de-early": ("Das buoch hab ich gelesen.", "VP"),
}
EXAMPLES = {  # in make demo, on the cards and on the web page, with the trees that they should get
    "nl": {
        "Die film heb ik nog nooit gezien.": "(ROOT (smain (ppart (np 0 1) (advp 4 5) 6) 2 3) 7)",
        "Ik heb iemand gezien die op je lijkt.": "(ROOT (smain 0 1 (ppart (np 2 (rel 4 (ssub (pp 5 6) 7))) 3)) 8)",
        "Ik heb het hem niet kunnen zeggen.": "(ROOT (smain 0 1 (inf (inf 2 3 4 6) 5)) 7)",
    },
    "de": {
        "Darauf haben wir uns lange gefreut.": "(ROOT (S (VP 0 3 4 5) 1 2) 6)",
        "Wir haben Freunde besucht, die am Meer wohnen.": "(ROOT (S 0 1 (VP (NP 2 (S 5 (PP 6 7) 8)) 3 4)) 9)",
        "Darüber hat er nie ein Wort verloren.": "(ROOT (S (VP 0 3 (NP 4 5) 6) 1 2) 7)",
    },
    "en": {
        "The dog that we found was very hungry.": (
            "(ROOT (S (NP (NP 0 1) (SBAR (S (VP (WHNP 2) 4) (NP 3)))) (VP 5 (ADJP 6 7)) 8))"
        ),
        "It is possible that the train is late.": (
            "(ROOT (S (NP (NP 0) (SBAR 3 (S (NP 4 5) (VP 6 (ADJP 7))))) (VP 1 (ADJP 2)) 8))"
        ),
        "The train that we took was late.": (
            "(ROOT (S (NP (NP 0 1) (SBAR (S (VP (WHNP 2) 4) (NP 3)))) (VP 5 (ADJP 6)) 7))"
        ),
    },
    "is": {
        "Þá bók hefur hún aldrei lesið.": "(ROOT (IP (NP 0 1) 2 (NP 3) (ADVP 4) 5 6))",
        "Þessu trúi ég ekki.": "(ROOT (IP (NP 0) 1 (NP 2) 3 4))",
        "Þá sagði hann að konan hafði séð hestinn.": ("(ROOT (IP (ADVP 0) 1 (NP 2) (CP 3 (IP (NP 4) 5 6 (NP 7))) 8))"),
    },
    "fo": {
        "Ein maður kom, sum eingin kendi.": "(ROOT (IP (NP 0 1 (CP 4 (IP (NP 5) 6))) 2 3 7))",
    },
    "es": {
        "La casa que compraron es muy antigua.": "(ROOT (S (NP 0 1 (S (NP 2) 3)) 4 (AP (AVP 5) 6) 7))",
    },
    "fro": {
        "Chevaliers i avoit qui n'osoient issir de la tor.": (
            "(ROOT (IP (NP 0 (CP (IP (WNP 3) 4 5 (IP 6 (PP 7 (NP 8 9)))))) (CL 1) 2 10))"
        ),
    },
    "yi": {
        "vos iz dos far a bukh?": "(ROOT (CP (IP (WNP 0 (PP 3 (NP 4 5))) 1 (NP 2) 6)))",
    },
    "grc": {
        "ἰδὼν δὲ ὁ γεωργὸς τὸν λύκον ἔφυγεν.": "(ROOT (CL (CL (CL 0 (NP 4 5)) (NP 2 3) 6) 1) 7)",
    },
    "de-early": {
        "Das buoch hab ich gelesen.": "(ROOT (S (VP (NP 0 1) 4) 2 3) 5)",
    },
}
GALLERY = {  # on the web page only, with the trees of the small models
    "Daar heb ik nog nooit van gehoord.": "(ROOT (smain (ppart (pp 0 5) (advp 3 4) 6) 1 2) 7)",
    "Auf den Bus haben wir eine Stunde gewartet.": "(ROOT (S (VP (PP 0 1 2) (NP 5 6) 7) 3 4) 8)",
    "Wem hast du das Fahrrad geliehen?": "(ROOT (S (VP 0 (NP 3 4) 5) 1 2) 6)",
    '"Heute", sagte er, "bleibe ich zu Hause."': "(ROOT 0 (S (S 1 8 9 (PP 10 11)) 2 3 4 5 6 7) 12 13)",
    "Es kam nichts Interessantes.": "(ROOT (S (NP 0 (NP 2 3)) 1) 4)",  # Figure 1 of the paper
    "What did you buy at the market yesterday?": (
        "(ROOT (SBARQ (SQ (VP (WHNP 0) 3 (PP 4 (NP 5 6)) (NP 7)) 1 (NP 2)) 8))"
    ),
    "You are the only person that I can trust.": (
        "(ROOT (S (NP 0) (VP 1 (NP (NP 2 3 4) (SBAR (S (VP (VP (WHNP 5) 8) 7) (NP 6))))) 9))"
    ),
    "Who are you waiting for?": "(ROOT (SBARQ (SQ (VP (PP (WHNP 0) 4) 3) 1 (NP 2)) 5))",
    "Hvað ert þú að lesa?": "(ROOT (CP (IP (IP (WNP 0) 3 4) 1 (NP 2)) 5))",
}
DOCUMENTED = {  # in the README and the docs, in Dutch or English, with the trees of the small models
    "What are you looking at?": "(ROOT (SBARQ (SQ (VP (PP (WHNP 0) 4) 3) 1 (NP 2)) 5))",
    "She saw the man with the telescope.": "(ROOT (S (NP 0) (VP 1 (NP 2 3) (PP 4 (NP 5 6))) 7))",
    "Who are you?": "(ROOT (SBARQ (SQ (WHNP 0) 1 (NP 2)) 3))",
    "Nobody knows.": "(ROOT (S (NP 0) (VP 1) 2))",
    "De man zag de hond met de verrekijker.": "(ROOT (smain (np 0 1) 2 (np 3 4) (pp 5 (np 6 7))) 8)",
    "Hoe wis ik mijn zoekgeschiedenis?": "(ROOT (whq 0 (sv1 1 2 (np 3 4))) 5)",
    "Zij heeft het boek dat ik haar gaf niet gelezen.": (
        "(ROOT (smain 0 1 (ppart (np 2 3 (rel 4 (ssub 5 6 7))) 8 9)) 10)"
    ),
    "Zij heeft het boek gelezen.": "(ROOT (smain 0 1 (ppart (np 2 3) 4)) 5)",
    "Wie komt er?": "(ROOT (whq 0 (sv1 1 2)) 3)",
    "Niemand.": "(ROOT 0 1)",
    "Daar weet ik niets van.": "(ROOT (smain (pp 0 4) 1 2 3) 5)",
    "Daar weet ik niets van!": "(ROOT (smain (pp 0 4) 1 2 3) 5)",
}
PARSED = re.compile(
    r'(?:parser|nlp|k_best|parse_text|load\([^()]*\)|parse)\(\[?"([^"(]+)"'
    r'|discotree parse "([^"]+)"|"text": "([^"]+)"'
)
ENGLISH_PAGES = ("README.md", "index.md")
MAX_SMALL_MB = 15
NAMES = sorted(path.parent.name for path in MODELS.glob("*/pyproject.toml"))
RESULTS = Path(__file__).parents[2] / "docs" / "lab" / "results"


@cache
def loaded(name):
    return dt.load(name, "cpu")


@pytest.fixture(
    params=[pytest.param(name, marks=[pytest.mark.slow] if name.endswith("-large") else []) for name in NAMES]
)
def parser(request):
    return loaded(request.param)


def test_all_models_are_there_with_their_cards():
    cards = installed()
    assert sorted(cards) == NAMES == sorted(published())
    assert sorted(name for name, card in cards.items() if not card.commercial) == ["de-large", "de-nc", "fro", "yi"]
    for name, card in cards.items():
        page = (find(name) / "README.md").read_text("utf-8")
        assert card.licence in page
        assert f"{card.scores.test.f1:.2f}" in page


def test_text_becomes_a_tree_with_tags_functions_and_confidence(parser):
    text, label = TEXTS[parser.config.language]
    tree = parser(text)
    assert "".join(tree.words) == text.replace(" ", "")
    assert label in {node.label for node in tree.nodes()}
    assert all(token.tag != "--" for token in tree.tokens)
    assert {node.function for node in tree.nodes()} != {"--"}
    assert 0 < tree.confidence <= 1
    assert len(tree.confidences) == sum(1 for _ in tree.nodes())


def test_examples_come_out_right(parser):
    for sentence, tree in EXAMPLES[parser.config.language].items():
        assert repr(parser(sentence).root) == tree, sentence


@pytest.mark.parametrize("language", EXAMPLES)
def test_the_gallery_of_the_page_comes_out_right(language):
    parser = loaded(language)
    gallery = json.loads((Path(dt.__file__).parent / "web" / "page" / "examples.json").read_text("utf-8"))
    for sentence in [sentence for name, _, sentence in gallery if name == language]:
        assert repr(parser(sentence).root) == {**EXAMPLES[language], **GALLERY}[sentence], sentence


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "examples").glob("*.discbracket")), ids=lambda path: path.stem)
def test_the_trees_of_the_page_of_examples_are_those_of_the_model(path):
    parser, page = loaded(path.stem), path.with_suffix(".md").read_text("utf-8")
    for tree in dt.read(path):
        (sentence,) = re.findall(rf"^\| {tree.id.rpartition('/')[2]} \| ([^|]+) \|", page, re.MULTILINE)
        assert tree.id.startswith(f"{path.stem}/")
        parsed = parser(sentence)
        assert format_brackets(parsed.tokens, parsed.root) == format_brackets(tree.tokens, tree.root)


@pytest.mark.parametrize("language", EXAMPLES)
def test_users_see_no_other_examples(language):
    """What make demo and the card show is what the test above checks."""
    *_, third = EXAMPLES[language]
    assert f'parser("{third}")' in (model_folder(language) / "README.md").read_text("utf-8")
    shown = [
        line for line in (ROOT / "Makefile").read_text("utf-8").splitlines() if f"--model {language} --to draw" in line
    ]
    assert all(f'"{third}"' in line for line in shown)


def test_sentences_in_the_docs_come_out_right():
    """Every sentence that a page parses is one of those that are checked, with the small model of its language."""
    parsers = {"nl": loaded("nl"), "en": loaded("en")}
    right = {**DOCUMENTED, **EXAMPLES["nl"], **EXAMPLES["en"]}
    found = set()
    for page in [
        ROOT / "README.md",
        *sorted((ROOT / "docs").glob("*.md")),
        *sorted((ROOT / "docs" / "how").glob("*.md")),
    ]:
        for groups in PARSED.findall(page.read_text("utf-8")):
            text = "".join(groups)
            parser = parsers["en" if page.name in ENGLISH_PAGES else "nl"]
            for words in parser._sentences(text):
                sentence = text[words[0].start : words[-1].end]
                found.add(sentence)
                assert repr(parser(sentence).root) == right.get(sentence), f"{page.name}: {sentence}"
    assert found >= DOCUMENTED.keys()


@pytest.mark.parametrize(
    ("name", "text"), [("grc", "τί ποιεῖς ἐν τῇ ἀγορᾷ;"), ("de", "Das Mädchen läuft über die Straße.")]
)
def test_accents_may_be_characters_of_their_own(name, text):
    parser = loaded(name)
    tree, apart = (parser(normalize(form, text)) for form in ("NFC", "NFD"))
    assert apart.root == tree.root
    assert [token.lemma for token in apart.tokens] == [token.lemma for token in tree.tokens]
    assert apart.words == tuple(normalize("NFD", word) for word in tree.words)


@pytest.mark.filterwarnings("ignore:this text looks like")
def test_a_language_that_a_model_does_not_know_still_gives_trees(parser):
    for text in ("这是一个句子。", "🙂", "x" * 3000, "а б в", "\u200b a", "1 2 3 4"):
        assert "".join(parser(text).words).replace(" ", "")


def test_the_hand_written_dutch_sentences():
    gold = list(dt.read(Path(dt.__file__).parent / "treebanks" / "samples" / "dutch.discbracket"))
    parser = loaded("nl")
    score = dt.evaluate(gold, list(parser.parse(gold)))
    assert score.f1 > 90
    assert score.discontinuous.f1 > 70


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_the_settings_of_published_results_can_be_used(path):
    results = json.loads(path.read_text("utf-8"))
    settings = updated(config.Config(), results["config"], path.name)
    assert settings.name in config.recipes.recipe_names()


@pytest.mark.data
@pytest.mark.parametrize("name", ["nl", "de", "de-nc"])
def test_scores_are_those_of_the_card(name):
    if not os.environ.get("DISCOTREE_DATA"):
        pytest.skip("DISCOTREE_DATA does not say where the treebanks are")
    parser = loaded(name)
    split = load_held_out(resolve(parser.config.data), "test")
    trees = parser._parse_tokens(split.inputs, parser.config.decoding, [tree.id for tree in split.trees])
    score = dt.evaluate(split.trees, trees)
    card = installed()[name].scores.test
    assert score.f1 == pytest.approx(card.f1, abs=0.1)
    assert score.discontinuous.f1 == pytest.approx(card.discontinuous_f1, abs=1)
    every_tenth = split.inputs[::10]
    exact = dt.load(name, "cpu", engine="onnx-float32")._parse_tokens(every_tenth, parser.config.decoding)
    assert dt.evaluate(exact, trees[::10]).f1 > 97  # rounded weights give nearly the same trees


# Packages


@pytest.mark.parametrize("name", NAMES)
def test_the_package_of_a_model_is_what_the_tool_writes(name: str) -> None:
    folder = model_folder(name)
    assert find(name) == folder  # installed from this checkout, where it is: nothing is copied
    card, about = Card.read(folder / "card.json"), ABOUT[name]
    assert (MODELS / name / "pyproject.toml").read_text("utf-8") == project(card, about, version_of(name))
    assert (MODELS / name / "NOTICE").read_text("utf-8") == notice(card, about)
    assert (card.treebanks, card.weaknesses) == (about.treebanks, about.weaknesses)
    assert (card.texts, card.encoders, card.teachers) == (about.texts, about.encoders, about.teachers)
    assert {path.name for path in folder.parent.iterdir()} - {"__pycache__"} == {"__init__.py", "model"}
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert size < (MAX_WHEEL_MB if tier(name) == "large" else MAX_SMALL_MB) * 1e6


def test_what_is_said_of_models_before_they_are_installed_is_what_their_cards_say() -> None:
    assert published().keys() == ABOUT.keys()
    for name in NAMES:
        card, known = Card.read(model_folder(name) / "card.json"), published()[name]
        assert (card.code, card.language) == (known.code, known.language)
        assert (card.licence, card.commercial) == (known.licence, known.commercial)
        assert (card.weaknesses, card.speed) == (known.weaknesses, known.speed)
        size = sum(path.stat().st_size for path in model_folder(name).rglob("*") if path.is_file())
        assert known.megabytes == round(size / 1e6), f"{name}: its size on disk in published.toml"


# Licences


@pytest.mark.parametrize("name", NAMES)
def test_a_model_has_its_licence_and_its_attributions_in_its_package(name: str) -> None:
    card = Card.read(model_folder(name) / "card.json")
    assert canonicalize_license_expression(card.licence) == card.licence
    assert len((MODELS / name / "LICENSE").read_text("utf-8")) > 10_000
    written = (MODELS / name / "NOTICE").read_text("utf-8")
    for treebank in card.treebanks:
        assert treebank.url in written
        assert f"SPDX-License-Identifier: {canonicalize_license_expression(treebank.licence)}" in written


@pytest.mark.parametrize("name", ABOUT)
def test_every_planned_model_can_have_a_package(name: str) -> None:
    model = published()[name]
    assert canonicalize_license_expression(model.licence) == model.licence
    assert LICENCE_TEXTS[model.licence].is_file()
    for treebank in ABOUT[name].treebanks:
        assert canonicalize_license_expression(treebank.licence) == treebank.licence
        assert treebank in ATTRIBUTIONS


def test_the_package_has_the_licences_of_its_parts() -> None:
    parts = {"MIT", "Apache-2.0"}
    assert set(PROJECT["license"].split(" AND ")) == parts
    listed = (ROOT / "NOTICE.md").read_text("utf-8")
    assert all(licence in listed for licence in parts | {model.licence for model in published().values()})
    found = {path for pattern in PROJECT["license-files"] for path in ROOT.glob(pattern)}
    beside = (ROOT / "src").rglob("LICENSE"), (ROOT / "src").rglob("NOTICE")
    assert found == {ROOT / "LICENSE", ROOT / "NOTICE.md", *(path for paths in beside for path in paths)}
