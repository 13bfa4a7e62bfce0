"""Doubt about memories: raised by an author, settled by whoever decides. It leaves the memory's row alone."""

from typing import Final

from django.db.models import Q, QuerySet
from django.utils import timezone

from access.actor import CURATE, Actor
from access.audit.operations import Operation
from access.errors import Conflict
from memories.models import Doubt, DoubtStatus, Memory
from memories.queries.labels import read_doubts

# Open ones of one person in one group, over all tokens. More than a curator reads at once; a loop reaches it in seconds.
MAX_OPEN: Final = 50


def open_doubts(memory: Memory) -> QuerySet[Doubt]:
    """The open doubts of a memory, in any version."""
    return Doubt.objects.filter(memory=memory.root_key, status=DoubtStatus.OPEN)


def raised_by(actor: Actor) -> Q:
    """Condition on doubts: this person raised them, with whichever token; jobs and operators go by their name."""
    if actor.user_id is not None:
        return Q(author=actor.user_id)
    return Q(author=None, author_name=actor.name)


def check_may_doubt(actor: Actor, memory: Memory) -> None:
    """Raise Conflict if the actor doubts the memory already, or has too many open doubts in its group. Under the group's lock."""
    if open_doubts(memory).filter(raised_by(actor)).exists():
        raise Conflict(
            f"You have disputed {memory.id} already.", hint="Nothing was changed. A curator decides about it."
        )
    own = Doubt.objects.filter(raised_by(actor), memory__group=memory.group_id, status=DoubtStatus.OPEN)
    if actor.user_id is not None and own.count() >= MAX_OPEN:
        raise Conflict(
            f"{MAX_OPEN} disputes of yours are open in '{memory.group.slug}', the most that one person may have.",
            hint="Nothing was changed. Ask a curator to decide about them in the Review, or undo some.",
        )


def raise_doubt(actor: Actor, memory: Memory, reason: str) -> None:
    """Record that the actor doubts the memory, unless it does already. In the caller's transaction."""
    if open_doubts(memory).filter(raised_by(actor)).exists():
        return
    Doubt.objects.create(
        memory_id=memory.root_key, author_id=actor.user_id, author_name=actor.name, token=actor.token_id, reason=reason
    )  # fmt: skip
    read_doubts([memory])


def settle_doubts(actor: Actor, memory: Memory, how: str, *, only: Q | None = None) -> list[str]:
    """Settle the open doubts of a memory, or those that `only` fits; returns their ids. In the caller's transaction."""
    rows = open_doubts(memory).filter(only or Q())
    ids = [str(id_) for id_ in rows.values_list("id", flat=True)]
    if ids:
        rows.update(
            status=DoubtStatus.SETTLED, settled_by=actor.name[:300], settled_at=timezone.now(), how=how
        )
        read_doubts([memory])
    return ids


def settle_replaced(actor: Actor, old: Memory) -> None:
    """Settle the doubt about a text that an edit replaces; an agent's edit decides nothing."""
    if actor.is_person and actor.may(CURATE, old.group_id):
        settle_doubts(actor, old, Operation.EDIT)
