"""Rooms on disk: a folder for each group named in the settings.

`rooms/<group>/context.md` is written anew when the group changes, `.room.json` says whose room it is, `CLAUDE.md` has the
group's standing instructions, `daily/` the daily log.
"""

import hashlib
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.db.models import Count, Max

from access.actor import ALL_SCOPES, Actor, Via
from access.errors import LociError
from access.models import Group
from memories.language.cleaning import format_memory_count
from memories.models import Memory, Thread
from memories.queries.quoting import escape
from memories.queries.visibility import as_q, recallable_by
from memories.review.instructions import propose_instructions
from memories.sessions.context_pack import get_context
from sources.exporting.atomic_file import replace_file
from sources.rooms.daily import CONTEXT, STANDING, write_daily
from sources.watching.folders import may_be_plain, rooms_folder

logger = logging.getLogger(__name__)

_ABOUT: Final = ".room.json"
_CONTEXT_TOKENS: Final = 3000
THREADS: Final = 8
EXCERPT_CHARS: Final = 200
OWN: Final = "loci"  # the key of .room.json with what Loci notes there
ROOMS: Final = Actor(name="rooms", via=Via.JOB, scopes=ALL_SCOPES, all_groups=True)


def refresh_rooms() -> None:
    """Update every room that has changed."""
    if not may_be_plain():
        return
    files = settings.LOCI.files
    slugs = {*files.rooms, *files.daily_log}
    for group in Group.objects.filter(slug__in=slugs, private=False, archived=False):
        room = rooms_folder() / group.slug
        # People may have changed the files; the other rooms go on.
        try:
            room.mkdir(mode=0o700, parents=True, exist_ok=True)
            if group.slug in files.daily_log:
                write_daily(room, group)
            if group.slug in files.rooms:
                _write_room(room, group)
        except (LociError, OSError, UnicodeError) as error:
            logger.warning("The room of '%s' was not written: %s", group.slug, error)


def _write_room(room: Path, group: Group) -> None:
    about = _read_about(room)
    noted = about.get(OWN)
    last = str(noted.get("instructions", "")) if isinstance(noted, dict) else ""
    instructions = _keep_instructions(room, group, last)
    own = {"generated": [CONTEXT], "instructions": instructions}
    first = {"name": group.title or group.slug, "created_at": group.created_at.isoformat()}
    _write_if_new(
        room / _ABOUT, json.dumps({**first, **about, OWN: own}, ensure_ascii=False, indent=2) + "\n"
    )
    _write_if_new(room / CONTEXT, _context_text(group))


def _read_about(room: Path) -> dict[str, Any]:
    """The content of .room.json, to which people may add keys such as colour, icon and tools.

    Raises:
        RoomBroken: it is not a JSON object, so it is not written over.
    """
    try:
        found = json.loads((room / _ABOUT).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError:
        raise _RoomBroken(f"{room / _ABOUT} is not JSON; it is left as it is.") from None
    if not isinstance(found, dict):
        raise _RoomBroken(f"{room / _ABOUT} is not a JSON object; it is left as it is.")
    return found


class _RoomBroken(LociError):
    """A file of the room was changed in a way that Loci must not overwrite."""

    code = "room_broken"


def _keep_instructions(room: Path, group: Group, last: str) -> str:
    """Synchronise CLAUDE.md with the group's instructions; returns the hash of the common text, or `last` if they differ.

    Instructions that changed are written into the file. A file that changed is proposed as the instructions, and both stay
    as they are until a curator decides.
    """
    path = room / STANDING
    try:
        said = path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        said = None
    stored = group.instructions.strip()
    if said == stored or (said is None and not stored):
        return digest(stored)
    if said is None or (digest(said) == last and stored):
        _write_if_new(path, stored + "\n")
        return digest(stored)
    propose_instructions(ROOMS, group, said, file=f"rooms/{group.slug}/{STANDING}", is_whole=True)
    return last


def digest(text: str) -> str:
    """The hash of the instructions."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _context_text(group: Group) -> str:
    """The group's context: what an agent gets at the start of a session, and recently active threads."""
    pack = get_context(ROOMS, group=group.slug, token_budget=_CONTEXT_TOKENS)
    parts = [
        f"# {group.title or group.slug}",
        f"Written by Loci from the memories of the group `{group.slug}`; changes here are lost.",
        pack.text,
    ]
    if threads := list(_active_threads(group)):
        parts += ["## Recent threads", "\n".join(threads)]
    return "\n\n".join(parts) + "\n"


def _active_threads(group: Group) -> Iterator[str]:
    """The last line of each thread that has no title; the pack names the others."""
    rows = Thread.objects.filter(group=group, title="").annotate(
        turns=Count("memories"), last=Max("memories__created_at")
    )
    seen = as_q(recallable_by(ROOMS, group))
    for thread in rows.filter(last__isnull=False).order_by("-last")[:THREADS]:
        newest = Memory.objects.filter(seen, thread=thread).order_by("-position", "-key").first()
        if newest is not None:
            text = " ".join(newest.content.split())[:EXCERPT_CHARS]
            yield (
                f"- {escape(thread.name)} ({format_memory_count(thread.turns)}, last {thread.last:%Y-%m-%d}): {escape(text)}"
            )


def _write_if_new(path: Path, text: str) -> None:
    try:
        if path.read_text(encoding="utf-8") == text:
            return
    except (FileNotFoundError, UnicodeDecodeError):
        pass
    with replace_file(path) as file:
        file.write(text)
