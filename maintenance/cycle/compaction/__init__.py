"""Compaction: old events of one topic give way to a summary, each only once the summary answers what it answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

import numpy as np
from django.conf import settings
from django.db import transaction
from numpy.typing import NDArray

from access.audit.operations import Operation
from access.visibility import Visibility
from maintenance.cycle.compaction.buckets import (
    SUMMARY_SOURCE,
    Bucket,
    compactable,
    find_page,
    new_keys,
    new_mark,
)
from maintenance.cycle.compaction.summary import Summary, SummarySource, get_summariser, span_text
from maintenance.cycle.compaction.topics import find_topics
from maintenance.cycle.compaction.verify import (
    SourceQuery,
    answered_by,
    answered_by_sources,
    make_probes,
    may_answer,
)
from maintenance.cycle.links import tie_new
from maintenance.cycle.recorder import Recorder
from maintenance.cycle.step import Batch, Turn
from maintenance.cycle.vectors import first_owed, read_vectors, without_date
from memories.draft import Draft, check_draft
from memories.embedding import Encoder
from memories.models import LinkKind, Memory
from memories.queries.snapshot import snapshot
from memories.queries.visibility import RECALLED
from memories.store import PreparedDraft, insert_version, restated_withdrawn
from memories.store.pieces import EmbeddedText, available_encoder, embed_passages, indexed_model, passage_of
from memories.store.search_columns import refresh_around
from memories.store.tombstones import find_tombstone
from memories.types import Scope, State, Trust, Type

# Each source costs a search, its row and the contexts beside it; 24 of them take about 60 ms of write lock.
MAX_SOURCES = 24

Vectors = Mapping[int, NDArray[np.float32]]
Topic = tuple[int, ...]


@dataclass(frozen=True)
class CompactionCursor:
    """Where compaction is in a group: the last bucket of its page, the windows left, the topics left of one of them."""

    after: Bucket | None = None
    windows: tuple[Topic, ...] = ()
    topics: tuple[Topic, ...] = ()
    is_done: bool = False

    def as_json(self) -> dict[str, Any]:
        """Give it as a run's cursor keeps it."""
        return {"after": self.after, "windows": self.windows, "topics": self.topics, "done": self.is_done}


@dataclass(frozen=True)
class ReadySummary:
    """A summary that is ready to be written: its sources in order of time, and the probes it may answer."""

    sources: tuple[Memory, ...]
    prepared: PreparedDraft
    probes: tuple[SourceQuery, ...]


@dataclass(frozen=True)
class Compact:
    """Events older than `compact_after_days`, by scope, thread or ISO week, and topic, become summaries.

    The sources stay as compacted rows that can be restored. A topic whose summary fails is not tried again before
    something new belongs to it. Without the index's model nothing is done.
    """

    name: str = "compact"

    def next_batch(self, turn: Turn, cursor: Any) -> Batch | None:
        """Give the next summary to write; at the end the mark."""
        encoder = usable_encoder()
        place = _place(cursor)
        if encoder is None or place.is_done:
            return None
        while True:
            if place.topics:
                topic, place = place.topics[0], _without_topic(place)
                made = _make(turn, topic, encoder)
                if made is not None:
                    return Batch(cursor=place.as_json(), write=_writing(turn, made))
            elif place.windows:
                topics = _topics(turn, place.windows[0], encoder)
                place = CompactionCursor(place.after, place.windows[1:], topics)
            else:
                page = find_page(turn, after=place.after)
                if page.last is None:
                    return _end(turn, place)
                place = CompactionCursor(page.last, page.windows)


def _place(cursor: Any) -> CompactionCursor:
    if not cursor:
        return CompactionCursor()
    kind, which, scope = cursor["after"] or ("", "", "")
    windows, topics = (tuple(tuple(keys) for keys in cursor[name]) for name in ("windows", "topics"))
    return CompactionCursor((kind, which, scope) if kind else None, windows, topics, is_done=cursor["done"])


def _without_topic(place: CompactionCursor) -> CompactionCursor:
    return CompactionCursor(place.after, place.windows, place.topics[1:])


