"""What is already known of many drafts at once: their sources, and their texts letter by letter."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from django.db.models import Q
from django.db.models.expressions import RawSQL

from memories.draft import Draft
from memories.models import Link, LinkKind, Memory
from memories.models.link import ON_APPROVAL
from memories.models.text_lookup import fold_start, fold_starts_with, fold_starts_with_any
from memories.queries.by_key import pad_keys, read_rows
from memories.queries.versions import heads_of
from memories.types import State, Trust, Type
from storage.compiled_queries import CompiledQuery

SourceKey = tuple[int, str, str]  # group, source, source_ref
TextKey = tuple[int, str, str, str]  # group, scope, type, content hash
FormerKey = tuple[int, str, str]  # group, type, content hash
_OTHER_STATES = sorted({*State.values} - {State.LIVE, State.SUPERSEDED})
# Or the index of sources, which leaves those out, would not be used. A literal: of a value that is bound SQLite asks each
# time anew whether the index fits, and prepares the statement again.
_HAS_SOURCE_REF = ~Q(source_ref=RawSQL("''", ()))
_ROWS = Memory.objects.select_related("group", "thread", "token", "root")
_SAME_TEXT = CompiledQuery(  # unordered: sorted by key, SQLite would rather read the whole group
    lambda start, group, type_, hash_: _ROWS.filter(
        fold_starts_with(start),
        group=group,
        type=type_,
        content_hash=hash_,
        state__in=[State.LIVE, State.SUPERSEDED],
    ).order_by(),
    4,
)


@dataclass(frozen=True)
class StoredSource:
    """What is stored of a source: the row with its name, the version that counts, and its texts (hash → memory)."""

    row: Memory
    current: Memory
    texts: dict[str, Memory] = field(default_factory=dict)


def find_sources(drafts: Sequence[tuple[int, Draft]]) -> dict[SourceKey, StoredSource]:
    """Give what is stored of the drafts' sources (pairs of group key and draft), in a fixed number of queries."""
    wanted = {(group, d.source, d.source_ref): d.hash for group, d in drafts if d.source_ref}
    if not wanted:
        return {}
    rows = read_source_rows([*wanted])
    found = {key: r for r in rows if (key := (r.group_id, r.source, r.source_ref)) in wanted}
    heads = heads_of(list(found.values()))
    changed = [row for key, row in found.items() if row.content_hash != wanted[key]]
    chains = read_chains(changed)
    return {
        key: _stored_source(row, heads[row.key], chains.get(row.root_key, [])) for key, row in found.items()
    }


def read_source_rows(wanted: Sequence[SourceKey]) -> list[Memory]:
    """Give the rows of some sources, and perhaps others'; one query."""
    [first, *others] = {key[:2] for key in wanted}
    if not others:  # as of one file; compiling the query anew would take longer than its answer
        refs = pad_keys([key[2] for key in wanted])
        return _of_source(len(refs)).rows(*first, *refs)
    rows = _ROWS.filter(
        _HAS_SOURCE_REF,
        group__in={key[0] for key in wanted},
        source__in={key[1] for key in wanted},
        source_ref__in={key[2] for key in wanted},
    )
    return [*rows.order_by()]


@cache
def _of_source(count: int) -> CompiledQuery[Memory]:
    return CompiledQuery(
        lambda group, source, *refs: _ROWS.filter(
            _HAS_SOURCE_REF, group=group, source=source, source_ref__in=refs
        ).order_by(),
        count + 2,
    )


def _stored_source(row: Memory, head: Memory, chain: list[Memory]) -> StoredSource:
    """Put together what a source's text became; what counts is its own, never another source's that says the same."""
    texts = {version.content_hash: version for version in chain} | {row.content_hash: head}
    if row.state != State.MERGED:
        texts.setdefault(head.content_hash, head)
    own = [version for version in [row, *chain] if version.root_key == row.root_key]
    counting = [v for v in own if v.state == State.LIVE and v.trust != Trust.CANDIDATE]
    kept = [v for v in own if v.state != State.MERGED] or own
    return StoredSource(row, (counting or kept)[-1], texts)


