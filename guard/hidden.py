"""Characters that people do not see: found where no script needs them, removed, and decoded for the person who decides.

What stays: emoji joiners and flags, joiners between letters of scripts that use them, bidirectional marks in texts with
right-to-left letters, line-break hints in scripts without spaces, soft hyphens in long words, one variation selector after
a symbol.
"""

import base64
import binascii
import html
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from guard.findings import GuardFinding
from guard.patterns import Pattern

_MIN_TOKEN: Final = 20  # characters of the shortest secret that is looked for in pieces
_MAX_ENCODED: Final = 10_000  # characters of a passage of Base64; longer ones are files
_HAS_ESCAPE = Pattern(
    r"%[0-7][0-9A-Fa-f]|%25|&#?[0-9A-Za-z]{2,8};|\\[nrtux\"'/_:=.\n-]|\[[0-9;]{1,8}m|=\r?\n|[\x{300}-\x{36F}\x{FF01}-\x{FF5E}\x{1D400}-\x{1D7FF}]"
)
_ESCAPE = re.compile(
    r"(?:%(?:25){0,3}(?P<hex>[0-7][0-9A-Fa-f]))"
    r"|(?P<entity>&(?:amp;){0,3}#?[0-9A-Za-z]{2,8};)"
    r"|\\{1,8}(?:u00(?P<unicode>[0-7][0-9A-Fa-f])|x(?P<byte>[0-7][0-9A-Fa-f])|(?P<space>[nrt])|(?P<sign>[\"'/_:=.-]))"
    r"|(?P<nothing>\x1b?\[[0-9;]{1,8}m|\\\r?\n[ \t]{0,40}|=\r?\n|[\u0300-\u036f])"
    r"|(?P<letter>[\uff01-\uff5e\U0001d400-\U0001d7ff])"
)
# A token's characters, and what may part them: a line break, quotes with or without a sign, a tag.
_RUN: Final = r"[\w+/=.~-]{2,}"
_BREAK: Final = r"(?:[ \t]{0,4}\\?\r?\n[ \t]{0,40}(?:>[ \t]{0,4}){0,3}|[\"'`]\s{0,4}[+.&\\]?\s{0,40}[+.&]?\s{0,4}[\"'`]|<!--[^<>]{0,80}-->|</?[a-zA-Z][^<>]{0,80}>)"
_PARTS = re.compile("[\n\"'`<]")  # without one of these, nothing is parted
_CHAIN = Pattern(rf"{_RUN}(?:{_BREAK}{_RUN})+")
_IS_BREAK = re.compile(_BREAK)
_ENCODED = Pattern(r"\b[A-Za-z0-9+/_-]{28,}={0,2}")


