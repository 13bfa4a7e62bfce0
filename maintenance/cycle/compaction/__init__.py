"""Compaction: a summary stands for the old events of a week, or of a month, in lists; the events stay live behind it.

Nothing else about an event changes, so recall finds it as before and shows the sentence that answers. A summary quotes a
sentence of each of its events; where that would be more than _COVERED_SHARE of their tokens, it is an index: one line
that says what the events are about.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from django.db.models import QuerySet

from access.audit.operations import Operation
from maintenance.cycle.compaction.summary import Summary, SummarySource, get_summariser, key_terms, span_text
from maintenance.cycle.compaction.weeks import (
    Week,
    find_months,
    find_named,
    find_torn,
    find_weeks,
    quotable,
    read_behind,
    summaries,
    week_of,
)
from maintenance.cycle.recorder import Recorder
from maintenance.cycle.step import Batch, NotAdmitted, Turn, admit_draft
from maintenance.cycle.vectors import read_vectors, usable_encoder
from memories.draft import Draft
from memories.draft.registry import inherited_fields
from memories.embedding import Encoder
from memories.language.cleaning import format_count
from memories.models import LinkKind, Memory
from memories.store import PreparedDraft
from memories.store.derived import withdraw_rows, withdraw_summaries
from memories.store.pieces import embed_passages, passage_of
from memories.store.withdrawn.left_out import find_left_out_at_home
from memories.store.withdrawn.marks import find_withdrawn
from memories.types import SUMMARY_SOURCE, Scope, State, Trust, Type

SENTENCES: Final = 60  # of a summary; a week that says more distinct things gets an index
_COVERED_SHARE: Final = 0.6  # of the events' tokens that a summary may have
_SUMMARISED: Final = 400  # events; of more, choosing sentences takes seconds
ROWS: Final = 50  # events that go behind their summary in one transaction
# Mean cosine between an event and the others on its topic. Measured on texts without dates: unrelated events average 0.1
# and reach 0.3 at most, those on one topic 0.5 to 0.7.
_COSINE = 0.35


@dataclass(frozen=True)
class ReadySummary:
    """A summary ready to be written, with the sources that it is linked to."""

    prepared: PreparedDraft
    sources: Sequence[Memory]


@dataclass(frozen=True)
class Compact:
    """Each week's events older than `compact_after_days` get one summary, and go behind it; after a year, weeks behind their month.

    Without the index's model the step does nothing.
    """

    name: str = "compact"

    def next_batch(self, turn: Turn, cursor: Any) -> Batch | None:
        """The next summary of a week to write, then the next events that go behind theirs, then the next of a month."""
        if cursor is None and (torn := find_torn(turn)):
            return Batch({}, partial(_withdraw_torn, torn))
        encoder = usable_encoder()
        if encoder is None:
            return None
        place: dict[str, Any] = cursor or {"todo": find_weeks(turn), "after": 0}
        while True:
            while place["todo"]:
                week, place = Week(*place["todo"][0]), place | {"todo": place["todo"][1:]}
                if (ready := _prepare_summary(turn, week, encoder)) is not None:
                    return Batch(place, partial(_write_summary, turn, week, ready))
            if place["after"] is None:
                return None
            named = find_named(turn).filter(key__gt=place["after"])
            if keys := list(named.values_list("key", flat=True)[:ROWS]):
                return Batch(place | {"after": keys[-1]}, partial(_compact_events, turn, keys))
            place = {"todo": find_months(turn), "after": None}


def _prepare_summary(turn: Turn, week: Week, encoder: Encoder) -> ReadySummary | None:
    """Draft and embed a summary, before any transaction; None if an event changed meanwhile."""
    found = quotable(turn, week.scope).in_bulk(week.keys)
    if len(found) < len(week.keys):
        return None
    sources = [found[key] for key in week.keys]
    events = read_behind(sources) if week.is_month else sources
    for text, form in _texts(sources, events, encoder) if events else ():
        with suppress(NotAdmitted):
            draft = _draft_summary(turn, week, events, text, form)
            if (ready := make_ready(turn, draft, sources, encoder)) is not None:
                return ready
    return None


def make_ready(turn: Turn, draft: Draft, sources: Sequence[Memory], encoder: Encoder) -> ReadySummary | None:
    """A summary as the guard admits it, embedded; None if it restates what was withdrawn. Raises NotAdmitted."""
    draft = admit_draft(turn, draft)
    [embedded] = embed_passages([passage_of(draft)], encoder=encoder)
    prepared, withdrawn = PreparedDraft(draft, embedded), turn.withdrawn_texts(embedded.model)
    withdrawn.refresh()
    if find_withdrawn(turn.group, draft.scope, draft.content) or withdrawn.doubt_about(
        draft, prepared.vector
    ):
        return None
    return ReadySummary(prepared, sources)


def _texts(
    sources: Sequence[Memory], events: Sequence[Memory], encoder: Encoder
) -> Iterator[tuple[str, str]]:
    """What the summary may say with its form, the best first: a text that the guard or a tombstone bars is not the last.

    It tells of the events, in less than the sources' texts, but not of those whose text recall leaves out as withdrawn.
    """
    moments = [event.moment for event in events]
    threads = {event.thread for event in events}
    thread = threads.pop() if len(threads) == 1 else None
    where = f" of “{thread.name}”" if thread else ""
    title = f"{format_count(len(events), 'event')}{where}, {span_text(min(moments), max(moments))}"
    left_out = find_left_out_at_home(events)
    told = [event for event in events if event.key not in left_out]
    if told and len(told) <= _SUMMARISED:
        made = _summarise(told, f"{title}:", encoder)
        tokens = encoder.token_counts([made.text, *(source.content for source in sources)])
        covered = {id_ for line in made.lines for id_ in line.sources}
        is_short = tokens[0] <= _COVERED_SHARE * sum(tokens[1:])
        if is_short and covered.issuperset(event.id for event in told):
            yield made.text, "summary"
    if terms := key_terms([event.content for event in told]):
        yield f"{title}: about {', '.join(terms)}.", "index"
    yield f"{title}.", "index"


def _summarise(sources: Sequence[Memory], title: str, encoder: Encoder) -> Summary:
    """The configured summariser's text, its lines in a paragraph for each topic."""
    events = [SummarySource(s.id, s.content, s.moment, s.importance) for s in sources]
    made = get_summariser().summarise(events, title=title, sentences=min(len(events), SENTENCES))
    topics = _topics_of(sources, encoder)
    paragraphs = dict[int, list[str]]()
    for line in made.lines:
        paragraphs.setdefault(topics.get(line.sources[0], -1), []).append(line.text)
    if len(paragraphs) < 2:
        return made
    return Summary("\n\n".join([title, *("\n".join(lines) for lines in paragraphs.values())]), made.lines)


