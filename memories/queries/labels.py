"""Labels: why to be careful with a memory, in the same words on every face."""

from datetime import datetime

from django.utils import timezone

from memories.models import Memory
from memories.queries.versions import has_lapsed
from memories.types import State, Trust

PLAIN_TRUSTS = frozenset({Trust.ACTIVE, Trust.VERIFIED})


def label_of(memory: Memory, *, now: datetime | None = None) -> str:
    """Say why a memory does not simply count at `now`, the state's own word first; empty where it does.

    It is said of the row as it stands, whatever moment was asked about: what was true then and is not any more
    carries its label into the answer.
    """
    said = [_label_of_state(memory, now or timezone.now())]
    if memory.trust not in PLAIN_TRUSTS:
        said.append(memory.trust)
    return ", ".join(filter(None, said))


def _label_of_state(memory: Memory, now: datetime) -> str:
    if memory.state == State.LIVE:
        return _label_of_lapsed(memory, now) if has_lapsed(memory, now) else ""
    if memory.state == State.SUPERSEDED:
        return _label_of_superseded(memory)
    if memory.state == State.RETRACTED:
        return f"retracted{_dated(' since', memory.retired_at)}: it was wrong"
    if memory.state == State.EXPIRED:
        return f"expired{_dated(' since', memory.expires_at)}: its time to live is over"
    if memory.state == State.COMPACTED:
        return "compacted: a summary stands for it"
    if memory.state == State.MERGED:
        return "merged: its text went into another memory"
    return f"{memory.state}{_dated(' since', memory.retired_at)}"


def _label_of_lapsed(memory: Memory, now: datetime) -> str:
    if memory.expires_at is not None and memory.expires_at <= now:
        return f"expired{_dated(' since', memory.expires_at)}: its time to live is over"
    return f"ended: was true{_dated(' until', memory.valid_to)}"


def _label_of_superseded(memory: Memory) -> str:
    """An edit says that the text was never right, a successor that it was true until then."""
    if memory.retired_at is not None:
        return f"superseded: its text was corrected{_dated(' on', memory.retired_at)}"
    return f"superseded: was true{_dated(' until', memory.valid_to)}" if memory.valid_to else "superseded"


def _dated(word: str, moment: datetime | None) -> str:
    return f"{word} {moment:%Y-%m-%d}" if moment else ""
