"""Other forms of a text's words for the keyword index, stored in their own column.

The index splits at everything that is not a letter or digit and removes accents. That is not enough for scripts without
spaces (pairs of letters stand in for words), letters with separate marks, Arabic prefixes, identifiers
(`getUserName`, `C++`, `python3`) and the endings of other languages than English. Query words get the same treatment.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Final

from memories.language.languages import language_of, stems_of
from memories.language.word_tables import parse_mapping, parse_pairs, parse_words, read_sections

_TABLES: Final = read_sections("function_words")

NEGATION: Final = re.compile(
    r"\b(?:not|no|never|none|nothing|nobody|neither|nor|cannot|can't|won't|don't|doesn't|didn't|isn't|aren't"
    r"|wasn't|weren't|shouldn't|mustn't)\b|n't\b",
    re.I,
)
# These deny as well, but other words can replace them: "removed" and "deleted".
SOFT_NEGATION: Final = re.compile(
    r"\b(?:without|hardly|unless|except|stop(?:ped|s)?|disabled?|removed?|deprecated|false)\b", re.I
)
# A sentence may begin with any of these in the place of another.
DETERMINERS: Final = parse_words(_TABLES["determiners"])
# If one text has one word of a pair and the other text the other, they are two facts.
OPPOSITES: Final = parse_pairs(_TABLES["opposites"])
UNITS: Final = parse_words(_TABLES["units"])
STOP: Final = parse_words(_TABLES["stop"])
TENSE: Final = parse_words(_TABLES["tense"])
# Short words that turn a statement around: who, which way, both or either.
TURNING: Final = parse_words(_TABLES["turning"])

# Words that deny in other languages, and parts of words where no space divides them.
DENIALS: Final = parse_words(_TABLES["denials"])
DENYING_PARTS: Final = parse_words(_TABLES["denying parts"])
# Conjunctions and forms of "to be": the parts on either side may change places without changing the fact.
JOINING: Final = parse_words(_TABLES["joining"])
# Words for how much or how often, and for how sure something is: two of them in the same place make two facts.
QUANTITIES: Final = parse_words(_TABLES["quantities"])
MODALS: Final = parse_words(_TABLES["modals"])
# Determiners that may take each other's place.
EACH: Final = parse_words(_TABLES["each"])

_ENDINGS: Final = ("ation", "ition", "ing", "ed", "al", "ly", "er", "e")
_IRREGULAR: Final = parse_mapping(_TABLES["irregular"])
_PLURAL: Final = re.compile(r"(?:ies|es|s)$")
_PLAIN_WORD: Final = re.compile(r"[\w'-]+")


def without_plural(word: str) -> str:
    """The word without the ending of a plural or of the third person."""
    return _PLURAL.sub("", word) if len(word) > 3 else word


def strip_endings(word: str) -> str:
    """The word without its common endings: "rotated" and "rotation" become one. Only for counting shared words."""
    word = without_plural(_IRREGULAR.get(word, word))
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def content_words(folded: str) -> list[str]:
    """Words of a folded text that carry content, in order."""
    return [word for word in _PLAIN_WORD.findall(folded) if word not in STOP]


def bearing_words(folded: str) -> list[str]:
    """Stems of the words that carry the meaning, in order: content words, tense and words that turn a statement around."""
    return [
        without_plural(word)
        for word in _PLAIN_WORD.findall(folded)
        if word not in STOP or word in TENSE or word in TURNING
    ]


_MIN_LETTERS = 4  # shorter words resemble too many others
_TWO_EDITS_FROM = 6  # letters
PREFIX_LETTERS = 3  # similar words are looked up by their first letters
LETTERS = "abcdefghijklmnopqrstuvwxyz"
# Roughly the endings that the index strips; a typed word is compared with and without them.
ENDINGS = ("ing", "ed", "es", "s", "e", "ly", "ion")


def is_long(word: str) -> bool:
    """True if the word is long enough to tell a typing error from another word."""
    return len(word) >= _MIN_LETTERS and word.isalpha()


def allowed_edits(word: str) -> int:
    """Maximum edit distance of a correction."""
    return 2 if len(word) >= _TWO_EDITS_FROM else 1


def early_edits(word: str) -> list[str]:
    """Words one edit away within the first letters: swapped, deleted, replaced or inserted letters."""
    found: dict[str, None] = {}
    for at in range(min(PREFIX_LETTERS + 1, len(word))):
        before, after = word[:at], word[at:]
        if len(after) > 1:
            found[before + after[1] + after[0] + after[2:]] = None
        found[before + after[1:]] = None
        found |= {before + letter + after[1:]: None for letter in LETTERS}
        found |= {before + letter + after: None for letter in LETTERS}
    found.pop(word, None)
    return [one for one in found if len(one) >= PREFIX_LETTERS]


def nearest(word: str, terms: Iterable[str], *, edits: int) -> list[str]:
    """Terms within `edits` of the word or of a form without its ending, nearest first."""
    forms = {word, *(_strip_ending(word, ending) for ending in ENDINGS)}
    found = [(min(distance(form, term, most=edits) for form in forms), term) for term in terms]
    return [term for far, term in sorted(found) if far <= edits]


def distance(one: str, other: str, *, most: int) -> int:
    """Edit distance with transpositions (Damerau 1964), capped at `most` + 1."""
    if abs(len(one) - len(other)) > most or len(set(one) ^ set(other)) > 2 * most:
        return most + 1
    before, last = list[int](), list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        row = [i]
        for j, its in enumerate(other, start=1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != its))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == its:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        before, last = last, row
    return last[-1]


def is_like(word: str, other: str) -> bool:
    """True if `word` may be a misspelling of `other` or of its beginning; the first letters must agree."""
    edits = allowed_edits(word)
    if other[:PREFIX_LETTERS] != word[:PREFIX_LETTERS] or len(other) < len(word) - edits:
        return False
    # The beginnings of short words resemble too many others.
    begun = other[: len(word)] if len(word) >= _TWO_EDITS_FROM else other
    return min(distance(word, other, most=edits), distance(word, begun, most=edits)) <= edits


def _strip_ending(word: str, ending: str) -> str:
    """The word as the index may have stemmed it: without the ending, or with a final y as i."""
    stem = word.removesuffix(ending)
    if word.endswith("y") and len(word) > _MIN_LETTERS:
        return word[:-1] + "i"
    return stem if len(stem) >= _MIN_LETTERS - 1 else word


ROOT_CHARS = 5

# Chinese, Japanese and Korean; Korean puts spaces between words, but not before endings.
_EAST = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003134f"
_SOUTH_EAST = "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
_RUN = re.compile(f"[{_EAST}]+|[{_SOUTH_EAST}]+")
_CAMEL = re.compile(r"[A-Z]{2,}(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")  # HTTPServer2 → HTTP, Server, 2
_SIGNED = re.compile(r"(?<!\w)([A-Za-z][A-Za-z0-9]?)(\+\+|#)(?![\w#])")
_DOT_NAME = re.compile(r"(?<!\S)\.([A-Za-z]{2,})\b")
_DOT_LETTER = re.compile(r"\.[A-Za-z]{2}")
_SIGNS = {"++": "plusplus", "#": "sharp"}
SIGNS, DOT = (
    tuple(_SIGNS.values()),
    "dot",
)  # the forms of `C++` and `C#` end like this, that of `.NET` begins like this
_WORD = re.compile(r"[^\W_]+", re.UNICODE)
# An identifier of several parts has aB, ABc or ab1. The pattern begins with a rare character, so that the search skips
# the other ones quickly.
_MIXED = re.compile(r"[A-Z\d](?:(?<=[a-z][A-Z])|(?<=[A-Z]{2})(?=[a-z])|(?<=[A-Za-z]{2}\d))")
_SYMBOLS = re.compile("[\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]")
# Letters without a Unicode decomposition, and their plain spelling.
_SPELT = str.maketrans(
    {
        "ß": "ss", "ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ħ": "h",
        "أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه", "ـ": None,
    }
)  # fmt: skip
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_ARABIC = re.compile("[\u0620-\u064a\u066e-\u06d3]{2,}")
_ARABIC_PREFIXES = ("وال", "بال", "كال", "فال", "ال", "لل", "و", "ب", "ل")
_ARABIC_SUFFIXES = ("ها", "ان", "ات", "ون", "ين", "يه", "ه", "ي")
_MAX_RUN_PARTS = 6  # parts of an identifier that are joined
_MAX_IDENTIFIER_CHARS = 200  # a longer run without a space is data (Base64), slow to split, and not a name
MIN_STEM_CHARS = 3  # Arabic letters; two are not a word


def forms_of(text: str) -> str:
    """Other forms of a text's words, and stems of another language, separated by spaces; empty for most English texts."""
    return " ".join([*list_forms(text), *stems_of(text, language_of(text))])


