"""Compaction: a summary stands for the old events of a week, or of a month, in lists; the events stay live behind it.

Nothing else about an event changes, so recall finds it as before and shows the sentence that answers. A summary quotes a
sentence of each of its events; where that would be more than _COVERED_SHARE of their tokens, it is an index: one line
that says what the events are about.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from access.audit.operations import Operation
from maintenance.cycle.compaction.summary import Summary, SummarySource, get_summariser, key_terms, span_text
from maintenance.cycle.compaction.topics import WINDOW, find_topics
from maintenance.cycle.compaction.weeks import (
    AT_LEAST,
    Week,
    find_months,
    find_named,
    find_torn,
    find_weeks,
    read_behind,
    standing,
    summaries,
    week_of,
)
from maintenance.cycle.recorder import Recorder
from maintenance.cycle.step import Batch, NotAdmitted, Turn, admit_draft
from maintenance.cycle.vectors import read_vectors
from memories.draft import Draft
from memories.draft.registry import inherited_fields
from memories.embedding import Encoder
from memories.language.cleaning import format_count
from memories.models import Link, LinkKind, LinkStatus, Memory
from memories.queries.snapshot import snapshot
from memories.store import PreparedDraft, insert_version, record_findings
from memories.store.derived import withdraw_replaced, withdraw_rows
from memories.store.pieces import available_encoder, embed_passages, indexed_model, passage_of
from memories.store.withdrawn.left_out import find_left_out_at_home
from memories.store.withdrawn.marks import find_withdrawn
from memories.store.withdrawn.near import WithdrawnTexts
from memories.types import SUMMARY_SOURCE, Scope, State, Trust, Type

SENTENCES: Final = 60  # of a summary; a week that says more distinct things gets an index
_COVERED_SHARE: Final = 0.6  # of the events' tokens that a summary may have
_SUMMARISED: Final = 400  # events; of more, choosing sentences takes seconds
ROWS: Final = 50  # events that go behind their summary in one transaction
# Mean cosine between an event and the others on its topic. Measured on texts without dates: unrelated events average 0.1
# and reach 0.3 at most, those on one topic 0.5 to 0.7.
_COSINE = 0.35


@dataclass(frozen=True)
class _ReadySummary:
    """A summary ready to be written, with its sources in order of time and the withdrawn texts that it was compared with."""

    week: Week
    sources: tuple[Memory, ...]
    prepared: PreparedDraft
    withdrawn: WithdrawnTexts


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
        place: dict[str, Any] = cursor or _place(find_weeks(turn), is_month=False)
        while True:
            while place["todo"]:
                stored, place = place["todo"][0], place | {"todo": place["todo"][1:]}
                ready = prepare_summary(turn, Week.from_json(stored), encoder, is_month=place["is_month"])
                if ready is not None:
                    return Batch(place, partial(write_summary, turn, ready))
            if place["is_month"]:
                return None
            if events := find_named(turn, after=place["after"], limit=ROWS):
                return Batch(place | {"after": events[-1].key}, partial(_compact_events, events))
            place = _place(find_months(turn), is_month=True)


def _place(weeks: Sequence[Week], *, is_month: bool) -> dict[str, Any]:
    return {"todo": [week.as_json() for week in weeks], "after": 0, "is_month": is_month}


def usable_encoder() -> Encoder | None:
    """The encoder of the index's model; None if it is unavailable, so that vectors cannot be compared."""
    encoder = available_encoder()
    return encoder if encoder is not None and indexed_model() == encoder.model_id else None


def prepare_summary(turn: Turn, week: Week, encoder: Encoder, *, is_month: bool) -> _ReadySummary | None:
    """Draft and embed a summary, before any transaction; None if an event changed meanwhile."""
    sources = _read_sources(week)
    if len(sources) < len(week.keys):
        return None
    withdrawn = turn.withdrawn.setdefault(encoder.model_id, WithdrawnTexts(turn.group.key, encoder.model_id))
    withdrawn.refresh()
    events = read_behind(sources) if is_month else sources
    for text, form in _texts(sources, events, encoder):
        try:
            draft = _draft_summary(turn, week, sources, events, text, form, is_month=is_month)
        except NotAdmitted:
            continue
        [embedded] = embed_passages([passage_of(draft)], encoder=encoder)
        prepared = PreparedDraft(draft, embedded)
        if not find_withdrawn(turn.group, draft.scope, text) and not withdrawn.doubt_about(
            draft, prepared.vector
        ):
            return _ReadySummary(week, tuple(sources), prepared, withdrawn)
    return None


