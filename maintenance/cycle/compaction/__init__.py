"""Compaction: a summary replaces old events of one topic, each only if the summary answers the queries it answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from django.conf import settings
from django.db import transaction

from access.audit.operations import Operation
from access.visibility import Visibility
from maintenance.cycle.compaction.buckets import (
    AT_LEAST,
    SUMMARY_SOURCE,
    Bucket,
    compactable_events,
    compute_next_mark,
    find_page,
    select_new_keys,
)
from maintenance.cycle.compaction.summary import Summary, SummarySource, get_summariser, span_text
from maintenance.cycle.compaction.topics import find_topics
from maintenance.cycle.compaction.verify import (
    SourceQuery,
    find_replaceable_sources,
    make_probes,
    select_answerable_probes,
    select_promising_probes,
)
from maintenance.cycle.recorder import Recorder
from maintenance.cycle.step import NOT_ADMITTED, Batch, NotAdmitted, Turn, admit_draft
from maintenance.cycle.vectors import first_key_without_vector, read_vectors, remove_dates
from memories.draft import Draft
from memories.draft.registry import inherited_fields
from memories.embedding import Encoder
from memories.models import LinkKind, Memory
from memories.queries.snapshot import snapshot
from memories.queries.visibility import RECALLED
from memories.store import PreparedDraft, insert_version, record_findings
from memories.store.pieces import EmbeddedText, available_encoder, embed_passages, indexed_model, passage_of
from memories.store.threads import refresh_around
from memories.store.withdrawn.marks import find_withdrawn
from memories.store.withdrawn.near import WithdrawnTexts
from memories.types import Scope, State, Trust, Type

# At most, in a summary, so at most as many sources: each costs a search, its row and its neighbours' contexts; 24 take about 60 ms
# of write lock.
SENTENCES = 12
# Mean cosine between an event and the others on its topic. Measured on texts without dates: unrelated events average 0.1
# and reach 0.3 at most, those on one topic 0.5 to 0.7.
_COSINE = 0.35

_Topic = tuple[int, ...]  # keys of events, in order of time


@dataclass(frozen=True)
class _CompactionCursor:
    """Progress in a group: the last bucket of its page, the remaining windows, and topics of the current one."""

    after: Bucket | None = None
    windows: tuple[_Topic, ...] = ()
    topics: tuple[_Topic, ...] = ()
    is_done: bool = False

    @classmethod
    def from_json(cls, stored: Mapping[str, Any] | None) -> "_CompactionCursor":
        if not stored:
            return cls()
        kind, which, scope = stored["after"] or ("", "", "")
        windows, topics = (tuple(tuple(keys) for keys in stored[name]) for name in ("windows", "topics"))
        return cls((kind, which, scope) if kind else None, windows, topics, is_done=stored["done"])

    def as_json(self) -> dict[str, Any]:
        return {"after": self.after, "windows": self.windows, "topics": self.topics, "done": self.is_done}


@dataclass(frozen=True)
class _ReadySummary:
    """A summary ready to be written: its sources in order of time, and the probes that it may answer.

    `withdrawn` are the texts that it was compared with; `doubt` says which of them it restates, if any.
    """

    sources: tuple[Memory, ...]
    prepared: PreparedDraft
    probes: tuple[SourceQuery, ...]
    withdrawn: WithdrawnTexts
    doubt: str


@dataclass(frozen=True)
class Compact:
    """Events older than `compact_after_days`, by scope, thread or ISO week, and topic, become summaries.

    The sources remain as compacted rows that can be restored. A topic whose summary fails is not retried until a new
    event joins it. Without the index's model the step does nothing.
    """

    name: str = "compact"

    def next_batch(self, turn: Turn, cursor: Any) -> Batch | None:
        """The next summary to write; at the end, the mark."""
        encoder = usable_encoder()
        place = _CompactionCursor.from_json(cursor)
        if encoder is None or place.is_done:
            return None
        while True:
            if place.topics:
                topic, place = place.topics[0], replace(place, topics=place.topics[1:])
                try:
                    ready = prepare_summary(turn, topic, encoder)
                except NotAdmitted:
                    return Batch(cursor=place.as_json(), write=lambda _: NOT_ADMITTED)
                if ready is not None:
                    return Batch(cursor=place.as_json(), write=partial(write_summary, turn, ready))
            elif place.windows:
                topics = _find_new_topics(turn, place.windows[0], encoder)
                place = _CompactionCursor(place.after, place.windows[1:], topics)
            else:
                page = find_page(turn, after=place.after)
                if page.last is None:
                    return _prepare_final_batch(turn, place)
                place = _CompactionCursor(page.last, page.windows)


def _prepare_final_batch(turn: Turn, place: _CompactionCursor) -> Batch | None:
    """A batch that only saves the mark; None if there was nothing new to compare.

    No mark is saved while vectors are missing: those events must be compared once they have theirs.
    """
    mark = compute_next_mark(turn)
    if mark is None or first_key_without_vector(turn.group) is not None:
        return None
    done = _CompactionCursor(place.after, is_done=True)
    return Batch(cursor=done.as_json(), write=lambda recorder: {}, mark=mark.as_json())


def usable_encoder() -> Encoder | None:
    """The encoder of the index's model; None if it is unavailable, so that vectors cannot be compared."""
    encoder = available_encoder()
    return encoder if encoder is not None and indexed_model() == encoder.model_id else None