def list_forms(text: str) -> list[str]:
    """Other forms, in the order of their words. All consist of letters and digits only."""
    found = _identifier_forms(text)
    if not text.isascii():
        plain = unicodedata.normalize("NFKC", text)
        found += _symbol_forms(plain)
        found += [form for run in _RUN.findall(plain) for form in letter_pairs(run)]
        found += [
            form
            for word in _RUN.sub(" ", plain).lower().split()
            if not word.isascii()
            for form in folded_forms(word)
        ]
    return found


def query_forms(text: str) -> list[str]:
    """Forms for parts of a query that plain words miss: `C++` → cplusplus, 部署端 → 部署 署端, 口 → 口* (a prefix)."""
    plain = unicodedata.normalize("NFKC", text)
    found = [*_signed_names(text), *_symbol_forms(plain)]
    for run in _RUN.findall(plain):
        letters = letter_pairs(run)
        found += letters[:-1] or [f"{letter}*" for letter in letters]
    return found


def words_without_forms(text: str) -> str:
    """The text without the parts that query_forms() covers."""
    plain = _SIGNED.sub(" ", unicodedata.normalize("NFKC", text))
    return " ".join(word for word in plain.split() if not is_unspaced(word))


def is_unspaced(word: str) -> bool:
    """True if the word is in a script without spaces, whose words are indexed as pairs of letters."""
    return _RUN.search(word) is not None


