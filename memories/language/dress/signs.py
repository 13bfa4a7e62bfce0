"""The signs that change a fact, and belong to the words and numbers next to them.

A sign before a number, what separates two digits (any separator is the same: 2024-05-03, 2024.05.03), + and # in a name
(C++, C#), per cent, degrees and currency next to a number, "!" before a word, operators between two operands, and the
signs of mathematics and music that belong to one (√9, B♭). Any other sign is dress.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final

from memories.language.cleaning import fold
from memories.language.word_forms import DETERMINERS, JOINING, STOP, TURNING
from memories.language.word_tables import parse_mapping, parse_words, read_sections

_TABLE: Final = parse_mapping(read_sections("look_alikes")["letters"])
_LOOK_ALIKES: Final = str.maketrans({c: letter for letter, group in _TABLE.items() for c in group})
_ANY: Final = re.compile(f"[{''.join(map(chr, _LOOK_ALIKES))}]")
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_LATIN: Final = re.compile("[A-Za-z]")
_FOREIGN_DIGIT: Final = re.compile(r"(?![0-9])\d")
_INDICATOR: Final = re.compile("[\U0001f1e6-\U0001f1ff]+")
_INDICATORS: Final = {0x1F1E6 + at: chr(0x61 + at) for at in range(26)}
_MOSTLY = 0.9  # a text of that many Latin letters and look-alikes is written in Latin ones


def _with_latin_letters(text: str) -> str:
    """The text with Latin letters and digits for those that look like them or count the same."""
    text = _FOREIGN_DIGIT.sub(lambda found: str(unicodedata.decimal(found[0])), text)
    if _INDICATOR.search(text):
        text = _spell_indicators(text)
    if not _ANY.search(text):
        return text
    plain = text.translate(_LOOK_ALIKES)
    if len(_LATIN.findall(plain)) >= _MOSTLY * sum(c.isalpha() for c in text):
        return plain
    return _LETTERS.sub(
        lambda word: word[0].translate(_LOOK_ALIKES) if _LATIN.search(word[0]) else word[0], text
    )


def _spell_indicators(text: str) -> str:
    """The text with letters for regional indicators that spell words; flags, which are pairs of them, stay."""
    runs = _INDICATOR.findall(text)
    is_spelt = any(len(run) % 2 for run in runs) or 2 * sum(map(len, runs)) > sum(c.isalpha() for c in text)
    return text.translate(_INDICATORS) if is_spelt else text


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
    return len(token) == 1 if token.isascii() else sum(c.isalnum() for c in token) == 1


def has_letters_or_digits(text: str) -> bool:
    """True if a text has any letter or digit."""
    return any(c.isalnum() for c in text)


def spelling(text: str) -> str:
    """The folded text with its capitals, ß and letters such as ℝ, which may tell two facts apart: mW and MW.

    The first letter and long words in capitals are emphasis.
    """
    plain = text if text.isascii() else _spell_letters(text)
    plain = _SHOUTED.sub(lambda found: found[0].lower(), " ".join(plain.split()))
    return plain[:1].lower() + plain[1:]


def _spell_letters(text: str) -> str:
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
        text = _with_latin_letters(without_accents(text))
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
            keeps_signs = c >= _FIRST_SIGN and _keeps_its_signs(c)
        if keeps_signs or not is_sign:
            kept.append(c)
    return unicodedata.normalize("NFC", "".join(kept))


@lru_cache(maxsize=4096)
def _keeps_its_signs(character: str) -> bool:
    """True for a letter outside Latin, Greek and Cyrillic, where a combining sign makes another letter."""
    return character.isalpha() and not unicodedata.name(character, "").startswith(_ACCENTED_SCRIPTS)


def is_kept(character: str) -> bool:
    """True for a letter, a digit, or a combining sign that is part of a letter."""
    return character.isalnum() or (character >= _FIRST_SIGN and unicodedata.category(character)[0] == "M")


_EXPONENT = re.compile(r"(?<=\d)e[-\u2212](?=\d)")
_APPROXIMATELY = re.compile(r"(?<![~\w])~(?=\d)")
_QUERY_STRING = re.compile(r"\?[\w.=&%-]{0,60}$")
_HOME = re.compile(r"(?<!\S)~(?=/\w)")
_OPERATOR = re.compile(
    r"(?<=[\w)\]}\"'%])\s?(<=>|<->|<=|>=|!==?|<>|=/=|=>|->|<-|<<|>>|&&?|\|\||={1,3}|[<>≤≥≠≮≯+×÷±∈∉⊂⊃∪∩∧∨→←⇒⇐⇔↔∓∝≈≉≡≢])\s?"
    r"(?=[\w(\[{\"'¬!$€£¥₹.-])"
)
_SAME_OPERATOR = {
    "≤": "<=", "≥": ">=", "≠": "!=", "!==": "!=", "<>": "!=", "=/=": "!=", "⇒": "=>", "→": "->", "←": "<-",
}  # fmt: skip
_COMPARISONS = frozenset(
    ["<", ">", "<=", ">=", "==", "===", "!=", "!==", "<>", "=/=", "≤", "≥", "≠", "≮", "≯", "≈", "≉", "≡", "≢"]
)
_BETWEEN_COMMANDS = frozenset(("&&", "||"))
_MAX_OPERAND = 40
_OPERAND = re.compile(r"[\w.:/()\[\]]+")
_DIGIT = re.compile(r"\d")
_CODE = re.compile(r"\d|[^\W_]_[^\W_]|\w[(\[]|\w(?:\.|::|/)\w")
_LITERALS = frozenset(("true", "false", "null", "none", "nil"))
_ARTICLES = frozenset("ai")
_LETTER_WORDS = frozenset("aeikouvwyz")  # in some languages these are words
_FUNCTION_WORDS: Final = (STOP | DETERMINERS | JOINING | TURNING | {"not", "no", "if", "when"}) - _ARTICLES
_WORD = re.compile(r"[^\W_]+")
# A space between words has no sign; one between digits has.
_WORDS = re.compile(r"[^\W_]+(?: [^\W\d_][^\W_]*)*")
_TABLES: Final = read_sections("signed_names")
_WITH_PLUS: Final = parse_words(_TABLES["names with a plus"])
_WITH_MINUS: Final = parse_words(_TABLES["names with a minus"])
_BESIDE_LETTER: Final = parse_words(_TABLES["next to a letter"])
_OPEN, _CLOSE = "\ue000", "\ue001"  # around an operator, in characters of no script
_NO_MARKS = {ord(_OPEN): " ", ord(_CLOSE): " "}
_BETWEEN_DIGITS = "+*^<>=~%×÷±&"
_CURRENCY = "$€£¥₹"
_ENDS = " .,;:!?)"
_AFTER_NUMBER = re.compile(r"[^\w.,;:!?%‰°]{0,20}([%‰°])")
_BEFORE_OPERAND = "√∛∜∀∃∄∂∇∆∏∑∫∮"
_AFTER_LETTER = "♭♯♮"


def without_private_marks(text: str) -> str:
    """The text without the characters that mark operators here."""
    return text if text.isascii() else text.translate(_NO_MARKS)


def mark_signs(text: str) -> str:
    """A plainly spelt text with its operators marked."""
    text = _APPROXIMATELY.sub(f"{_OPEN}~{_CLOSE}", _HOME.sub(f"{_OPEN}~{_CLOSE}", text))
    text = _EXPONENT.sub(f"e{_OPEN}-{_CLOSE}", text)
    return _OPERATOR.sub(_mark_operator, text)


def _mark_operator(found: re.Match[str]) -> str:
    """An operator between two operands, marked; = and & in the query of an address are punctuation."""
    sign, start = found[1], found.start()
    is_in_query = sign in "=&" and _QUERY_STRING.search(found.string, max(0, start - 61), start)
    if is_in_query or not _joins_operands(found):
        return found[0]
    return f"{_OPEN}{_SAME_OPERATOR.get(sign, sign)}{_CLOSE}"


def _joins_operands(found: re.Match[str]) -> bool:
    """True if an operator stands between two operands, one of which is a number, a single letter or code."""
    sign, text = found[1], found.string
    left = _OPERAND.findall(text[max(0, found.start() - _MAX_OPERAND) : found.start()])[-1:]
    right = _OPERAND.findall(text[found.end() : found.end() + _MAX_OPERAND])[:1]
    one, other = "".join(left), "".join(right)
    if text[found.start() - 1] in "\"'" and text[found.end()] == text[found.start() - 1]:
        return True  # the text is about ">"
    if sign in _COMPARISONS and _DIGIT.search(one + other):
        return True  # also in "is < 5"
    if found[0] == "+ ":
        return False  # it belongs to the word before, or to none
    if sign == "&" and found[0] == " &":
        return _is_operand(other) and not other[0].isdigit()  # &p, an address
    if _FUNCTION_WORDS & {one, other.rstrip(".:")}:
        return False
    is_of_letters = {one.strip("()"), other.strip("().")} <= _ARTICLES
    return sign in _BETWEEN_COMMANDS or _is_operand(one) or _is_operand(other) or is_of_letters


def _is_operand(word: str) -> bool:
    """True for a number, a single letter that is not a word, or code."""
    bare = word.strip(".:/()[]")
    is_letter = len(bare) == 1 and bare not in _ARTICLES
    return is_letter or bare in _LITERALS or bool(_CODE.search(word))


def keep_signs(text: str) -> str:
    """Letters and digits of a plainly spelt text, and the signs between them that change a fact."""
    kept: list[str] = []
    at, size = 0, len(text)
    while at < size:
        end = at + 1
        if words := _WORDS.match(text, at):
            end = words.end()
            kept.append(words[0].replace(" ", ""))
        elif text[at] == _OPEN:
            end = text.index(_CLOSE, at) + 1
            kept.append(text[at + 1 : end - 1])
        elif is_kept(text[at]):
            kept.append(text[at])
        else:
            while end < size and not is_kept(text[end]) and text[end] != _OPEN:
                end += 1
            if (
                end > at + 1
                or text[at] != " "
                or (text[at - 1 : at].isdigit() and text[end : end + 1].isdigit())
            ):
                kept.append(find_signs(text, at, end))  # a space between words has none
        at = end
    return "".join(kept)


def find_signs(text: str, start: int, end: int) -> str:
    """The signs in text[start:end], a run without letters and digits, that change what stands next to it."""
    run = text[start:end]
    before, after = text[start - 1 : start], text[end : end + 1]
    if before.isdigit() and after.isdigit():
        signs = "".join(c for c in run if c in _BETWEEN_DIGITS)
        sign = _sign_before(before, run, after)[-1:]
        return (signs if sign in signs else signs + sign) or "."
    sign = _sign_before(before, run, after)
    if sign == "!" and _WORD.findall(text, end, end + _MAX_OPERAND)[0] in _FUNCTION_WORDS | _ARTICLES:
        sign = ""
    return _sign_after(text, start, run) + sign


def _sign_after(text: str, start: int, run: str) -> str:
    """The sign that belongs to what precedes the run: 5 %, 5 €, 18+, C++, C#, A-."""
    before, bare = text[start - 1 : start], run.lstrip()
    if before.isdigit():
        if bare and bare[0] in _CURRENCY:
            return bare[0]
        if found := _AFTER_NUMBER.match(run):
            return found[1]
        return "+" if run[:1] == "+" and run[1:2] != "+" else ""
    if not before.isalpha():
        return ""
    if run[0] in _AFTER_LETTER:
        return run[0]
    if run[0] not in "+#-":
        return ""
    sign = {"+": run[: len(run) - len(run.lstrip("+"))], "#": "#" * (run[1:2] != "#")}.get(run[0], "-")
    is_last = run[1:2] in _ENDS if len(run) > 1 else start + 1 == len(text)
    if len(sign) not in (1, 2) or (sign == "-" and not is_last):
        return ""
    return sign if is_name(text, start, sign, run[len(sign) :]) else ""


