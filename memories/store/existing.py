"""What is stored already of the drafts' sources, and memories with exactly their texts."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from operator import attrgetter

from django.db.models import Q
from django.db.models.expressions import RawSQL
from django.utils import timezone

from access.models import Group
from memories.draft import Draft
from memories.models import Link, LinkKind, Memory, MovedSource, Thread
from memories.models.link import ON_APPROVAL
from memories.models.text_lookup import fold_start, fold_starts_with, fold_starts_with_any
from memories.queries.versions import heads_of
from memories.queries.visibility import has_begun, is_outlasting
from memories.types import State, Trust, Type
from storage.bulk import batches
from storage.compiled_queries import CompiledQuery, pad_keys, read_rows

_SourceKey = tuple[int, str, str]  # group, source, source_ref
by_key = attrgetter("key")  # the order in which memories were written
TextKey = tuple[int, str, str, str]  # group, scope, type, content hash
_FormerKey = tuple[int, str, str]  # group, type, content hash
_OTHER_STATES = sorted({*State.values} - {State.LIVE, State.SUPERSEDED})
# Needed for the partial index of sources, which leaves out rows without one. A literal: with a bound value SQLite
# checks each time whether the index fits, and prepares the statement again.
_HAS_SOURCE_REF = ~Q(source_ref=RawSQL("''", ()))
_ROWS = Memory.objects.select_related("group", "thread", "token", "root")
_SAME_TEXT = CompiledQuery(  # unordered: to sort by key, SQLite reads the whole group
    lambda start, group, type_: _ROWS.filter(
        fold_starts_with(start),
        group=group,
        type=type_,
        state__in=[State.LIVE, State.SUPERSEDED],
    ).order_by(),
    3,
)


@dataclass(frozen=True)
class StoredSource:
    """What is stored of a source: the row with its source_ref, the current version, and its texts (hash → memory).

    `latest` are the hashes of its current text, of the one that it brought last, and of the memory that it leads to.
    `is_by_hand`: a person has changed it since. `is_merged`: nothing of it lives but in another memory, so its next text
    starts a chain.
    """

    row: Memory
    current: Memory
    texts: dict[str, Memory] = field(default_factory=dict)
    latest: frozenset[str] = frozenset()
    is_by_hand: bool = False
    is_merged: bool = False

    def find_unchanged(self, draft: Draft) -> Memory | None:
        """The memory of the draft's text if the source has not changed; going back to an earlier text is a change."""
        return self.texts.get(draft.hash) if draft.hash in self.latest else None

    def went_back(self, draft: Draft) -> bool:
        """True if the source has changed back to one of its earlier texts."""
        return draft.hash in self.texts and self.find_unchanged(draft) is None


def find_sources(drafts: Sequence[tuple[int, Draft]]) -> dict[_SourceKey, StoredSource]:
    """What is stored of the sources of drafts (with group keys), in a fixed number of queries."""
    wanted = {(group, d.source, d.source_ref): d.hash for group, d in drafts if d.source_ref}
    if not wanted:
        return {}
    rows = _read_source_rows([*wanted])
    found = {key: r for r in rows if (key := (r.group_id, r.source, r.source_ref)) in wanted}
    heads = heads_of(list(found.values()))
    changed = [
        row for key, row in found.items() if row.content_hash != wanted[key] or row.state != State.LIVE
    ]
    chains = _read_chains(changed)
    return {
        key: _combine_source(row, heads[row.key], chains.get(row.root_key, [])) for key, row in found.items()
    }


def find_moved_sources(drafts: Sequence[tuple[int, Draft]]) -> dict[int, Group]:
    """The groups that the sources of drafts (with group keys) were moved to, by place among the drafts.

    A turn that its conversation got since goes where the conversation is now. One query if nothing was moved.
    """
    groups = {group for group, draft in drafts if draft.source_ref}
    if not groups or not MovedSource.objects.filter(group__in=groups).exists():
        return {}
    moved: dict[_SourceKey, Group] = {}
    for refs in batches(sorted({draft.source_ref for _, draft in drafts if draft.source_ref})):
        rows = MovedSource.objects.filter(group__in=groups, source_ref__in=refs)
        moved |= {(row.group_id, row.source, row.source_ref): row.to for row in rows.select_related("to")}
    found = {
        place: to
        for place, (group, draft) in enumerate(drafts)
        if (to := moved.get((group, draft.source, draft.source_ref))) is not None
    }
    threads = {
        (group, drafts[place][1].thread): found[place]
        for place, (group, _) in enumerate(drafts)
        if place in found
    }
    left = set(
        Thread.objects.filter(group__in=groups, name__in={name for _, name in threads}).values_list(
            "group", "name"
        )
    )
    for place, (group, draft) in enumerate(drafts):
        key = (group, draft.thread)
        if draft.thread and draft.source_ref and key in threads and key not in left:
            found.setdefault(place, threads[key])
    return found


