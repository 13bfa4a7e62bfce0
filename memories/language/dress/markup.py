"""A text without the markup around its words: tags, addresses of links, list marks, emoticons, headers of a document."""

import html
import json
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final
from urllib.parse import unquote

from django.db.models import F, Func, IntegerField, Q, QuerySet, TextField
from django.db.models.functions import Cast, Length

from memories.language.cleaning import fold
from memories.language.dress.readings import (
    ENCODED,
    MAX_LEVELS,
    bare_readings,
    json_in,
    placed_readings,
    strings_in,
)
from memories.language.dress.signs import has_letters_or_digits
from memories.language.word_tables import parse_words

# Runs are bounded, so that a text of 100,000 characters takes linear time.
_DECLARATION = re.compile(
    r"<!doctype\b[^<>]{0,300}>|<\?[a-z][\w-]{0,40}\b[^<>]{0,300}\?>"
    r"|<!(?:here|channel|everyone|subteam\^\w{1,20})(?:\|[^<>\n]{0,60})?>"  # mentions in Slack
    r"|<(?:meta|link|base)\b[^<>]{0,300}>",
    re.I,
)
_HIDDEN = re.compile(r"<(style|script|head|template|noscript)\b[^<>]{0,300}>", re.I)
_ENDS: Final = {
    name: re.compile(rf"</{name}\s{{0,20}}>", re.I)
    for name in ("style", "script", "head", "template", "noscript")
}
_FRONT_MATTER = re.compile(
    r"(---|\+\+\+)[ \t]{0,9}\n"
    r"(?:(?:[ \t]{0,20}[\w-]{1,60}[ \t]{0,5}[:=][^\n]{0,500}|[ \t]{0,20}-[ \t][^\n]{0,500}|#[^\n]{0,500}|[ \t]{0,20})\n){1,60}?"
    r"(?:\1|\.\.\.)[ \t]{0,9}(?:\n|$)"
)
_TARGET = re.compile(
    r"^[ \t]{0,3}\[([^\[\]\n]{1,500})\]:[ \t]{1,9}<?(?:[a-z]{2,10}:|www\.|[/#.])[^\s<>]{0,500}>?"
    r"(?:[ \t]{1,9}[\"'(][^\n]{0,200}[\"')])?[ \t]{0,9}$",
    re.M | re.I,
)
_REFERENCE = re.compile(r"!?\[([^\[\]\n]{1,500})\] ?\[([^\[\]\n]{0,500})\]")
_CALLOUT = re.compile(r"^[ \t]{0,9}>[ \t>]{0,20}\[![A-Za-z]{2,20}\][+-]?", re.M)
_ATTRIBUTE_LIST = re.compile(
    r"\{:?[ \t]{0,3}[#.][A-Za-z][\w:-]{0,60}"
    r"(?:[ \t]{1,3}(?:[#.][A-Za-z][\w:-]{0,60}|[\w-]{1,40}=(?:\"[^\"\n]{0,100}\"|[^\s}\"]{1,100}))){0,9}[ \t]{0,3}\}(?=[ \t]{0,9}$)",
    re.M,
)
_TASK = re.compile(r"^\*{1,6}[ \t]{1,9}TODO(?:[ \t]{1,9}\[#[A-Z]\])?(?=[ \t])", re.M)
# | 1 | a sentence of three words or more |
_ROW_NUMBER = re.compile(
    r"^\|[ \t]{0,9}\d{1,3}[ \t]{0,9}\|(?=(?:[ \t]{1,9}[^\s|]{1,60}){3}[^|\n]{0,500}\|[ \t]{0,9}$)", re.M
)
_CUT = re.compile(r"(?<![^\W_])([^\W\d_]{1,2})-[ \t]{0,9}\n[ \t]{0,20}(?=[^\W\d_])")


def _without_document(text: str) -> str:
    """The text without what a document has around it; the text as it is if nothing else were left."""
    bare = text
    if "<" in bare:
        bare = _DECLARATION.sub(" ", without_hidden(bare)).strip()
    bare = bare.lstrip("\ufeff")
    if bare[:3] in ("---", "+++") and (header := _FRONT_MATTER.match(bare)) is not None:
        bare = bare[header.end() :]
    if "[" in bare:
        bare = _CALLOUT.sub(">", _without_targets(bare))
    if "{" in bare:
        bare = _ATTRIBUTE_LIST.sub("", bare)
    bare = _ROW_NUMBER.sub("", _TASK.sub("", bare))
    return bare if has_letters_or_digits(bare) else text


