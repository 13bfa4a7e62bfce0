"""Other readings of a text: escapes undone, tokens that are broken over lines or pieces joined, Base64 decoded.

Each reading maps its characters to their places in the text. All patterns run in RE2 or consume what they match.
"""

import base64
import binascii
import html
import re
import unicodedata
from dataclasses import dataclass, field
from typing import Final

from guard.patterns import Pattern

MIN_TOKEN: Final = 20  # characters of the shortest secret that is looked for in pieces
MAX_ENCODED: Final = 10_000  # characters of a passage of Base64; longer ones are files
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
        if end - start >= MIN_TOKEN:
            _join(reading, text, start, end)
    for start, end in _ENCODED.spans(text):
        if end - start <= MAX_ENCODED and (plain := decoded(text[start:end])):
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
        if length < MIN_TOKEN or not any(c.isdigit() for first, last in group for c in text[first:last]):
            continue
        for first, last in group:
            reading.keep(text, first, last)
        reading.put(" ", group[-1][1], group[-1][1])


def decoded(run: str) -> str:
    """The ASCII text that Base64 encodes; empty if it encodes something else."""
    if len(set(run)) < 8:
        return ""
    plain = run.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        told = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        return ""
    return told if told.replace("\n", " ").replace("\t", " ").replace("\r", " ").isprintable() else ""
