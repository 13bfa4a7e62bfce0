"""A text without its dress: letters, digits and the signs that change a fact; two texts in other dress are equal here.

Dress is case, accents, punctuation, symbols, emoji, markup, HTML, list marks, quotes, hyphens and white space. Signs
change a fact: a sign before a number, what separates two digits (any separator is the same: 2024-05-03, 2024.05.03), +
and # after a letter (C++, C#), per cent, degrees and currency beside a number, "!" before a word, operators between two
operands, and the signs of mathematics and music that belong to one (√9, B♭).
"""

import html
import re
import unicodedata
from collections import Counter
from functools import lru_cache
from operator import itemgetter
from urllib.parse import unquote

from memories.language.cleaning import fold

MIN_CHARS = 8  # letters or digits; shorter texts are alike too often

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
_SUPERSCRIPT_TAG = re.compile(r"(?<=\w)<sup>\s{0,20}(?=\d)", re.I)
_TAG = re.compile(rf"</?(?:{_HTML_TAGS}){_ATTRIBUTES}{_TAG_END}", re.I)
_CLOSING_TAG = re.compile(r"</([A-Za-z][\w:-]{0,60})>")
MAX_TAG_NAMES = 20
_COMMENT = re.compile(r"<!--.{0,500}?-->|<!\[CDATA\[|\]\]>", re.S)
_LINK = re.compile(
    r"!?\[([^\[\]\n]{0,500})\]\([^()\s]{0,300}(?:\([^()\s]{0,100}\)[^()\s]{0,100})?(?: \"[^\"]{0,100}\")?\)"
)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[ \t]*[\w+#-]*[ \t]*$", re.M)
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
_SHOUTED = re.compile(r"(?<![\w-])(?!([A-Z])\1+(?![A-Z]))[A-Z]{4,}(?![\w-])")  # CHEESE, PORT; not MB, YYYY
_LETTERLIKE = re.compile(r"[\u2100-\u214f]")
_EMOJI_FORM = re.compile(r"[^\x00-\x7f]\ufe0f")  # ℹ️ and Ⓜ️ are pictures, though their letters would stay
_TRADE_MARK = re.compile(r"[™℠©®]|\((?:tm|c|r)\)", re.I)
_SUPERSCRIPT = re.compile(r"(?<=[^\W_⁰¹²³⁴-⁹])([⁰¹²³⁴-⁹⁻⁺])")
_FRACTION = re.compile(r"([¼-¾⅐-⅞])")
_SMALL_CAPITALS = str.maketrans("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnoprstuvwyz") | {
    start + at: chr(0x61 + at) for start in (0x1F150, 0x1F170) for at in range(26)  # white letters on black
}  # fmt: skip
_STROKED = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "æ": "ae", "œ": "oe", "þ": "th", "ŋ": "n"}
)
_LONG_DASH = str.maketrans("—―", "  ")
_THOUSANDS = re.compile(
    r"(?<![\d.,])(?:\d{1,3}(?:[,'’_ ]\d{3})+|\d{1,3}(?:\.\d{3}){2,}|\d{1,2}(?:,\d{2})+,\d{3})(?![\d,]|\.\d)"
)
_YEAR_FIRST = re.compile(r"(?<!\d)((?:19|20)\d\d)[-/. ](0[1-9]|1[0-2])[-/. ](0[1-9]|[12]\d|3[01])(?!\d)")
_AFTER_AMOUNT = re.compile(r"(?<![\w$€£¥₹])(\d[\d.,]{0,20})\s?([$€£¥₹])(?![\w$€£¥₹])")
# A number with its country code: however it is grouped, it is the same.
_PHONE = re.compile(r"(?<![\w+])\+(?=(?:[ ().-]{0,2}\d){9,15}(?!\d))\d(?:[ ().-]{0,2}\d){8,14}")
_EXPONENT = re.compile(r"(?<=\d)e[-\u2212](?=\d)")
_UNDERLINE = re.compile(r"^[ \t]*={2,}[ \t]*$", re.M)
_APPROXIMATELY = re.compile(r"(?<![~\w])~(?=\d)")
_QUERY_STRING = re.compile(r"\?[\w.=&%-]{0,60}$")
_SPACE_IN_ADDRESS = re.compile(r"(?<![%\W])%20")
_HOME = re.compile(r"(?<!\S)~(?=/\w)")
_OPERATOR = re.compile(
    r"(?<=[\w)\]}\"'%])\s?(<=>|<->|<=|>=|!==?|<>|=/=|=>|->|<-|<<|>>|&&?|\|\||={1,3}|[<>≤≥≠≮≯+×÷±∈∉⊂⊃∪∩∧∨→←⇒⇐⇔↔∓∝≈≉≡≢])\s?"
    r"(?=[\w(\[{\"'¬!$€£¥₹.-])"
)
_SAME_OPERATOR = {
    "≤": "<=", "≥": ">=", "≠": "!=", "!==": "!=", "<>": "!=", "=/=": "!=", "⇒": "=>", "→": "->", "←": "<-",
}  # fmt: skip
_OPEN, _CLOSE = "\ue000", "\ue001"  # around an operator, in characters of no script
_NO_MARKS = {ord(_OPEN): " ", ord(_CLOSE): " "}
_BETWEEN_DIGITS = "+*^<>=~%×÷±&"
_CURRENCY = "$€£¥₹"
_ENDS = " .,;:!?)"
_AFTER_NUMBER = re.compile(r"[^\w.,;:!?%‰°]{0,20}([%‰°])")
_BEFORE_OPERAND = "√∛∜∀∃∄∂∇∆∏∑∫∮"
_AFTER_LETTER = "♭♯♮"
_ACCENTED_SCRIPTS = ("LATIN", "GREEK", "CYRILLIC")


