"""A text without its dress: letters, digits and the signs that change a fact; two texts in other dress are equal here.

Dress is case, accents, punctuation, symbols, emoji, markup, HTML, list marks, quotes, hyphens, white space, look-alike
letters, and saying the whole text twice. Markup goes first: tags, addresses of links, list marks, emoticons, headers of a
document. signs.py then spells the words plainly and keeps the signs that change a fact.
"""

import hashlib
import html
import re
from collections import Counter
from functools import lru_cache
from operator import itemgetter
from typing import Final
from urllib.parse import unquote

from memories.language.cleaning import fold
from memories.language.dress.signs import (
    has_letters_or_digits,
    is_in_one_case,
    is_kept,
    is_one_letter,
    keep_signs,
    mark_signs,
    spell_plainly,
    spelling,
    tokens_of,
    without_accents,
    without_private_marks,
)
from memories.language.word_tables import parse_words

__all__ = [
    "MIN_CHARS",
    "fold_hash",
    "has_letters_or_digits",
    "is_in_one_case",
    "is_kept",
    "is_same_in_other_dress",
    "spelling",
    "tokens_of",
    "undressed",
    "undressed_part",
    "undressed_whole",
    "without_accents",
    "without_markup",
]

MIN_CHARS = 8  # letters or digits; shorter texts are alike too often


def undressed(text: str) -> str:
    """The letters, digits and fact-changing signs of a text; empty if it has fewer than MIN_CHARS letters or digits."""
    kept = undressed_whole(text)
    return kept if sum(c.isalnum() for c in kept) >= MIN_CHARS else ""


@lru_cache(maxsize=32)  # a new text is hashed, marked and compared with several
def undressed_whole(text: str) -> str:
    """undressed() of a text of any length."""
    bare = _without_joints(without_markup(without_private_marks(text)))
    tokens = tokens_of(bare)
    if len(tokens) >= MIN_CHARS and sum(is_one_letter(token) for token in tokens) >= 0.9 * len(tokens):
        bare = "".join(tokens)  # s p a c e d or d.o.t.t.e.d letters
    return _without_repetition(undressed_part(bare))


def undressed_part(bare: str) -> str:
    """The letters, digits and signs of a part of a text without markup."""
    letters = "".join(bare.split())
    if letters.isascii() and letters.isalpha():  # most parts: nothing to spell plainly, no sign
        return letters.lower()
    return keep_signs(mark_signs(spell_plainly(bare)))


def fold_hash(text: str) -> str:
    """SHA-256 (hex) of the undressed text: finds the same text in other dress, never decides alone.

    Stored texts are looked up by it, so a change to undressed_whole() or fold() needs every stored hash recomputed.
    """
    return hashlib.sha256((undressed_whole(text) or fold(text)).encode()).hexdigest()


def is_same_in_other_dress(one: str, other: str) -> bool:
    """True if two texts have the same words, accents included, and the same signs that change a fact."""
    left, right = fold(one), fold(other)
    return left == right or (
        tokens_of(left) == tokens_of(right) and undressed_whole(one) == undressed_whole(other)
    )


def _without_repetition(kept: str) -> str:
    """One copy of an undressed text that is said several times; a sign may stand between the copies."""
    if len(kept) < 2 * MIN_CHARS:
        return kept
    for whole in (kept, f"{kept}."):
        period = (whole + whole).find(whole, 1)
        if period < len(whole):
            once = whole[:period].removesuffix("." if whole is not kept else "")
            return once if sum(c.isalnum() for c in once) >= MIN_CHARS else kept
    return kept


def _without_joints(text: str) -> str:
    """The text without a character after every letter, or a symbol in the place of every space."""
    joint = text[1:2]
    if joint and not joint.isalnum() and len(text) >= 2 * MIN_CHARS and set(text[1:-1:2]) == {joint}:
        return text[::2]
    words = text.split()
    symbols = Counter(word for word in words if not any(c.isalnum() for c in word))
    symbol, count = max(symbols.items(), key=itemgetter(1), default=("", 0))
    is_joint = count >= 0.4 * len(words) and len(words) > (MIN_CHARS if symbol == "+" else 6)
    return " ".join(word for word in words if word != symbol) if is_joint else text


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
        bare = _DECLARATION.sub(" ", _without_hidden(bare)).strip()
    bare = bare.lstrip("\ufeff")
    if bare[:3] in ("---", "+++") and (header := _FRONT_MATTER.match(bare)) is not None:
        bare = bare[header.end() :]
    if "[" in bare:
        bare = _CALLOUT.sub(">", _without_targets(bare))
    if "{" in bare:
        bare = _ATTRIBUTE_LIST.sub("", bare)
    bare = _ROW_NUMBER.sub("", _TASK.sub("", bare))
    return bare if has_letters_or_digits(bare) else text


def _without_hidden(text: str) -> str:
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
