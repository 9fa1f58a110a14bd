"""Raw text becomes sentences of tokens: nothing is lost, offsets are right, and the treebanks' conventions hold."""

import doctest
import importlib.util
import io
import os
import re
import time
import unicodedata
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.texts import INVISIBLE

import discotree.text
from discotree import ConfigError, read
from discotree.config.recipes import load_recipe
from discotree.text import LANGUAGES, Word, read_pretokenised, sentences, streams
from discotree.text.segmentation import _pattern, convention, tokenise


def parts(*lines: str) -> list[str]:
    return " ".join(lines).split(" ")


FRAGMENTS = parts(
    "'t z'n geht's don't cannot I'd've ’s O’Neill '69 1968-'69 Jenkins' co- -verb Word woord WORD",
    "z.B. a.s. Dr. etc. U.S. 3. J. ... … . ? ! ?! 1.000,50 10.000,- .05 5% €5 US$ 12:30 31-12-1999 1/2 37°C : ;",
    "12 345 678",
    "http://a.b/c?d=e#f, www.x.nl. a.b+c@d-e.org #tag @me \" ' `` '' ,, „ “ ” « » ( ) [ ] { } (werk)dag \"A\"-B x(je)",
    "\u00ad \u200b \u200c \u200d \u200e \u2067 \ufeff \u037e \u0387 - -- – — \u2011",
    "\u0301 e\u0301 =\u0338 \ud800 \x00 \ue000 � ﬁ",
    "漢字。 한국어 देवनागरी العربية 👩\u200d👩\u200d👧 👍🏽 🇳🇱 1\ufe0f\u20e3",
    "😀 🙏 :-) ;-) <3 xD ,, a.b/c-d.pdf ~/x/y C:\\x 8:43 1:30 08/16/2000 x.com/y 1. 2) a) • | $$ >>",
)
WHITESPACE = [
    " ",
    "  ",
    "\n",
    "\r\n",
    "\t",
    "\n\n",
    "\n \n",
    "\f",
    "\u2028",
    "\u2029",
    "\u00a0",
    "\u200a",
    "\x1c",
    "\x85",
]
ANYTHING = st.text(st.characters(exclude_categories=()), max_size=5)  # surrogates, too
PIECES = st.lists(st.sampled_from(FRAGMENTS) | st.sampled_from(WHITESPACE) | ANYTHING, max_size=30)
TEXTS = PIECES.map("".join)
LANGUAGE = st.sampled_from(LANGUAGES)


def forms(text: str, language: str) -> list[str]:
    """The sentences as lines of tokens."""
    return [" ".join(word.form for word in sentence) for sentence in sentences(text, language)]


def is_visible(character: str) -> bool:
    return not character.isspace() and character not in INVISIBLE


def visible(text: str) -> str:
    """The text as its tokens have it: two Greek marks are the same as marks of other languages."""
    return "".join(filter(is_visible, text)).replace("\u037e", ";").replace("\u0387", "·")


def assert_nothing_lost(text: str, found: list[list[Word]]) -> None:
    words = [word for sentence in found for word in sentence]
    covered = [offset for word in words for offset in range(word.start, word.end)]
    assert covered == sorted(set(covered))
    assert {k for k in covered if is_visible(text[k])} == {
        k for k, character in enumerate(text) if is_visible(character)
    }
    assert all(is_visible(text[word.start]) and is_visible(text[word.end - 1]) for word in words)


@given(TEXTS, LANGUAGE, st.booleans())
def test_every_character_belongs_to_one_token(text: str, language: str, lines: bool) -> None:
    found = list(sentences(text, language, lines=lines))
    assert lines or all(found)
    assert_nothing_lost(text, found)
    rules = convention(language)
    for word in (word for sentence in found for word in sentence):
        surface = text[word.start : word.end]
        if rules.penn_quotes and surface == '"':
            assert word.form in ("``", "''")
        else:
            form, mark = rules.forms.get(visible(surface), visible(surface)), rules.contraction_mark
            assert word.form in (form, form + mark, mark + form)
            assert not any(map(str.isspace, surface)) or word.form[0].isdigit()