def without_hidden(text: str) -> str:
    """The text without the parts of a page that are not shown."""
    kept, at = [], 0
    while (start := _HIDDEN.search(text, at)) is not None:
        end = _ENDS[start[1].lower()].search(text, start.end())
        if end is None:
            break
        kept.append(text[at : start.start()])
        at = end.end()
    return " ".join([*kept, text[at:]])


def _without_targets(text: str) -> str:
    """The text without the addresses of its links that stand at the end, such as "[1]: https://…"."""
    labels = {found[1].casefold() for found in _TARGET.finditer(text)}
    if not labels:
        return text
    return _REFERENCE.sub(
        lambda found: found[1] if (found[2] or found[1]).casefold() in labels else found[0],
        _TARGET.sub("", text),
    )


def _join_cut(found: re.Match[str]) -> str:
    """The beginning of a cut word, or all that was found if it is a capital within a sentence."""
    before = found.string[max(0, found.start() - 5) : found.start()].rstrip()[-1:]
    is_grade = len(found[1]) == 1 and found[1].isupper() and before not in ("", ".", "!", "?")
    return found[0] if is_grade else found[1]


_HTML_TAGS = (
    "a|abbr|article|aside|b|bdi|bdo|big|blockquote|body|br|button|caption|center|cite|code|dd|del|details|dfn|div|dl|dt|"
    "em|figcaption|figure|font|footer|h[1-6]|head|header|hr|html|i|img|ins|kbd|label|li|main|mark|nav|ol|p|pre|q|s|samp|"
    "section|small|span|strike|strong|sub|summary|table|tbody|td|tfoot|th|thead|title|tr|tt|u|ul|var"
)
# Every run below has an upper bound: a text of 32,000 brackets must not cost quadratic time.
_ATTRIBUTES = (
    r"(?:\s{1,20}[\w:@-]{1,60}\s{0,5}=\s{0,5}(?:\"[^\"]{0,300}\"|'[^']{0,300}'|[^\s>\"']{1,300})){0,20}"
)
_TAG_END = r"\s{0,20}/?>"
_SUPERSCRIPT_START = re.compile(r"(?<=\w)<sup>\s{0,20}(?=\d)", re.I)
_SUPERSCRIPT_TAG = re.compile(r"(?<=\w)<sup>\s{0,20}(\d{1,9})\s{0,20}</sup>", re.I)
_TAG = re.compile(rf"</?(?:{_HTML_TAGS}){_ATTRIBUTES}{_TAG_END}", re.I)
_CLOSING_TAG = re.compile(r"</([A-Za-z][\w:-]{0,60})>")
_MAX_TAG_NAMES = 20
_COMMENT = re.compile(r"<!--.{0,500}?-->|<!\[CDATA\[|\]\]>", re.S)
_LINK = re.compile(
    r"!?\[([^\[\]\n]{0,500})\]\([^()\s]{0,300}(?:\([^()\s]{0,100}\)[^()\s]{0,100})?(?: \"[^\"]{0,100}\")?\)"
)
_FENCE = re.compile(
    r"^[ \t]{0,20}(?:`{3,9}|~{3,9})[ \t]{0,9}[\w+#-]{0,60}"
    r"(?:[ \t]{1,9}(?:[\w-]{1,40}=(?:\"[^\"\n]{0,100}\"|[^\s\"`]{1,100})|\{[^{}\n]{0,100}\})){0,9}[ \t]{0,9}$",
    re.M,
)
_BBCODE = re.compile(
    r"\[/?(?:b|i|u|s|code|quote|url|color|size|center|spoiler|img|list|font)(?:=[^\]\n]{0,200})?\]", re.I
)
_FOOTNOTE = re.compile(r"(?<=\S)\[\^[\w-]{1,20}\]|^\[\^[\w-]{1,20}\]:", re.M)
_LATEX = re.compile(
    r"\\(?:textbf|textit|texttt|textsc|textrm|emph|underline|text|mathrm|mathbf|mbox|section|item|quote)\b\*?"
)
_DOLLARS = re.compile(r"(\$\$?)(?=\S)([^$\n]+?)(?<=\S)\1(?!\d)")
_TERMINAL_COLOUR = re.compile(r"(?:\x1b\[\d{0,3}|\[\d{1,3})(?:;\d{1,3}){0,4}m")
_WIKI = re.compile(
    r"^[ \t]*h[1-6]\.[ \t]|\{(?:quote|code|noformat|panel|color)(?::[^{}\n]{0,60})?\}", re.M | re.I
)
# Marks on both sides of a word or phrase, such as ==this==, ||this|| and +this+; not the plus of C++ or a = b.
_PAIRED = re.compile(
    r"(?<![\w=+|~^%#])(={1,3}|\+{1,3}|\|\||~{1,3}|\^{1,2}|%{2}|#{1,2}|->)(?=[^\s=+|~^%#])([^=+|~^%#\n]{1,200}?)(?<=\S)\1(?![\w=+|~^%#])"
)
_ANGLED = re.compile(r"(?<!\w)<{1,2}((?:https?|ftp|mailto):[^<>\s]{1,500}|[^<>\s=!-]{1,60})>{1,2}(?!\w)")
_SHORTCODE = re.compile(r"(?<![\w:]):[a-z][a-z0-9]*(?:[_+-][a-z0-9]+)*:(?![\w:])")
_EMOTICON = re.compile(
    r"(?<!\S)(?:[:;][-']?[DPpOoSs3)(\]\[/\\|*]+|[xX]D+|<3+|\^_+\^|[oO]_[oO]|T_T|¯\\_\(ツ\)_/¯)(?=[\s.!?]|$)"
)
_LIST_MARK = re.compile(
    r"^(?:[ \t>]*(?:[-*+•‣◦–—·]|\(?\d{1,3}[.)](?!\d)|\(?[a-zA-Z]\)|[ivx]{1,5}[.)]|[①-⓿❶-➓]|\d\ufe0f?\u20e3|#{1,6}|>)[ \t\u00a0]+"
    r"(?:\[[ xX✓✔]?\][ \t]+)?)+|^[ \t]*>+[ \t]*|^[ \t]*\[[ xX]\][ \t]+",
    re.M,
)
_EMOJI_FORM = re.compile(r"[^\x00-\x7f]\ufe0f")  # ℹ️ and Ⓜ️ are pictures, though their letters would stay
_TRADE_MARK = re.compile(r"[™℠©®]|\((?:tm|c|r)\)", re.I)
_SUPERSCRIPT = re.compile(r"(?<=[^\W_⁰¹²³⁴-⁹])([⁰¹²³⁴-⁹⁻⁺]+)")
_LAST_WORD = re.compile(r"[^\W_]+")
_POWERS = parse_words(["mm cm dm km nm um μm ft in yd mi sec min ms kg hz sin cos tan cot log ln mol cd"])
_MAX_FORMULA = 3  # letters of an ion before its charge: Na⁺, Mg²⁺, and of a unit with a negative exponent
_UNDERLINE = re.compile(r"^[ \t]*={2,}[ \t]*$", re.M)
_SPACE_IN_ADDRESS = re.compile(r"(?<![%\W])%20")


