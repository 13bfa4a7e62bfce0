"""Labels: why to be careful with a memory, and who doubts it; worded the same in every interface."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from functools import cache
from typing import Any, Final

from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext

from memories.models import Doubt, DoubtStatus, Memory
from memories.queries.versions import has_lapsed
from memories.queries.visibility import is_outlasting
from memories.types import State, Trust, Type
from storage.compiled_queries import CompiledQuery, read_rows

PROMOTED_SOURCE = "loci:promote"  # of a fact that maintenance made from repeated events
OUTSIDE = "outside"  # of what came from a file, a web page or a tool, and not from the team
_PLAIN_TRUSTS = frozenset({Trust.ACTIVE, Trust.VERIFIED})
MAX_REASON_CHARS: Final = 120  # of a label
_READ: Final = "_loci_doubts"  # the attribute of a memory whose doubts were read


def label_of(memory: Memory) -> str:
    """The reasons why to be careful with a memory now, its state first; empty for a plainly valid one.

    Describes the current row even in an answer about the past: a statement that was true then and is not now has a label.
    """
    labels = [_label_of_state(memory, timezone.now())]
    if memory.trust not in _PLAIN_TRUSTS:
        labels.append(memory.trust)
    elif doubt := _describe_doubt(memory):
        labels += [memory.trust, doubt] if memory.trust == Trust.VERIFIED else [doubt]
    if memory.source == PROMOTED_SOURCE and memory.trust == Trust.ACTIVE:
        labels.append("derived: events repeat it")
    if memory.outside:
        labels.append(OUTSIDE)
    return ", ".join(filter(None, labels))


def _label_of_state(memory: Memory, now: datetime) -> str:
    """The label of a memory's state and validity; empty for a valid live memory."""
    if memory.state == State.LIVE:
        if not has_lapsed(memory, now):
            return _label_of_beginning(memory, now)
        if memory.expires_at is not None and memory.expires_at <= now:
            return f"expired{_dated(' since', memory.expires_at)}: its time to live ended"
        return f"ended: was true{_dated(' until', memory.valid_to)}"
    if memory.state == State.SUPERSEDED:
        return _label_of_superseded(memory, now)
    if memory.state == State.RETRACTED:
        return f"retracted{_dated(' since', memory.retired_at)}: it was wrong"
    if memory.state == State.EXPIRED:
        return f"expired{_dated(' since', memory.expires_at)}: its time to live ended"
    if memory.state == State.DORMANT:
        return f"dormant{_dated(' since', memory.state_changed_at)}: not used for long"
    if memory.state == State.MERGED:
        return "merged: combined into another memory"
    return f"{memory.state}{_dated(' since', memory.retired_at)}"


def _label_of_beginning(memory: Memory, now: datetime) -> str:
    """The label of what is dated ahead: an event is a plan, a fact waits for its day; else empty."""
    if memory.valid_from is None or memory.valid_from <= now:
        return ""
    if memory.type == Type.EPISODIC:
        return f"planned{_dated(' for', memory.valid_from)}"
    return f"counts{_dated(' from', memory.valid_from)}"


def _label_of_superseded(memory: Memory, now: datetime) -> str:
    """Corrected if an edit replaced the text, which was never right; else true until its successor, unless it was undone."""
    if memory.was_undone:
        return f"undone{_dated(' on', memory.retired_at)}: as if it had not been stored"
    if memory.retired_at is not None:
        return f"superseded: its text was corrected{_dated(' on', memory.retired_at)}"
    if memory.type != Type.EPISODIC and memory.valid_to is not None and memory.valid_to > now:
        return f"counts{_dated(' until', memory.valid_to)}"
    return f"superseded: was true{_dated(' until', memory.valid_to)}" if memory.valid_to else "superseded"


def standing(memory: Memory) -> str:
    """The state as a word for people; of a fact whose successor is dated ahead, until when it counts."""
    if is_outlasting(memory, timezone.now()):
        return gettext("counts until {valid_to:%Y-%m-%d}").format(valid_to=memory.valid_to)
    return "undone" if memory.was_undone else memory.state


def _dated(word: str, moment: datetime | None) -> str:
    return f"{word} {moment:%Y-%m-%d}" if moment else ""


def read_doubts(memories: Iterable[Memory]) -> None:
    """Read the open doubts of many live memories at once, for label_of() and doubts_of(); one query."""
    rows = [row for row in memories if row.state == State.LIVE]
    if not rows:
        return
    found: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
    for root, author, reason in read_rows(_open_query, list({row.root_key for row in rows})):
        found[root].append((author, reason))
    for row in rows:
        setattr(row, _READ, found.get(row.root_key, []))


def doubts_of(memory: Memory) -> list[tuple[str, str]]:
    """The authors and reasons of a live memory's open doubts, oldest first."""
    if memory.state == State.LIVE and not hasattr(memory, _READ):
        read_doubts([memory])
    found: list[tuple[str, str]] = getattr(memory, _READ, [])
    return found


def _describe_doubt(memory: Memory) -> str:
    """The open doubts in words: "disputed by bob/agent: the port has changed"; empty without one."""
    doubts = doubts_of(memory)
    if not doubts:
        return ""
    author, reason = doubts[0]
    short = reason if len(reason) <= MAX_REASON_CHARS else f"{reason[: MAX_REASON_CHARS - 1]}…"
    more = f", and by {len(doubts) - 1} more" if len(doubts) > 1 else ""
    return f"disputed by {author}{f': {short}' if short else ''}{more}"


def is_doubted() -> Q:
    """Condition on memories: a doubt of the chain is open."""
    root = Coalesce(OuterRef("root"), OuterRef("key"))
    return Q(Exists(Doubt.objects.filter(memory=root, status=DoubtStatus.OPEN)))


@cache
def _open_query(count: int) -> CompiledQuery[tuple[Any, ...]]:
    return CompiledQuery(
        lambda *roots: (
            Doubt.objects.filter(memory__in=roots, status=DoubtStatus.OPEN)
            .order_by("key")
            .values_list("memory_id", "author_name", "reason")
        ),
        count,
    )
