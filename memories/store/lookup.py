"""What a batch of drafts meets in the store, looked up inside the transaction that writes it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from access.models import Group
from memories.draft import Draft
from memories.draft.default_scope import default_scope, rule_of
from memories.models import Memory
from memories.store.decide import WriteContext
from memories.store.existing import Existing, StoredSource, find_sources
from memories.store.neighbours import ComparedText, Neighbour, compare_all
from memories.store.pieces import read_index_state
from memories.store.prepare import PreparedDraft
from memories.store.withdrawn.marks import find_all_withdrawn
from memories.store.withdrawn.near import in_other_dress, shared_texts
from memories.store.withdrawn.texts import find_withdrawn_labels
from memories.types import State


def look_up_stored(drafts: Sequence[tuple[Group, PreparedDraft]]) -> tuple[list[WriteContext], Existing]:
    """The drafts' contexts (scope, withdrawn texts, neighbours) and what is stored of their texts.

    The number of queries does not grow with the drafts.
    """
    sources = find_sources([(group.key, prepared.draft) for group, prepared in drafts])
    scoped = []
    for group, prepared in drafts:
        draft = prepared.draft
        source = sources.get((group.key, draft.source, draft.source_ref)) if draft.source_ref else None
        replaces = prepared.superseded or current_of(source)
        scoped.append((group, replace(prepared, draft=with_scope(draft, group, replaces))))
    existing = Existing([(group.key, prepared.draft) for group, prepared in scoped], sources)
    withdrawn = find_all_withdrawn((group.key, p.draft.scope, p.draft.content) for group, p in scoped)
    labels = find_withdrawn_labels([(group, p.draft) for group, p in scoped])
    neighbours = find_current_neighbours(scoped)
    probed = [prepared.is_probed(group.key) for group, prepared in scoped]
    contexts = [
        WriteContext(
            prepared,
            group,
            withdrawn=withdrawn[number],
            withdrawn_label=labels[number],
            is_probed=probed[number],
            neighbours=neighbours[number],
        )
        for number, (group, prepared) in enumerate(scoped)
    ]
    return add_withdrawn_neighbours(contexts), existing


def with_scope(draft: Draft, group: Group, replaces: Memory | None) -> Draft:
    """The draft with the default scope, if the caller named none."""
    if draft.scope:
        return draft
    replaced = replaces.scope if replaces is not None else None
    rule = rule_of(group, read_index_state())
    return draft.in_scope(default_scope(draft.type, group, rule=rule, replaced=replaced))


def find_current_neighbours(
    drafts: Sequence[tuple[Group, PreparedDraft]],
) -> list[tuple[Neighbour, ...]]:
    """Each draft's neighbours as they are now: all of them if it was probed, else the withdrawn ones."""
    found: list[tuple[Neighbour, ...]] = [()] * len(drafts)
    unprobed: dict[tuple[int, str], list[int]] = {}
    for number, (group, prepared) in enumerate(drafts):
        if prepared.found is not None:
            found[number] = prepared.current_neighbours(group.key)
        elif prepared.vector is not None:
            unprobed.setdefault((group.key, prepared.embedded.model), []).append(number)
    for (group_key, model), numbers in unprobed.items():
        pairs = [
            (ComparedText.of(p.draft), v)
            for _, p in (drafts[n] for n in numbers)
            if (v := p.vector) is not None
        ]
        for number, neighbours in zip(numbers, shared_texts(group_key, model).neighbours(pairs), strict=True):
            found[number] = neighbours
    return found


def add_withdrawn_neighbours(contexts: list[WriteContext]) -> list[WriteContext]:
    """The contexts, with the withdrawn memory of a text in other dress among the neighbours, so that it is linked."""
    ids = {c.withdrawn.tombstone.memory_id for c in contexts if c.withdrawn and not c.withdrawn.is_refused}
    if not ids:
        return contexts
    rows = Memory.objects.filter(id__in=ids).select_related("group", "thread")
    memories = {memory.id: memory for memory in rows}
    return [add_withdrawn_neighbour(context, memories) for context in contexts]


def add_withdrawn_neighbour(context: WriteContext, memories: Mapping[UUID, Memory]) -> WriteContext:
    """One context of add_withdrawn_neighbours(); `memories` are those of the tombstones, by id."""
    withdrawn = context.withdrawn
    if withdrawn is None:
        return context
    memory = memories.get(withdrawn.tombstone.memory_id)
    known = {neighbour.memory.root_key for neighbour in context.neighbours if neighbour.is_withdrawn}
    if memory is None or memory.root_key in known:
        return context
    return replace(context, neighbours=(in_other_dress(memory, withdrawn.likeness), *context.neighbours))


def add_existing(context: WriteContext, existing: Existing) -> WriteContext:
    """The context with what is stored of its text now, after the drafts before it."""
    group, draft = context.group.key, context.draft
    source = existing.source(group, draft)
    replaces = existing.current(context.prepared.superseded or current_of(source))
    exact = existing.exact(group, draft)
    if exact is not None and exact.state != State.LIVE and replaces is not None:
        exact = None  # it counts until a plan begins; what replaces the plan is a new version
    return replace(
        context,
        source=source,
        replaces=replaces,
        exact=exact,
        former=existing.former(group, draft),
        neighbours=with_dressed(context, existing.dressed(group, draft) if exact is None else None),
    )


def current_of(source: StoredSource | None) -> Memory | None:
    """The memory that the source's next text replaces; None if it starts a chain."""
    return source.current if source is not None and not source.is_merged else None


def with_dressed(context: WriteContext, memory: Memory | None) -> tuple[Neighbour, ...]:
    """The context's neighbours, first of all the one with its text in other dress, which the vectors may have missed."""
    if memory is None:
        return context.neighbours
    others = (each for each in context.neighbours if each.memory.root_key != memory.root_key)
    return (*compare_all(ComparedText.of(context.draft), [(memory, 1.0)]), *others)