def without_markup(text: str) -> str:
    """The text without tags, addresses of links, list marks, emoticons and other markup."""
    text = text.strip()
    if _SPACE_IN_ADDRESS.search(text) or (text.count("+") > 2 and not any(c.isspace() for c in text)):
        text = unquote(text if any(c.isspace() for c in text) else text.replace("+", " "))
    text = _without_document(text)
    if "<" in text or "&" in text:
        text = _without_tags(html.unescape(_without_tags(text)))  # twice: tags may be written as entities
    if "[" in text:
        text = _TERMINAL_COLOUR.sub("", _FOOTNOTE.sub("", _BBCODE.sub("", _LINK.sub(r"\1", text))))
    if "\\" in text:
        text = _LATEX.sub(" ", text)
    if "$" in text:
        text = _DOLLARS.sub(r"\2", text)
    text = _UNDERLINE.sub("", text) if "==" in text else text
    text = _ANGLED.sub(r"\1", _PAIRED.sub(r"\2", _WIKI.sub("", _FENCE.sub("", text))))
    text = _EMOTICON.sub(" ", _LIST_MARK.sub("", text))
    if "-" in text and "\n" in text:
        text = _CUT.sub(_join_cut, text)
    text = _TRADE_MARK.sub("", _SHORTCODE.sub(" ", text))
    return text if text.isascii() else _SUPERSCRIPT.sub(_mark_exponent, _EMOJI_FORM.sub(" ", text))


