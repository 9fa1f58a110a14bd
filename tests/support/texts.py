"""Texts of many kinds for each small model: those in ``data/texts``, what is derived from them, and other scripts."""

import unicodedata
from itertools import cycle, islice
from pathlib import Path

LANGUAGES = ("de", "en", "is", "nl")
MANY_WORDS = 1500
HEADING = "## "

# Characters that the tokeniser leaves out.
INVISIBLE = "\u00ad\u061c\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
ANYWHERE = {
    "other scripts": "Это короткое предложение. Αυτή είναι μια πρόταση. यह एक वाक्य है। นี่คือประโยค 这是一个句子。"
    "それは文です。이것은 문장이다. ეს წინადადებაა. Սա նախադասություն է։",
    "from right to left": "זה משפט קצר, וזה עוד אחד. هذه جملة قصيرة، أليس كذلك؟"
    " \u200fشالوم\u200e (abc) \u202bاب\u202c 123.",
    "beyond the first plane": "𝔘𝔫𝔡 𝒶𝓁𝓈𝑜 𐍈 𓀀𓁐 𠀀𠀁.",
    "lone punctuation": ".\n\n?!\n\n…\n\n-\n\n( )\n\n\"\n\n'\n\n„\n\n---\n\n,\n\n#",
    "a very long token": f"{'x' * 3000}\n\n{'Donau-' * 20}fahrt\n\n/{'weg/' * 10}\n\n{'😀' * 10}\n\n{'.' * 500}",
    "separators": "a\x0bb\x1cc\x1dd\x1ee\x1ff\x85g\u2028h\u2029i\u3000j\u2003k\u205fl\u1680m",
    "control characters": "a\0b\n\n\x01\n\nc\x07d \x1b[31mx\x1b[0m\n\n\x7f \x9f"
    "\n\n\ufffe\uffff\n\n\ufff9a\ufffab\ufffb",
    "marks of formats": "#BOS 1 #EOS 1 #500 %% ## text = 1\t_\t_ *T*-1 0 -LRB- -NONE- (NP 0=a) </s> &amp; <![CDATA[ ]]>"
    ' {\\bf x} $x_1$ \\n %s """ \'\' `` --',
    "accents without letters": "\u0301 \u0308a e\u0301\u0302\u0303\u0304\u0305 \u20dd \ufe0f \u200d 🏽 \ufeff",
}


def written_out(language: str) -> dict[str, str]:
    """Return the sections of a language's file."""
    path = Path(__file__).parents[1] / "data" / "texts" / f"{language}.txt"
    sections = f"\n{path.read_text('utf-8')}".split(f"\n{HEADING}")[1:]
    return dict(section.split("\n", 1) for section in sections)  # type: ignore[arg-type]


def paragraphs(language: str) -> dict[str, str]:
    """Return short texts by kind; one file may hold all of them."""
    found = written_out(language)
    news, _, _ = found["news"].partition("\n\n")
    following = LANGUAGES[(LANGUAGES.index(language) + 1) % len(LANGUAGES)]
    made = {
        "composed accents": unicodedata.normalize("NFC", news),
        "accents apart": unicodedata.normalize("NFD", news),
        "zero-width characters": news.replace("e", "e\u200b").replace("r ", "r\u200c \u2060\ufeff"),
        "soft hyphens": news.replace("en", "e\u00adn"),
        "non-breaking spaces": news.replace(" d", "\u00a0d").replace(", ", ",\u202f"),
        "tabs": news.replace(" ", "\t"),
        "all capitals": news.upper(),
        "no capitals and no stops": news.lower().replace(".", ""),
        "another language": written_out(following)["news"],
    }
    return found | made | ANYWHERE


def files(language: str) -> dict[str, bytes]:
    """Return texts by kind that each need a file of their own."""
    found = written_out(language)
    text = f"{found['news']}\n\n{found['list']}"
    words = islice(cycle(found["news"].split()), MANY_WORDS)
    made = {
        "Windows line ends": text.replace("\n", "\r\n"),
        "old Mac line ends": text.replace("\n", "\r"),
        "byte order mark": f"\ufeff{text}",
        "many words in a line": " ".join(words),
        "no line end": text.rstrip(),
        "lone full stop": ".",
        "nothing": "",
        "only whitespace": " \t\r\n\u00a0\u2003\n\n \f\x0b",
        "only a byte order mark": "\ufeff",
    }
    return {kind: content.encode() for kind, content in made.items()}
