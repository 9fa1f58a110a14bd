"""Everyday text: dialogue, messages, headlines, recipes, lists and quotations of every kind."""

import pytest

from discotree.text import sentences

# One line of text, in which ¶ is a line break; then its sentences with | between them.
EVERYDAY = {
    "nl": r"""
Hoi! Kom je vanavond ook? 😀 Ik neem chips mee 🎉 Tot zo :-)
Hoi !|Kom je vanavond ook ? 😀|Ik neem chips mee 🎉|Tot zo :-)
Ik heb het hem niet kunnen zeggen. 😀 Zij was er al weg. :-)
Ik heb het hem niet kunnen zeggen . 😀|Zij was er al weg . :-)
heb je tijd? ik sta voor de deur. kom maar naar beneden! xx
heb je tijd ?|ik sta voor de deur .|kom maar naar beneden !|xx
„Kom je mee?” vroeg ze. ‘Nee,’ zei hij, ‘morgen pas.’ 'Jammer.' «Ja.» ,,Goed zo.'' Toen ging ze.
„ Kom je mee ? ” vroeg ze .|‘ Nee , ’ zei hij , ‘ morgen pas . ’|' Jammer . '|« Ja . »|,, Goed zo . ''|Toen ging ze .
De trein van 8:43 uur rijdt niet; neem die van 9.13 uur. Let op: het kost € 12,50 (of 10%).
De trein van 8:43 uur rijdt niet ; neem die van 9.13 uur .|Let op : het kost € 12,50 ( of 10 % ) .
Mail jan@voorbeeld.nl of kijk op https://voorbeeld.nl/a?b=1. Zie @jan, #weekend, foto.JPG en ~/map/x.txt.
Mail jan@voorbeeld.nl of kijk op https://voorbeeld.nl/a?b=1 .|Zie @jan , #weekend , foto.JPG en ~/map/x.txt .
Appeltaart¶4 appels¶200 g bloem¶snufje zout¶Schil de appels. Bak de taart 1 uur op 180 °C.
Appeltaart|4 appels|200 g bloem|snufje zout|Schil de appels .|Bak de taart 1 uur op 180 °C .
Kabinet valt over asiel¶Premier biedt ontslag aan¶Het kabinet is gisteren na lang overleg gevallen, zegt de NOS.
Kabinet valt over asiel|Premier biedt ontslag aan|Het kabinet is gisteren na lang overleg gevallen , zegt de NOS .
Hmm... ik weet het niet… Echt niet?! Nou, (vooruit dan.) Dat was « Bessy ». De rest volgt.
Hmm ... ik weet het niet …|Echt niet ? !|Nou , ( vooruit dan . )|Dat was « Bessy » .|De rest volgt .
Wie roept er: "Help! " Niemand. P.S. Привет betekent hallo.
Wie roept er : " Help ! "|Niemand .|P.S. Привет betekent hallo .
""",
    "de": r"""
Hallo! Kommst du heute Abend? 😀 Ich bringe Chips mit :-) Bis dann!
Hallo !|Kommst du heute Abend ? 😀|Ich bringe Chips mit :-)|Bis dann !
hast du zeit? ich stehe vor der tür. komm runter!
hast du zeit ?|ich stehe vor der tür .|komm runter !
„Kommst du?“, fragte sie. »Nein«, sagte er, ›morgen‹. ‚Schade.‘ "Gut so." Dann ging sie.
„ Kommst du ? “ , fragte sie .|» Nein « , sagte er , › morgen ‹ .|‚ Schade . ‘|" Gut so . "|Dann ging sie .
Der Zug um 8:43 Uhr fällt am 3.10.2024 aus. Er kostet 12,50 € (minus 10%) bei 20 °C.
Der Zug um 8:43 Uhr fällt am 3.10.2024 aus .|Er kostet 12,50 € ( minus 10 % ) bei 20 °C .
Siehe www.beispiel.de/a-b, #Montag, @anna und Bericht_v2.pdf. Schreib an a.b@beispiel.de!
Siehe www.beispiel.de/a-b , #Montag , @anna und Bericht_v2.pdf .|Schreib an a.b@beispiel.de !
Apfelkuchen¶4 Äpfel¶200 g Mehl¶Prise Salz¶Die Äpfel schälen. 1 Std. backen.
Apfelkuchen|4 Äpfel|200 g Mehl|Prise Salz|Die Äpfel schälen .|1 Std. backen .
""",
    "en": r"""
Hi! Are you coming tonight? 😀 I'll bring crisps 🎉 See you :-)
Hi !|Are you coming tonight ? 😀|I 'll bring crisps 🎉|See you :-)
are you there? i lost my dog. i want it back! call me at 303-832. thanks
are you there ?|i lost my dog .|i want it back !|call me at 303 - 832 .|thanks
"Are you coming?" she asked. Yahoo! is down.
`` Are you coming ? '' she asked .|Yahoo ! is down .
'No,' he said, 'I can't.' “Fine.” ‘Okay.’ (He left.)
' No , ' he said , ' I ca n't . '|“ Fine . ”|‘ Okay . ’|-LRB- He left . -RRB-
The 8:43 train leaves at 1:30 pm on 08/16/2000 (a 1:30 ratio). It costs $12.50; I ❤️ New York.
The 8:43 train leaves at 1:30 pm on 08/16/2000 -LRB- a 1 : 30 ratio -RRB- .|It costs $ 12.50 ; I ❤️ New York .
See https://x-y.org/a-b?c=d, x-y.com/a-b, a-b@x-y.org, @some_one, #some and my-file_v2.txt. Bye.
See https://x-y.org/a-b?c=d , x-y.com/a-b , a-b@x-y.org , @some_one , #some and my-file_v2.txt .|Bye .
Apple pie¶4 apples¶200 g flour¶pinch of salt¶Peel the apples. Bake for 1 hour.
Apple pie|4 apples|200 g flour|pinch of salt|Peel the apples .|Bake for 1 hour .
Dear Tom,¶See you . . . Or not?¶Regards,¶Anna
Dear Tom ,|See you . . .|Or not ?|Regards ,|Anna
""",
    "is": r"""
Hæ! Kemur þú í kvöld? 😀 Ég kem með snakk :-) Sjáumst!
Hæ !|Kemur þú í kvöld ? 😀|Ég kem með snakk :-)|Sjáumst !
„Kemur þú?“ spurði hún. „Nei.“ Strætó fer kl. 8:43 og kostar 1.500 kr. á dag.
„ Kemur þú ? “ spurði hún .|„ Nei . “|Strætó fer kl. 8:43 og kostar 1.500 kr. á dag .
Sjá https://ruv.is/a, #helgin, @jon og skjal.pdf. Skrifaðu á a@b.is!
Sjá https://ruv.is/a , #helgin , @jon og skjal.pdf .|Skrifaðu á a@b.is !
""",
}
LINES = {language: block.strip().split("\n") for language, block in EVERYDAY.items()}


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [(key, *pair) for key, lines in LINES.items() for pair in zip(lines[::2], lines[1::2], strict=True)],
)
def test_everyday_text(language: str, text: str, expected: str) -> None:
    found = sentences(text.replace("¶", "\n"), language)
    assert [" ".join(word.form for word in words) for words in found] == expected.split("|")