def is_name(text: str, end: int, sign: str, rest: str) -> bool:
    """True if the word before text[end] makes a name with the sign: C++, F#, A-, Disney+; not "of+"."""
    words = _WORD.findall(text[max(0, end - _MAX_OPERAND) : end])
    word = words[-1]
    if word in _LETTER_WORDS or (len(word) == 1 and not word.isascii()):
        after = _WORD.search(text, end, end + _MAX_OPERAND)
        is_at_end = (
            after is None
            or rest.strip()[:1] in tuple(".,;:!?)")
            or after[0] in _FUNCTION_WORDS | _BESIDE_LETTER
        )
        return is_at_end or (len(words) > 1 and words[-2] in _BESIDE_LETTER)
    if len(word) == 1:
        return True
    if sign == "#":
        return False
    return word in (_WITH_MINUS if sign == "-" else _WITH_PLUS) or (sign == "+" and word[0].isdigit())


def _sign_before(before: str, run: str, after: str) -> str:
    """The sign that belongs to what follows the run: -5, .5, $5, !enabled."""
    beside = run.split()[-1] if run.strip() and not run[-1].isspace() else ""
    is_apart = not before or len(beside) < len(run) or run[0] in "([{\"'="
    if beside and beside[-1] in _BEFORE_OPERAND:
        return beside[-1]
    if after.isdigit():
        signs = "".join(c for c in beside if c in _CURRENCY)
        if beside.endswith("^") and beside == run and before.isalnum():
            signs += "^"
        sign = beside.rstrip("$€£¥₹.([\"'*_`")[-1:]
        if is_apart and sign and sign in "-+" and beside.count(sign) == 1:
            signs = sign + signs
        if is_apart and beside.endswith(".") and beside.count(".") == 1:
            signs += "."
        return signs + ("±" if beside.endswith("±") else "")
    if after.isalpha() and is_apart and beside[-1:] in ("!", "¬") and beside.count("!") < 2:
        return "!"
    return ""
