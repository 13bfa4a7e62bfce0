"""Words spelt plainly: without case, accents, strokes and look-alike letters, and numbers without their grouping."""

import re
import unicodedata
from functools import lru_cache

from memories.language.cleaning import fold
from memories.language.dress.look_alikes import with_latin_letters

_SHOUTED = re.compile(r"(?<![\w-])(?!([A-Z])\1+(?![A-Z]))[A-Z]{4,}(?![\w-])")  # CHEESE, PORT; not MB, YYYY
_LETTERLIKE = re.compile(r"[\u2100-\u214f]")
_FRACTION = re.compile(r"([¼-¾⅐-⅞])")
_SMALL_CAPITALS = str.maketrans("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnoprstuvwyz") | {
    start + at: chr(0x61 + at) for start in (0x1F150, 0x1F170) for at in range(26)  # white letters on black
}  # fmt: skip
_STROKED = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "æ": "ae", "œ": "oe", "þ": "th", "ŋ": "n"}
)
_LONG_DASH = str.maketrans("—―", "  ")
_THOUSANDS = re.compile(
    r"(?<![\d.,])(?:\d{1,3}(?:[,'’_ ]\d{3})+|\d{1,3}(?:\.\d{3}){2,}|\d{1,2}(?:,\d{2})+,\d{3})(?![\d,]|\.\d)"
)
_YEAR_FIRST = re.compile(r"(?<!\d)((?:19|20)\d\d)[-/. ](0[1-9]|1[0-2])[-/. ](0[1-9]|[12]\d|3[01])(?!\d)")
_AFTER_AMOUNT = re.compile(r"(?<![\w$€£¥₹])(\d[\d.,]{0,20})\s?([$€£¥₹])(?![\w$€£¥₹])")
# A number with its country code: however it is grouped, it is the same.
_PHONE = re.compile(r"(?<![\w+])\+(?=(?:[ ().-]{0,2}\d){9,15}(?!\d))\d(?:[ ().-]{0,2}\d){8,14}")
_FIRST_SIGN = "\u0300"  # no combining sign has a lower number
_ACCENTED_SCRIPTS = ("LATIN", "GREEK", "CYRILLIC")


def tokens_of(text: str) -> list[str]:
    """The runs of letters and digits, with their combining signs."""
    if text.isascii():
        return re.findall(r"[^\W_]+", text)
    return "".join(c if is_kept(c) else " " for c in text).split()


def is_one_letter(token: str) -> bool:
    """True for a single letter or digit, whatever combining signs it carries."""
    return sum(c.isalnum() for c in token) == 1


def has_letters_or_digits(text: str) -> bool:
    """True if a text has any letter or digit."""
    return any(c.isalnum() for c in text)


def spelling(text: str) -> str:
    """The folded text with its capitals, ß and letters such as ℝ, which may tell two facts apart: mW and MW.

    The first letter and long words in capitals are emphasis.
    """
    plain = text if text.isascii() else spell_letters(text)
    plain = _SHOUTED.sub(lambda found: found[0].lower(), " ".join(plain.split()))
    return plain[:1].lower() + plain[1:]


def spell_letters(text: str) -> str:
    """The folded letters of a text with their case, and letters such as ℝ."""
    kept = _LETTERLIKE.sub(lambda found: f"\ue000{ord(found[0]):x}\ue001", text)
    plain = unicodedata.normalize("NFKC", kept)
    return "".join(c if c.lower() != c or c == "ß" else fold(c) or " " * c.isspace() for c in plain)


def is_in_one_case(text: str) -> bool:
    """True if all letters are capitals, none is, or every word begins with one: dress, whatever it was before."""
    is_title = text.istitle() and len(text.split()) > 3
    return text.isupper() or text.islower() or is_title


def spell_plainly(text: str) -> str:
    """The folded text without accents, strokes and thousands separators; amounts, dates and phone numbers in one form."""
    if not text.isascii():
        text = _FRACTION.sub(r" \1", text.translate(_LONG_DASH).translate(_SMALL_CAPITALS))
        # Before fold(), which takes letters of other scripts for Latin ones.
        text = with_latin_letters(without_accents(text))
    text = fold(text)
    if not text.isascii():
        text = without_accents(text).translate(_STROKED).replace("\u2044", "/")
    text = _PHONE.sub(lambda found: "+" + re.sub(r"\D", "", found[0]), text)
    text = _AFTER_AMOUNT.sub(r"\2\1", _YEAR_FIRST.sub(r"\1\2\3", text))
    return _THOUSANDS.sub(lambda found: re.sub(r"\D", "", found[0]), text)


def without_accents(text: str) -> str:
    """The text without combining signs on Latin, Greek and Cyrillic letters, digits and symbols; other scripts keep theirs."""
    kept: list[str] = []
    keeps_signs = False
    for c in unicodedata.normalize("NFD", text):
        is_sign = c >= _FIRST_SIGN and unicodedata.category(c)[0] == "M"
        if not is_sign:
            keeps_signs = c >= _FIRST_SIGN and keeps_its_signs(c)
        if keeps_signs or not is_sign:
            kept.append(c)
    return unicodedata.normalize("NFC", "".join(kept))


@lru_cache(maxsize=4096)
def keeps_its_signs(character: str) -> bool:
    """True for a letter outside Latin, Greek and Cyrillic, where a combining sign makes another letter."""
    return character.isalpha() and not unicodedata.name(character, "").startswith(_ACCENTED_SCRIPTS)


def is_kept(character: str) -> bool:
    """True for a letter, a digit, or a combining sign that is part of a letter."""
    return character.isalnum() or (character >= _FIRST_SIGN and unicodedata.category(character)[0] == "M")
