"""Compaction: a summary stands for the old events of a week, or of a month, in lists; the events stay live behind it.

Nothing else about an event changes, so recall finds it as before and shows the sentence that answers. A summary quotes a
sentence of each of its events; where that would be more than _COVERED_SHARE of their tokens, it is an index: one line
that says what the events are about.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from access.audit.operations import Operation
from maintenance.cycle.compaction.summary import Summary, SummarySource, get_summariser, key_terms, span_text
from maintenance.cycle.compaction.weeks import (
    Week,
    find_months,
    find_named,
    find_weeks,
    quotable,
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
from memories.store.pieces import embed_passages, passage_of
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
        """The next summary to write, then the next events that go behind theirs."""
        encoder = usable_encoder()
        if encoder is None:
            return None
        place: dict[str, Any] = cursor or {"todo": find_weeks(turn), "after": None}
        while place["todo"] or place["after"] is None:
            if not place["todo"]:
                place = {"todo": find_months(turn), "after": 0}
                continue
            week, place = Week(*place["todo"][0]), place | {"todo": place["todo"][1:]}
            if (ready := _prepare_summary(turn, week, encoder)) is not None:
                return Batch(place, partial(_write_summary, turn, ready))
        named = find_named(turn).filter(key__gt=place["after"])
        keys = list(named.values_list("key", flat=True)[:ROWS])
        return Batch(place | {"after": keys[-1]}, partial(_compact_events, turn, keys)) if keys else None


def _prepare_summary(turn: Turn, week: Week, encoder: Encoder) -> _ReadySummary | None:
    """Draft and embed a summary, before any transaction; None if an event changed meanwhile."""
    sources = _read_sources(turn, week)
    if len(sources) < len(week.keys):
        return None
    withdrawn = turn.withdrawn.setdefault(encoder.model_id, WithdrawnTexts(turn.group.key, encoder.model_id))
    withdrawn.refresh()
    for text, form in _texts(sources, encoder):
        try:
            draft = _draft_summary(turn, week, sources, text, form)
        except NotAdmitted:
            continue
        [embedded] = embed_passages([passage_of(draft)], encoder=encoder)
        prepared = PreparedDraft(draft, embedded)
        if not find_withdrawn(turn.group, draft.scope, text) and not withdrawn.doubt_about(
            draft, prepared.vector
        ):
            return _ReadySummary(week, tuple(sources), prepared, withdrawn)
    return None


def _read_sources(turn: Turn, week: Week) -> list[Memory]:
    """The events or summaries, as they are now, in the order of the week."""
    found = quotable(turn, week.scope).in_bulk(week.keys)
    return [found[key] for key in week.keys if key in found]


def _texts(sources: Sequence[Memory], encoder: Encoder) -> Iterator[tuple[str, str]]:
    """What the summary may say with its form, the best first: a text that the guard or a tombstone bars is not the last."""
    moments = [source.moment for source in sources]
    threads = {source.thread for source in sources}
    thread = threads.pop() if len(threads) == 1 else None
    where = f" of “{thread.name}”" if thread else ""
    title = f"{format_count(_events_of(sources), 'event')}{where}, {span_text(min(moments), max(moments))}"
    if len(sources) <= _SUMMARISED:
        made = _summarise(sources, f"{title}:", encoder)
        tokens = encoder.token_counts([made.text, *(source.content for source in sources)])
        covered = {id_ for line in made.lines for id_ in line.sources}
        if covered.issuperset(source.id for source in sources) and tokens[0] <= _COVERED_SHARE * sum(
            tokens[1:]
        ):
            yield made.text, "summary"
    if terms := key_terms([source.content for source in sources]):
        yield f"{title}: about {', '.join(terms)}.", "index"
    yield f"{title}.", "index"


def _events_of(sources: Sequence[Memory]) -> int:
    """How many events these are, or these summaries are about."""
    return sum(int(s.metadata["events"]) if s.source == SUMMARY_SOURCE else 1 for s in sources)


def _summarise(sources: Sequence[Memory], title: str, encoder: Encoder) -> Summary:
    """The configured summariser's text, its lines in a paragraph for each topic."""
    events = [SummarySource(s.id, _body_of(s), s.moment, s.importance) for s in sources]
    made = get_summariser().summarise(events, title=title, sentences=min(len(events), SENTENCES))
    topics = _topics_of(sources, encoder)
    paragraphs = dict[int, list[str]]()
    for line in made.lines:
        paragraphs.setdefault(topics.get(line.sources[0], -1), []).append(line.text)
    if len(paragraphs) < 2:
        return made
    return Summary("\n\n".join([title, *("\n".join(lines) for lines in paragraphs.values())]), made.lines)


