"""Input text: cleaned without losing a word, hashed exactly, and folded to find texts that only look different."""

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import groupby

from django.utils import timezone

from access.errors import InvalidInput, TooLarge, refuse_unstorable


def format_memory_count(count: int) -> str:
    """Count and noun: "1 memory", "7 memories"."""
    return format_count(count, "memory")


def format_count(count: int, noun: str) -> str:
    """Count and noun: "1 link", "7 links"; `noun` is singular."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{count} {noun}es"
    return f"{count} {noun[:-1]}ies" if noun.endswith("ry") else f"{count} {noun}s"


def format_times(count: int) -> str:
    """How often: "once", "7 times"."""
    return "once" if count == 1 else f"{count} times"


EXAMPLE = "2026-11-21T09:30:00Z"
FORMS = "Use ISO 8601: 2026-05-03, 2026-05-03T14:30Z or 2026-05-03T14:30+02:00; without a zone it is UTC."
_CLOCK_SKEW = timedelta(minutes=1)  # a caller's clock may be this far ahead of ours


def parse_moment(text: str, *, field: str, zone: tzinfo = UTC) -> datetime:
    """The timestamp in UTC. Without a time zone it is read in `zone`; a date alone is its first moment.

    Every interface and every import parses timestamps here.

    Raises:
        InvalidInput: not a timestamp, or outside the years 1 to 9999 in UTC.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
    except ValueError:
        raise InvalidInput(f"'{text[:40]}' in {field} is not a date.", hint=FORMS, field=field) from None
    except OverflowError:
        why = f"'{text[:40]}' in {field} is outside the calendar in UTC."
        raise InvalidInput(why, hint=FORMS, field=field) from None


def check_moments(
    *,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
    after: datetime | None = None,
    before: datetime | None = None,
) -> None:
    """Raise InvalidInput if a timestamp has no zone or `known_at` is in the future.

    `as_of` may be in the future: an end or a beginning may be known already.
    """
    moments = {"as_of": as_of, "known_at": known_at, "after": after, "before": before}
    for name, moment in moments.items():
        if moment is not None and moment.tzinfo is None:
            raise InvalidInput(
                f"{name} has no time zone.", hint="Add 'Z' or an offset such as +02:00.", field=name
            )
    if known_at is not None and known_at > timezone.now() + _CLOCK_SKEW:
        raise InvalidInput(
            f"known_at is in the future ({known_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC); future knowledge cannot be queried.",
            hint="Leave known_at out for what is known now; as_of may be in the future.",
            field="known_at",
        )


# Unicode's category Cc except tab and newline: invisible, and terminals obey it.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_INVISIBLE = dict.fromkeys(
    (
        *(0x00AD, 0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180E, 0x3164, 0xFEFF, 0xFFA0),
        *range(0x200B, 0x2010),
        *range(0x202A, 0x202F),
        *range(0x2060, 0x2070),
        # Strokes over a letter and rings around it, unless NFC composes them (as in ≠).
        *range(0x0334, 0x0339),
        *range(0x20D0, 0x20F1),
        *range(0xFE00, 0xFE10),
        *range(0xFFF9, 0xFFFC),
        *range(0x1D173, 0x1D17B),
        *range(0xE0000, 0xE0080),
        *range(0xE0100, 0xE01F0),
    )
)
# Letters of other scripts that look like Latin ones after case folding, from Unicode's confusables (UTS #39).
_CONFUSABLES = str.maketrans(
    "авекмнорстухіјѕԁһԛԝɡαβεηικμνορτυχγωа" + "ı" + "‐‑‒–—−" + "‘’‚′“”„″",
    "abekmhopctyxijsdhqwgabenikmvoptuxyωa" + "i" + "------" + "''''" + '""""',
)
# Normalising sorts a run of combining marks in quadratic time; no script needs more than a few.
_MAX_MARKS_IN_A_ROW = 200
# A line is measured without extra white space; raw text longer than this many times the limit is rejected at once.
_LINE_SLACK = 10