def _read_source_rows(wanted: Sequence[_SourceKey]) -> list[Memory]:
    """The rows of these sources, in one query; rows of other sources may be among them."""
    [first, *others] = {key[:2] for key in wanted}
    if not others:  # one file, for example; compiling the query again takes longer than running it
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


def _combine_source(row: Memory, head: Memory, chain: list[Memory]) -> StoredSource:
    """Combine a source's row, its head and its chain; a memory of another source or group is never its current version."""
    chain = [version for version in chain if version.group_id == row.group_id]
    head = head if head.group_id == row.group_id else row
    texts = {version.content_hash: version for version in chain} | {row.content_hash: head}
    if row.state != State.MERGED:
        texts.setdefault(head.content_hash, head)
    own = [version for version in [row, *chain] if version.root_key == row.root_key]
    current = [v for v in own if v.state == State.LIVE and v.trust != Trust.CANDIDATE]
    unmerged = [v for v in own if v.state != State.MERGED] or own
    # An edit corrects what it replaces, so that row's record time ends; what the source brings supersedes it, or follows
    # what was retracted.
    corrected = {
        later.key
        for earlier, later in pairwise(own)
        if earlier.retired_at is not None and earlier.state == State.SUPERSEDED
    }
    of_source = (v for v in [row, *chain] if v.source == row.source and v.key not in corrected)
    brought = max(of_source, key=by_key, default=row)
    now = (current or unmerged)[-1]
    return StoredSource(
        row,
        now,
        texts,
        latest=frozenset(version.content_hash for version in (now, brought, head)),
        is_by_hand=own[-1].key > brought.key,
        is_merged=not current and own[-1].state == State.MERGED,
    )


@dataclass(frozen=True)
class _ExistingTexts:
    """The memories with exactly some texts, by the texts' keys; without events.

    `live` are live, or superseded by a memory dated ahead and count until then; `former` are the oldest superseded ones;
    `dressed` are the oldest live ones with the same letters and digits, by the hash of their fold.
    """

    live: dict[TextKey, Memory] = field(default_factory=dict)
    dressed: dict[TextKey, Memory] = field(default_factory=dict)
    former: dict[_FormerKey, Memory] = field(default_factory=dict)


def find_texts(drafts: Sequence[tuple[int, Draft]]) -> _ExistingTexts:
    """The memories with the text of one of the drafts (with group keys); at most two queries, one for a single draft."""
    facts = [(group, draft) for group, draft in drafts if draft.type != Type.EPISODIC]
    if len(facts) == 1:
        [(group, draft)] = facts
        found = _SAME_TEXT.rows(fold_start(draft.fold_hash), group, draft.type)
    else:
        groups = {group for group, _ in facts}
        alike = read_rows(_by_fold, sorted({fold_start(draft.fold_hash) for _, draft in facts}))
        found = read_rows(_by_key, [key for key, group in alike if group in groups])
    rows = sorted(found, key=by_key, reverse=True)  # the oldest is last, and stays
    live = [row for row in rows if row.state == State.LIVE]
    former = [row for row in rows if row.state == State.SUPERSEDED and row.superseded_by_id is not None]
    now = timezone.now()
    return _ExistingTexts(
        {text_key(row): row for row in (*(row for row in former if is_outlasting(row, now)), *live)},
        {dress_key(row): row for row in live},
        {(row.group_id, row.type, row.content_hash): row for row in former},
    )


@cache
def _by_fold(count: int) -> CompiledQuery[tuple[int, int]]:
    # Filtered by the fold alone, without joins: given a group or a state, SQLite reads the whole group.
    return CompiledQuery(
        lambda *starts: (
            Memory.objects.filter(fold_starts_with_any(starts), ~Q(type=Type.EPISODIC))
            .exclude(state__in=_OTHER_STATES)
            .order_by()
            .values_list("key", "group")
        ),
        count,
    )


@cache
def _by_key(count: int) -> CompiledQuery[Memory]:
    return CompiledQuery(lambda *keys: _ROWS.filter(key__in=keys).order_by(), count)


def _read_chains(rows: list[Memory]) -> dict[int, list[Memory]]:
    """The later versions of the rows' chains and the candidates that will replace them, by root, oldest first."""
    chains: defaultdict[int, list[Memory]] = defaultdict(list)
    if not rows:
        return chains
    roots = {row.root_key for row in rows}
    for version in _ROWS.filter(root__in=roots).order_by("key"):
        chains[version.root_key].append(version)
    links = Link.objects.filter(kind=LinkKind.CONFLICT, target__in=roots).select_related("source")
    for link in links:
        if ON_APPROVAL in link.evidence:  # other conflict links are not replacements
            chains[link.target_id].append(link.source)
    return chains


