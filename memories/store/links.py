"""Ties a new memory to those that a person may have to compare it with."""

from collections.abc import Iterable

from access.actor import Actor
from access.audit.operations import Operation
from memories.models import Link, LinkKind, Memory
from memories.store import write as writing
from memories.store.neighbours import Neighbour


def link_new(actor: Actor, memory: Memory, nears: Iterable[Neighbour], waits_for: Memory | None) -> None:
    """Link a memory that was just inserted to its near ones, and a candidate to what it is to replace."""
    if waits_for is not None:
        writing.link_successor(actor, memory, waits_for, operation=Operation.SUPERSEDE)
    root = memory.root_key
    tied = [(kind, near) for near in nears if (kind := near.tie) and near.memory.root_key != root]
    if not tied:
        return
    # Where the chain is new as well, nothing leads from it yet.
    is_new = memory.root_id is None and waits_for is None
    known = set() if is_new else _known(memory)
    fresh: dict[tuple[str, int], Link] = {}
    for kind, near in tied:
        pair = (str(kind), near.memory.root_key)
        if pair not in known:
            fresh.setdefault(pair, _link(actor, memory, near, kind))
    writing.LINKS.add([*fresh.values()])


def _known(memory: Memory) -> set[tuple[str, int]]:
    return set(Link.objects.filter(source=memory.root_key).values_list("kind", "target"))


def _link(actor: Actor, memory: Memory, near: Neighbour, kind: LinkKind) -> Link:
    return Link(
        kind=kind,
        source_id=memory.root_key,
        target_id=near.memory.root_key,
        score=near.cosine,
        reason=near.why,
        evidence=near.evidence,
        author_name=actor.name,
        run=actor.run,
    )