@dataclass(frozen=True)
class ExistingText:
    """The rows that have a text letter by letter: the live one, and the oldest that a newer memory replaced."""

    live: Memory | None = None
    former: Memory | None = None


@dataclass(frozen=True)
class ExistingTexts:
    """The same of many texts, by what they are known by; events left out."""

    live: dict[TextKey, Memory] = field(default_factory=dict)
    former: dict[FormerKey, Memory] = field(default_factory=dict)


def find_same_text(group: int, draft: Draft) -> ExistingText:
    """Give the rows of the group that are a draft letter by letter; it is no event. One query."""
    rows = _SAME_TEXT.rows(fold_start(draft.fold_hash), group, draft.type, draft.hash)
    live = [row for row in rows if row.state == State.LIVE and row.scope == draft.scope]
    former = [row for row in rows if row.state == State.SUPERSEDED and row.superseded_by_id is not None]
    return ExistingText(next(iter(live), None), min(former, key=lambda row: row.key, default=None))


def find_texts(drafts: Sequence[tuple[int, Draft]]) -> ExistingTexts:
    """The rows that are one of the drafts letter by letter, as find_same() finds one's; at most two queries."""
    said = [draft for _, draft in drafts if draft.type != Type.EPISODIC]
    groups, hashes = {group for group, _ in drafts}, {draft.hash for draft in said}
    alike = read_rows(_by_fold, sorted({fold_start(draft.fold_hash) for draft in said}))
    keys = [key for key, group, hash_ in alike if group in groups and hash_ in hashes]
    rows = sorted(read_rows(_by_key, keys), key=lambda row: -row.key)
    live = [row for row in rows if row.state == State.LIVE]
    former = [row for row in rows if row.state == State.SUPERSEDED and row.superseded_by_id is not None]
    return ExistingTexts(
        {text_key(row): row for row in live},
        {(row.group_id, row.type, row.content_hash): row for row in former},
    )


@cache
def _by_fold(count: int) -> CompiledQuery[tuple[int, int, str]]:
    # By the fold alone, and without joins: with a group or a state to go by SQLite would rather read the whole group.
    return CompiledQuery(
        lambda *starts: (
            Memory.objects.filter(fold_starts_with_any(starts), ~Q(type=Type.EPISODIC))
            .exclude(state__in=_OTHER_STATES)
            .order_by()
            .values_list("key", "group", "content_hash")
        ),
        count,
    )


@cache
def _by_key(count: int) -> CompiledQuery[Memory]:
    return CompiledQuery(lambda *keys: _ROWS.filter(key__in=keys).order_by(), count)


def read_chains(rows: list[Memory]) -> dict[int, list[Memory]]:
    """Give the later versions of the rows' chains and the candidates that would replace them, by root, oldest first."""
    chains: defaultdict[int, list[Memory]] = defaultdict(list)
    if not rows:
        return chains
    roots = {row.root_key for row in rows}
    for version in _ROWS.filter(root__in=roots).order_by("key"):
        chains[version.root_key].append(version)
    ties = Link.objects.filter(kind=LinkKind.CONFLICT, target__in=roots).select_related("source")
    for tie in ties:
        if ON_APPROVAL in tie.evidence:  # a contradiction is no candidate for the other's place
            chains[tie.target_id].append(tie.source)
    return chains


def find_event_twins(drafts: Sequence[tuple[int, Draft]]) -> dict[TextKey, list[tuple[Memory, str]]]:
    """The live events that have a draft's text, each with its thread's name, by text; at most one query.

    is_same_event() says which is the same event.
    """
    dated = [draft for _, draft in drafts if _is_placed_event(draft)]
    if not dated:
        return {}
    at = Q(valid_from__in={d.valid_from for d in dated if d.valid_from is not None})
    at |= Q(position__in={d.position for d in dated if d.position is not None})
    rows = _ROWS.filter(
        at,
        fold_starts_with_any(sorted({fold_start(draft.fold_hash) for draft in dated})),
        group__in={group for group, _ in drafts},
        type=Type.EPISODIC,
        content_hash__in={draft.hash for draft in dated},
        state=State.LIVE,
    )
    twins: defaultdict[TextKey, list[tuple[Memory, str]]] = defaultdict(list)
    for row in rows.order_by("key"):
        twins[text_key(row)].append((row, row.thread.name if row.thread is not None else ""))
    return twins


