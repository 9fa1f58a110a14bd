r"""Classes of characters and the expressions for tokens that look the same in every language.

Names without further notice are expressions to build larger ones from; those that say so stand inside ``[…]``.
"""

# Sets, to stand inside […].
QUOTES = "\"'`“”„‟‘’‚‛«»‹›"
CLOSING = QUOTES + ")]}"
# Every character that is neither whitespace nor a symbol is part of a word: letters and digits of all scripts, their
# accents, joiners, and invisible characters.
LATIN_SYMBOL = r"!-/:-@\[-\^`{-~¡-©«¬®-±´¶-¸»¿×÷"  # those below U+0100
SYMBOL = LATIN_SYMBOL + (
    r"\u2010-\u2027\u2030-\u205e\u20a0-\u20cf\u2117\u2120\u2122\u2190-\u245f\u2500-\u2bff"
    r"\u2e00-\u2e7f\u3001-\u3003\u3008-\u3020\u3030\u303d\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\uffe0-\uffee"
    r"\U0001f000-\U0001faff"
)
EXTENDER = (  # accents, joiners, variation selectors and skin tones belong to the symbol before them
    r"\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f\u200c\u200d\U0001f3fb-\U0001f3ff"
    r"\U000e0020-\U000e007f\U000e0100-\U000e01ef"
)
FACES = (  # and gestures and cheers, which end sentences; a heart may be a verb
    r"\U0001f600-\U0001f64f\U0001f910-\U0001f917\U0001f919-\U0001f92f\U0001f970-\U0001f97a"
    r"\U0001f44b-\U0001f44f\U0001f389\U0001f38a\u263a"
)

FOREIGN = (  # scripts that none of the languages is written in; Greek letters are signs in all of them
    r"\u0300-\u036f\u0400-\u1cff\u2c00-\u2dff\u2e80-\u2fdf\u3005-\u3007\u3031-\ud7ff\uf900-\ufaff\ufb1d-\ufdff"
    r"\ufe70-\ufefc\uff66-\uffdc\U00010000-\U0001cfff\U00020000-\U0003ffff"
)
EMOJI = r"\u231a\u231b\u23e9-\u23fa\u2600-\u27bf\u2b05-\u2b55\U0001f000-\U0001faff"

_EXTENDED = rf"(?:[{EXTENDER}]|(?<=\u200d)[{SYMBOL}])*"
PICTURE = rf"[{SYMBOL}]{_EXTENDED}"  # one symbol, or the symbols that a joiner makes one
FLAG = r"[\U0001f1e6-\U0001f1ff]{2}"
FACE = rf"[{FACES}][{FACES}{EXTENDER}\u2640\u2642]{{0,40}}"  # or several
EMOTICON = (  # after a space, before a space or a final mark
    r"(?<!\S)(?:[:;]['’]?-?[()\[\]DPpOo|*/\\]{1,5}|[:;]-?3|=[()DP]{1,5}|[xX]D+|<3+|\^_*\^)(?=[\s.,!?]|\Z)"
)
_END = r"[^\s<>\"“”„«».,;:!?()\[\]{}'’…]"  # the last character of an address: marks after it belong to the sentence
EMAIL = r"\w[\w.+-]{0,63}@\w[\w-]{0,63}(?:\.\w[\w-]{0,63}){1,8}"
URL = rf"(?:(?:https?|ftps?)://|www\.)[^\s<>\"“”„«»]*{_END}"
_SITE = (  # voorbeeld.nl/pad
    r"(?:com|org|net|edu|gov|info|io|eu|uk|nl|be|de|at|ch|is)"
    rf"(?![\w@-]|\.\w)(?:/(?:[^\s<>\"“”„«»]{{0,200}}{_END})?)?"
)
_FILE = (  # verslag-2.pdf
    r"(?i:docx?|odt|xlsx?|pptx?|pdf|txt|csv|tsv|json|xml|html?|md|tex|py|js|jpe?g|png|gif|svg|mp[34]|mov|zip|gz|exe)"
    r"(?![\w-]|\.\w)"
)
NAME = rf"\w[\w-]{{0,63}}(?:\.\w[\w-]{{0,63}}){{0,8}}\.(?:{_SITE}|{_FILE})"
PATH = r"(?<!\S)(?:~?/[\w.-]{1,64}/|~/|[A-Za-z]:\\)(?:[\w.-]{1,64}[/\\]){0,32}[\w-](?:[\w.-]{0,64}[\w-])?"
DATE = r"\d{1,2}/\d{1,2}/(?:\d{4}|\d\d)(?![\w/])|\d{4}-\d\d-\d\d(?![\w-])"
TIME = (  # 1:30 may be a ratio, unless words around it say otherwise
    r"(?<![\w:.])(?:(?<=[Aa]t )1:[0-5]\d|1:[0-5]\d(?=\s?[ap]\.?m)|(?:0\d|1\d|2[0-4]|[2-9]):[0-5]\d(?::[0-5]\d)?)"
    r"(?![\d:])"
)