def undressed(text: str) -> str:
    """The letters, digits and fact-changing signs of a text; empty if it has fewer than MIN_CHARS letters or digits."""
    kept = undressed_whole(text)
    return kept if sum(c.isalnum() for c in kept) >= MIN_CHARS else ""


def undressed_whole(text: str) -> str:
    """undressed() of a text of any length."""
    bare = without_markup(text if text.isascii() else text.translate(_NO_MARKS))
    bare = without_joints(bare)
    tokens = tokens_of(bare)
    if len(tokens) >= MIN_CHARS and sum(is_one_letter(token) for token in tokens) >= 0.9 * len(tokens):
        bare = "".join(tokens)  # s p a c e d or d.o.t.t.e.d letters
    return keep_signs(spell_plainly(bare))


def without_joints(text: str) -> str:
    """The text without a character after every letter, or a symbol in the place of every space."""
    joint = text[1:2]
    if joint and not joint.isalnum() and len(text) >= 2 * MIN_CHARS and set(text[1:-1:2]) == {joint}:
        return text[::2]
    words = text.split()
    symbols = Counter(word for word in words if not any(c.isalnum() for c in word))
    symbol, count = max(symbols.items(), key=itemgetter(1), default=("", 0))
    is_joint = count >= 0.4 * len(words) and len(words) > (MIN_CHARS if symbol == "+" else 6)
    return " ".join(word for word in words if word != symbol) if is_joint else text


def tokens_of(text: str) -> list[str]:
    """The runs of letters and digits, with their combining signs."""
    if text.isascii():
        return re.findall(r"[^\W_]+", text)
    return "".join(c if is_kept(c) else " " for c in text).split()


def is_one_letter(token: str) -> bool:
    """True for a single letter or digit, whatever combining signs it carries."""
    return sum(c.isalnum() for c in token) == 1


def has_letters_or_digits(text: str) -> bool:
    """True if a text has any letter or digit."""
    return any(c.isalnum() for c in text)


def spelling(text: str) -> str:
    """The folded text with its capitals, ß and letters such as ℝ, which may tell two facts apart: mW and MW.

    The first letter and long words in capitals are emphasis.
    """
    plain = text if text.isascii() else spell_letters(text)
    plain = _SHOUTED.sub(lambda found: found[0].lower(), " ".join(plain.split()))
    return plain[:1].lower() + plain[1:]