@dataclass(frozen=True)
class _CleanText:
    """A text ready to store, and the number of control characters `removed` from it."""

    text: str
    removed: int = 0


def clean_text(raw: str, *, field: str, max_chars: int) -> _CleanText:
    """The text in NFC, trimmed, with newlines as line ends and without control characters.

    Raises:
        TooLarge: longer than `max_chars`.
        InvalidInput: empty, or with NUL, a lone surrogate or a long run of combining marks.
    """
    if len(raw) > max_chars:
        raise TooLarge(
            f"'{field}' has {len(raw):,} characters; at most {max_chars:,} are allowed.",
            hint="Store the important parts as separate memories, or raise storage.max_content_chars.",
            field=field,
        )
    refuse_unstorable(raw, field=field)
    _refuse_stacked_marks(raw, field=field)
    text = raw.replace("\r\n", "\n").replace("\r", "\n")
    is_plain = raw.isascii()  # nothing to normalise, nothing invisible except control characters
    text, removed = _CONTROLS.subn("", text if is_plain else unicodedata.normalize("NFC", text))
    text = text.strip()
    if not (text if is_plain else text.translate(_INVISIBLE).strip()):
        raise InvalidInput(
            f"'{field}' is empty.",
            hint="Send the text to remember." if field == "content" else "",
            field=field,
        )
    return _CleanText(text, removed)


def clean_line(raw: str, *, field: str, max_chars: int) -> str:
    """A short text on one line, trimmed; it may be empty.

    Raises:
        InvalidInput: too long, or with NUL, a lone surrogate or a long run of combining marks.
    """
    if len(raw) > _LINE_SLACK * max_chars:
        raise InvalidInput(
            f"'{field}' has {len(raw):,} characters; at most {max_chars} are allowed.", field=field
        )
    if raw.isascii() and raw.isprintable():
        line = " ".join(raw.split())
    else:
        refuse_unstorable(raw, field=field)
        _refuse_stacked_marks(raw, field=field)
        line = " ".join(_CONTROLS.sub(" ", unicodedata.normalize("NFC", raw)).split())
    if len(line) > max_chars:
        raise InvalidInput(
            f"'{field}' has {len(line)} characters; at most {max_chars} are allowed.", field=field
        )
    return line


def content_hash(text: str) -> str:
    """SHA-256 (hex) of a cleaned text: equal hashes mean the same text."""
    return hashlib.sha256(text.encode()).hexdigest()


def fold(text: str) -> str:
    """The text without differences in looks: case, width, white space, invisible and look-alike letters."""
    if text.isascii():  # no look-alikes and nothing invisible
        return " ".join(text.lower().split())
    return " ".join(fold_letters(text).split())


def fold_letters(text: str) -> str:
    """The text without differences in looks, its white space as it is."""
    return unicodedata.normalize("NFKC", text).casefold().translate(_INVISIBLE).translate(_CONFUSABLES)


def without_marks(text: str) -> str:
    """The folded text without accents and other marks, which may tell two words apart or disguise one."""
    decomposed = unicodedata.normalize("NFD", fold(text))
    return "".join(c for c in decomposed if not unicodedata.combining(c))


def first_words(text: str, count: int) -> str:
    """The first `count` words."""
    return " ".join(text.split(None, count)[:count])


def _refuse_stacked_marks(raw: str, *, field: str) -> None:
    """Raise InvalidInput for more combining marks in a row than any script uses."""
    if raw.isascii():
        return
    for is_mark, run in groupby(raw, key=lambda character: unicodedata.combining(character) != 0):
        if is_mark and sum(1 for _ in run) > _MAX_MARKS_IN_A_ROW:
            raise InvalidInput(
                f"'{field}' has more than {_MAX_MARKS_IN_A_ROW} combining marks in a row.",
                hint="Send text as people write it.",
                field=field,
            )