@dataclass
class Reading:
    """A text as it reads otherwise, with the span in the text for each of its characters."""

    parts: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What it reads."""
        return "".join(self.parts)

    def keep(self, text: str, start: int, end: int) -> None:
        """Take a passage as it is."""
        self.parts.append(text[start:end])
        self.starts.extend(range(start, end))
        self.ends.extend(range(start + 1, end + 1))

    def put(self, shown: str, start: int, end: int) -> None:
        """Take other characters for a passage."""
        self.parts.append(shown)
        self.starts.extend([start] * len(shown))
        self.ends.extend([end] * len(shown))

    def span(self, span: tuple[int, int]) -> tuple[int, int]:
        """The place in the text for one in the reading."""
        return self.starts[span[0]], max(self.ends[span[0] : span[1]])


def unescaped(text: str) -> Reading | None:
    """The text with escapes of addresses, HTML, JSON and terminals undone, and letters in other shapes as ASCII; None without any."""
    if not _HAS_ESCAPE.is_found(text):
        return None
    reading, at = Reading(), 0
    for match in _ESCAPE.finditer(text):
        start, end = match.span()
        shown = _shown(match)
        if shown == match.group():
            continue
        reading.keep(text, at, start)
        reading.put(shown, start, end)
        at = end
    if not at:
        return None
    reading.keep(text, at, len(text))
    return reading


def _shown(match: re.Match[str]) -> str:
    if code := match["hex"] or match["unicode"] or match["byte"]:
        return chr(int(code, 16))
    if match["entity"]:
        plain = re.sub("(?:amp;)+", "", match["entity"]) if "amp;#" in match["entity"] else match["entity"]
        return html.unescape(plain)
    if match["letter"]:
        return unicodedata.normalize("NFKC", match["letter"])
    return "\n" if match["space"] else match["sign"] or ""


def pieced_together(text: str) -> Reading | None:
    """Candidates for tokens written in pieces or in Base64, joined; None without any."""
    reading = Reading()
    for start, end in _CHAIN.spans(text) if _PARTS.search(text) is not None else ():
        if end - start >= _MIN_TOKEN:
            _join(reading, text, start, end)
    for start, end in _ENCODED.spans(text):
        if end - start <= _MAX_ENCODED and (plain := _decoded(text[start:end])):
            reading.put(plain, start, end)
            reading.put(" ", start, start)
    return reading if reading.parts else None


def _join(reading: Reading, text: str, start: int, end: int) -> None:
    """Add each two neighbours of a chain joined, and the whole of a chain of more."""
    runs, at = list[tuple[int, int]](), start
    for match in _IS_BREAK.finditer(text, start, end):
        runs.append((at, match.start()))
        at = match.end()
    runs.append((at, end))
    groups = [runs[number : number + 2] for number in range(len(runs) - 1)]
    for group in [*groups, runs] if len(runs) > 2 else groups:
        length = sum(last - first for first, last in group)
        if length < _MIN_TOKEN or not any(c.isdigit() for first, last in group for c in text[first:last]):
            continue
        for first, last in group:
            reading.keep(text, first, last)
        reading.put(" ", group[-1][1], group[-1][1])


def unbase64(run: str, encoding: str) -> str:
    """The text that Base64 without its end encodes; empty if it is not Base64, or not in this encoding."""
    try:
        return base64.b64decode(run + "=" * (-len(run) % 4), validate=True).decode(encoding)
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _decoded(run: str) -> str:
    """The ASCII text that Base64 encodes; empty if it encodes something else."""
    if len(set(run)) < 8:
        return ""
    plain = run.rstrip("=").replace("-", "+").replace("_", "/")
    told = unbase64(plain, "ascii")
    return told if told.replace("\n", " ").replace("\t", " ").replace("\r", " ").isprintable() else ""


# Cyrillic and Greek letters that look like Latin ones, for words that mix scripts.
LOOK_ALIKES: Final = str.maketrans(
    "аеорсухіјѕԁһԛԝɡνοιαρεκτАВЕКМНОРСТХІЈЅΙ", "aeopcyxijsdhqwgvoiapektABEKMHOPCTXIJSI"
)
_MIN_MESSAGE_TAGS: Final = 8  # tag characters outside flags: a word of a message, not a slip
_HIDDEN = re.compile(
    "["
    # Everything that Unicode calls default-ignorable, and annotation marks and the empty note head.
    "\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\u180b-\u180f\u034f\u061c\ufff0-\ufffb\u17b4\u17b5"
    "\ufe00-\ufe0f\U000e0000-\U000e0fff\U0001d159\U0001d173-\U0001d17a\U0001bca0-\U0001bca3\u115f\u1160\u3164\uffa0"
    "]+"
)
_WORD = re.compile("[^\\W\\d_]+(?:\u00ad+[^\\W\\d_]+)+")
_MIN_HYPHENATED: Final = 10  # letters of a word that soft hyphens may divide, into parts of three and more
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,8}\U000e007f")
_OTHER_LETTERS = re.compile("[\u0370-\u052f]")
_LETTERS = re.compile(r"[^\W\d_]{3,60}")
_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
_BIDI: Final = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_JOINERS: Final = frozenset("\u200c\u200d")
_SPACES: Final = frozenset("\u200b\u2060\ufeff\u180e")
_TAGS: Final = (0xE0000, 0xE007F)
_MORE_SELECTORS: Final = (0xE0100, 0xE01EF)
_INVISIBLE_PLANE: Final = (0xE0000, 0xE0FFF)  # tags, selectors, and what no character is assigned to
_KEYCAP: Final = "\u20e3"
# Scripts that join letters or break lines with invisible characters, as ranges of code points.
_NEEDS_INVISIBLE: Final = (
    (0x0590, 0x08FF),  # Hebrew, Arabic, Syriac, …
    (0x0900, 0x109F),  # Indic scripts, Thai, Lao, Tibetan, Myanmar
    (0x1100, 0x11FF),  # Hangul
    (0x1780, 0x18AF),  # Khmer, Mongolian
    (0x1A00, 0x1CFF),
    (0x2E80, 0x9FFF),  # CJK
    (0xA000, 0xABFF),
    (0xAC00, 0xD7FF),  # Hangul
    (0xF900, 0xFDFF),
    (0xFE70, 0xFEFC),
    (0x10A00, 0x11FFF),
    (0x20000, 0x3FFFF),  # CJK
)
_EMOJI: Final = (
    (0x2000, 0x2BFF),
    (0x1F000, 0x1FAFF),
    (0x3030, 0x303D),
    (0x3297, 0x3299),
    (0xA9, 0xAE),
)


def find_hidden(text: str) -> list[GuardFinding]:
    """Runs of hidden characters that no script needs; `hidden-message` where they can spell a word."""
    if text.isascii():
        return []
    if _HIDDEN.search(text) is None:
        return _find_look_alikes(text)
    spans = list(_hidden_spans(text))
    tags = sum(1 for start, end in spans for c in text[start:end] if _is_smuggled(c))
    kind = "hidden-message" if tags >= _MIN_MESSAGE_TAGS else "hidden-text"
    return [
        GuardFinding(kind if any(map(_is_smuggled, text[start:end])) else "hidden-text", (start, end), 1.0)
        for start, end in spans
    ] + _find_look_alikes(text)


def _find_look_alikes(text: str) -> list[GuardFinding]:
    """Words that mix Latin letters with Cyrillic or Greek ones: a hint, since some names do."""
    if _OTHER_LETTERS.search(text) is None:
        return []
    return [
        GuardFinding("look-alike-letters", match.span(), 0.5)
        for match in _LETTERS.finditer(text)
        if not match.group().isascii() and _has_mixed_scripts(match.group())
    ]


def _hidden_spans(text: str) -> Iterator[tuple[int, int]]:
    """The spans of hidden characters that do not belong where they are."""
    flags = {place for match in _FLAG.finditer(text) for place in range(*match.span())}
    flags |= _hyphenation(text)
    has_right_to_left = _RIGHT_TO_LEFT.search(text) is not None
    for match in _HIDDEN.finditer(text):
        start, end = match.span()
        before = text[start - 1] if start else ""
        after = text[end] if end < len(text) else ""
        run = match.group()
        hidden = [
            place
            for place, character in enumerate(run, start)
            if place not in flags
            and not is_needed(character, before, after, run=run, is_bidi_text=has_right_to_left)
        ]
        yield from _runs(hidden)


def _hyphenation(text: str) -> set[int]:
    """The places of soft hyphens that divide long words into syllables, as typesetting does."""
    if "\u00ad" not in text:
        return set()
    kept: set[int] = set()
    for match in _WORD.finditer(text):
        parts = match.group().split("\u00ad")
        if sum(map(len, parts)) >= _MIN_HYPHENATED and min(map(len, parts)) >= 3:
            kept |= {place for place in range(*match.span()) if text[place] == "\u00ad"}
    return kept


def _runs(places: list[int]) -> Iterator[tuple[int, int]]:
    begin = 0
    for index, place in enumerate(places):
        if index + 1 == len(places) or places[index + 1] != place + 1:
            yield places[begin], place + 1
            begin = index + 1


def is_needed(character: str, before: str, after: str, *, run: str, is_bidi_text: bool) -> bool:
    """True if a script or an emoji needs the character between these two visible ones."""
    code = ord(character)
    if character in _BIDI:
        return is_bidi_text and not (_is_ascii_word(before) and _is_ascii_word(after))
    if _in(code, _INVISIBLE_PLANE) and not _in(code, _MORE_SELECTORS):
        return False
    if 0xFE00 <= code <= 0xFE0F or _in(code, _MORE_SELECTORS):
        # One selector after a character chooses its look; more of them carry data.
        is_one = (
            sum(1 for each in run if 0xFE00 <= ord(each) <= 0xFE0F or _in(ord(each), _MORE_SELECTORS)) == 1
        )
        is_keycap = after == _KEYCAP and before in "#*0123456789"
        can_vary = _needs_invisible(before) or (
            code < _MORE_SELECTORS[0] and (_is_symbol(before) or is_keycap)
        )
        return is_one and can_vary
    if len(run) > 3:
        return False
    if character in _JOINERS:
        is_emoji = _is_symbol(before) and (_is_symbol(after) or after == "")
        return is_emoji or (_needs_invisible(before) or _needs_invisible(after))
    if character in _SPACES:
        return _needs_invisible(before) or _needs_invisible(after)
    if 0x2061 <= code <= 0x2064:
        return len(run) == 1 and not (
            before.isascii() and after.isascii() and before.isalpha() and after.isalpha()
        )
    # Hangul fillers, musical and annotation marks.
    return len(run) == 1 and (_needs_invisible(before) or _needs_invisible(after))


def _needs_invisible(character: str) -> bool:
    """True for a letter of a script that joins letters or breaks lines with invisible characters."""
    return bool(character) and any(_in(ord(character), span) for span in _NEEDS_INVISIBLE)


def _is_ascii_word(character: str) -> bool:
    """True for an ASCII letter, a digit or an underscore: no direction mark belongs between two of them."""
    return character.isascii() and (character.isalnum() or character == "_")


def _is_symbol(character: str) -> bool:
    """True for an emoji, or for what one may begin with."""
    return bool(character) and any(_in(ord(character), span) for span in _EMOJI)


def _is_smuggled(character: str) -> bool:
    """True for a character that may stand for a letter or a byte: tags, selectors beyond the sixteenth, unassigned ones."""
    return _in(ord(character), _INVISIBLE_PLANE)


def _in(code: int, span: tuple[int, int]) -> bool:
    return span[0] <= code <= span[1]


def _decode_hidden(run: str) -> str:
    """The message that hidden characters spell, made printable; empty if they spell none."""
    letters = []
    for character in run:
        code = ord(character)
        if _in(code, _TAGS):
            letters.append(chr(code - _TAGS[0]))
        elif _in(code, _MORE_SELECTORS):
            letters.append(chr((code - _MORE_SELECTORS[0] + 16) & 0xFF))
        elif _in(code, _INVISIBLE_PLANE):
            letters.append("·")  # there is no agreement on what it stands for
    return "".join(c if c.isprintable() else "·" for c in letters)


def in_plain_sight(run: str) -> str:
    """What takes the place of hidden characters: nothing, or the message that a person has to see; look-alikes as Latin."""
    if run[0].isalpha() and _has_mixed_scripts(run):
        return run.translate(LOOK_ALIKES)
    message = _decode_hidden(run)
    return f" [hidden text: {message}] " if len(message) >= _MIN_MESSAGE_TAGS else ""


def escape_hidden(text: str) -> str:
    """The text with hidden characters made visible, for what was stored before they were removed."""
    if text.isascii() or _HIDDEN.search(text) is None:
        return text
    parts, at = list[str](), 0
    for start, end in _hidden_spans(text):
        parts += (
            text[at:start],
            f"[{end - start} hidden characters]" if end - start > 1 else "[hidden character]",
        )
        at = end
    return "".join((*parts, text[at:])) if at else text


def without_hidden(text: str) -> tuple[str, list[int] | None]:
    """The text as people see it, and the place of each of its characters in `text`; None if nothing was hidden."""
    if text.isascii() or _HIDDEN.search(text) is None:
        return text, None
    hidden = {place for start, end in _hidden_spans(text) for place in range(start, end)} | _hyphenation(text)
    if not hidden:
        return text, None
    places = [place for place in range(len(text)) if place not in hidden]
    return "".join(text[place] for place in places), places


def _has_mixed_scripts(word: str) -> bool:
    """True if a word has Latin letters next to Cyrillic or Greek ones, which look alike."""
    scripts = {unicodedata.name(c, "").partition(" ")[0] for c in word if c.isalpha()}
    return "LATIN" in scripts and not scripts.isdisjoint({"CYRILLIC", "GREEK"})
