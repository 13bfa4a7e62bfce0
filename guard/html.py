"""Web pages as text: tags stripped, entities decoded, scripts and comments dropped; blocks of code stay as they are."""

import html
import re
from typing import Final

from guard.patterns import Pattern

# In this order: Markdown's code, comments, declarations, tags. Only HTML's own names are tags: `List<String>` is none.
_NAMES: Final = (
    "a|abbr|address|area|article|aside|audio|b|base|bdi|bdo|blockquote|body|br|button|canvas|caption|center|cite|code|col|colgroup|data|datalist"
    "|dd|del|details|dfn|dialog|div|dl|dt|em|embed|fieldset|figcaption|figure|font|footer|form|frame|frameset|h[1-6]|head|header|hgroup|hr|html|i"
    "|iframe|img|input|ins|kbd|label|legend|li|link|main|map|mark|menu|meta|meter|nav|noscript|object|ol|optgroup|option|output|p|param|picture|pre"
    "|progress|q|rp|rt|ruby|s|samp|script|search|section|select|slot|small|source|span|strike|strong|style|sub|summary|sup|svg|path|table|tbody|td"
    "|template|textarea|tfoot|th|thead|time|title|tr|track|tt|u|ul|var|video|wbr|[a-z]+-[a-z0-9-]+"
)
_TOKEN = Pattern(
    r"(?is)```.*?(?:```|\z)|`[^`\n]+`|<!--.*?(?:-->|\z)|<!\[CDATA\[|\]\]>|<![a-z][^>]*>|<\?[^>]*>"
    rf"|</?(?:{_NAMES})(?:\s(?:[^<>\"']|\"[^\"]*\"|'[^']*')*)?/?>"
)
_IS_MARKED = Pattern(r"(?i)</?[a-z][^<>]*>|<!|&(?:#\d+|#x[0-9a-f]+|[a-z]+\d?);")
_NAME = re.compile(r"</?\s*([a-zA-Z][a-zA-Z0-9-]*)")
_DROPPED: Final = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "object", "select"})
_BREAKS: Final = frozenset({
    "address", "article", "aside", "blockquote", "body", "br", "caption", "dd", "details", "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6",
    "header", "hr", "li", "main", "nav", "ol", "option", "p", "section", "summary", "table", "title",
    "tr", "ul",
})  # fmt: skip
_ATTRIBUTE = re.compile(r"""([a-zA-Z][\w:-]*)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+))?""")
_HIDING_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d]*[1-9])|(?<!-)opacity\s*:\s*0(?![.\d]*[1-9])",
    re.I,
)
_VOID: Final = frozenset({
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
})  # fmt: skip
_SELF_ENDING: Final = frozenset(["p", "li", "dt", "dd", "tr", "td", "th", "option"])  # the next one ends them
_CELLS: Final = frozenset({"td", "th"})
_SPACE = re.compile(r"[ \t]*\n[ \t]*")
_EMPTY_LINES = re.compile(r"\n{3,}")


def _hides(tag: str) -> bool:
    """True for the start tag of an element that no reader sees."""
    lower = tag.lower()
    if "hidden" not in lower and "style" not in lower:
        return False
    attributes = {match[1]: (match[2] or "").strip("\"'") for match in _ATTRIBUTE.finditer(lower)}
    return "hidden" in attributes or _HIDING_STYLE.search(attributes.get("style", "")) is not None


def text_of_html(text: str) -> str:
    """The text that a reader of the page sees; a text without tags and entities is returned unchanged."""
    if not _IS_MARKED.is_found(text):
        return text
    parts, at, dropped, is_code = list[str](), 0, "", False
    unseen = list[str]()  # the open elements of a hidden one, itself first
    for start, end in _TOKEN.spans(text):
        if not dropped and not unseen:
            parts.append(html.unescape(text[at:start]))
        at = end
        token = text[start:end]
        found = _NAME.match(token)
        if found is None:
            parts.append(token if token.startswith("`") and not dropped and not unseen else "")
            continue
        name, closes = found[1].lower(), token.startswith("</")
        is_open = not closes and name not in _VOID and not token.endswith("/>")
        if (
            unseen
            and not dropped
            and name not in _DROPPED
            and follow(unseen, name, closes=closes, is_open=is_open)
        ):
            continue
        if not dropped and not unseen and is_open and _hides(token):
            unseen.append(name)
            continue
        if dropped or name in _DROPPED:
            is_end = closes and name == dropped
            dropped = "" if is_end else dropped or ("" if closes or token.endswith("/>") else name)
        elif unseen:
            continue
        elif name == "pre":
            is_code = not closes
            parts.append("\n```\n")
        elif name == "code" and not is_code:
            parts.append("`")
        else:
            parts.append("\n" if name in _BREAKS else " " if name in _CELLS and not closes else "")
    if not dropped and not unseen:
        parts.append(html.unescape(text[at:]))
    return tidy("".join(parts))


def follow(unseen: list[str], name: str, *, closes: bool, is_open: bool) -> bool:
    """Follow a tag inside a hidden element; True if the tag belongs to it, False if the element ended before the tag."""
    if closes:
        if name not in unseen:  # its parent ends
            unseen.clear()
            return False
        while unseen.pop() != name:
            pass
        return True
    if name in _SELF_ENDING and unseen[-1] == name:
        unseen.pop()
    if not unseen:
        return False
    if is_open:
        unseen.append(name)
    return True


def tidy(text: str) -> str:
    """The text without trailing spaces and repeated empty lines; blocks of code stay as they are."""
    pieces = text.split("```")
    plain = [
        _EMPTY_LINES.sub("\n\n", _SPACE.sub("\n", each)) if at % 2 == 0 else each
        for at, each in enumerate(pieces)
    ]
    return "```".join(plain).strip()
