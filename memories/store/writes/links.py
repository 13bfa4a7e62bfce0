"""The links that writes create for a person to review."""

from collections.abc import Iterable

from access.actor import Actor
from access.audit.operations import Operation
from access.errors import Conflict
from memories.models import Link, LinkKind, LinkStatus, Memory
from memories.models.link import ON_APPROVAL
from memories.store.neighbours import Neighbour
from memories.store.writes.doubts import MAX_OPEN
from memories.types import State, Trust
from storage.bulk import ManyInsert

LINKS = ManyInsert(Link)


def link(
    actor: Actor,
    memory: Memory,
    other: Memory,
    *,
    kind: LinkKind,
    score: float | None = None,
    reason: str = "",
    evidence: dict[str, str] | None = None,
) -> Link | None:
    """Link two chains' roots, once per kind; None if both memories are of one chain."""
    if memory.root_key == other.root_key:
        return None
    found, _ = Link.objects.get_or_create(
        kind=kind,
        source_id=memory.root_key,
        target_id=other.root_key,
        defaults={
            "score": score,
            "reason": reason,
            "evidence": evidence or {},
            "author_name": actor.name,
            "run": actor.run,
        },
    )
    return found


def link_successor(actor: Actor, candidate: Memory, old: Memory, *, operation: Operation) -> None:
    """Record that a candidate will replace `old` once approved, by this operation (supersede or edit).

    An existing conflict link between the two takes this meaning and is reopened. Raises Conflict if as many of this
    person's candidates wait already to replace memories of the group as one person may have; imports and jobs may have more.
    """
    waiting = Link.objects.filter(
        kind=LinkKind.CONFLICT, status=LinkStatus.OPEN, evidence__has_key=ON_APPROVAL, target__group=old.group_id,
        source__author=actor.user_id, source__trust=Trust.CANDIDATE, source__state=State.LIVE,
    )  # fmt: skip
    if actor.user_id is not None and actor.run is None and waiting.count() >= MAX_OPEN:
        raise Conflict(
            f"{MAX_OPEN} replacements of yours wait in '{old.group.slug}', the most that one person may have.",
            hint="Nothing was stored. Ask a curator to decide about them in the Review, or retract some.",
        )
    reason, evidence = f"will {operation} it once approved", {ON_APPROVAL: operation.value}
    found = link(actor, candidate, old, kind=LinkKind.CONFLICT, reason=reason, evidence=evidence)
    if found is not None and ON_APPROVAL not in found.evidence:
        found.reason, found.evidence, found.status = reason, found.evidence | evidence, LinkStatus.OPEN
        found.settled_at, found.settled_by = None, ""
        found.save(update_fields=["reason", "evidence", "status", "settled_at", "settled_by"])


def link_neighbours(
    actor: Actor, memory: Memory, neighbours: Iterable[Neighbour], *, has_links: bool
) -> None:
    """Link a new memory to the neighbours that it may duplicate or contradict.

    `has_links` False: no link leads from its chain yet.
    """
    root = memory.root_key
    linked = [(kind, n) for n in neighbours if (kind := n.link_kind) and n.memory.root_key != root]
    if not linked:
        return
    existing = set(Link.objects.filter(source=root).values_list("kind", "target")) if has_links else set()
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
    LINKS.add([*fresh.values()])