@given(PIECES, LANGUAGE, st.booleans())
def test_pieces_and_files_give_what_the_string_gives(pieces: list[str], language: str, lines: bool) -> None:
    text = "".join(pieces)
    expected = list(sentences(text, language, lines=lines))
    assert list(sentences(pieces, language, lines=lines)) == expected
    assert list(sentences(io.StringIO(text, newline="\n"), language, lines=lines)) == expected


@given(TEXTS, LANGUAGE)
def test_with_lines_each_line_is_one_sentence(text: str, language: str) -> None:
    found = list(sentences(text, language, lines=True))
    lines = text.split("\n")
    assert len(found) == len(lines) - (lines[-1] == "")
    assert [not sentence for sentence in found] == [not visible(line) for line in lines[: len(found)]]


def test_a_line_of_two_sentences_has_two_full_stops() -> None:
    (words,) = sentences("Hij komt. Zij gaat.", "nl", lines=True)
    assert [word.form for word in words] == ["Hij", "komt", ".", "Zij", "gaat", "."]


@given(TEXTS)
def test_tokenised_text_keeps_its_tokens(text: str) -> None:
    found = list(read_pretokenised(text))
    lines = text.removesuffix("\n").split("\n") if text else []
    stripped = [line.strip(" \t\r") for line in lines]
    expected = [re.split(r"[ \t\r]+", line) if line else [] for line in stripped]
    assert [[word.form for word in sentence] for sentence in found] == expected
    assert all(word.form == text[word.start : word.end] for sentence in found for word in sentence)
    assert list(read_pretokenised(streams.lines_of(text))) == found


def test_tokenised_lines_may_come_without_their_ends() -> None:
    assert list(read_pretokenised(["a  b", "", "c\td\n"])) == [
        [Word("a", 0, 1), Word("b", 3, 4)],
        [],
        [Word("c", 4, 5), Word("d", 6, 7)],
    ]