def _end(turn: Turn, place: CompactionCursor) -> Batch | None:
    """Give a batch that writes the mark alone; None where nothing new was looked at.

    Where vectors are still owed no mark is left: those events are to be looked at once they have theirs.
    """
    mark = new_mark(turn)
    if mark is None or first_owed(turn.group) is not None:
        return None
    done = CompactionCursor(place.after, is_done=True)
    return Batch(cursor=done.as_json(), write=lambda recorder: {}, mark=mark.as_json())


def usable_encoder() -> Encoder | None:
    """Give the encoder of the index's model; None where there is none, so that vectors cannot be compared."""
    encoder = available_encoder()
    return encoder if encoder is not None and indexed_model() == encoder.model_id else None


def _topics(turn: Turn, window: Topic, encoder: Encoder) -> tuple[Topic, ...]:
    """Give the topics of a window that hold something new, cut where one summary cannot stand for all."""
    vectors = read_vectors(window, encoder=encoder)
    keys = [key for key in window if key in vectors]
    if len(keys) < turn.limits.compact_at_least:
        return ()
    limits = turn.limits
    found = find_topics(
        np.stack([vectors[key] for key in keys]),
        cosine=limits.compact_cosine,
        at_least=limits.compact_at_least,
    )
    fresh = new_keys(turn, window)
    topics = (tuple(keys[row] for row in rows) for rows in found)
    return tuple(part for topic in topics if fresh & set(topic) for part in _cut(topic, turn))


