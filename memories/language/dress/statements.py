"""Statements inside a text: its sentences and clauses, and what their sentence does with them.

A text is cut where a statement may begin or end: at punctuation, after words that lead to one ("we know that"), and
before words that follow one ("because"). Statements are runs of these parts, at most MAX_PARTS long, so their number
grows with the text's length alone.
"""

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from typing import Final, NamedTuple

from memories.language.dress import MIN_CHARS, undressed_part, without_markup
from memories.language.word_forms import DENIALS, DENYING_PARTS, NEGATION
from memories.language.word_tables import parse_words, read_sections

MAX_PARTS = 32  # of a statement, which may be several sentences
_MAX_STATEMENTS = 200_000  # about a second; a text of that many parts has shorter statements
MIN_WORDS = 3  # two words are a name, or part of too many sentences
_MAX_LEAD = 12  # words before a statement in its clause
_MAX_OPENED = 6  # words between an opener and the statement
_MIN_JOINED = 3  # words after "and" that state something of their own
_MAX_CONTEXT = 400  # characters on either side that may take a statement back
_MAX_DENIAL = 4  # words of a part that only denies: "wohl eher nicht"
_MAX_REPLY = 10  # words of a sentence that speaks of the one before it

_TABLES: Final = read_sections("statements")
_INTRODUCERS: Final = parse_words(_TABLES["introducers"])
_SUBORDINATORS: Final = parse_words(_TABLES["subordinators"])
_OPENERS: Final = parse_words(_TABLES["openers"])
_ARTICLES: Final = parse_words(_TABLES["articles"])
_PREPOSITIONS: Final = parse_words(_TABLES["prepositions"])
_FOLLOWERS: Final = parse_words(_TABLES["followers"])
_JOINERS: Final = parse_words(_TABLES["joiners"])
_ENDINGS: Final = parse_words(_TABLES["endings"])
_LEADING: Final = _INTRODUCERS | _JOINERS
_INSIDE_PHRASE: Final = _PREPOSITIONS | _ARTICLES
_REFERRING: Final = parse_words(_TABLES["referring"])
_CORRECTIONS: Final = parse_words(_TABLES["corrections"])
_CONDITIONS: Final = parse_words(_TABLES["conditions"])


def _any_of(parts: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(parts, key=len, reverse=True))), re.I)


_INTRODUCING: Final = _any_of([*parse_words(_TABLES["introducing parts"])])
_FOLLOWING: Final = _any_of([*parse_words(_TABLES["following parts"])])
_CORRECTING: Final = _any_of([*parse_words(_TABLES["correcting parts"])])
_CONDITIONAL: Final = _any_of([*parse_words(_TABLES["conditional parts"])])
_ENDING: Final = _any_of([*parse_words(_TABLES["ending parts"])])
_DENYING: Final = _any_of([*DENYING_PARTS])
_AFFIRMING: Final = _any_of(_TABLES["affirming"])

