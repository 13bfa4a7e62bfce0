"""Fencing: recalled text is data. It is shown between marks that it cannot forge, with the memory's attributes."""

import re
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from access.groups.guarding import safe_to_show
from memories.language.cleaning import fold
from memories.models import Memory
from memories.models.short_id import short_id
from memories.queries.conflicts import OpenConflict
from memories.types import Trust

# Found clean in this process, so by these rules: an answer needs each text twice, and later ones need it again.
_KEPT_TEXTS, _MAX_KEPT_CHARS = 4096, 2000
_MAX_SOURCE_CHARS = 40  # of the attribute; an inspection has the whole
# White space is allowed wherever a lenient reader ignores it.
_MARK = re.compile(
    r"<(\s*(?:/\s*)?(?:memory|memories|relations?|evidence|checkpoint|reason|turn|question|loci)\b)", re.I
)
_OPENERS = re.compile("[<\uff1c\ufe64]")
_PLAIN = re.compile(r"[\w.:/@+-]+", re.ASCII)
# Most of an answer is names, ids and moments: neither a mark nor a secret can be read in one (a token has 14 signs).
_HARMLESS = re.compile(
    r"[a-z_]{0,13}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\d(?:T[\d:.]{5,15}(?:Z|\+00:00))?",
    re.ASCII,
)


class Marked(str):
    """Text that is between our marks, or otherwise escaped as a whole."""


def escape_all(value: Any) -> Any:
    """The JSON value with every text and key escaped, at any depth, but for those that are Marked."""
    if isinstance(value, Marked):
        return str(value)
    if isinstance(value, str):
        return escape(value)
    if isinstance(value, dict):
        return {escape(str(name)): escape_all(part) for name, part in value.items()}
    return [escape_all(part) for part in value] if isinstance(value, list | tuple) else value


def escape(text: str) -> str:
    """The text as agents get it, with everything that looks like a mark of ours made harmless."""
    if _HARMLESS.fullmatch(text):
        return text
    return text if len(text) <= _MAX_KEPT_CHARS and _is_clean(text) else _escape(text)


def _escape(text: str) -> str:
    plain = _MARK.sub(r"&lt;\1", safe_to_show(text))
    # A mark in look-alike letters, or with invisible ones in it, misleads whoever reads as people do.
    is_disguised = _OPENERS.search(plain) is not None and _MARK.search(fold(plain)) is not None
    return _OPENERS.sub("&lt;", plain) if is_disguised else plain


@lru_cache(_KEPT_TEXTS)
def _is_clean(text: str) -> bool:
    return _escape(text) == text


def fence(
    memory: Memory,
    text: str,
    *,
    label: str = "",
    group: str = "",
    conflicts: Sequence[OpenConflict] = (),
    before: Sequence[str] = (),
    after: Sequence[str] = (),
) -> Marked:
    """A memory between marks: short id, type, date, what warns about it, its open conflicts too, and where it comes from.

    An agent pays for every mark. So a plainly valid memory has no `trust`, one of the group that the answer is about
    (`group`) no `group`, and a long source is cut. `before` and `after` are the turns around it, as mark_turn() shows them.
    """
    slug = memory.group.slug
    warning = label or (memory.trust if memory.trust != Trust.ACTIVE else "")
    attributes = {
        "trust": ", ".join(filter(None, [warning, *(conflict.note for conflict in conflicts)])),
        "group": slug if slug != group else "",
        "source": _shorten_source(memory.source or memory.author_name),
    }
    opening = f"memory id={short_id(memory.id)} {memory.type} {memory.moment:%Y-%m-%d}"
    return wrap(opening, attributes, text, before=before, after=after)


def mark_turn(memory: Memory, text: str, *, label: str = "", when: str = "") -> str:
    """A turn next to another one, on one line after its mark: short id, date if it has one of its own, what warns about it."""
    warning = quote_attribute("trust", label) if label else ""
    mark = " ".join(filter(None, ["turn", short_id(memory.id), when, warning]))
    return f"<{mark}> {escape(' '.join(text.split()))}"


def fence_checkpoint(text: str, *, author: str, when: datetime, thread: str = "") -> Marked:
    """A checkpoint between marks, with date, author and thread."""
    attributes = {"date": f"{when:%Y-%m-%d %H:%M} UTC", "author": author, "thread": thread}
    return wrap("checkpoint", attributes, text)


def wrap(
    mark: str,
    attributes: dict[str, str],
    text: str,
    *,
    before: Sequence[str] = (),
    after: Sequence[str] = (),
) -> Marked:
    """The escaped text between an opening mark with the attributes that are set and a closing one.

    `before` and `after` are lines of the text's surroundings, escaped already.
    """
    named = "".join(f" {name}={quote_attribute(name, value)}" for name, value in attributes.items() if value)
    body = "\n".join([*before, escape(text), *after])
    return Marked(f"<{mark}{named}>\n{body}\n</{mark.split()[0]}>")


def _shorten_source(source: str) -> str:
    """The source, cut to the length of an attribute."""
    return source if len(source) <= _MAX_SOURCE_CHARS else f"{source[: _MAX_SOURCE_CHARS - 1]}…"


def quote_attribute(name: str, value: str) -> str:
    """The value, safe within a mark: bare if it is a plain word and no warning, otherwise between double quotes."""
    if name != "trust" and _PLAIN.fullmatch(value):
        return value
    safe = value.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
    return f'"{safe}"'
