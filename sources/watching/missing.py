"""Deleted sections: recorded at one scan, unconfirmed after the next; many at once make the folder ask."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from access.actor import Actor
from access.audit.operations import Operation
from access.errors import Conflict
from memories.language.cleaning import format_count
from memories.lifecycle.target import change_fields
from memories.lifecycle.verbs import dispute
from memories.models import Memory
from memories.queries.versions import head_of
from memories.store.for_review import raised_by, settle_doubts
from memories.types import State
from sources.models import WatchedFile, WatchedFolder, WatchedSection

_MOST_GONE: Final = 50
SHARE_GONE: Final = 0.2
AT_LEAST: Final = 2  # a single missing section is not an accident
_BETWEEN: Final = timedelta(seconds=5)  # two scans: an editor may take a file away while it saves
_LEFT_ALONE: Final = "-"  # it does not count
BACK: Final = "file"  # how a doubt was settled whose section is back


def asks_about(folder: WatchedFolder, gone: int) -> str:
    """The question if this many sections are gone; empty if that is usual or was confirmed."""
    total = WatchedSection.objects.filter(file__folder=folder, disputed_from="", is_own=True).count()
    is_much = gone > _MOST_GONE or gone > SHARE_GONE * total
    if folder.gone_meant or gone < AT_LEAST or not is_much:
        return ""
    return (
        f"{format_count(gone, 'section')} of {total} are gone at once. Nothing was changed. If that is meant, say so; if not, bring "
        "the files back and resume the folder."
    )


def note_gone(
    folder: WatchedFolder, files: Iterable[WatchedFile], sections: Iterable[WatchedSection], now: datetime
) -> None:
    """Record what this scan missed for the first time."""
    for file in files:
        if file.gone_since is None:
            file.gone_since = now
            file.save(update_fields=["gone_since"])
            WatchedSection.objects.filter(file=file, gone_since=None).update(gone_since=now)
    keys = [section.key for section in sections if section.gone_since is None]
    WatchedSection.objects.filter(key__in=keys).update(gone_since=now)


def waiting_gone(folder: WatchedFolder) -> Sequence[WatchedSection]:
    """Sections missed by an earlier scan whose memories are not unconfirmed yet."""
    rows = WatchedSection.objects.filter(file__folder=folder, gone_since__isnull=False, disputed_from="")
    return list(rows.select_related("file", "memory"))


def doubt_gone(actor: Actor, folder: WatchedFolder, now: datetime) -> int:
    """Dispute the memories of sections missed by an earlier scan too; returns how many."""
    doubted = 0
    for section in waiting_gone(folder):
        assert section.gone_since is not None  # noqa: S101 - as asked
        if now - section.gone_since >= _BETWEEN:
            section.disputed_from = doubt(actor, section)
            section.save(update_fields=["disputed_from"])
            doubted += section.disputed_from != _LEFT_ALONE
    if not waiting_gone(folder):
        folder.gone_meant = False
    return doubted


def doubt(actor: Actor, section: WatchedSection) -> str:
    """Dispute a section's memory; returns its former trust, or _LEFT_ALONE."""
    if section.memory is None or not section.is_own:
        return _LEFT_ALONE
    head = head_of(section.memory)
    if head.state != State.LIVE or head.root_key != section.memory.root_key:
        return _LEFT_ALONE
    before = str(head.trust)
    try:
        dispute(actor, head.id, reason=f"unconfirmed: {section.file.path} no longer says it")
    except Conflict:
        return _LEFT_ALONE
    return before


def confirm_again(actor: Actor, section: WatchedSection, head: Memory | None) -> None:
    """Settle the doubt about a memory whose section is back; the doubts of others stay."""
    was, section.disputed_from, section.gone_since = section.disputed_from, "", None
    if head is None or was in ("", _LEFT_ALONE):
        return

    def settle() -> None:
        settle_doubts(actor, head, BACK, only=raised_by(actor))

    change_fields(
        actor, head, Operation.DISPUTE, {}, (), reason=f"{section.file.path} says it again", dry_run=False,
        follow_up=settle,
    )  # fmt: skip