def spell_letters(text: str) -> str:
    """The folded letters of a text with their case, and letters such as ℝ."""
    kept = _LETTERLIKE.sub(lambda found: f"{_OPEN}{ord(found[0]):x}{_CLOSE}", text)
    plain = unicodedata.normalize("NFKC", kept)
    return "".join(c if c.lower() != c or c == "ß" else fold(c) or " " * c.isspace() for c in plain)


def is_in_one_case(text: str) -> bool:
    """True if all letters are capitals, none is, or every word begins with one: dress, whatever it was before."""
    is_title = text.istitle() and len(text.split()) > 3
    return text.isupper() or text.islower() or is_title


def without_markup(text: str) -> str:
    """The text without tags, addresses of links, list marks, emoticons and other markup."""
    text = text.strip()
    if _SPACE_IN_ADDRESS.search(text) or (text.count("+") > 2 and not any(c.isspace() for c in text)):
        text = unquote(text if any(c.isspace() for c in text) else text.replace("+", " "))
    if "<" in text or "&" in text:
        text = without_tags(html.unescape(without_tags(text)))  # twice: tags may be written as entities
    if "[" in text:
        text = _TERMINAL_COLOUR.sub("", _FOOTNOTE.sub("", _BBCODE.sub("", _LINK.sub(r"\1", text))))
    if "\\" in text:
        text = _LATEX.sub(" ", text)
    if "$" in text:
        text = _DOLLARS.sub(r"\2", text)
    text = _UNDERLINE.sub("", text) if "==" in text else text
    text = _ANGLED.sub(r"\1", _PAIRED.sub(r"\2", _WIKI.sub("", text)))
    text = _EMOTICON.sub(" ", _LIST_MARK.sub("", _FENCE.sub("", text)))
    text = _TRADE_MARK.sub("", _SHORTCODE.sub(" ", text))
    return text if text.isascii() else _SUPERSCRIPT.sub(r"^\1", _EMOJI_FORM.sub(" ", text))


def without_tags(text: str) -> str:
    """The text without HTML tags, comments, and other tags that are closed."""
    uncommented = _COMMENT.sub("", text)
    # A comment around the whole text is dress, one inside it is an addition.
    text = uncommented if has_letters_or_digits(uncommented) else re.sub("<!--|-->", " ", text)
    text = _SUPERSCRIPT_TAG.sub("^", text)
    for name in sorted({*_CLOSING_TAG.findall(text)})[:MAX_TAG_NAMES]:
        text = re.sub(rf"</?{re.escape(name)}{_ATTRIBUTES}{_TAG_END}", " ", text)
    return _TAG.sub(" ", text)


def spell_plainly(text: str) -> str:
    """The folded text without accents, strokes and thousands separators, with its operators marked."""
    if not text.isascii():
        text = _FRACTION.sub(r" \1", text.translate(_LONG_DASH).translate(_SMALL_CAPITALS))
        text = without_accents(text)  # before fold(), which takes letters of other scripts for Latin ones
    text = fold(text)
    if not text.isascii():
        text = without_accents(text).translate(_STROKED).replace("\u2044", "/")
    text = _PHONE.sub(lambda found: "+" + re.sub(r"\D", "", found[0]), text)
    text = _AFTER_AMOUNT.sub(r"\2\1", _YEAR_FIRST.sub(r"\1\2\3", text))
    text = _THOUSANDS.sub(lambda found: re.sub(r"\D", "", found[0]), text)
    text = _APPROXIMATELY.sub(f"{_OPEN}~{_CLOSE}", _HOME.sub(f"{_OPEN}~{_CLOSE}", text))
    text = _EXPONENT.sub(f"e{_OPEN}-{_CLOSE}", text)
    return _OPERATOR.sub(mark_operator, text)


def mark_operator(found: re.Match[str]) -> str:
    """An operator between two operands, marked; = and & in the query of an address are punctuation."""
    sign, start = found[1], found.start()
    if sign in "=&" and _QUERY_STRING.search(found.string, max(0, start - 61), start):
        return found[0]
    return f"{_OPEN}{_SAME_OPERATOR.get(sign, sign)}{_CLOSE}"


