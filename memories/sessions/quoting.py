"""Fencing: recalled text is data. It is shown between marks that it cannot forge, with the memory's attributes."""

import re
from collections.abc import Sequence
from datetime import datetime

from memories.entities.lines import RelationLine
from memories.language.cleaning import fold
from memories.models import Memory
from memories.queries.conflicts import OpenConflict

MAX_EVIDENCE_NAMED = 3
# White space is allowed wherever a lenient reader ignores it.
_MARK = re.compile(r"<(\s*(?:/\s*)?(?:memory|memories|checkpoint|loci)\b)", re.I)
_OPENERS = re.compile("[<\uff1c\ufe64]")


def escape(text: str) -> str:
    """The text with everything that looks like a mark of ours made harmless."""
    plain = _MARK.sub(r"&lt;\1", text)
    # A mark in look-alike letters, or with invisible ones in it, misleads whoever reads as people do.
    is_disguised = _OPENERS.search(plain) is not None and _MARK.search(fold(plain)) is not None
    return _OPENERS.sub("&lt;", plain) if is_disguised else plain


def fence(memory: Memory, text: str, *, label: str = "", conflicts: Sequence[OpenConflict] = ()) -> str:
    """A memory between marks, with id, type, group, trust, date and source; the trust names its open conflicts."""
    when = memory.valid_from or memory.created_at
    attributes = {
        "id": str(memory.id),
        "type": memory.type,
        "group": memory.group.slug,
        "trust": ", ".join([label or memory.trust, *(conflict.note for conflict in conflicts)]),
        "date": f"{when:%Y-%m-%d}",
        "source": memory.source or memory.author_name,
    }
    return wrap("memory", attributes, text)


def fence_relation(line: RelationLine) -> str:
    """A relation between the marks of a memory, with its evidence."""
    attributes = {
        "id": str(line.id),
        "type": "relation",
        "group": line.group,
        "trust": line.trust,
        "date": f"{line.since:%Y-%m-%d}",
        "source": line.author,
        "evidence": ", ".join(str(id_) for id_ in line.evidence[:MAX_EVIDENCE_NAMED]),
    }
    return wrap("memory", attributes, line.text)


def fence_checkpoint(text: str, *, author: str, when: datetime, thread: str = "") -> str:
    """A checkpoint between marks, with date, author and thread."""
    attributes = {"date": f"{when:%Y-%m-%d %H:%M} UTC", "author": author, "thread": thread}
    return wrap("checkpoint", attributes, text)


def wrap(mark: str, attributes: dict[str, str], text: str) -> str:
    """The escaped text between an opening mark with the attributes that are set and a closing one."""
    named = " ".join(f'{name}="{_escape_attribute(value)}"' for name, value in attributes.items() if value)
    return f"<{mark} {named}>\n{escape(text)}\n</{mark}>"


def _escape_attribute(value: str) -> str:
    """The value, safe between double quotes."""
    return value.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
