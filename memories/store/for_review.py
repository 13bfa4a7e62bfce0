"""What writes leave for a person to decide: links between memories, and doubt about one, which leaves its row alone."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from access.actor import Actor
from access.audit.operations import Operation
from access.errors import Conflict
from access.models import Group
from memories.models import Doubt, DoubtStatus, Link, LinkKind, LinkStatus, Memory
from memories.models.link import ON_APPROVAL
from memories.queries.labels import read_doubts
from memories.store.neighbours import Neighbour
from memories.types import State, Trust
from storage.bulk import ManyInsert

_LINKS = ManyInsert(Link)


# Open ones of one person in one group, over all tokens. More than a curator reads at once; a loop reaches it in seconds.
MAX_OPEN: Final = 50


@dataclass(frozen=True)
class Cap:
    """What one person may have MAX_OPEN of in a group; jobs may have any number.

    `find` returns the key of the group of each open one. `what` and `hint` are the words of the refusal.
    """

    what: str
    hint: str
    find: Callable[[Actor], Iterable[int]]

    def count(self, actor: Actor) -> Counter[int]:
        """How many of the actor's are open, by the group's key."""
        return Counter(self.find(actor) if actor.user_id is not None else ())

    def check(self, actor: Actor, group: Group) -> None:
        """Raise Conflict if one more may not be open. Under the group's lock."""
        if self.count(actor)[group.key] >= MAX_OPEN:
            raise self._refusal(group)

    def check_opened(self, actor: Actor, before: Counter[int]) -> None:
        """Raise Conflict if more are open than `before`, and too many."""
        for key, count in self.count(actor).items():
            if count > max(before[key], MAX_OPEN):
                raise self._refusal(Group.objects.get(pk=key))

    def _refusal(self, group: Group) -> Conflict:
        return Conflict(
            f"{MAX_OPEN} {self.what} in '{group.slug}', the most that one person may have.",
            hint=f"Nothing was changed. Ask a curator to decide about them in the Review, or {self.hint}.",
        )


def _find_replacements(actor: Actor) -> Iterable[int]:
    waiting = Link.objects.filter(
        kind=LinkKind.CONFLICT, status=LinkStatus.OPEN, evidence__has_key=ON_APPROVAL,
        source__author=actor.user_id, source__trust=Trust.CANDIDATE, source__state=State.LIVE,
    )  # fmt: skip
    return waiting.values_list("target__group", flat=True)


def _find_disputes(actor: Actor) -> Iterable[int]:
    # A doubt about what is no longer live stays open for its return, and the Review does not show it.
    live = Memory.objects.filter(Q(key=OuterRef("memory")) | Q(root=OuterRef("memory")), state=State.LIVE)
    own = Doubt.objects.filter(Exists(live), raised_by(actor), status=DoubtStatus.OPEN)
    return own.values_list("memory__group", flat=True)


REPLACEMENTS: Final = Cap("replacements of yours wait", "retract some", _find_replacements)
DISPUTES: Final = Cap("disputes of yours are open", "undo some", _find_disputes)


def link(
    actor: Actor,
    memory: Memory,
    other: Memory,
    *,
    kind: LinkKind,
    score: float | None = None,
    reason: str = "",
    evidence: dict[str, Any] | None = None,
    at: datetime | None = None,
) -> tuple[Link | None, bool]:
    """Link two chains' roots, once per kind, and whether the link is new; None if both memories are of one chain."""
    if memory.root_key == other.root_key:
        return None, False
    return Link.objects.get_or_create(
        kind=kind,
        source_id=memory.root_key,
        target_id=other.root_key,
        defaults={
            "score": score,
            "reason": reason,
            "evidence": evidence or {},
            "created_at": at or timezone.now(),
            "author_name": actor.name,
            "run": actor.run,
        },
    )


def link_successor(
    actor: Actor, candidate: Memory, old: Memory, *, operation: Operation = Operation.SUPERSEDE
) -> None:
    """Record that a candidate will replace `old` once approved, by this operation (supersede or edit).

    An existing conflict link between the two takes this meaning and is reopened. Raises Conflict if as many of this
    person's candidates wait already to replace memories of the group as one person may have; imports and jobs may have more.
    """
    if actor.run is None:
        REPLACEMENTS.check(actor, old.group)
    reason, evidence = f"will {operation} it once approved", {ON_APPROVAL: operation.value}
    found, _ = link(actor, candidate, old, kind=LinkKind.CONFLICT, reason=reason, evidence=evidence)
    if found is not None and ON_APPROVAL not in found.evidence:
        found.reason, found.evidence, found.status = reason, found.evidence | evidence, LinkStatus.OPEN
        found.settled_at, found.settled_by = None, ""
        found.save(update_fields=["reason", "evidence", "status", "settled_at", "settled_by"])


def link_neighbours(
    actor: Actor, memory: Memory, neighbours: Iterable[Neighbour], *, has_links: bool
) -> None:
    """Link a new memory to the neighbours that it may duplicate or contradict.

    `has_links` False: no link leads from its chain, or to it, yet.
    """
    root = memory.root_key
    linked = [(kind, n) for n in neighbours if (kind := n.link_kind) and n.memory.root_key != root]
    if not linked:
        return
    links = Link.objects.filter(Q(source=root) | Q(target=root)) if has_links else Link.objects.none()
    existing = {
        (kind, source if target == root else target)
        for kind, source, target in links.values_list("kind", "source", "target")
    }
    fresh: dict[tuple[str, int], Link] = {}
    for kind, neighbour in linked:
        pair = (str(kind), neighbour.memory.root_key)
        if pair not in existing:
            fresh.setdefault(
                pair,
                Link(
                    kind=kind,
                    source_id=root,
                    target_id=neighbour.memory.root_key,
                    score=neighbour.cosine,
                    reason=neighbour.why,
                    evidence=neighbour.evidence,
                    author_name=actor.name,
                    run=actor.run,
                ),
            )
    _LINKS.add([*fresh.values()])


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
    DISPUTES.check(actor, memory.group)


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
