"""Fencing: recalled text is data. It stands between marks that it cannot forge, with what it is beside it."""

import re
from datetime import datetime

from memories.language.cleaning import fold
from memories.models import Memory

# White space may stand wherever a lenient reader forgives it.
_MARK = re.compile(r"<(\s*(?:/\s*)?(?:memory|memories|checkpoint|loci)\b)", re.I)
_OPENERS = re.compile("[<\uff1c\ufe64]")


def escape(text: str) -> str:
    """Give the text with anything that looks like one of our marks made harmless."""
    plain = _MARK.sub(r"&lt;\1", text)
    # A mark in other letters, or with invisible ones in it, fools whoever reads as people do.
    is_disguised = _OPENERS.search(plain) is not None and _MARK.search(fold(plain)) is not None
    return _OPENERS.sub("&lt;", plain) if is_disguised else plain


def fence(memory: Memory, text: str, *, label: str = "") -> str:
    """Give one memory between marks, with id, type, group, trust, date and source."""
    when = memory.valid_from or memory.created_at
    attributes = {
        "id": str(memory.id),
        "type": memory.type,
        "group": memory.group.slug,
        "trust": label or memory.trust,
        "date": f"{when:%Y-%m-%d}",
        "source": memory.source or memory.author_name,
    }
    return _between("memory", attributes, text)


def fence_checkpoint(text: str, *, author: str, when: datetime, thread: str = "") -> str:
    """Give where work stood between marks, with who said so and when."""
    attributes = {"date": f"{when:%Y-%m-%d %H:%M} UTC", "author": author, "thread": thread}
    return _between("checkpoint", attributes, text)


def _between(mark: str, attributes: dict[str, str], text: str) -> str:
    said = " ".join(f'{name}="{_attribute(value)}"' for name, value in attributes.items() if value)
    return f"<{mark} {said}>\n{escape(text)}\n</{mark}>"


def _attribute(value: str) -> str:
    return value.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