def _cut(topic: Topic, turn: Turn) -> list[Topic]:
    """Cut a topic into equal parts, in order of time, with a sentence for each source in one summary."""
    least = turn.limits.compact_at_least
    most = min(max(turn.limits.compact_sentences, least), max(MAX_SOURCES, least))
    parts = max(1, min(-(-len(topic) // most), len(topic) // least))
    edges = [len(topic) * part // parts for part in range(parts + 1)]
    return [topic[start:end] for start, end in pairwise(edges)]


def _make(turn: Turn, topic: Topic, encoder: Encoder) -> ReadySummary | None:
    """Write a summary and ask it what its sources answer; None where it would not stand for enough of them."""
    sources = _read(turn, topic)
    if len(sources) < len(topic):
        return None
    draft = _draft(turn, sources)
    if draft is None or find_tombstone(turn.group, draft.content):
        return None
    embedded = embed_passages([passage_of(draft)], encoder=encoder)[0]
    probes = _probes(turn, sources, draft, embedded, encoder)
    if len(probes) < _needed(turn, len(sources)):
        return None
    return ReadySummary(tuple(sources), PreparedDraft(draft, embedded), tuple(probes))


def _read(turn: Turn, topic: Topic) -> list[Memory]:
    rows = compactable(turn).filter(key__in=topic)
    return list(rows.select_related("group", "thread").order_by("at", "key"))


def _needed(turn: Turn, sources: int) -> int:
    """Give how many sources a summary must replace to be kept: enough for one, and half."""
    return max(int(turn.limits.compact_at_least), (sources + 1) // 2)


def _draft(turn: Turn, sources: Sequence[Memory]) -> Draft | None:
    """Give the summary as a draft: no wider and no surer than its sources."""
    moments = [_at(source) for source in sources]
    summary = _summarised(turn, sources, moments)
    if not summary.text.strip():
        return None
    thread = sources[0].thread
    metadata = {
        "summary_of": [str(source.id) for source in sources],
        "from": min(moments).isoformat(),
        "to": max(moments).isoformat(),
        **({"thread": thread.name} if thread else {}),
    }
    return check_draft(
        Draft(
            summary.text,
            type=Type.EPISODIC,
            group=turn.group.slug,
            scope=Scope.GROUP if turn.group.private else sources[0].scope,
            tags=shared_tags([source.tags for source in sources]),
            metadata=metadata,
            confidence=round(sum(source.confidence for source in sources) / len(sources), 6),
            importance=max(source.importance for source in sources),
            source=SUMMARY_SOURCE,
            valid_from=min(moments),
            valid_to=max(moments),
        )
    )


def _summarised(turn: Turn, sources: Sequence[Memory], moments: Sequence[datetime]) -> Summary:
    thread = sources[0].thread
    where = f" of “{thread.name}”" if thread else ""
    title = f"{len(sources)} events{where}, {span_text(min(moments), max(moments))}:"
    said = [SummarySource(s.id, s.content, at, s.importance) for s, at in zip(sources, moments, strict=True)]
    return get_summariser().summarise(said, title=title, sentences=turn.limits.compact_sentences)


def shared_tags(tags: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Give the tags of several memories, those that most of them have first, as many as one may have."""
    counted: dict[str, int] = {}
    for each in tags:
        for tag in each:
            counted[tag] = counted.get(tag, 0) + 1
    ranked = sorted(counted, key=lambda tag: -counted[tag])
    return tuple(ranked[: settings.LOCI.storage.max_tags])


def _at(memory: Memory) -> datetime:
    return memory.valid_from or memory.created_at


def _probes(
    turn: Turn, sources: Sequence[Memory], draft: Draft, embedded: EmbeddedText, encoder: Encoder
) -> list[SourceQuery]:
    """Give the probes that the sources answer now and the summary may answer then."""
    vectors = read_vectors([source.key for source in sources], encoder=encoder)
    probes = make_probes(sources, vectors, around=[source.content for source in sources])
    pieces = without_date(embedded.vectors, draft.valid_from, encoder=encoder)
    hopeful = may_answer(probes, draft.content, pieces, cosine=turn.limits.compact_cosine)
    if len(hopeful) < _needed(turn, len(sources)):
        return hopeful
    return answered_by_sources(hopeful, _recalled(turn), top=_top())


def _top() -> int:
    return int(settings.LOCI.retrieval.max_results)


def _recalled(turn: Turn) -> Visibility:
    """Give what a recall in the group sees now."""
    return Visibility(
        groups=frozenset({turn.group.key}),
        include_global=True,
        states=frozenset({State.LIVE}),
        trusts=RECALLED,
        now=turn.now,
    )


def _writing(turn: Turn, made: ReadySummary) -> Any:
    def write(recorder: Recorder) -> Mapping[str, int]:
        return _write(turn, made, recorder)

    return write


def _write(turn: Turn, made: ReadySummary, recorder: Recorder) -> dict[str, int]:
    """Write the summary, ask the index, retire the sources that it stands for; all of it or nothing."""
    sources = _read(turn, tuple(source.key for source in made.sources))
    if len(sources) < len(made.sources):
        return {}  # somebody changed one meanwhile: the summary may say what no longer counts
    if restated_withdrawn(turn.group, made.prepared):
        return {"summaries_dropped": 1}
    keys = {source.key for source in sources}
    with transaction.atomic():
        summary = insert_version(recorder.actor, made.prepared, turn.group, trust=Trust.ACTIVE, now=turn.now)
        passing = answered_by(summary.key, made.probes, _recalled(turn), sources=keys, top=_top())
        is_kept = len(passing) >= _needed(turn, len(sources))
        transaction.set_rollback(not is_kept)
    if not is_kept:
        return {"summaries_dropped": 1}
    _keep(turn, summary, sources, recorder)
    retired = [
        source for source in sources if source.key in passing and _retire(source, summary, turn, recorder)
    ]
    refresh_around([source for source in retired if source.thread_id is not None])
    return {"summaries": 1, "compacted": len(retired)}


def _keep(turn: Turn, summary: Memory, sources: Sequence[Memory], recorder: Recorder) -> None:
    recorder.made(summary, "state", "trust", "pinned", "updated_at")
    recorder.log(
        Operation.STORE, memory=summary.id, group=turn.group.id, payload={"after": snapshot(summary)}
    )
    tie_new(recorder, turn, summary, sources, kind=LinkKind.DERIVED, reason="a summary of it")


def _retire(source: Memory, summary: Memory, turn: Turn, recorder: Recorder) -> bool:
    """Let the summary stand for a source; it is still what was believed then, so its record time goes on."""
    return recorder.retire(
        source,
        Operation.RUN,
        why=f"{summary.id} stands for it",
        at=turn.now,
        into=summary,
        state=State.COMPACTED,
    )
