"""A text without the document around it: doctype, front matter, style sheets and scripts, targets of links, callouts."""

import re
from typing import Final

from memories.language.dress.letters import has_letters_or_digits

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


def without_document(text: str) -> str:
    """The text without what a document has around it; the text as it is if nothing else were left."""
    bare = text
    if "<" in bare:
        bare = _DECLARATION.sub(" ", without_hidden(bare)).strip()
    bare = without_front_matter(bare)
    if "[" in bare:
        bare = _CALLOUT.sub(">", without_targets(bare))
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


def without_front_matter(text: str) -> str:
    """The text without a header between two lines of signs."""
    text = text.lstrip("\ufeff")
    header = _FRONT_MATTER.match(text) if text[:3] in ("---", "+++") else None
    return text[header.end() :] if header is not None else text


def without_targets(text: str) -> str:
    """The text without the addresses of its links that stand at the end, such as "[1]: https://…"."""
    labels = {found[1].casefold() for found in _TARGET.finditer(text)}
    if not labels:
        return text
    return _REFERENCE.sub(
        lambda found: found[1] if (found[2] or found[1]).casefold() in labels else found[0],
        _TARGET.sub("", text),
    )


def joined_at_line_ends(text: str) -> str:
    """The text with words joined that are cut after one or two letters; a grade such as A- at a line's end stays."""
    return _CUT.sub(join_cut, text) if "-" in text and "\n" in text else text


def join_cut(found: re.Match[str]) -> str:
    """The beginning of a cut word, or all that was found if it is a capital within a sentence."""
    before = found.string[max(0, found.start() - 5) : found.start()].rstrip()[-1:]
    is_grade = len(found[1]) == 1 and found[1].isupper() and before not in ("", ".", "!", "?")
    return found[0] if is_grade else found[1]
