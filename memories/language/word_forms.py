"""Other forms of a text's words, by which the keyword index finds them as well; they stand in a column of their own.

The index splits at everything that is no letter or digit, and folds a letter's accent. That is not enough for scripts
without spaces (pairs of letters take the place of words), for letters with marks beside them, for Arabic's prefixes,
and for identifiers (`getUserName`, `C++`, `python3`). A question's words get the same treatment.
"""

import re
import unicodedata
from collections.abc import Callable

ROOT_CHARS = 5

# Chinese, Japanese and Korean; words of Korean are spaced, but their endings are not.
_EAST = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003134f"
_SOUTH_EAST = "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
_RUN = re.compile(f"[{_EAST}]+|[{_SOUTH_EAST}]+")
_CAMEL = re.compile(r"[A-Z]{2,}(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")  # HTTPServer2 → HTTP, Server, 2
_SIGNED = re.compile(r"(?<!\w)([A-Za-z][A-Za-z0-9]?)(\+\+|#)(?![\w#])")
_DOT_NAME = re.compile(r"(?<!\S)\.([A-Za-z]{2,})\b")
_DOT_LETTER = re.compile(r"\.[A-Za-z]{2}")
_SIGNS = {"++": "plusplus", "#": "sharp"}
SIGNS, DOT = tuple(_SIGNS.values()), "dot"  # how the forms of `C++`, `C#` end, and that of `.NET` begins
_WORD = re.compile(r"[^\W_]+", re.UNICODE)
# What an identifier of several parts has: aB, ABc or ab1. It begins with what few letters of a text are, so that the
# search runs through the others at once.
_MIXED = re.compile(r"[A-Z\d](?:(?<=[a-z][A-Z])|(?<=[A-Z]{2})(?=[a-z])|(?<=[A-Za-z]{2}\d))")
_SYMBOLS = re.compile("[\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]")
# Letters that no decomposition opens, and how they are typed without them.
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
LONGEST_RUN = 6  # parts of an identifier that are taken together
LONGEST_IDENTIFIER = 200  # letters; more without a space are data (Base64), long to take apart, and no name
LEAST_STEM = 3  # Arabic letters; two are no word any more


def forms_of(text: str) -> str:
    """Give the other forms of a text's words, with spaces between; empty for most English texts."""
    return " ".join(list_forms(text))


def list_forms(text: str) -> list[str]:
    """Give the other forms in the order of the words they belong to. All are letters and digits alone."""
    found = [*_identifiers(text)]
    if not text.isascii():
        plain = unicodedata.normalize("NFKC", text)
        found += _symbols(plain)
        found += [form for run in _RUN.findall(plain) for form in letter_pairs(run)]
        found += _folded(_RUN.sub(" ", plain))
    return found


def query_forms(text: str) -> list[str]:
    """Give the forms of what words alone do not tell: `C++` → cplusplus, 部署端 → 部署 署端, 口 → 口*, which may go on."""
    plain = unicodedata.normalize("NFKC", text)
    found = [*_signed(text), *_symbols(plain)]
    for run in _RUN.findall(plain):
        letters = letter_pairs(run)
        found += letters[:-1] or [f"{letter}*" for letter in letters]
    return found


def words_without_forms(text: str) -> str:
    """Give the text without what sought_in() looks for."""
    plain = _SIGNED.sub(" ", unicodedata.normalize("NFKC", text))
    return " ".join(word for word in plain.split() if not is_unspaced(word))


def is_unspaced(word: str) -> bool:
    """Say whether a word is written in a script whose words pairs stand for."""
    return _RUN.search(word) is not None


def letter_pairs(run: str) -> list[str]:
    """Give the overlapping pairs of a run's letters and the last letter, without marks: `部署端口` → 部署 署端 端口 口.

    Every letter begins one of them, so that a prefix search finds one letter alone.
    """
    letters = [letter for letter in run if letter.isalnum()]
    return ["".join(letters[at : at + 2]) for at in range(len(letters))]


def _identifiers(text: str) -> list[str]:
    found = list[str]()
    if "++" in text or "#" in text:
        found += _signed(text)
    if _DOT_LETTER.search(text):
        found += [DOT + name.lower() for name in _DOT_NAME.findall(text)]
    if _MIXED.search(text):
        for word in _WORD.findall(text):
            if word.isascii() and _MIXED.search(word):
                found += identifier_parts(word)
    return found