def _is_placed_event(draft: Draft) -> bool:
    return draft.type == Type.EPISODIC and (draft.valid_from is not None or draft.position is not None)


def is_same_event(draft: Draft, row: Memory, *, thread: str) -> bool:
    """Whether a live event with the draft's text is the same event: at the same time, or at the same place in its `thread`.

    Two lines of one source are two events, however alike, and so are turns of two threads.
    """
    if draft.source_ref and row.source == draft.source and row.source_ref not in ("", draft.source_ref):
        return False
    if draft.thread and thread and draft.thread != thread:
        return False
    at_time = draft.valid_from is not None and row.valid_from == draft.valid_from
    at_place = draft.position is not None and (thread, row.position) == (draft.thread, draft.position)
    return at_time or at_place


def text_key(memory: Memory) -> TextKey:
    """What a memory's text is known by."""
    return memory.group_id, memory.scope, memory.type, memory.content_hash


def find_exact(group: int, draft: Draft) -> Memory | None:
    """The live memory that is this draft letter by letter; of events the one at the same time or place."""
    if draft.type != Type.EPISODIC:
        return find_same_text(group, draft).live
    twins = find_event_twins([(group, draft)]).get((group, draft.scope, draft.type, draft.hash), [])
    return newest_twin(draft, twins)


def newest_twin(draft: Draft, twins: Sequence[tuple[Memory, str]]) -> Memory | None:
    same = [row for row, thread in twins if is_same_event(draft, row, thread=thread)]
    return same[-1] if same else None


class Existing:
    """What is stored of some drafts' sources and texts, kept up to date while they are decided one by one."""

    def __init__(self, drafts: Sequence[tuple[int, Draft]], sources: dict[SourceKey, StoredSource]) -> None:
        self._sources = sources
        if len(drafts) == 1 and drafts[0][1].type != Type.EPISODIC:  # one query instead of two
            [(group, draft)] = drafts
            same = find_same_text(group, draft)
            self._live = {text_key(same.live): same.live} if same.live else {}
            self._former = {(group, draft.type, draft.hash): same.former} if same.former else {}
        else:
            texts = find_texts(drafts)
            self._live, self._former = texts.live, texts.former
        self._events = find_event_twins(drafts)
        self._successors: dict[int, Memory] = {}

    def source(self, group: int, draft: Draft) -> StoredSource | None:
        """What is stored of the draft's source."""
        return self._sources.get((group, draft.source, draft.source_ref)) if draft.source_ref else None

    def current(self, memory: Memory | None) -> Memory | None:
        """The memory that counts now in the place of one that may have been replaced by an earlier draft."""
        while memory is not None and memory.pk in self._successors:
            memory = self._successors[memory.pk]
        return memory

    def exact(self, group: int, draft: Draft) -> Memory | None:
        """The live memory that is this draft letter by letter."""
        key = (group, draft.scope, draft.type, draft.hash)
        if draft.type != Type.EPISODIC:
            return self._live.get(key)
        return newest_twin(draft, self._events.get(key, []))

    def former(self, group: int, draft: Draft) -> Memory | None:
        """The oldest memory with this text that a newer one replaced; events have none."""
        return self._former.get((group, draft.type, draft.hash))

    def note_inserted(self, memory: Memory, *, thread: str) -> None:
        """Record a new live memory, which gets its place in the thread only when it is written."""
        if memory.type == Type.EPISODIC:
            self._events.setdefault(text_key(memory), []).append((memory, thread))
        else:
            self._live[text_key(memory)] = memory

    def note_superseded(self, old: Memory, new: Memory) -> None:
        """Record that `new` took the place of `old`."""
        self._successors[old.pk] = new
        known = self._live.get(text_key(old))
        if known is not None and known.pk == old.pk:
            del self._live[text_key(old)]
        if old.type != Type.EPISODIC:
            self._former.setdefault((old.group_id, old.type, old.content_hash), old)
