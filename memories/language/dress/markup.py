"""A text without the markup around its words: tags, addresses of links, list marks, emoticons, headers of a document."""

import html
import re
from urllib.parse import unquote

from memories.language.dress.documents import joined_at_line_ends, without_document
from memories.language.dress.letters import has_letters_or_digits

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
MAX_TAG_NAMES = 20
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
_POWERS = frozenset(
    [
        "mm",
        "cm",
        "dm",
        "km",
        "nm",
        "um",
        "μm",
        "ft",
        "in",
        "yd",
        "mi",
        "sec",
        "min",
        "ms",
        "kg",
        "hz",
        "sin",
        "cos",
        "tan",
        "cot",
        "log",
        "ln",
        "mol",
        "cd",
    ]
)
MAX_FORMULA = 3  # letters of an ion before its charge: Na⁺, Mg²⁺, and of a unit with a negative exponent
_UNDERLINE = re.compile(r"^[ \t]*={2,}[ \t]*$", re.M)
_SPACE_IN_ADDRESS = re.compile(r"(?<![%\W])%20")


def without_markup(text: str) -> str:
    """The text without tags, addresses of links, list marks, emoticons and other markup."""
    text = text.strip()
    if _SPACE_IN_ADDRESS.search(text) or (text.count("+") > 2 and not any(c.isspace() for c in text)):
        text = unquote(text if any(c.isspace() for c in text) else text.replace("+", " "))
    text = without_document(text)
    if "<" in text or "&" in text:
        text = without_tags(html.unescape(without_tags(text)))  # twice: tags may be written as entities
    if "[" in text:
        text = _TERMINAL_COLOUR.sub("", _FOOTNOTE.sub("", _BBCODE.sub("", _LINK.sub(r"\1", text))))
    if "\\" in text:
        text = _LATEX.sub(" ", text)
    if "$" in text:
        text = _DOLLARS.sub(r"\2", text)
    text = _UNDERLINE.sub("", text) if "==" in text else text
    text = _ANGLED.sub(r"\1", _PAIRED.sub(r"\2", _WIKI.sub("", _FENCE.sub("", text))))
    text = joined_at_line_ends(_EMOTICON.sub(" ", _LIST_MARK.sub("", text)))
    text = _TRADE_MARK.sub("", _SHORTCODE.sub(" ", text))
    return text if text.isascii() else _SUPERSCRIPT.sub(mark_exponent, _EMOJI_FORM.sub(" ", text))


def mark_exponent(found: re.Match[str]) -> str:
    """An exponent with its sign; "" for the sign of a footnote, which stands after a whole word."""
    word = _LAST_WORD.findall(found.string[max(0, found.start() - 20) : found.start()])[-1:]
    before = word[0].casefold() if word else ""
    is_exponent = (
        not before.isalpha()
        or len(before) == 1
        or (before in _POWERS and found[1] not in ("¹", "1"))
        or (len(before) <= MAX_FORMULA and found[1][-1] in "⁺⁻")
    )
    return f"^{found[1]}" if is_exponent else ""


def without_tags(text: str) -> str:
    """The text without HTML tags, comments, and other tags that are closed."""
    uncommented = _COMMENT.sub("", text)
    # A comment around the whole text is dress, one inside it is an addition.
    text = uncommented if has_letters_or_digits(uncommented) else re.sub("<!--|-->", " ", text)
    text = _SUPERSCRIPT_START.sub("^", _SUPERSCRIPT_TAG.sub(mark_exponent, text))
    for name in sorted({*_CLOSING_TAG.findall(text)})[:MAX_TAG_NAMES]:
        text = re.sub(rf"</?{re.escape(name)}{_ATTRIBUTES}{_TAG_END}", " ", text)
    return _TAG.sub(" ", text)
