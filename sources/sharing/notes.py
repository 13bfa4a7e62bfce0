"""Memories as notes with front matter: a Markdown vault, or `.locus` files in rooms. One file per memory."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from access.models import Group
from memories.draft import DEFAULT_IMPORTANCE
from memories.models import Memory
from memories.sessions.conversations import CONVERSATION
from sources.exporting.atomic_file import replace_file
from sources.importing.formats.notes.front_matter import FENCE, quote
from sources.importing.formats.notes.locus import ID, title_of, without_title
from sources.sections import slug_of
from sources.sharing.shared_rows import SharedRows, author_of

_SLUG_CHARS: Final = 48
_OWN_SOURCES: Final = ("locus", "markdown:")


def write_vault(rows: SharedRows, path: Path) -> Counter[str]:
    """Markdown notes, a folder per group."""
    return _write_notes(rows, lambda group: path / group.slug, ".md")


def write_rooms(rows: SharedRows, path: Path) -> Counter[str]:
    """`.locus` files, a room per group with its name and its instructions."""
    for group in rows.groups:
        room = path / "rooms" / group.slug
        _make_folder(room)
        about = {"name": group.title or group.slug, "created_at": group.created_at.isoformat()}
        _write_text(room / ".room.json", json.dumps(about, ensure_ascii=False, indent=2) + "\n")
        if group.instructions:
            _write_text(room / "CLAUDE.md", group.instructions.rstrip() + "\n")
    return _write_notes(rows, lambda group: path / "rooms" / group.slug / "loci", ".locus")


def _write_notes(rows: SharedRows, folder_of: Callable[[Group], Path], ending: str) -> Counter[str]:
    """A note per memory. One that came from a note keeps its id, so that a second export has the same names."""
    counts: Counter[str] = Counter()
    for group in rows.groups:
        folder, taken = folder_of(group), {ref for ref in rows.source_refs(group) if ID.fullmatch(ref)}
        for memory in rows.memories(group):
            _make_folder(folder)
            id_ = memory.source_ref if memory.source_ref in taken else _free_id(memory, taken)
            _write_text(folder / f"{id_}{ending}", _note_of(memory, id_))
            counts["memory"] += 1
    return counts


def _free_id(memory: Memory, taken: set[str]) -> str:
    at = memory.valid_from or memory.created_at
    slug = slug_of(title_of(memory.content))[:_SLUG_CHARS].strip("-_") or "memory"
    first = f"locus-{at:%Y%m%d}-{slug}"
    number, id_ = 1, first
    while id_ in taken:
        number += 1
        id_ = f"{first}-{number}"
    taken.add(id_)
    return id_


def _note_of(memory: Memory, id_: str) -> str:
    at = memory.valid_from or memory.created_at
    tags = ", ".join(quote(tag) for tag in memory.tags)
    head = {
        "id": id_,
        "created": at.isoformat(),
        "room": memory.group.slug,
        "type": memory.type,
        "tags": f"[{tags}]" if tags else "",
        "importance": str(memory.importance) if memory.importance != DEFAULT_IMPORTANCE else "",
        "author": quote(author) if (author := author_of(memory)) else "",
        CONVERSATION: quote(conversation) if (conversation := _conversation_of(memory)) else "",
        "origin": quote(origin) if (origin := _origin_of(memory)) else "",
    }
    lines = [f"{name}: {value}" for name, value in head.items() if value]
    return "\n".join([FENCE, *lines, FENCE, with_title(memory.content), ""])


def with_title(content: str) -> str:
    """A text with a heading, unless it begins with one. The import takes off what is added here."""
    has_own = content.startswith("# ") and without_title(content) == content
    title = title_of(content)
    return content if has_own or not title else f"# {title}\n\n{content}"


def _conversation_of(memory: Memory) -> str:
    noted = memory.metadata.get(CONVERSATION)
    return memory.thread.name if memory.thread is not None else noted if isinstance(noted, str) else ""


def _origin_of(memory: Memory) -> str:
    before = memory.metadata.get("origin")
    if isinstance(before, str):
        return before
    is_own = not memory.source or memory.source.startswith(_OWN_SOURCES)
    return "" if is_own else "#".join(filter(None, (memory.source, memory.source_ref)))


def _make_folder(folder: Path) -> None:
    for each in [*reversed(folder.parents), folder]:
        if not each.exists():
            each.mkdir(mode=0o700)


def _write_text(path: Path, text: str) -> None:
    with replace_file(path) as file:
        file.write(text)