def letter_pairs(run: str) -> list[str]:
    """Overlapping pairs of a run's letters and its last letter, without marks: `部署端口` → 部署 署端 端口 口.

    Every letter begins one of them, so a prefix search finds a single letter.
    """
    letters = [letter for letter in run if letter.isalnum()]
    return ["".join(letters[at : at + 2]) for at in range(len(letters))]


def _identifier_forms(text: str) -> list[str]:
    """Forms of the identifiers in a text: `C++` → cplusplus, `.NET` → dotnet, `getUserName` → get user name."""
    found = list[str]()
    if "++" in text or "#" in text:
        found += _signed_names(text)
    if _DOT_LETTER.search(text):
        found += [DOT + name.lower() for name in _DOT_NAME.findall(text)]
    if _MIXED.search(text):
        for word in _WORD.findall(text):
            if word.isascii() and _MIXED.search(word):
                found += identifier_parts(word)
    return found


def _signed_names(text: str) -> list[str]:
    return [name.lower() + _SIGNS[sign] for name, sign in _SIGNED.findall(text)]


def identifier_parts(word: str) -> list[str]:
    """Parts of an identifier in lower case: `getUserName` → get user name; empty for a single part."""
    cut = [part.lower() for part in _CAMEL.findall(word)]
    return cut if len(cut) > 1 else []


def identifier_runs(word: str) -> list[str]:
    """An identifier's parts, alone and joined: `getTaxRate` → get, gettax, gettaxrate, tax, taxrate, rate."""
    cut = identifier_parts(word) if word.isascii() and _MIXED.search(word) else []
    ends = [
        (at, end) for at in range(len(cut)) for end in range(at + 1, min(at + _MAX_RUN_PARTS, len(cut)) + 1)
    ]
    return ["".join(cut[at:end]) for at, end in ends]