def _body_of(source: Memory) -> str:
    """What it says; of a summary without its title."""
    return source.content.split(":\n", 1)[-1] if source.source == SUMMARY_SOURCE else source.content


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


def _draft_summary(turn: Turn, week: Week, sources: Sequence[Memory], text: str, form: str) -> Draft:
    """The summary as a draft, its scope no wider and its confidence no higher than its sources'. Raises NotAdmitted."""
    moments = [source.moment for source in sources]
    ends = [source.valid_to for source in sources if source.source == SUMMARY_SOURCE and source.valid_to]
    covered = (
        {"months": [week.first]} if week.is_month else {"weeks": sorted({week_of(at) for at in moments})}
    )
    return admit_draft(
        turn,
        Draft(
            text,
            type=Type.EPISODIC,
            group=turn.group.slug,
            scope=Scope.GROUP if turn.group.private else week.scope,
            metadata={"events": _events_of(sources), "form": form, **covered},
            source=SUMMARY_SOURCE,
            valid_from=min(moments),
            valid_to=max([*moments, *ends]),
            **inherited_fields(sources),
        ),
    )


def _write_summary(turn: Turn, ready: _ReadySummary, recorder: Recorder) -> dict[str, int]:
    """Write the summary in the place of a former one; nothing if an event changed meanwhile."""
    fresh = _read_sources(turn, ready.week)
    if [row.updated_at for row in fresh] != [row.updated_at for row in ready.sources]:
        return {}
    newly_withdrawn = ready.withdrawn.refresh()
    if ready.withdrawn.doubt_about(ready.prepared.draft, ready.prepared.vector, among=newly_withdrawn):
        return {}
    former = (
        summaries(turn).filter(key=ready.week.replaces or 0).select_related("group", "summary__group").first()
    )
    summary = put_in_place(turn, former, ready.prepared, ready.sources, recorder)
    if former is not None:
        _put_behind(Memory.objects.filter(summary=former), summary.key, recorder)
        if (month := former.summary) is not None:  # it is made anew of all its weeks
            reason = f"its week was made anew as {summary.id}"
            recorder.retire(month, Operation.RUN, reason=reason, at=turn.now, state=State.SUPERSEDED)
            _put_behind(Memory.objects.filter(summary=month), None, recorder)
    if not ready.week.is_month:
        return {"summaries": 1}
    return {"summaries": 1, "compacted": _put_behind(ready.sources, summary.key, recorder)}


def put_in_place(
    turn: Turn,
    former: Memory | None,
    prepared: PreparedDraft,
    sources: Sequence[Memory],
    recorder: Recorder,
) -> Memory:
    """Write a summary in the place of a former one, and link it to its sources."""
    summary = recorder.store(prepared, turn.group, trust=Trust.ACTIVE, at=turn.now)
    recorder.link_new(summary, sources, at=turn.now, kind=LinkKind.DERIVED, reason="summarises it")
    if former is not None:
        recorder.retire(
            former, Operation.RUN, reason=f"made anew as {summary.id}", at=turn.now, successor=summary,
            state=State.SUPERSEDED,
        )  # fmt: skip
    return summary


def _compact_events(turn: Turn, keys: Sequence[int], recorder: Recorder) -> dict[str, int]:
    """Put the events behind the summaries that name them, unless they changed meanwhile."""
    events = list(find_named(turn).filter(key__in=keys))
    return {"compacted": recorder.edit_many(events, summary_id=[event.named for event in events])}


def _put_behind(rows: Iterable[Memory], summary: int | None, recorder: Recorder) -> int:
    """Put rows behind a summary, or in front again; returns how many."""
    rows = list(rows)
    return recorder.edit_many(rows, summary_id=[summary] * len(rows))