def _read_sources(week: Week) -> list[Memory]:
    """The events or summaries, as they are now, in the order of the week."""
    rows = Memory.objects.filter(key__in=week.keys, state=State.LIVE).select_related("group", "thread")
    found = {row.key: row for row in rows}
    return [found[key] for key in week.keys if key in found]


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
    """The topic of each event that has one, by its id: its thread, or those events that are alike."""
    topics: dict[Any, int] = {s.id: -2 - s.thread_id for s in sources if s.thread_id is not None}
    alone = [source for source in sources if source.id not in topics][:WINDOW]
    vectors = read_vectors([source.key for source in alone], encoder=encoder)
    known = [source for source in alone if source.key in vectors]
    if len(known) < AT_LEAST:
        return topics
    found = find_topics(np.stack([vectors[s.key] for s in known]), cosine=_COSINE, at_least=2)
    return topics | {known[row].id: number for number, rows in enumerate(found) for row in rows}


def _draft_summary(
    turn: Turn,
    week: Week,
    sources: Sequence[Memory],
    events: Sequence[Memory],
    text: str,
    form: str,
    *,
    is_month: bool,
) -> Draft:
    """The summary as a draft, its scope no wider and its confidence no higher than its sources'. Raises NotAdmitted."""
    moments = [event.moment for event in events]
    covered = {"months": [week.first]} if is_month else {"weeks": sorted({week_of(at) for at in moments})}
    return admit_draft(
        turn,
        Draft(
            text,
            type=Type.EPISODIC,
            group=turn.group.slug,
            scope=Scope.GROUP if turn.group.private else week.scope,
            metadata={"events": len(events), "form": form, **covered},
            source=SUMMARY_SOURCE,
            valid_from=min(moments),
            valid_to=max(moments),
            **inherited_fields(sources),
        ),
    )


def write_summary(turn: Turn, ready: _ReadySummary, recorder: Recorder) -> dict[str, int]:
    """Write the summary in the place of a former one; nothing if an event changed meanwhile."""
    if [row.updated_at for row in _read_sources(ready.week)] != [row.updated_at for row in ready.sources]:
        return {}
    newly_withdrawn = ready.withdrawn.refresh()
    if ready.withdrawn.doubt_about(ready.prepared.draft, ready.prepared.vector, among=newly_withdrawn):
        return {}
    summary = insert_version(recorder.actor, ready.prepared, turn.group, trust=Trust.ACTIVE, now=turn.now)
    record_summary(turn, summary, ready.prepared, ready.sources, recorder)
    former = summaries(turn).filter(key=ready.week.replaces or 0).select_related("group").first()
    if former is not None:
        recorder.retire(
            former, Operation.RUN, reason=f"made anew as {summary.id}", at=turn.now, successor=summary,
            state=State.SUPERSEDED,
        )  # fmt: skip
        behind = [*Memory.objects.filter(summary=former)]
        recorder.edit_many(behind, summary_id=[summary.key] * len(behind))
        withdraw_replaced(recorder.actor, former)  # its month, which told of fewer events
    # A month: its weeks go behind it at once.
    if any(source.source == SUMMARY_SOURCE for source in ready.sources):
        return {"summaries": 1} | _put_behind(ready.sources, [summary.key] * len(ready.sources), recorder)
    return {"summaries": 1}


def record_summary(
    turn: Turn, summary: Memory, prepared: PreparedDraft, sources: Sequence[Memory], recorder: Recorder
) -> None:
    """Record the new summary for undo and the audit log with what the guard found, and link it to its sources."""
    record_findings([(summary, prepared.draft.findings)])
    recorder.log(
        Operation.STORE, memory=summary.id, group=turn.group.id, payload={"after": snapshot(summary)}
    )
    recorder.link_new(summary, sources, at=turn.now, kind=LinkKind.DERIVED, reason="summarises it")


def _withdraw_torn(torn: Sequence[Memory], recorder: Recorder) -> dict[str, int]:
    """Withdraw summaries, and list by itself again what is behind them, or behind what no longer stands."""
    for summary in torn:
        withdraw_replaced(recorder.actor, summary)
    return {"summaries_dropped": withdraw_rows(recorder.actor, [s for s in torn if s.state == State.LIVE])}


def _compact_events(events: Sequence[Memory], recorder: Recorder) -> dict[str, int]:
    """Put the events behind the summaries that name them, unless they changed meanwhile."""
    fresh = Memory.objects.filter(key__in=[event.key for event in events], summary=None, state=State.LIVE)
    standing = [*fresh.select_for_update()]
    named = _summaries_naming(standing)
    going = [row for row in standing if row.root_key in named]
    return _put_behind(going, [named[row.root_key] for row in going], recorder)


def _summaries_naming(events: Sequence[Memory]) -> dict[int, int]:
    """The key of the summary that names each event, by the event's root."""
    links = Link.objects.filter(
        standing("source__"), kind=LinkKind.DERIVED, status=LinkStatus.OPEN,
        target__in=[event.root_key for event in events],
    )  # fmt: skip
    return dict(links.values_list("target", "source"))


def _put_behind(rows: Sequence[Memory], keys: Sequence[int], recorder: Recorder) -> dict[str, int]:
    done = recorder.edit_many(list(rows), summary_id=list(keys))
    return {"compacted": done} if done else {}
