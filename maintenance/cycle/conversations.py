"""Summaries of conversations, made of sentences of their turns after an hour without new ones.

The turns stay as they are. A summary is linked to the turns that it quotes, so it goes when one of them is withdrawn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final

from django.db.models import Count, Exists, OuterRef, Q

from maintenance.cycle.compaction import ReadySummary, make_ready, put_in_place
from maintenance.cycle.compaction.summary import Summary, SummarySource, get_summariser, span_text
from maintenance.cycle.recorder import Recorder
from maintenance.cycle.step import NOT_ADMITTED, Batch, NotAdmitted, Turn
from maintenance.cycle.vectors import usable_encoder
from memories.draft import Draft
from memories.draft.registry import inherited_fields
from memories.embedding import Encoder
from memories.language.cleaning import format_count
from memories.models import Memory, Thread
from memories.types import CONVERSATION_SOURCE, VISIBLE_TRUSTS, Scope, State, Type

_LEAST_TURNS: Final = 6
REST: Final = timedelta(hours=1)  # without a new turn
MAX_TURNS: Final = 400  # the newest ones of a long conversation
LINES: Final = 5


@dataclass(frozen=True)
class SummariseConversations:
    """A step that gives each long enough conversation of a group a summary of its own sentences."""

    name: str = "conversations"

    def next_batch(self, turn: Turn, cursor: Any) -> Batch | None:
        """The next conversation without a summary, or with turns newer than it."""
        encoder = usable_encoder()
        after = int(cursor or 0)
        while encoder is not None and (thread := _next_due(turn, after)) is not None:
            after = thread.key
            try:
                ready = _prepare_summary(turn, thread, encoder)
            except NotAdmitted:
                return Batch(cursor=after, write=lambda _: NOT_ADMITTED)
            if ready is not None:
                return Batch(cursor=after, write=partial(_write_summary, turn, thread, ready))
        return None


def _next_due(turn: Turn, after: int) -> Thread | None:
    """The group's next conversation, by key, that has rested and has turns newer than its summary."""
    turns = _live_turns(OuterRef("key"))
    rows = Thread.objects.filter(group=turn.group, key__gt=after, deleted_at=None).exclude(title="")
    rows = rows.filter(~Exists(turns.filter(created_at__gt=turn.now - REST)))
    unseen = Q(summary=None) | Exists(turns.filter(created_at__gt=OuterRef("summary__created_at")))
    counted = rows.filter(unseen).annotate(
        turns=Count("memories", filter=Q(memories__state=State.LIVE, memories__trust__in=VISIBLE_TRUSTS))
    )
    return counted.filter(turns__gte=_LEAST_TURNS).select_related("summary", "group").order_by("key").first()


def _live_turns(thread: Any) -> Any:
    """The turns of a thread that a summary may quote."""
    return Memory.objects.filter(
        thread=thread, type=Type.EPISODIC, state=State.LIVE, trust__in=VISIBLE_TRUSTS, position__isnull=False
    )


def _prepare_summary(turn: Turn, thread: Thread, encoder: Encoder) -> ReadySummary | None:
    """A summary of the newest turns, embedded before any transaction; None if none is possible."""
    rows = list(
        _live_turns(thread.key).select_related("group", "thread").order_by("-position", "-key")[:MAX_TURNS]
    )
    turns = rows[::-1]
    made = summarise(thread, turns)
    wanted = {id_ for line in made.lines for id_ in line.sources}
    quoted = tuple(row for row in turns if row.id in wanted)
    if not made.text.strip() or not quoted:
        return None
    moments = [row.moment for row in turns]
    is_everybodys = all(row.scope == Scope.GLOBAL for row in turns)  # its title is of all of them
    draft = Draft(
        made.text,
        type=Type.EPISODIC,
        group=turn.group.slug,
        scope=Scope.GROUP if turn.group.private or not is_everybodys else Scope.GLOBAL,
        metadata={"conversation": thread.name, "turns": len(turns)},
        source=CONVERSATION_SOURCE,
        valid_from=min(moments),
        valid_to=max(moments),
        **inherited_fields(quoted),
    )
    return make_ready(turn, draft, quoted, encoder)


def summarise(thread: Thread, turns: Sequence[Memory]) -> Summary:
    """The summariser's text, titled "“Mail server” (claude.ai), 12 turns, 1 March 2026:"."""
    site = f" ({thread.platform})" if thread.platform else ""
    moments = [row.moment for row in turns]
    days = span_text(min(moments), max(moments))
    title = f"“{thread.title}”{site}, {format_count(len(turns), 'turn')}, {days}:"
    events = [SummarySource(row.id, row.content, row.moment, row.importance) for row in turns]
    return get_summariser().summarise(events, title=title, sentences=LINES)


def _write_summary(turn: Turn, thread: Thread, ready: ReadySummary, recorder: Recorder) -> Mapping[str, int]:
    """Write the summary in the place of a former one; nothing if a quoted turn changed meanwhile."""
    former = thread.summary
    standing = former if former is not None and former.state == State.LIVE else None
    summary = put_in_place(turn, standing, ready, _live_turns(thread.key), recorder)
    if summary is None:
        return {}
    recorder.edit(thread, summary_id=summary.key)
    return {"conversations": 1}