def _mark_exponent(found: re.Match[str]) -> str:
    """An exponent with its sign; "" for the sign of a footnote, which stands after a whole word."""
    word = _LAST_WORD.findall(found.string[max(0, found.start() - 20) : found.start()])[-1:]
    before = word[0].casefold() if word else ""
    is_exponent = (
        not before.isalpha()
        or len(before) == 1
        or (before in _POWERS and found[1] not in ("¹", "1"))
        or (len(before) <= _MAX_FORMULA and found[1][-1] in "⁺⁻")
    )
    return f"^{found[1]}" if is_exponent else ""


def _without_tags(text: str) -> str:
    """The text without HTML tags, comments, and other tags that are closed."""
    uncommented = _COMMENT.sub("", text)
    # A comment around the whole text is dress, one inside it is an addition.
    text = uncommented if has_letters_or_digits(uncommented) else re.sub("<!--|-->", " ", text)
    text = _SUPERSCRIPT_START.sub("^", _SUPERSCRIPT_TAG.sub(_mark_exponent, text))
    for name in sorted({*_CLOSING_TAG.findall(text)})[:_MAX_TAG_NAMES]:
        text = re.sub(rf"</?{re.escape(name)}{_ATTRIBUTES}{_TAG_END}", " ", text)
    return _TAG.sub(" ", text)


REDACTION: Final = "[purged]"
_MAX_SEARCHED: Final = 24  # words looked for in the database; above it, reading all rows is faster
_KEY_WORDS: Final = 3  # the longest words of a text: a value without any of them does not quote it
MAX_KEY_CHARS: Final = 64
# Scripts without spaces: each letter counts as a word.
_UNSPACED: Final = "\u0e00-\u0eff\u0f00-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_WORD: Final = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_ASCII_WORD: Final = re.compile(r"[a-z0-9]+")  # of a plain text: seven times as fast
_JSON_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_JSON_VALUE: Final = re.compile(rf"{_JSON_STRING.pattern}|[^\s\"\[\]{{}},:]+")
_fold_letter: Final = lru_cache(maxsize=4096)(fold)


