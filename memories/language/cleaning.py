"""Text as it comes in: cleaned without losing a word, hashed exactly, and folded for finding what only looks different."""

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from itertools import groupby

from access.errors import InvalidInput, TooLarge
from access.unstorable_text import refuse_unstorable

# Everything in Unicode's category Cc but tab and newline: it shows nothing and drives terminals.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_INVISIBLE = dict.fromkeys(
    (
        *(0x00AD, 0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180E, 0x3164, 0xFEFF, 0xFFA0),
        *range(0x200B, 0x2010),
        *range(0x202A, 0x202F),
        *range(0x2060, 0x2070),
        # Strokes over a letter and rings around it, where they make no character of their own (as in ≠) before.
        *range(0x0334, 0x0339),
        *range(0x20D0, 0x20F1),
        *range(0xFE00, 0xFE10),
        *range(0xFFF9, 0xFFFC),
        *range(0x1D173, 0x1D17B),
        *range(0xE0000, 0xE0080),
        *range(0xE0100, 0xE01F0),
    )
)
# Letters of other scripts that look like Latin ones (after case folding), from Unicode's confusables (UTS #39).
_CONFUSABLES = str.maketrans(
    "авекмнорстухіјѕԁһԛԝɡαβεηικμνορτυχγωа" + "ı" + "‐‑‒–—−" + "‘’‚′“”„″",
    "abekmhopctyxijsdhqwgabenikmvoptuxyωa" + "i" + "------" + "''''" + '""""',
)


# Normalising sorts a run of combining marks, in the square of its length; no script needs more than a few.
MAX_MARKS_IN_A_ROW = 200
LINE_SLACK = (
    10  # white space goes before a line is measured; beyond this many times the limit nothing is tried
)


@dataclass(frozen=True)
class CleanText:
    """A text fit to be kept; `removed` counts control characters that were taken out."""

    text: str
    removed: int = 0


def clean_text(raw: str, *, field: str, max_chars: int) -> CleanText:
    """Give the text in NFC with line ends as newlines, trimmed, control characters taken out.

    Raises:
        TooLarge: it is longer than `max_chars`.
        InvalidInput: it is empty, or holds what no text has: NUL, half of a surrogate pair, a heap of accents.
    """
    if len(raw) > max_chars:
        raise TooLarge(
            f"'{field}' has {len(raw):,} characters; at most {max_chars:,} are taken.",
            hint="Store the parts that matter as memories of their own, or raise storage.max_content_chars.",
            field=field,
        )
    refuse_unstorable(raw, field=field)
    _refuse_heaps(raw, field=field)
    text = raw.replace("\r\n", "\n").replace("\r", "\n")
    is_plain = raw.isascii()  # nothing to normalise, and nothing invisible but control characters
    text, removed = _CONTROLS.subn("", text if is_plain else unicodedata.normalize("NFC", text))
    text = text.strip()
    if not (text if is_plain else text.translate(_INVISIBLE).strip()):
        raise InvalidInput(f"'{field}' is empty.", hint="Say what is to be remembered.", field=field)
    return CleanText(text, removed)


def clean_line(raw: str, *, field: str, max_chars: int) -> str:
    """Give a short text on one line, trimmed; it may be empty.

    Raises:
        InvalidInput: it is too long, or holds NUL or half of a surrogate pair.
    """
    if len(raw) > LINE_SLACK * max_chars:
        raise InvalidInput(
            f"'{field}' has {len(raw):,} characters; at most {max_chars} are allowed.", field=field
        )
    if raw.isascii() and raw.isprintable():
        line = " ".join(raw.split())
    else:
        refuse_unstorable(raw, field=field)
        _refuse_heaps(raw, field=field)
        line = " ".join(_CONTROLS.sub(" ", unicodedata.normalize("NFC", raw)).split())
    if len(line) > max_chars:
        raise InvalidInput(
            f"'{field}' has {len(line)} characters; at most {max_chars} are allowed.", field=field
        )
    return line


def content_hash(text: str) -> str:
    """Give SHA-256 (hex) of a cleaned text: equal hashes are the same text."""
    return hashlib.sha256(text.encode()).hexdigest()


def fold(text: str) -> str:
    """Give the text without what only looks different: case, width, white space, invisible and look-alike letters."""
    if text.isascii():  # none of these letters looks like another, or like nothing
        return " ".join(text.lower().split())
    plain = unicodedata.normalize("NFKC", text).casefold().translate(_INVISIBLE).translate(_CONFUSABLES)
    return " ".join(plain.split())


def without_marks(text: str) -> str:
    """Give the folded text without accents and other marks: two words may differ in them, or one be disguised."""
    parted = unicodedata.normalize("NFD", fold(text))
    return "".join(c for c in parted if not unicodedata.combining(c))


def fold_hash(text: str) -> str:
    """Give SHA-256 (hex) of the folded text: it finds candidates and tombstones, it never decides alone.

    Texts are looked up by it, letter by letter too: what fold() does to any text may change only with all hashes made anew.
    """
    return hashlib.sha256(fold(text).encode()).hexdigest()


def first_words(text: str, count: int) -> str:
    """Give the first `count` words."""
    return " ".join(text.split(None, count)[:count])


def _refuse_heaps(raw: str, *, field: str) -> None:
    """Raise InvalidInput where more combining marks stand in a row than any writing has."""
    if raw.isascii():
        return
    for is_mark, run in groupby(raw, key=_is_combining):
        if is_mark and sum(1 for _ in run) > MAX_MARKS_IN_A_ROW:
            raise InvalidInput(
                f"'{field}' has more than {MAX_MARKS_IN_A_ROW} combining marks in a row.",
                hint="Send text as people write it.",
                field=field,
            )


def _is_combining(character: str) -> bool:
    return unicodedata.combining(character) != 0
