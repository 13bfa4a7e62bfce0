"""Lifting tombstones: a curator allows a withdrawn text to be stored again."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Final
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from access import audit
from access.actor import CURATE, Actor
from access.answers import Answer, ShownAs
from access.audit.operations import Operation
from access.errors import NotFound, NotPermitted
from access.groups import find_group
from memories.draft import clean_reason
from memories.language.cleaning import first_words
from memories.models import Memory, Tombstone, TombstoneKind
from memories.queries.pages import DEFAULT_LIMIT, Page, page_of
from memories.queries.versions import full_id
from memories.queries.visibility import as_q, listed_by
from memories.store.withdrawn.tombstones import lift

SHOWN_WORDS = 8
VERB_OF: Final[dict[str, str]] = {
    TombstoneKind.REJECTED: "reject",
    TombstoneKind.RETRACTED: "retract",
    TombstoneKind.PURGED: "purge",
}


def in_curated_groups(actor: Actor) -> Q:
    """A filter for the rows of groups that the actor may curate."""
    keys = actor.keys_where(CURATE)
    return Q() if keys is None else Q(group__in=keys)


def list_tombstones(
    actor: Actor, *, group: str | None = None, cursor: str = "", limit: int = DEFAULT_LIMIT
) -> Page[Tombstone]:
    """A page of the tombstones in force in a group, or in all groups that the actor may curate; newest first.

    Raises:
        NotPermitted: the actor may not curate the group.
        GroupNotFound: the actor may enter no group of that name.
    """
    if not actor.may(CURATE):
        raise NotPermitted("Only a curator may list tombstones.", hint="Use a token with the scope 'curate'.")
    groups = Q(group=find_group(actor, group, right=CURATE)) if group else in_curated_groups(actor)
    rows = Tombstone.objects.filter(groups, lifted_at=None).select_related("group")
    return page_of(rows, cursor=cursor, limit=limit)


def lift_tombstones(actor: Actor, id_: str | UUID, *, reason: str = "") -> list[Tombstone]:
    """Lift one tombstone by its id, or all of a memory by the memory's id, and return them. One transaction, audited.

    Raises:
        NotPermitted: the actor is not a person, or may not curate the group.
        NotFound: no tombstone in force in a group that the actor may enter has that id.
        InvalidInput: the id is malformed, or the reason is too long.
    """
    reason = clean_reason(reason)
    wanted = full_id(actor, id_)
    if not actor.is_person:
        hint = "Do it in the browser or with a command."
        raise NotPermitted("Only a person can lift a tombstone.", hint=hint)
    with transaction.atomic():
        named = Q(id=wanted) | Q(memory_id=wanted)
        rows = Tombstone.objects.select_for_update().filter(named, lifted_at=None)
        marks = [mark for mark in rows.order_by("key") if actor.may_enter(mark.group_id)]
        if not marks:
            hint = "'loci memory tombstones' shows the ids."
            raise NotFound("No tombstone in force has that id.", hint=hint)
        if not all(actor.may(CURATE, mark.group_id) for mark in marks):
            hint = "Ask a curator of the group."
            raise NotPermitted("You may not lift tombstones in that group.", hint=hint)
        for mark in marks:
            lift(actor, mark)
            audit.append(
                actor, Operation.LIFT, memory_id=mark.memory_id, group=mark.group.id, subject=f"tombstone:{mark.id}",
                payload={"kind": mark.kind, "reason": reason},
            )  # fmt: skip
    return marks


def known_texts(actor: Actor, marks: Iterable[Tombstone]) -> dict[UUID, str]:
    """The first words of the withdrawn texts that still exist and that the actor may see, by the memory's id."""
    ids = {mark.memory_id for mark in marks}
    rows = Memory.objects.filter(as_q(listed_by(actor, None)), id__in=ids)
    return {id_: first_words(content, SHOWN_WORDS) for id_, content in rows.values_list("id", "content")}


def recognition(mark: Tombstone) -> str:
    """What a tombstone's marks recognise: texts in other dress only if it has the second mark."""
    return "the text, also in other dress" if mark.dress else "exactly the text"


class TombstoneOut(Answer):
    """A tombstone, which keeps a withdrawn text out of a group; `recognises` says which forms of the text."""

    id: UUID
    memory: Annotated[UUID, ShownAs("memory_id")]
    group: Annotated[str, ShownAs("group.slug")]
    kind: str
    verb: Annotated[str, ShownAs(lambda mark, _: VERB_OF[mark.kind])]
    scope: str
    recognises: Annotated[str, ShownAs(lambda mark, _: recognition(mark))]
    reason: str
    author: Annotated[str, ShownAs("author_name")]
    created_at: datetime
    lifted_at: datetime | None
    lifted_by: str