def _topics_of(sources: Sequence[Memory], encoder: Encoder) -> dict[Any, int]:
    """The topic of each event that has one, by its id: its thread, or those events that are alike.

    In order of time, each joins the topic whose events have the highest mean cosine with it, or begins one.
    """
    topics: dict[Any, int] = {s.id: -2 - s.thread_id for s in sources if s.thread_id is not None}
    alone = [source for source in sources if source.id not in topics]
    vectors = read_vectors([source.key for source in alone], encoder=encoder)
    found = list[tuple[Any, list[Memory]]]()  # the sum of the vectors of each topic, and its events
    for source in (source for source in alone if source.key in vectors):
        cosines = [float(total @ vectors[source.key]) / len(events) for total, events in found]
        if (nearest := max(cosines, default=0.0)) >= _COSINE:
            total, events = found[cosines.index(nearest)]
            total += vectors[source.key]
            events.append(source)
        else:
            found.append((vectors[source.key].copy(), [source]))
    shared = [events for _, events in found if len(events) > 1]
    return topics | {event.id: number for number, events in enumerate(shared) for event in events}


def _draft_summary(turn: Turn, week: Week, events: Sequence[Memory], text: str, form: str) -> Draft:
    """The summary as a draft, its scope no wider and its confidence no higher than its events'."""
    moments = [event.moment for event in events]
    covered = (
        {"months": [week.first]} if week.is_month else {"weeks": sorted({week_of(at) for at in moments})}
    )
    return Draft(
        text,
        type=Type.EPISODIC,
        group=turn.group.slug,
        scope=Scope.GROUP if turn.group.private else week.scope,
        metadata={"events": len(events), "form": form, **covered},
        source=SUMMARY_SOURCE,
        valid_from=min(moments),
        valid_to=max(moments),
        **inherited_fields(events),
    )


def _write_summary(turn: Turn, week: Week, ready: ReadySummary, recorder: Recorder) -> dict[str, int]:
    """Write the summary in the place of a former one; nothing if an event changed meanwhile."""
    former = summaries(turn).filter(key=week.replaces or 0).select_related("group").first()
    summary = put_in_place(turn, former, ready, quotable(turn, week.scope), recorder)
    if summary is None:
        return {}
    if former is not None:
        _put_behind(Memory.objects.filter(summary=former), summary.key, recorder)
        withdraw_summaries(recorder.actor, former)  # its month, which told of fewer events
    if not week.is_month:
        return {"summaries": 1}
    return {"summaries": 1, "compacted": _put_behind(ready.sources, summary.key, recorder)}


def put_in_place(
    turn: Turn, former: Memory | None, ready: ReadySummary, among: QuerySet[Memory], recorder: Recorder
) -> Memory | None:
    """Write a summary in the place of a former one, and link it to its sources.

    None if one of these changed meanwhile or is not `among` those any more, or a text was withdrawn that the summary restates.
    """
    prepared, sources = ready.prepared, {row.key: row.updated_at for row in ready.sources}
    withdrawn = turn.withdrawn_texts(prepared.embedded.model)
    if dict(among.filter(key__in=sources).values_list("key", "updated_at")) != sources:
        return None
    if withdrawn.doubt_about(prepared.draft, prepared.vector, among=withdrawn.refresh()):
        return None
    summary = recorder.store(prepared, turn.group, trust=Trust.ACTIVE, at=turn.now)
    recorder.link_new(summary, ready.sources, at=turn.now, kind=LinkKind.DERIVED, reason="summarises it")
    if former is not None:
        recorder.retire(
            former, Operation.RUN, reason=f"made anew as {summary.id}", at=turn.now, successor=summary,
            state=State.SUPERSEDED,
        )  # fmt: skip
    return summary


def _withdraw_torn(torn: Sequence[Memory], recorder: Recorder) -> dict[str, int]:
    """Withdraw summaries, and list by itself again what is behind them, or behind what no longer stands."""
    for summary in torn:
        withdraw_summaries(recorder.actor, summary)
    return {"summaries_dropped": withdraw_rows(recorder.actor, [s for s in torn if s.state == State.LIVE])}


def _compact_events(turn: Turn, keys: Sequence[int], recorder: Recorder) -> dict[str, int]:
    """Put the events behind the summaries that name them, unless they changed meanwhile."""
    events = list(find_named(turn).filter(key__in=keys))
    return {"compacted": recorder.edit_many(events, summary_id=[event.named for event in events])}


def _put_behind(rows: Iterable[Memory], summary: int, recorder: Recorder) -> int:
    """Put rows behind a summary; returns how many."""
    rows = list(rows)
    return recorder.edit_many(rows, summary_id=[summary] * len(rows))