# One line of text, then its sentences with | between them.
AT_WORK = {
    "nl": r"""
Dr. J. v.d. Berg kwam a.s. dinsdag om 10.30 uur. Hij betaalde f 10.000,- of € 5,50 (5%).
Dr. J. v.d. Berg kwam a.s. dinsdag om 10.30 uur .|Hij betaalde f 10.000,- of € 5,50 ( 5 % ) .
't Is zo'n 20 graden in 's-Gravenhage; z'n auto's staan er. 's Avonds niet, in '69.
't Is zo'n 20 graden in 's-Gravenhage ; z'n auto's staan er .|'s Avonds niet , in '69 .
"Ja!" riep hij. "Dat is zo." Hij zei: het wordt niets. '' Nu wel.
" Ja ! " riep hij .|" Dat is zo . "|Hij zei : het wordt niets . ''|Nu wel .
Binnen- en buitenland, N.-Br., de a.r.-fractie, 1968-'69, -3 graden... Einde?!
Binnen- en buitenland , N.-Br. , de a.r.-fractie , 1968-'69 , -3 graden ...|Einde ? !
De (werk)dag en het bezwaar(tje), en/of R&D (soc.), enz. Nu niet.
De (werk)dag en het bezwaar(tje) , en/of R&D ( soc. ) , enz.|Nu niet .
Mail jan@voorbeeld.nl of zie www.voorbeeld.nl/pad. #tag @mij http://a.nl/b?c=d#e.
Mail jan@voorbeeld.nl of zie www.voorbeeld.nl/pad .|#tag @mij http://a.nl/b?c=d#e .
Dat gaat te ver. Dat zei Jan. Op 12 jan. 1970 was het (echt waar!) Zondag. altijd. natuurlijk.
Dat gaat te ver .|Dat zei Jan .|Op 12 jan. 1970 was het ( echt waar ! ) Zondag . altijd .|natuurlijk .
""",
    "nl-alpino": r"""
Hij zei: het wordt niets; dat is zo.
Hij zei :|het wordt niets ;|dat is zo .
""",
    "de": r"""
Wie geht's? Poor's und O'Neill haben 'ne Frage, z.B. am 3. Oktober 2009. Die Zahl fehlt.
Wie geht 's ?|Poor's und O'Neill haben 'ne Frage , z.B. am 3. Oktober 2009 .|Die Zahl fehlt .
Dr. Müller zahlt 1'200,50 Fr. bzw. US$ 5. Die Industrie- und Handelskammer, der "Alumni"-Verein.
Dr. Müller zahlt 1'200,50 Fr. bzw. US$ 5 .|Die Industrie- und Handelskammer , der "Alumni"-Verein .
„Ich komme.“ »So ist es.« Diese (scheinbare!) Gleichheit trügt, d. h. der Fisch e. V. stinkt.
„ Ich komme . “|» So ist es . «|Diese ( scheinbare ! ) Gleichheit trügt , d. h. der Fisch e. V. stinkt .
Dazu: Fisch. Ich habe heute einen Fisch: Er ist 3 km/h schnell um 15:30 Uhr usw. Das war's.
Dazu : Fisch .|Ich habe heute einen Fisch :|Er ist 3 km/h schnell um 15:30 Uhr usw.|Das war 's .
""",
    "en": r"""
Don't say you can't; it's John's (really). "Yes," he said. She cannot go. CAN'T I?
Do n't say you ca n't ; it 's John 's -LRB- really -RRB- .|`` Yes , '' he said .|She can not go .|CA N'T I ?
Mid1-dependent anti-HA X-ray, Ca2+/K+ [12,13] rose 2-fold to 1,000 mg/kg (P < .05) at 37°C.
Mid1 - dependent anti-HA X-ray , Ca2 + / K + [ 12 , 13 ] rose 2-fold to 1,000 mg / kg -LRB- P < .05 -RRB- at 37 °C .
See Smith et al. 2003 in the U.S. Army, Fig. 1A and no. BK1. mRNA and p53 are here. It is B, etc. So.
See Smith et al. 2003 in the U.S. Army , Fig. 1A and no. BK1 .|mRNA and p53 are here .|It is B , etc.|So .
A. Plot for volume. 1. Mice were (see the text. It is long.) bred. (So it is.) He's "in".
A. Plot for volume .|1. Mice were -LRB- see the text . It is long . -RRB- bred .|-LRB- So it is . -RRB-|He 's `` in '' .
""",
    "en-wsj": r"""
The so-called "cross-border" deal (worth $1.5 billion) {x} didn't close -- and/or 1/2.
The so-called `` cross-border '' deal -LRB- worth $ 1.5 billion -RRB- -LCB- x -RCB- did n't close -- and/or 1/2 .
""",
    "is": r"""
Hv. þingmaður kom kl. 10. Það er t.d. 3. gr. laga nr. 16/1983 o.s.frv. Já.
Hv. þingmaður kom kl. 10 .|Það er t.d. 3. gr. laga nr. 16/1983 o.s.frv.|Já .
""",
    "fo": r"""
Í fyrstuni var orðið, og hr. Dam kom t.d. kl. 10. Hann segði tað.
Í fyrstuni var orðið , og hr. Dam kom t.d. kl. 10 .|Hann segði tað .
""",
    "fro": r"""
Des faictz du roy, l'en dist l’enfant aujourd'huy au chastel .iii. fois; d'el ne l'a veu «Oïl».
D@ @es faictz d@ @u roy , l'en dist l’ enfant aujourd' huy a@ @u chastel .iii. fois ;|d' el ne l' a veu << Oïl >> .
""",
    "yi": r"""
er iz oyfn tish hn"l, un' zi hot zikh tsum gebet-bukh gezetst; oyb ikh bin. zi geyt!
er iz oyf@ @n tish hn"l , un' zi hot zikh tsu@ @m gebet-bukh gezetst ;|oyb ikh bin .|zi geyt !
""",
    "es": r"""
El Dr. Pérez llegó al 3.2% del PIB (2009-2011), etc. ¿Qué hizo? Desempeñarse con un(a) coordinador(a).
El Dr. Pérez llegó al 3.2 % del PIB ( 2009-2011 ) , etc.|¿ Qué hizo ?|Desempeñarse con un(a) coordinador(a) .
""",
    "grc": r"""
ὁ δὲ ἀπ’ αὐτοῦ εἶδεν· τίς βλέπει; καὶ εἶπεν αὐτοῖς Ἀλλ’ ἔρχομαι, λέγων. τότε ἦλθεν.
ὁ δὲ ἀπ’ αὐτοῦ εἶδεν ·|τίς βλέπει ;|καὶ εἶπεν αὐτοῖς Ἀλλ’ ἔρχομαι , λέγων .|τότε ἦλθεν .
""",
    "de-early": r"""
Gott/ der herr/ sprach zum volck // vnd hat ers. Da sprach das volck: wiltu sehen/ was er thut.
Gott / der herr / sprach zum volck // vnd hat er s .|Da sprach das volck : wilt u sehen / was er thut .
""",
}
LINES = {language: block.strip().split("\n") for language, block in AT_WORK.items()}


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [(key, *pair) for key, lines in LINES.items() for pair in zip(lines[::2], lines[1::2], strict=True)],
)
def test_conventions(language: str, text: str, expected: str) -> None:
    assert forms(text, language) == expected.split("|")