def _find_event_twins(drafts: Sequence[tuple[int, Draft]]) -> dict[TextKey, list[tuple[Memory, str]]]:
    """The live events with a draft's text, each with its thread's name, by text key; at most one query.

    _is_same_event() decides which of them is the draft's event.
    """
    placed = [
        draft
        for _, draft in drafts
        if draft.type == Type.EPISODIC and (draft.valid_from is not None or draft.position is not None)
    ]
    if not placed:
        return {}
    at = Q(valid_from__in={d.valid_from for d in placed if d.valid_from is not None})
    at |= Q(position__in={d.position for d in placed if d.position is not None})
    rows = _ROWS.filter(
        at,
        fold_starts_with_any(sorted({fold_start(draft.fold_hash) for draft in placed})),
        group__in={group for group, _ in drafts},
        type=Type.EPISODIC,
        content_hash__in={draft.hash for draft in placed},
        state=State.LIVE,
    )
    twins: defaultdict[TextKey, list[tuple[Memory, str]]] = defaultdict(list)
    for row in rows.order_by("key"):
        twins[text_key(row)].append((row, row.thread.name if row.thread is not None else ""))
    return twins


def _is_same_event(draft: Draft, row: Memory, *, thread: str) -> bool:
    """True if a live event with the draft's text is the same event: at the same time, or place in its `thread`.

    Two source_refs of one source are two events, however alike, and so are turns of two threads.
    """
    if draft.source_ref and row.source == draft.source and row.source_ref not in ("", draft.source_ref):
        return False
    if draft.thread and thread and draft.thread != thread:
        return False
    at_time = draft.valid_from is not None and row.valid_from == draft.valid_from
    at_place = draft.position is not None and (thread, row.position) == (draft.thread, draft.position)
    return at_time or at_place


def text_key(memory: Memory) -> TextKey:
    """The key of a memory's text."""
    return memory.group_id, memory.scope, memory.type, memory.content_hash


def dress_key(memory: Memory) -> TextKey:
    """The key of a memory's text, whatever its dress."""
    return memory.group_id, memory.scope, memory.type, memory.fold_hash


def find_exact(group: int, draft: Draft) -> Memory | None:
    """The memory that counts now with exactly the draft's text; for an event, the live one at the same time or place."""
    return Existing([(group, draft)], {}).exact(group, draft)


def _newest_twin(draft: Draft, twins: Sequence[tuple[Memory, str]]) -> Memory | None:
    """The newest event of `twins` that is the draft's; they have its text, oldest first, with their threads' names."""
    same = [row for row, thread in twins if _is_same_event(draft, row, thread=thread)]
    return same[-1] if same else None


class Existing:
    """What is stored of the drafts' sources and texts, updated as the drafts are decided one by one."""

    def __init__(self, drafts: Sequence[tuple[int, Draft]], sources: dict[_SourceKey, StoredSource]) -> None:
        self._sources = sources
        texts = find_texts(drafts)
        self._live, self._former, self._dressed = texts.live, texts.former, texts.dressed
        self._events = _find_event_twins(drafts)
        self._successors: dict[int, Memory] = {}

    def source(self, group: int, draft: Draft) -> StoredSource | None:
        """What is stored of the draft's source; None if nothing is."""
        return self._sources.get((group, draft.source, draft.source_ref)) if draft.source_ref else None

    def current(self, memory: Memory | None) -> Memory | None:
        """The memory itself, or its successor if an earlier draft superseded it."""
        while memory is not None and memory.pk in self._successors:
            memory = self._successors[memory.pk]
        return memory

    def exact(self, group: int, draft: Draft) -> Memory | None:
        """The memory with exactly the draft's text, live or until a plan begins; for an event, the live one at the same time or place."""
        key = (group, draft.scope, draft.type, draft.hash)
        if draft.type != Type.EPISODIC:
            return self._live.get(key)
        return _newest_twin(draft, self._events.get(key, []))

    def dressed(self, group: int, draft: Draft) -> Memory | None:
        """The oldest live memory with the draft's letters and digits, exactly or in other dress; None for events."""
        return self._dressed.get((group, draft.scope, draft.type, draft.fold_hash))

    def former(self, group: int, draft: Draft) -> Memory | None:
        """The oldest superseded memory with this text; None for events."""
        return self._former.get((group, draft.type, draft.hash))

    def note_inserted(self, memory: Memory, *, thread: str) -> None:
        """Record a new live memory; `thread` is the name of its thread, which the row gets only when it is written."""
        if memory.type == Type.EPISODIC:
            self._events.setdefault(text_key(memory), []).append((memory, thread))
        else:
            self._live[text_key(memory)] = memory
            self._dressed.setdefault(dress_key(memory), memory)

    def note_superseded(self, old: Memory, new: Memory) -> None:
        """Record that `new` supersedes `old`."""
        self._successors[old.pk] = new
        if not has_begun(new, timezone.now()):
            return  # it counts until then
        live = self._live.get(text_key(old))
        if live is not None and live.pk == old.pk:
            del self._live[text_key(old)]
        dressed = self._dressed.get(dress_key(old))
        if dressed is not None and dressed.pk == old.pk:
            del self._dressed[dress_key(old)]
        if old.type != Type.EPISODIC:
            self._former.setdefault((old.group_id, old.type, old.content_hash), old)
