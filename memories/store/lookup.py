"""What a batch of drafts meets in the store, looked up inside the transaction that writes it."""

from collections.abc import Sequence
from dataclasses import replace

from access.models import Group
from memories.models import Tombstone
from memories.store.decide import WriteContext, with_scope
from memories.store.existing import Existing, find_sources
from memories.store.neighbours import ComparedText, Neighbour, WithdrawnTexts
from memories.store.prepare import PreparedDraft
from memories.store.tombstones import find_tombstones
from memories.types import State


def look_up_stored(
    drafts: Sequence[tuple[Group, PreparedDraft]], withdrawn: dict[int, WithdrawnTexts]
) -> tuple[list[WriteContext], Existing]:
    """The drafts' contexts (scope, tombstones, neighbours) and what is stored of their texts.

    The number of queries does not grow with the drafts.
    """
    sources = find_sources([(group.key, prepared.draft) for group, prepared in drafts])
    scoped = []
    for group, prepared in drafts:
        draft = prepared.draft
        source = sources.get((group.key, draft.source, draft.source_ref)) if draft.source_ref else None
        replaces = prepared.superseded or (source.current if source is not None else None)
        scoped.append((group, replace(prepared, draft=with_scope(draft, group, replaces))))
    existing = Existing([(group.key, prepared.draft) for group, prepared in scoped], sources)
    tombstones: dict[tuple[int, str], Tombstone] = {}
    for group in {group.key: group for group, _ in scoped}.values():
        texts = [prepared.draft.content for other, prepared in scoped if other.key == group.key]
        tombstones |= {(group.key, text): found for text, found in find_tombstones(group, texts).items()}
    neighbours = find_current_neighbours(scoped, withdrawn)
    contexts = [
        WriteContext(
            prepared,
            group,
            tombstone=tombstones.get((group.key, prepared.draft.content)),
            neighbours=neighbours[number],
        )
        for number, (group, prepared) in enumerate(scoped)
    ]
    return contexts, existing


def find_current_neighbours(
    drafts: Sequence[tuple[Group, PreparedDraft]], withdrawn: dict[int, WithdrawnTexts]
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
        texts = withdrawn.setdefault(group_key, WithdrawnTexts(group_key, model))
        texts.refresh()
        pairs = [
            (ComparedText.of(p.draft), v)
            for _, p in (drafts[n] for n in numbers)
            if (v := p.vector) is not None
        ]
        for number, neighbours in zip(numbers, texts.neighbours(pairs), strict=True):
            found[number] = neighbours
    return found


def add_existing(context: WriteContext, existing: Existing) -> WriteContext:
    """The context with what is stored of its text now, after the drafts before it."""
    group, draft = context.group.key, context.draft
    source = existing.source(group, draft)
    replaces = existing.current(context.prepared.superseded or (source.current if source else None))
    exact = existing.exact(group, draft)
    if exact is not None and exact.state != State.LIVE and replaces is not None:
        exact = None  # it counts until a plan begins; what replaces the plan is a new version
    return replace(
        context,
        source=source,
        replaces=replaces,
        exact=exact,
        former=existing.former(group, draft),
    )
