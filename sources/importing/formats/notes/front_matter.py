"""Front matter of notes, read without YAML: values stay the text that people wrote (`no`, `1.10`, `Fix: this`).

Enough for what programs write: `key: value`, lists in brackets or as lines with a dash, and keys one level deeper. Lines
that are none of that are ignored. Nothing here fails, so a note is never lost to a colon in its title.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

FENCE: Final = "---"
_KEY: Final = re.compile(r"^(\s*)([A-Za-z_][\w .-]*?)\s*:(?:\s+(.*))?$")
_DASH: Final = re.compile(r"^\s*-\s+(.*)$")
_LIST: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\']|\'\')*\'|[^,]+')


@dataclass(frozen=True)
class Note:
    """A note: its front matter as a dict of texts, lists of texts and dicts of texts, and the text behind it."""

    head: dict[str, Any]
    body: str


def split_note(text: str) -> Note:
    """The front matter and the body of a note. One that is not closed is part of the body."""
    lines = text.split("\n")
    if not lines or lines[0].rstrip() != FENCE:
        return Note({}, text)
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() in (FENCE, "..."):
            return Note(_parse_head(lines[1:number]), "\n".join(lines[number + 1 :]))
    return Note({}, text)


def _parse_head(lines: list[str]) -> dict[str, Any]:
    head: dict[str, Any] = {}
    target, key = head, ""
    for line in lines:
        if dash := _DASH.match(line):
            if key:
                items = target[key] if isinstance(target.get(key), list) else []
                target[key] = [*items, plain(dash[1])]
        elif (found := _KEY.match(line)) and not line.lstrip().startswith("#"):
            indent, name, value = found[1], found[2].strip().lower(), (found[3] or "").strip()
            if not indent:
                target = head
            elif key and target is head and not head[key]:
                target = head[key] = {}
            key = name
            target[key] = _value_of(value)
    return head


def _value_of(text: str) -> Any:
    if text.startswith("[") and text.endswith("]") and not text.startswith("[["):
        return [plain(part) for part in _LIST.findall(text[1:-1]) if part.strip()]
    return plain(text)


def plain(text: str) -> str:
    """A text without the quotes around it. A comment behind it is cut off only if a space comes before it."""
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        inner = text[1:-1]
        return inner.replace("''", "'") if text[0] == "'" else _unescape(inner)
    return text


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: {"n": "\n", "t": "\t"}.get(found[1], found[1]), text)


def quote(text: str) -> str:
    """A text as a value in one line of front matter: in double quotes unless it is plain."""
    if re.fullmatch(r"[\w][\w ./@+-]*", text) and text == text.strip():
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'