# Unicode's Sentence_Terminal beyond ASCII: these need no space after them.
SENTENCE_ENDS: Final = (
    "\u0589\u061d-\u061f\u06d4\u0700-\u0702\u07f9\u0837\u0839\u083d\u083e\u0964\u0965\u104a\u104b\u1362\u1367\u1368\u166e"
    "\u1735\u1736\u17d4\u17d5\u1803\u1809\u1944\u1945\u1aa8-\u1aab\u1b5a\u1b5b\u1b5e\u1b5f\u1c3b\u1c3c\u1c7e\u1c7f\u203c\u203d"
    "\u2047-\u2049\u2e2e\u2e3c\u3002\ua4ff\ua60e\ua60f\ua6f3\ua6f7\ua876\ua877\ua8ce\ua8cf\ua92f\ua9c8\ua9c9\uaa5d-\uaa5f\uaaf0"
    "\uaaf1\uabeb\ufe12\ufe15\ufe16\ufe52\ufe56\ufe57\uff01\uff0e\uff1f\uff61"
)
# Full-width, half-width, small and vertical forms, as plain ones. Of ",!?;:" the full-width form stays, which needs no space.
_WIDTHS: Final = {
    code: chr(ord(plain) + 0xFEE0) if plain in ",!?;:" else plain
    for code in (0x3000, *range(0xFE10, 0xFE6C), *range(0xFF01, 0xFFEF))
    if len(plain := unicodedata.normalize("NFKC", chr(code))) == 1
}
_LETTER: Final = "[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"  # of a script without spaces between words
_UNSPACED: Final = re.compile(_LETTER)
_TAG: Final = re.compile(r"</?[a-z][^<>\n]{0,300}>", re.I)
_WRAP: Final = re.compile(rf"(?<=[^\s.!?:;：；{SENTENCE_ENDS}])[ \t]{{0,20}}\n[ \t]{{0,20}}(?=[^\W\d_])")
_LINE_ENDS: Final = re.compile("[\r\v\f\u0085\u2028\u2029]")
_WORD: Final = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*['’]?")
_BOUNDARY: Final = re.compile(
    rf"[.!?,;:…]+(?=[\s\"'’”»)\]*_]|$|{_LETTER})|(?<={_LETTER})[.!?,;:]+"
    rf"|[()\[\]{{}}\"“”„«»‹›「」『』《》〈〉【】（）|\n\t，、；：،؛{SENTENCE_ENDS}]+"
    r"|(?<=\s)[-–—>]+(?=\s)|[–—]+|>(?=\s)"
    r"|(?<!\w)['‘’‚*_]+|['’*_]+(?!\w)"
)
_BREAK: Final = re.compile(rf"(?:(?:{_BOUNDARY.pattern})\s{{0,20}}){{1,9}}")
_EDGES: Final = " ,;:.\"'”’»)–—-"
_LEADS_ON: Final = re.compile("[:：\"“”„«»‹›「」『』《》'‘’‚(（–—-]")
_SENTENCE_END: Final = re.compile(
    rf"[.!?]+(?=[\s\"'’”»)\]*_」』]|$)|[{SENTENCE_ENDS}]+|(?<={_LETTER})[.!?]|\n"
)
_QUESTION: Final = re.compile("[?？؟፧⁇⁈⁉⸮꘏꛷᥅]")


class _Part(NamedTuple):
    """A piece of a text between two places where a statement may begin or end."""

    start: int
    end: int
    bare: str
    words: int
    begins: bool
    ends: bool


class _Statement(NamedTuple):
    """A statement in a text that plain_lines() returned: its place there, and its letters, digits and signs."""

    start: int
    end: int
    bare: str


def plain_lines(text: str) -> str:
    """The text without markup and wide forms, its wrapped lines joined; statements are found in it."""
    text = _LINE_ENDS.sub("\n\n", text if text.isascii() else text.translate(_WIDTHS))
    if "<" in text:
        text = _TAG.sub("\n", text)
    if "\n" in text:
        text = _WRAP.sub(lambda found: " " if found.string[found.end()].islower() else "\n", text)
    return without_markup(text)


def statements_in(plain: str) -> Iterator[_Statement]:
    """What is stated inside a plain text, as a whole and in its parts."""
    parts = _parts_of(plain)
    longest = max(MIN_WORDS, min(MAX_PARTS, _MAX_STATEMENTS // max(1, len(parts))))
    for at, first in enumerate(parts):
        if not first.begins:
            continue
        bare, words = "", 0
        for part in parts[at : at + longest]:
            joint = "." if bare[-1:].isdigit() and part.bare[:1].isdigit() else ""
            bare += joint + part.bare
            words += part.words
            if part.ends and words >= MIN_WORDS and len(bare) >= MIN_CHARS:
                yield _Statement(first.start, part.end, bare)


def loses_a_sign(plain: str, statement: _Statement) -> bool:
    """True if a sign that changes a fact stands between its parts: "build || test" does not state "build test".

    A text that is nothing but the statement has it with the signs around it.
    """
    start, end = statement.start, statement.end
    if not (_WORD.search(plain, end) or _WORD.search(plain, 0, start)):  # the text is the statement
        start, end = 0, len(plain)
    kept = undressed_part(plain[start:end])
    return bool(_signs(kept) - _signs(statement.bare))


def _signs(bare: str) -> Counter[str]:
    """The signs of an undressed text; a dot only joins two numbers."""
    return Counter(character for character in bare if not character.isalnum() and character != ".")


def is_taken_back(plain: str, statement: _Statement) -> bool:
    """True if its sentence, its heading or the next sentence denies, corrects, asks or supposes the statement."""
    end = _SENTENCE_END.search(plain, statement.end, statement.end + _MAX_CONTEXT)
    at = end.end() if end is not None else statement.end + _MAX_CONTEXT
    lead, rest = _lead_of(plain, statement.start), plain[statement.end : at]
    if _QUESTION.search(rest) and not _AFFIRMING.search(lead):
        return True
    before, after = _AFFIRMING.sub(" ", lead), _AFFIRMING.sub(" ", rest)
    if _corrects(before) or _denies(before) or _supposes(before) or _corrects(after):
        return True
    clause = _BOUNDARY.split(after.lstrip(_EDGES), maxsplit=1)[0]
    return _refers_and_denies(clause) or _is_correcting_reply(plain, statement.end, at)


def corrects_or_ends(text: str) -> bool:
    """True if a text says of something that it is wrong or over."""
    return _corrects(text) or _ends(text)


def _lead_of(plain: str, start: int) -> str:
    """What comes before a statement and governs it: its clause, labels and quoting words, and the heading of its list."""
    first = max(0, start - _MAX_CONTEXT)
    leads = [_heading_of(plain[first:start])]
    at, breaks = start, [*_BREAK.finditer(plain, first, start)]
    for found in reversed(breaks):
        segment = plain[found.end() : at]
        leads.append(segment)
        is_introduced = "," in found[0] and not _SUBORDINATORS.isdisjoint(_words(segment)[:1])
        if not (_LEADS_ON.search(found[0]) or is_introduced):
            break
        at = found.start()
    else:
        leads.append(plain[first:at])
    return " ".join(leads)


def _heading_of(before: str) -> str:
    """The last line before a list's item that ends in a colon; empty if there is none before an empty line."""
    *lines, _ = before.split("\n")
    above = takewhile(str.strip, reversed(lines))
    return next((line for line in above if line.rstrip().endswith((":", "："))), "")


def _refers_and_denies(clause: str) -> bool:
    """True if the part after a statement denies it: "which is not so", "but not any more"; not "not on Mondays"."""
    words = _words(clause)
    if not words:
        return False
    if words[0] in _REFERRING or _UNSPACED.search(clause):
        return _denies(clause) or _ends(clause)
    is_contrast = _denies(words[0]) and len(words) >= MIN_WORDS
    return len(words) <= _MAX_DENIAL and _denies(clause) and not is_contrast


def _is_correcting_reply(plain: str, end: int, at: int) -> bool:
    """True if the sentence at `at` says of the one before it that it is wrong."""
    found = _SENTENCE_END.search(plain, at, at + _MAX_CONTEXT)
    reply = _AFFIRMING.sub(" ", plain[at : found.start() if found is not None else at + _MAX_CONTEXT])
    words = _words(reply)
    if not words or len(words) > _MAX_REPLY:
        return False
    is_about = words[0] in _REFERRING
    return (is_about and _denies(reply)) or (_corrects(reply) and (is_about or "\n" not in plain[end:at]))


def _corrects(text: str) -> bool:
    return not _CORRECTIONS.isdisjoint(_words(text)) or bool(_CORRECTING.search(text))


def _ends(text: str) -> bool:
    return not _ENDINGS.isdisjoint(_words(text)) or bool(_ENDING.search(text))


def _denies(text: str) -> bool:
    found = NEGATION.search(text) or _DENYING.search(text)
    return bool(found) or not DENIALS.isdisjoint(_words(text))


def _supposes(text: str) -> bool:
    return not _CONDITIONS.isdisjoint(_words(text)) or bool(_CONDITIONAL.search(text))


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFC", text).casefold().replace("’", "'"))


def _parts_of(plain: str) -> list[_Part]:
    parts: list[_Part] = []
    start = 0
    for found in _BOUNDARY.finditer(plain):
        parts += _parts_between(plain, start, found.start())
        start = found.end()
    return [*parts, *_parts_between(plain, start, len(plain))]


def _parts_between(plain: str, start: int, end: int) -> Iterator[_Part]:
    """The parts of a clause, cut where a statement may begin or end inside it."""
    found = [*_WORD.finditer(plain, start, end)]
    if not found:
        return
    begins, ends = {start}, {end}
    opened, before, first = -_MAX_OPENED - 1, "", found[0][0].casefold()
    for at, each in enumerate(found):
        word = each[0].casefold()
        is_led = before in _LEADING or at - opened <= _MAX_OPENED
        # "Bob thinks the …", not "the wall of the …"
        is_apart = before not in _INSIDE_PHRASE and first not in _ARTICLES and at <= _MAX_LEAD
        if at and (is_led or (is_apart and (word in _ARTICLES or word[:2] == "l'"))):
            begins.add(each.start())
        if at and (word in _FOLLOWERS or (word in _JOINERS and len(found) - at > _MIN_JOINED)):
            ends.add(each.start())
        opened, before = (at if word in _OPENERS else opened), word
    unspaced = not plain.isascii() and _UNSPACED.search(plain, start, end) is not None
    if unspaced:
        begins |= {part.end() for part in _INTRODUCING.finditer(plain, start, end)}
        ends |= {part.start() for part in _FOLLOWING.finditer(plain, start, end)}
    cuts = sorted(begins | ends)
    starts = [word.start() for word in found]
    for one, other in pairwise(cuts):
        count = bisect_left(starts, other) - bisect_left(starts, one)
        if unspaced:
            count += len(_UNSPACED.findall(plain, one, other)) // 2
        yield _Part(one, other, undressed_part(plain[one:other]), count, one in begins, other in ends)