def _find_new_topics(turn: Turn, window: _Topic, encoder: Encoder) -> tuple[_Topic, ...]:
    """The window's topics that contain a new event, split where one summary cannot cover all their events."""
    vectors = read_vectors(window, encoder=encoder)
    keys = [key for key in window if key in vectors]
    if len(keys) < AT_LEAST:
        return ()
    found = find_topics(np.stack([vectors[key] for key in keys]), cosine=_COSINE, at_least=AT_LEAST)
    new = select_new_keys(turn, window)
    topics = (tuple(keys[row] for row in rows) for rows in found)
    return tuple(part for topic in topics if new & set(topic) for part in _split_topic(topic))


def _split_topic(topic: _Topic) -> list[_Topic]:
    """Split a topic into equal parts, in order of time, so that a summary has room for a sentence per source."""
    parts = max(1, min(-(-len(topic) // SENTENCES), len(topic) // AT_LEAST))
    edges = [len(topic) * part // parts for part in range(parts + 1)]
    return [topic[start:end] for start, end in pairwise(edges)]


def prepare_summary(turn: Turn, topic: _Topic, encoder: Encoder) -> _ReadySummary | None:
    """Draft and probe a summary, before any transaction; None if it could not replace enough of its sources."""
    sources = _read_sources(turn, topic)
    if len(sources) < len(topic):
        return None
    draft = _draft_summary(turn, sources)
    if draft is None or find_withdrawn(turn.group, draft.scope, draft.content):
        return None
    embedded = embed_passages([passage_of(draft)], encoder=encoder)[0]
    probes = _find_probes(turn, sources, draft, embedded, encoder)
    if len(probes) < count_sources_needed(len(sources)):
        return None
    model, prepared = encoder.model_id, PreparedDraft(draft, embedded)
    withdrawn = turn.withdrawn.setdefault(model, WithdrawnTexts(turn.group.key, model))
    withdrawn.refresh()
    doubt = withdrawn.doubt_about(draft, prepared.vector)
    return _ReadySummary(tuple(sources), prepared, tuple(probes), withdrawn, doubt)


def _read_sources(turn: Turn, topic: _Topic) -> list[Memory]:
    rows = compactable_events(turn).filter(key__in=topic)
    return list(rows.select_related("group", "thread").order_by("at", "key"))


def count_sources_needed(sources: int) -> int:
    """The number of sources that a summary must replace to be kept: AT_LEAST, and half of them."""
    return max(AT_LEAST, (sources + 1) // 2)


def _draft_summary(turn: Turn, sources: Sequence[Memory]) -> Draft | None:
    """The summary as a draft, its scope no wider and its confidence no higher than its sources'; None if empty."""
    moments = [source.moment for source in sources]
    summary = _summarise_sources(turn, sources, moments)
    if not summary.text.strip():
        return None
    thread = sources[0].thread
    metadata = {
        "summary_of": [str(source.id) for source in sources],
        "from": min(moments).isoformat(),
        "to": max(moments).isoformat(),
        **({"thread": thread.name} if thread else {}),
    }
    return admit_draft(
        turn,
        Draft(
            summary.text,
            type=Type.EPISODIC,
            group=turn.group.slug,
            scope=Scope.GROUP if turn.group.private else sources[0].scope,
            metadata=metadata,
            source=SUMMARY_SOURCE,
            valid_from=min(moments),
            valid_to=max(moments),
            **inherited_fields(sources),
        ),
    )


def _summarise_sources(turn: Turn, sources: Sequence[Memory], moments: Sequence[datetime]) -> Summary:
    """The configured summariser's text, titled "5 events of “thread”, 8 May 2023 to 12 May 2023:"."""
    thread = sources[0].thread
    where = f" of “{thread.name}”" if thread else ""
    title = f"{len(sources)} events{where}, {span_text(min(moments), max(moments))}:"
    events = [
        SummarySource(s.id, s.content, at, s.importance) for s, at in zip(sources, moments, strict=True)
    ]
    return get_summariser().summarise(events, title=title, sentences=SENTENCES)


def _find_probes(
    turn: Turn, sources: Sequence[Memory], draft: Draft, embedded: EmbeddedText, encoder: Encoder
) -> list[SourceQuery]:
    """The probes that the sources answer now and the summary may answer later."""
    vectors = read_vectors([source.key for source in sources], encoder=encoder)
    probes = make_probes(sources, vectors, around=[source.content for source in sources])
    pieces = remove_dates(embedded.vectors, [draft.valid_from] * len(embedded.vectors), encoder=encoder)
    promising = select_promising_probes(probes, draft.content, pieces, cosine=_COSINE)
    if len(promising) < count_sources_needed(len(sources)):
        return promising
    return select_answerable_probes(
        promising, _recall_visibility(turn), top=settings.LOCI.retrieval.max_results
    )


def _recall_visibility(turn: Turn) -> Visibility:
    return Visibility(
        groups=frozenset({turn.group.key}),
        include_global=True,
        states=frozenset({State.LIVE}),
        trusts=RECALLED,
        now=turn.now,
    )


def write_summary(turn: Turn, ready: _ReadySummary, recorder: Recorder) -> dict[str, int]:
    """Write the summary, query the index, retire the sources that it replaces; all of it or nothing."""
    sources = _read_sources(turn, tuple(source.key for source in ready.sources))
    if len(sources) < len(ready.sources):
        return {}  # one changed meanwhile: the summary may state something outdated
    newly_withdrawn = ready.withdrawn.refresh()
    if ready.doubt or ready.withdrawn.doubt_about(
        ready.prepared.draft, ready.prepared.vector, among=newly_withdrawn
    ):
        return {"summaries_dropped": 1}
    keys = {source.key for source in sources}
    with transaction.atomic():
        summary = insert_version(recorder.actor, ready.prepared, turn.group, trust=Trust.ACTIVE, now=turn.now)
        passing = find_replaceable_sources(
            summary.key,
            ready.probes,
            _recall_visibility(turn),
            sources=keys,
            top=settings.LOCI.retrieval.max_results,
        )
        is_useful = len(passing) >= count_sources_needed(len(sources))
        transaction.set_rollback(not is_useful)
    if not is_useful:
        return {"summaries_dropped": 1}
    record_summary(turn, summary, ready.prepared, sources, recorder)
    retired = [
        source
        for source in sources
        if source.key in passing and _compact_source(source, summary, turn, recorder)
    ]
    refresh_around([source for source in retired if source.thread_id is not None])
    return {"summaries": 1, "compacted": len(retired)}


def record_summary(
    turn: Turn, summary: Memory, prepared: PreparedDraft, sources: Sequence[Memory], recorder: Recorder
) -> None:
    """Record the new summary for undo and the audit log with what the guard found, and link it to its sources."""
    record_findings([(summary, prepared.draft.findings)])
    recorder.log(
        Operation.STORE, memory=summary.id, group=turn.group.id, payload={"after": snapshot(summary)}
    )
    recorder.link_new(summary, sources, at=turn.now, kind=LinkKind.DERIVED, reason="summarises it")


def _compact_source(source: Memory, summary: Memory, turn: Turn, recorder: Recorder) -> bool:
    """Replace a source by the summary; False if it changed meanwhile.

    It is still what was believed then, so its record time does not end.
    """
    return recorder.retire(
        source,
        Operation.RUN,
        reason=f"summarised in {summary.id}",
        at=turn.now,
        successor=summary,
        state=State.COMPACTED,
    )