def _signed(text: str) -> list[str]:
    return [name.lower() + _SIGNS[sign] for name, sign in _SIGNED.findall(text)]


def identifier_parts(word: str) -> list[str]:
    """Give the parts of an identifier in lower case: `getUserName` → get user name; empty where it has only one."""
    cut = [part.lower() for part in _CAMEL.findall(word)]
    return cut if len(cut) > 1 else []


def identifier_runs(word: str) -> list[str]:
    """Give an identifier's parts, alone and together: `getTaxRate` → get, gettax, gettaxrate, tax, taxrate, rate."""
    cut = identifier_parts(word) if word.isascii() and _MIXED.search(word) else []
    ends = [(at, end) for at in range(len(cut)) for end in range(at + 1, min(at + LONGEST_RUN, len(cut)) + 1)]
    return ["".join(cut[at:end]) for at, end in ends]


def contains_run(text: str, run: str, *, read_as: Callable[[str], str] = str) -> bool:
    """Say whether an identifier of the text has this run of parts, which is in lower case: `username` of `getUserName`.

    `read_as` says what a run is compared as; it must begin with what is looked for. Only the words around these letters
    are taken apart, each once: all words of a page of code would take a hundred times as long.
    """
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters are longer in lower case
        return False
    at = lowered.find(run)
    while at >= 0:
        after = at + 1
        if _may_begin(text, at):
            start = at
            while start and text[start - 1].isalnum():
                start -= 1
            word = _WORD.match(text, start)
            if word:
                runs = identifier_runs(word[0]) if len(word[0]) <= LONGEST_IDENTIFIER else []
                if any(read_as(each) == run for each in runs):
                    return True
                after = max(after, word.end())
        at = lowered.find(run, after)
    return False


def _may_begin(text: str, at: int) -> bool:
    """Say whether a part of a word may begin here: not between two small letters, nor between two digits."""
    around = text[at - 1 : at + 1] if at else ""
    return not (len(around) == 2 and ((around.islower() and around.isalpha()) or around.isdigit()))


def _symbols(text: str) -> list[str]:
    """Emoji and signs by their code: the index takes no sign for a word."""
    return [f"sign{ord(symbol):x}" for symbol in _SYMBOLS.findall(text)]


def _folded(text: str) -> list[str]:
    found = []
    for word in text.lower().split():
        if not word.isascii():
            found += _folds(word)
    return found


def _folds(word: str) -> list[str]:
    """Give a word without its marks and special letters, where the index would not come to the same by itself."""
    bare = _WORD.findall(_without_marks(word).translate(_SPELT))
    own = _WORD.findall(word)
    found = [] if bare == own or _is_simple(word) else [stem(part) for part in bare]
    if any(letter in word for letter in "äöü"):
        found += _WORD.findall(word.translate(_UMLAUTS).translate(_SPELT))
    return found or [stemmed for part in bare if (stemmed := stem(part)) != part]


def stem(word: str) -> str:
    """Take the article and one ending off an Arabic word; any other word stays as it is."""
    if not _ARABIC.fullmatch(word):
        return word
    for prefix in _ARABIC_PREFIXES:
        if word.startswith(prefix) and len(word) - len(prefix) >= LEAST_STEM:
            word = word[len(prefix) :]
            break
    for suffix in _ARABIC_SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= LEAST_STEM:
            return word[: -len(suffix)]
    return word


def _without_marks(word: str) -> str:
    spread = unicodedata.normalize("NFKD", word)
    return "".join(letter for letter in spread if not unicodedata.category(letter).startswith("M"))


def _is_simple(word: str) -> bool:
    """Say whether each letter is plain or Latin with one accent: the index folds those itself."""
    return all(
        letter.isascii()
        or (letter < "\u0250" and len(unicodedata.normalize("NFD", letter)) == 2)
        or (not letter.isalnum() and not unicodedata.category(letter).startswith("M"))
        for letter in word
    )


def root(word: str) -> str:
    """Give what a word's forms have in common, roughly: its first five letters, without a plural s."""
    return word[:ROOT_CHARS] if len(word) > ROOT_CHARS else word.rstrip("s")