def contains_run(text: str, run: str, *, read_as: Callable[[str], str] = str) -> bool:
    """True if an identifier of the text has this run of parts, given in lower case: `username` in `getUserName`.

    `read_as` maps a run to the form that is compared; the run must begin with that form. Only words around the letters
    found are split, each once: splitting every word of a page of code takes a hundred times as long.
    """
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters are longer in lower case
        return False
    at = lowered.find(run)
    if at >= 0 and _MIXED.search(text) is None:
        return False
    while at >= 0:
        after = at + 1
        if _may_begin(text, at):
            start = at
            while start and text[start - 1].isalnum():
                start -= 1
            word = _WORD.match(text, start)
            if word:
                runs = identifier_runs(word[0]) if len(word[0]) <= _MAX_IDENTIFIER_CHARS else []
                if any(read_as(each) == run for each in runs):
                    return True
                after = max(after, word.end())
        at = lowered.find(run, after)
    return False


def _may_begin(text: str, at: int) -> bool:
    """True if a part of a word may begin here: not between two lower-case letters, nor between two digits."""
    around = text[at - 1 : at + 1] if at else ""
    return not (len(around) == 2 and ((around.islower() and around.isalpha()) or around.isdigit()))


def _symbol_forms(text: str) -> list[str]:
    """Emoji and other symbols by their code point: the index ignores the characters themselves."""
    return [f"sign{ord(symbol):x}" for symbol in _SYMBOLS.findall(text)]


@lru_cache(10_000)
def folded_forms(word: str) -> tuple[str, ...]:
    """The word without marks and special letters, if the index does not fold it to the same by itself."""
    bare = _WORD.findall(spell_out(word))
    own = _WORD.findall(word)
    found = [] if bare == own or _is_simple(word) else [stem(part) for part in bare]
    if any(letter in word for letter in "äöü"):
        found += _WORD.findall(word.translate(_UMLAUTS).translate(_SPELT))
    return tuple(found or [stemmed for part in bare if (stemmed := stem(part)) != part])


def spell_out(text: str) -> str:
    """The text in small letters without marks, and special letters spelled out: `Łódź` → lodz."""
    spread = unicodedata.normalize("NFKD", text.lower())
    return "".join(c for c in spread if not unicodedata.category(c).startswith("M")).translate(_SPELT)


def stem(word: str) -> str:
    """An Arabic word without its article and one ending; any other word unchanged."""
    if not _ARABIC.fullmatch(word):
        return word
    for prefix in _ARABIC_PREFIXES:
        if word.startswith(prefix) and len(word) - len(prefix) >= MIN_STEM_CHARS:
            word = word[len(prefix) :]
            break
    for suffix in _ARABIC_SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= MIN_STEM_CHARS:
            return word[: -len(suffix)]
    return word


def _is_simple(word: str) -> bool:
    """True if each letter is plain or Latin with one accent: the index folds those itself."""
    return all(
        letter.isascii()
        or (letter < "\u0250" and len(unicodedata.normalize("NFD", letter)) == 2)
        or (not letter.isalnum() and not unicodedata.category(letter).startswith("M"))
        for letter in word
    )


def root(word: str) -> str:
    """Roughly what a word's forms share: its first five letters, or a shorter word without a plural s."""
    return word[:ROOT_CHARS] if len(word) > ROOT_CHARS else word.rstrip("s")


def word_starts(lowered: str, beginning: str) -> Iterator[int]:
    """The places in a lower-case text where a word begins like this."""
    at = lowered.find(beginning)
    while at >= 0:
        if not at or not lowered[at - 1].isalnum():
            yield at
        at = lowered.find(beginning, at + 1)


def has_root(lowered: str, form: str) -> bool:
    """Whether a word of a lower-case text has this root, as root() returns it."""
    return form in lowered and _words_with(form).search(lowered) is not None


def count_root(lowered: str, form: str) -> int:
    """How many words of a lower-case text have this root; 0 for a phrase, whose words have one each."""
    return len(_words_with(form).findall(lowered)) if form and " " not in form and form in lowered else 0


@lru_cache(1024)
def _words_with(form: str) -> re.Pattern[str]:
    """What begins each word with this root. The literal comes first: for that the search is fast."""
    literal = re.escape(form)
    rest = rf"s{{0,{ROOT_CHARS - len(form)}}}+(?![^\W_])"
    if form.endswith("s"):  # a word of so many letters would have lost it
        rest = r"(?=[^\W_])" if len(form) == ROOT_CHARS else "(?!)"
    elif len(form) == ROOT_CHARS:
        rest = ""
    return re.compile(rf"{literal}(?<![^\W_]{literal}){rest}")