def without_accents(text: str) -> str:
    """The text without combining signs on Latin, Greek and Cyrillic letters, digits and symbols; other scripts keep theirs."""
    kept: list[str] = []
    keeps_signs = False
    for c in unicodedata.normalize("NFD", text):
        if unicodedata.category(c)[0] == "M":
            if keeps_signs:
                kept.append(c)
            continue
        keeps_signs = keeps_its_signs(c)
        kept.append(c)
    return unicodedata.normalize("NFC", "".join(kept))


@lru_cache(maxsize=4096)
def keeps_its_signs(character: str) -> bool:
    """True for a letter outside Latin, Greek and Cyrillic, where a combining sign makes another letter."""
    return character.isalpha() and not unicodedata.name(character, "").startswith(_ACCENTED_SCRIPTS)


def keep_signs(text: str) -> str:
    """Letters and digits of a plainly spelt text, and the signs between them that change a fact."""
    kept: list[str] = []
    at, size = 0, len(text)
    while at < size:
        end = at + 1
        if text[at] == _OPEN:
            end = text.index(_CLOSE, at) + 1
            kept.append(text[at + 1 : end - 1])
        elif is_kept(text[at]):
            kept.append(text[at])
        else:
            while end < size and not is_kept(text[end]) and text[end] != _OPEN:
                end += 1
            kept.append(find_signs(text, at, end))
        at = end
    return "".join(kept)


def is_kept(character: str) -> bool:
    """True for a letter, a digit, or a combining sign that is part of a letter."""
    return character.isalnum() or unicodedata.category(character)[0] == "M"


def find_signs(text: str, start: int, end: int) -> str:
    """The signs in text[start:end], a run without letters and digits, that change what stands beside it."""
    run = text[start:end]
    before, after = text[start - 1 : start], text[end : end + 1]
    if before.isdigit() and after.isdigit():
        signs = "".join(c for c in run if c in _BETWEEN_DIGITS)
        sign = sign_before(before, run, after)[-1:]
        return (signs if sign in signs else signs + sign) or "."
    return sign_after(text, start, run) + sign_before(before, run, after)


def sign_after(text: str, start: int, run: str) -> str:
    """The sign that belongs to what precedes the run: 5 %, 5 €, 18+, C++, C#, A-."""
    before, bare = text[start - 1 : start], run.lstrip()
    if before.isdigit():
        if bare and bare[0] in _CURRENCY:
            return bare[0]
        if found := _AFTER_NUMBER.match(run):
            return found[1]
        return "+" if run[:1] == "+" and run[1:2] != "+" else ""
    if not before.isalpha():
        return ""
    if run[0] in _AFTER_LETTER:
        return run[0]
    token = 1
    while start - token > 0 and token < 4 and text[start - token - 1].isalnum():
        token += 1
    pluses = len(run) - len(run.lstrip("+"))
    if pluses in (1, 2):
        return "+" * pluses
    if run[0] == "#" and run[1:2] != "#" and token <= 3:
        return "#"
    is_last = run[1:2] in _ENDS if len(run) > 1 else start + 1 == len(text)
    return "-" if run[0] == "-" and token <= 2 and is_last else ""


def sign_before(before: str, run: str, after: str) -> str:
    """The sign that belongs to what follows the run: -5, .5, $5, !enabled."""
    beside = run.split()[-1] if run.strip() and not run[-1].isspace() else ""
    is_apart = not before or len(beside) < len(run) or run[0] in "([{\"'="
    if beside and beside[-1] in _BEFORE_OPERAND:
        return beside[-1]
    if after.isdigit():
        signs = "".join(c for c in beside if c in _CURRENCY)
        if beside.endswith("^") and before.isalnum():
            signs += "^"
        sign = beside.rstrip("$€£¥₹.([\"'*_`")[-1:]
        if is_apart and sign and sign in "-+" and beside.count(sign) == 1:
            signs = sign + signs
        if is_apart and beside.endswith(".") and beside.count(".") == 1:
            signs += "."
        return signs + ("±" if beside.endswith("±") else "")
    if after.isalpha() and is_apart and beside[-1:] in ("!", "¬") and beside.count("!") < 2:
        return "!"
    return ""