def test_empty_lines_end_sentences_and_breaks_of_wrapped_lines_do_not() -> None:
    assert forms("Kop\n\nEen zin\ndie doorloopt. Nog een", "nl") == ["Kop", "Een zin die doorloopt .", "Nog een"]


def test_what_belongs_together_in_any_script_stays_together() -> None:
    text = "👩\u200d👩\u200d👧 👍🏽🇳🇱🇩🇪 cafe\u0301's 1\ufe0f\u20e3 =\u0338 x\x00y देवनागरी"
    assert " ".join(forms(text, "nl")) == text.replace("🇳🇱", " 🇳🇱 ")


@pytest.mark.parametrize("language", LANGUAGES)
def test_invisible_characters_leave_the_form_and_stay_in_the_offsets(language: str) -> None:
    text = "\u200bAa Zee\u00adland \u200b is\u200b.\u200e Bb\ufeff Woord.\u2069"
    found = list(sentences(text, language))
    assert [[word.form for word in words] for words in found] == [["Aa", "Zeeland", "is", "."], ["Bb", "Woord", "."]]
    assert text[found[0][1].start : found[0][1].end] == "Zee\u00adland"
    assert list(sentences("\u200b\n\n\u00ad", language)) == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("space", [" ", "\u00a0", "\u2009", "\u202f"])
def test_a_number_with_spaces_between_groups_of_three_digits_is_one_token(language: str, space: str) -> None:
    for number in ("12 345", "1 234 567", "12 345,67", "999 000.5"):
        text = f"Aa {number.replace(' ', space)} bb. Cc {number.replace(' ', space)}."
        words = [word for some in sentences(text, language) for word in some]
        assert [word.form for word in words] == ["Aa", number.replace(" ", ""), "bb", ".", "Cc", words[5].form, "."]
        assert text[words[1].start : words[1].end] == number.replace(" ", space)


@pytest.mark.parametrize(
    "text", ["020 123 456", "0800 123 456", "06 123 456 78", "12 34 56", "2020 100", "12 3456", "12 345 67", "1 2 3",
             "12 345x", "1.5 300", "3, 400", "x12 345"]
)  # fmt: skip
def test_other_digits_with_spaces_between_them_are_several_tokens(text: str) -> None:
    for language in LANGUAGES:
        assert len(forms(f"Aa {text} bb", language)[0].split()) >= 2 + len(text.split())


def test_greek_marks_that_are_the_same_as_other_marks_end_sentences() -> None:
    text = "τί λέγεις\u037e ἔρχομαι\u0387 σὺ μένεις."
    assert forms(text, "grc") == ["τί λέγεις ;", "ἔρχομαι ·", "σὺ μένεις ."]
    assert forms(text, "grc") == forms(unicodedata.normalize("NFC", text), "grc")


ACCENTED = parts("één ëls café's röm. É. Ÿ zo'n . , ? ( ) \" 3. ... u.ä. geht's Är-ger für.")


@given(st.lists(st.sampled_from(ACCENTED)), LANGUAGE)
def test_composed_and_decomposed_letters_are_tokenised_alike(pieces: list[str], language: str) -> None:
    composed = " ".join(pieces)
    whole = [[word.form for word in sentence] for sentence in sentences(composed, language)]
    apart = list(sentences(unicodedata.normalize("NFD", composed), language))
    assert [[unicodedata.normalize("NFC", word.form) for word in sentence] for sentence in apart] == whole