class Quotes:
    """Finds texts, as whole words, inside other texts, and blanks them there."""

    def __init__(self, texts: Iterable[str]) -> None:
        given = set(texts) - {""}
        # A text without a letter or digit, such as an emoji, is found as it is.
        self.signs = {text for text in given if not _fold_words(text).strip()}
        self.texts = {_fold_words(text) for text in given - self.signs}
        self._by_word: dict[str, set[str]] = {}
        for text in self.texts:
            for word in sorted(text.split(), key=len)[-_KEY_WORDS:]:
                self._by_word.setdefault(word, set()).add(text)

    def find(self, value: str) -> bool:
        """True if a text contains one of the texts, in any of its readings."""
        return any(self._find_plain(said) for said in bare_readings(value))

    def are_in(self, value: Any) -> bool:
        """True if a text, or a string anywhere in a JSON value, contains one of the texts."""
        return any(self.find(text) for _, text in strings_in(value))

    def blank(self, value: Any) -> Any:
        """A text or JSON value with REDACTION in place of each of the texts; JSON in a string stays JSON."""
        if isinstance(value, str):
            return self._blank_text(value) if self.find(value) else value
        if isinstance(value, list):
            return [self.blank(part) for part in value]
        if isinstance(value, dict):
            return {self.blank(name): self.blank(part) for name, part in value.items()}
        return value

    def _find_plain(self, value: str) -> list[str]:
        """The texts, folded, that a value contains as it is."""
        # Look-alike letters are folded only where another long word of the text is found: folding is slow.
        plain = unicodedata.normalize("NFKC", value).casefold()
        words = self._by_word.keys() & (_ASCII_WORD if plain.isascii() else _WORD).findall(plain)
        signs = [sign for sign in self.signs if sign in value]
        if not words:
            return signs
        wanted, folded = set[str]().union(*(self._by_word[word] for word in words)), _fold_words(value)
        return [*signs, *(text for text in wanted if text in folded)]

    def _spans(self, value: str) -> list[tuple[int, int]]:
        """Where the texts stand in a value, in any of its readings."""
        found = list[tuple[int, int]]()
        for said, places in placed_readings(value):
            for text in self._find_plain(said):
                spans = (
                    (each.span() for each in re.finditer(re.escape(text), said))
                    if text in self.signs
                    else _spans_of(said, text)
                )
                found += [(places[begin], places[end]) for begin, end in spans]
        return _joined(found)

    def _blank_text(self, value: str, depth: int = 0) -> str:
        """The value without the texts. Of JSON each string is blanked by itself, and of what spans several values each."""
        is_json = depth < MAX_LEVELS and json_in(value) is not None
        if is_json:
            value = _JSON_STRING.sub(lambda found: self._blank_string(found[0], depth + 1), value)
        spans = self._spans(value)
        if is_json:
            ends = [end for _, end in spans]

            def blanked(found: re.Match[str]) -> str:
                at = bisect_right(ends, found.start())
                is_part = at < len(spans) and spans[at][0] < found.end()
                return f'"{REDACTION}"' if is_part else found[0]

            return _JSON_VALUE.sub(blanked, value) if spans else value
        at, kept = 0, list[str]()
        for begin, end in spans:
            kept += [value[at:begin], REDACTION]
            at = end
        return "".join([*kept, value[at:]])

    def _blank_string(self, literal: str, depth: int) -> str:
        """A string of JSON, as it is written there."""
        if not self.find(literal):
            return literal
        text = json.loads(literal)
        blanked = self._blank_text(text, depth)
        is_ascii = literal.isascii() or "\\u" in literal  # which may be half of a letter
        return literal if blanked == text else json.dumps(blanked, ensure_ascii=is_ascii)

    def rows(self, rows: QuerySet[Any], *columns: str) -> list[tuple[Any, ...]]:
        """The primary keys and columns of the rows one of whose columns contains one of the texts."""
        if not self.texts | self.signs:
            return []
        may = self._may_hold(rows, columns) if len(self.texts) <= _MAX_SEARCHED else rows
        found = may.order_by().values_list("pk", *columns).iterator(chunk_size=2000)
        return [row for row in found if any(map(self.are_in, row[1:]))]

    def _may_hold(self, rows: QuerySet[Any], columns: Iterable[str]) -> QuerySet[Any]:
        """The rows with an ASCII word of each text, or with any other letters, which only Python folds right."""
        plain = {
            max((word for word in text.split() if word.isascii()), key=len, default="") for text in self.texts
        }
        found = Q()
        for column in columns:
            name = f"text_of_{column}"
            size = Func(F(name), function="OCTET_LENGTH", output_field=IntegerField())
            rows = rows.alias(**{name: Cast(column, TextField())})
            rows = rows.alias(**{f"size_of_{column}": size, f"chars_of_{column}": Length(name)})
            found |= Q(**{f"size_of_{column}__gt": F(f"chars_of_{column}")})
            for escape in ENCODED:  # a letter of the word may be written so
                found |= Q(**{f"{name}__contains": escape})
            for sign in self.signs:
                found |= Q(**{f"{name}__contains": sign})
            for word in plain - {""}:
                found |= Q(**{f"{name}__icontains": word[:MAX_KEY_CHARS]})
        return rows.filter(found)


def _fold_words(text: str) -> str:
    """The words of a text, folded, with a space around each."""
    return f" {' '.join(_WORD.findall(fold(text)))} "


def _spans_of(value: str, text: str) -> Iterator[tuple[int, int]]:
    """Where a folded text stands in a value, with the stop after it."""
    letters, places = list[str](), list[int]()
    for place, letter in enumerate(value):
        folded = " " if letter.isspace() else _fold_letter(letter)
        letters.append(folded)
        places += [place] * len(folded)
    words = list(_WORD.finditer("".join(letters)))
    joined, count = f" {' '.join(word[0] for word in words)} ", text.count(" ") - 1
    start, first, counted = joined.find(text), 0, 0
    while start >= 0:
        first, counted = first + joined.count(" ", counted, start), start
        begin, end = places[words[first].start()], places[words[first + count - 1].end() - 1] + 1
        yield begin, end + (value[end : end + 1] in tuple(".!?…。！？"))
        start = joined.find(text, start + len(text) - 1)


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans in their order, those that overlap as one."""
    found = list[tuple[int, int]]()
    for begin, end in sorted(spans):
        if found and begin < found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((begin, end))
    return found
