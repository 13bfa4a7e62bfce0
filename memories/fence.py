"""Fencing: recalled text is data. It stands between marks that it cannot forge, with what it is beside it."""

import re

from memories.models import Memory

_MARK = re.compile(r"<(/?)(memory|memories|loci)\b", re.I)


def escape(text: str) -> str:
    """Give the text with anything that looks like one of our marks made harmless."""
    return _MARK.sub(r"&lt;\1\2", text)


def fenced(memory: Memory, text: str, *, label: str = "") -> str:
    """Give one memory between marks, with id, type, trust, date and source."""
    when = memory.valid_from or memory.created_at
    attributes = {
        "id": str(memory.id),
        "type": memory.type,
        "trust": label or memory.trust,
        "date": f"{when:%Y-%m-%d}",
        "source": memory.source or memory.author_name,
    }
    marks = " ".join(f'{name}="{_attribute(value)}"' for name, value in attributes.items() if value)
    return f"<memory {marks}>\n{escape(text)}\n</memory>"


def _attribute(value: str) -> str:
    return value.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