def test_an_unknown_language_is_named_at_once() -> None:
    with pytest.raises(ConfigError, match="'xx'; choose one of de, de-early, en, en-wsj, es, fo, fro, grc, is, nl, nl"):
        sentences("", "xx")
    with pytest.raises(TypeError, match="expected a code such as 'nl', or a Convention, got None"):
        sentences("", None)  # type: ignore[arg-type]


PATTERNS = parts(
    "a._ ... (a._ .\" \"_ a- www. a@ 1, x:_ n't (a) A._B._ 'a .) ._ http:// co- e\u0301 \u200d _",
    '😀 😀_ 😀\u200d !_😀_ :)_ ._"_ a.b- /a ~/a/ 1:30_ -_a~ 1._a~ a~ |~ a,~ A~ a.~B',
)


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_time_is_linear_whatever_the_text(language: str) -> None:
    """A quadratic step would take minutes on these."""
    start = time.process_time()
    for pattern in PATTERNS:
        text = pattern.replace("_", " ").replace("~", "\n") * (10_000 // len(pattern)) + "x" * 10_000 + "."
        assert_nothing_lost(text, list(sentences(text, language)))
    assert time.process_time() - start < 15


def test_the_docstring_runs() -> None:
    result = doctest.testmod(discotree.text)
    assert (result.attempted, result.failed) == (1, 0)


MIN_F1 = {  # of tokens, of sentences
    "alpino": (99.7, 98),
    "pcc": (99.7, 97),
    "squoia_de": (99.5, 93),
    "craft": (99.2, 97.5),
    "icepahc": (99.5, 35),
    "farpahc": (99.9, 20),
    "mcvf_ppchf": (99, 45),
    "ppchy": (99, 1),
    "squoia_es": (99.8, 93),
    "n1904": (99.8, 77),
    "ref_mercurius": (98, 65),
}


@pytest.mark.data
@pytest.mark.parametrize("name", MIN_F1)
def test_treebanks_come_back_from_raw_text(name: str) -> None:
    if "DISCOTREE_DATA" not in os.environ:
        pytest.skip("DISCOTREE_DATA does not name a folder")
    path = Path(__file__).parents[2] / "benchmarks" / "text.py"
    spec = importlib.util.spec_from_file_location("text_benchmark", path)
    assert spec is not None
    assert spec.loader is not None
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    file, recipe = benchmark.TREEBANKS[name]
    language = load_recipe(recipe).language
    first = islice(read(Path(os.environ["DISCOTREE_DATA"], file)), 2_000)
    trees = [(tree.id, list(tree.words)) for tree in first]
    text, gold_sentences, gold_tokens = benchmark.raw_text(trees, language)
    found = list(sentences(text, benchmark.CONVENTIONS.get(name, language)))
    assert_nothing_lost(text, found)
    assert benchmark.f1(gold_tokens, [word[1:] for words in found for word in words]) >= MIN_F1[name][0]
    assert benchmark.f1(gold_sentences, [(words[0].start, words[-1].end) for words in found]) >= MIN_F1[name][1]


LATIN = [text for text in (*FRAGMENTS, *WHITESPACE, "°C", "§", "é", "×") if max(text) <= "\xff"]


@given(st.lists(st.sampled_from(LATIN) | st.characters(max_codepoint=0xFF)))
def test_the_short_expression_finds_the_same_tokens_in_latin_text(fragments: list[str]) -> None:
    text = "".join(fragments)
    for language in LANGUAGES:
        rules = convention(language)
        short, whole = (
            [(match.span(), match.lastgroup) for match in _pattern(rules, latin).finditer(text)]
            for latin in (True, False)
        )
        assert short == whole


@pytest.mark.parametrize("before", ["“", "x” ", "€", "漢"])
@pytest.mark.parametrize("rest", ["'t kan", "-x", "/a/b", "1:30", ":-) a"])
def test_what_stands_before_a_sentence_counts(before: str, rest: str) -> None:
    text, rules = before + rest, convention("nl")
    found = [(word.start, word.end) for word in tokenise(text, len(before), len(text), rules)]
    assert found == [match.span() for match in _pattern(rules, False).finditer(text, len(before))]
