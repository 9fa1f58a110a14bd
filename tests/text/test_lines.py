"""Line breaks end sentences where lines stand alone, and not where they are wrapped."""

import textwrap

import pytest

from discotree.text import sentences
from discotree.text.segmentation import convention, split_standalone_lines

# Lines of a paragraph; / is a break that ends no sentence.
ALONE = {
    "nl": [
        "Pannenkoeken|200 g bloem|2 eieren|snufje zout|4 dl melk|Meng alles.",
        "Boodschappen:|- melk|- 6 eieren|- brood van de bakker",
        "Beste Jan,|Morgen kan ik niet komen. Kan het ook/overmorgen?|Groetjes,|Piet",
        "hoi|ben je thuis?|ik kom zo",
        "Naam\tLeeftijd|Jan\t34|Piet\t28",
        "| Naam | Leeftijd ||| Jan | 34 |".replace("|||", "|\n|"),
        "– Kom je mee?|– Nee, vandaag niet.|– Jammer!",
        "Hij woont in/Amsterdam en werkt daar.",
        "Een zin/die doorloopt tot hier",
    ],
    "de": [
        "Einkaufsliste|Milch|Eier|Brot vom Bäcker",
        "Wetter am Montag|Es wird warm und sonnig, mit etwas Regen am Nachmittag.",
        "Ich habe gestern den großen/Hund gesehen, der bellte.",
        "Das war am/3. Oktober, oder am/4. Oktober, das weiß ich nicht mehr.",
        "Sie kam am 5./1. wieder.",
    ],
    "en": [
        "Storm hits coast|Thousands left without power|The storm reached the coast on Monday night and left/thousands"
        " of homes without power, officials said.",
        "1. Preheat the oven.|2. Mix flour and sugar|3. Bake for 20 minutes",
        "• one thing|• another thing",
        "Hi Tom,|See you tomorrow!|Anna",
        "We met Dr./Smith.",
    ],
    "is": ["Innkaupalisti|mjólk|brauð|smjör", "Kæra Anna,|Ég kem á morgun."],
}


@pytest.mark.parametrize(("language", "lines"), [(key, lines) for key, rows in ALONE.items() for lines in rows])
def test_lines_that_stand_alone(language: str, lines: str) -> None:
    if "\n" in lines:  # a table whose rows have bars
        text, expected = lines, lines.split("\n")
    else:
        text, expected = lines.replace("|", "\n").replace("/", "\n"), lines.replace("/", "\n").split("|")
    found = [text[begin:end].strip() for begin, end in split_standalone_lines(text, convention(language))]
    assert found == expected


PROSE = {
    "nl": "Gisteren is de burgemeester van Amsterdam met de trein naar Utrecht gereisd, waar zij met Jan Vis sprak. "
    "Over de plannen - die nog niet af zijn - wilde ze niets zeggen; wel gaf ze toe dat 3 mei te vroeg is. ",
    "de": "Gestern ist die Bürgermeisterin von Hamburg mit dem Zug nach Bremen gefahren, wo sie mit Herrn Mai sprach. "
    "Über die Pläne – die noch nicht fertig sind – wollte sie nichts sagen, auch nicht am 3. Oktober in Berlin. ",
    "en": "Yesterday the Mayor of London took the train to Oxford University, where she met Dr. Smith and Mary Jones. "
    "About the plans - which are not ready yet - she did not want to say anything; May 3 would be too early. ",
}


@pytest.mark.parametrize("language", PROSE)
@pytest.mark.parametrize("width", [30, 45, 60, 72, 100])
def test_wrapping_changes_no_sentence(language: str, width: int) -> None:
    text = PROSE[language] * 3
    expected = [[word.form for word in words] for words in sentences(text, language)]
    assert len(expected) == 6
    wrapped = textwrap.fill(text, width, break_on_hyphens=False)
    assert [[word.form for word in words] for words in sentences(wrapped, language)] == expected


def test_every_line_of_a_corpus_ends_its_sentences() -> None:
    text = "Dit is de eerste zin, en die is nogal lang.\nKort.\nDit is de derde (zonder punt)\nZo is het.\n"
    assert len(list(sentences(text, "nl"))) == 4


def test_the_parts_follow_each_other() -> None:
    text = " \nKop\r\n  - een\r\n  - twee\n"
    parts = list(split_standalone_lines(text, convention("nl")))
    assert [text[begin:end] for begin, end in parts] == [" \nKop", "\r\n  - een", "\r\n  - twee\n"]
    assert list(split_standalone_lines("Geen regels.", convention("nl"))) == [(0, 12)]
