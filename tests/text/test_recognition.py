"""The language of a text is recognised from its frequent words, or is left undecided."""

import subprocess
import sys
from unicodedata import normalize

import pytest

from discotree import read
from discotree.config.recipes import RECIPES
from discotree.text import recognition
from discotree.text.recognition import SAMPLE_CHARACTERS, frequent_words, language_name, recognise, sample_of

SENTENCES = {
    "nl": "Dat boek heeft zij gisteren niet gelezen.",
    "de": "Darüber hat er nie ein Wort verloren.",
    "en": "The mice that we analyzed were fed a normal diet.",
    "is": "Þá sagði hann að konan hafði séð hestinn.",
    "fo": "Og tá segði hann við teir, at konan hevði sæð hestin.",
    "fro": "Li reis vint a la dame et dist que mult ert bele et que il ne savoit mie qui ele estoit.",
    "de-early": "vnd do der kunig das vernam do sprach er zu jm das wil ich nit thun vnnd gieng von dannen",
    "yi": "zi hot im gezogt az er zol nit geyn aher, nor er iz dokh gekumen",
    "grc": "καὶ εἶπεν αὐτοῖς ὁ Ἰησοῦς ὅτι ἐγὼ ἀπέρχομαι πρὸς τὸν πατέρα μου.",
    "fr": "Je ne sais pas ce que tu veux dire, mais ce n’est pas possible.",
    "es": "No sé lo que quieres decir, pero eso no es posible para nosotros.",
    "it": "Non so che cosa vuoi dire, ma questo non è possibile per noi.",
    "sv": "Jag vet inte vad du menar, men det är inte möjligt för oss.",
    "pl": "Nie wiem, co chcesz powiedzieć, ale to nie jest dla nas możliwe.",
}


@pytest.mark.parametrize("code", SENTENCES)
def test_a_sentence_is_recognised(code: str) -> None:
    assert recognise(SENTENCES[code]).language == code
    assert recognise(SENTENCES[code].upper()).language == code
    assert recognise(normalize("NFD", SENTENCES[code])).language == code


@pytest.mark.parametrize("text", ["", "Ja.", "1984", "Angela Merkel, Rotterdam", "in"])
def test_a_short_text_is_undecided(text: str) -> None:
    found = recognise(text)
    assert found.language == ""
    assert not found.excludes("nl")


@pytest.mark.parametrize(
    "text",
    [
        "Привет, как дела? " * 6,
        "דאָס איז אַ גוט בוך.",
        "quousque tandem abutere patientia nostra quamdiu etiam furor iste tuus nos eludet",
    ],
)
def test_a_text_of_unknown_words_is_in_none_of_the_languages(text: str) -> None:
    found = recognise(text)
    assert (found.language, found.best, found.is_foreign) == ("", "", True)
    assert found.excludes("nl")
    assert not found.excludes("xx")  # nobody knows what that looks like


def test_words_with_undecodable_bytes_do_not_count() -> None:
    text = "Das M�dchen l�uft �ber die Stra�e."
    assert recognise(text).scores == recognise("Das die").scores


def test_near_languages_exclude_others_though_not_each_other() -> None:
    found = recognise("Han er ikke her i dag, men jeg ved ikke hvor han er.")  # Danish, or nearly Norwegian
    assert found.language == ""
    assert not found.excludes("da")
    assert found.excludes("nl")


@pytest.mark.parametrize("code", ["nl", "de", "en", "is"])
def test_older_languages_do_not_change_how_others_are_recognised(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [" ".join(tree.words) for tree in read(RECIPES / "everyday" / f"{code}.discbracket")]
    found = [recognise(text).language for text in texts]
    others = {code: known for code, known in frequent_words().items() if not known.yields}
    assert frequent_words().keys() - others.keys() == {"de-early", "fro", "grc", "yi"}
    monkeypatch.setattr(recognition, "frequent_words", lambda: others)
    assert found == [recognise(text).language for text in texts]
    assert found.count(code) > 0.5 * len(found)


def test_short_spanish_sentences_are_recognised() -> None:
    texts = [" ".join(tree.words) for tree in read(RECIPES / "everyday" / "es.discbracket")]
    found = [recognise(text).language for text in texts]
    assert set(found) == {"es", ""}
    assert found.count("es") > 0.75 * len(found)


def test_few_shared_words_do_not_exclude_an_older_language() -> None:
    sentence = "Er ist gut und hat das nicht getan."
    assert recognise(sentence).best == "de"
    assert not recognise(sentence).excludes("de-early")
    assert recognise(
        "Ich habe mich sehr über deinen Brief gefreut, und ich hoffe, dass wir uns im Sommer wieder sehen können."
    ).excludes("de-early")
    assert recognise(sentence).excludes("yi")


def test_only_the_beginning_of_a_text_is_looked_at() -> None:
    dutch = f"{SENTENCES['nl']} " * 100
    assert len(dutch) > SAMPLE_CHARACTERS
    assert recognise(dutch + f"{SENTENCES['en']} " * 1000).language == "nl"

    def pieces() -> "object":
        for number in range(10**9):
            assert number < SAMPLE_CHARACTERS
            yield SENTENCES["nl"]

    assert len(sample_of(pieces())) < 2 * SAMPLE_CHARACTERS  # type: ignore[arg-type]


def test_the_lists_are_small_and_have_names() -> None:
    languages = frequent_words()
    assert {"de", "en", "is", "nl"} < languages.keys()
    for code, known in languages.items():
        assert 150 <= len(known.words) <= 1000, code
        assert language_name(code) == known.name != code
        assert all(word == word.lower() and value < 0 for word, value in known.words.items())
    assert language_name("xx") == "xx"


def test_recognition_imports_neither_torch_nor_numpy() -> None:
    code = "import sys; from discotree.text.recognition import recognise; recognise('x')\n"
    code += "assert not {'torch', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
