"""Texts that wait for a comparison with the withdrawn texts: compared once their vectors are there."""

from django.db import transaction

from access.actor import Actor
from access.audit.operations import Operation
from memories.lifecycle.approve import carry_out_approval
from memories.lifecycle.target import change_fields
from memories.models import Link, LinkKind, LinkStatus, Memory, Piece, Unprobed
from memories.models.link import ON_APPROVAL
from memories.queries.versions import head_of
from memories.store.for_review import link_neighbours
from memories.store.neighbours import ComparedText
from memories.store.pieces import as_vector, indexed_model
from memories.store.policy import protection
from memories.store.withdrawn.marks import find_withdrawn
from memories.store.withdrawn.near import is_probed, withdrawn_doubt, withdrawn_neighbours
from memories.types import State, Trust
from storage.compiled_queries import CompiledQuery

_ANY_UNPROBED = CompiledQuery(lambda: Unprobed.objects.order_by().values_list("memory_id")[:1], 0)


def has_unprobed() -> bool:
    """True if any text waits for the comparison; one short query."""
    return bool(_ANY_UNPROBED.rows())


def probe_waiting(actor: Actor, *, limit: int) -> None:
    """Compare up to `limit` waiting texts whose vectors are there, oldest first; one transaction each.

    May be killed: what was not compared is compared by the next call.
    """
    if not has_unprobed():
        return
    model = indexed_model()
    waiting = Unprobed.objects.filter(memory__pieces__model=model, memory__pieces__embedding__isnull=False)
    keys = waiting.order_by("memory_id").values_list("memory_id", flat=True).distinct()[:limit]
    for key in keys:
        _probe_one(actor, key, model)


def _probe_one(actor: Actor, key: int, model: str) -> None:
    """Compare one text: it counts from now on, or waits for a curator since it restates a withdrawn one."""
    with transaction.atomic():
        row = Unprobed.objects.select_related("memory__group", "memory__thread").filter(memory=key).first()
        if row is None:
            return
        memory = row.memory
        if memory.state != State.LIVE or memory.trust != Trust.CANDIDATE:
            row.delete()  # a person has decided meanwhile
            return
        if not is_probed(memory.group_id, memory.scope, model):
            return  # a withdrawn text has no vector yet
        row.delete()
        text = ComparedText(memory.content, memory.type, memory.valid_from, memory.valid_to, memory.scope)
        pieces = Piece.objects.filter(memory=memory, model=model, embedding__isnull=False).order_by("ordinal")
        vector = as_vector(pieces[0].embedding)
        found = withdrawn_neighbours(text, vector, group=memory.group_id, model=model)
        link_neighbours(actor, memory, found, has_links=True)
        is_marked = find_withdrawn(memory.group, memory.scope, memory.content) is not None
        if not (is_marked or bool(withdrawn_doubt(found))) and row.trust and not _is_held_since(memory):
            release(actor, memory, row.trust)


def _is_held_since(memory: Memory) -> bool:
    """True if a person has verified or pinned what the text would replace since it was stored."""
    links = Link.objects.filter(source=memory.root_key, kind=LinkKind.CONFLICT, status=LinkStatus.OPEN)
    targets = [link.target for link in links.select_related("target__group") if ON_APPROVAL in link.evidence]
    return any(protection(head_of(target)) for target in targets)


def release(actor: Actor, memory: Memory, trust: str) -> None:
    """Make a compared text active, and supersede what it was stored to replace."""

    def follow_up() -> None:
        carry_out_approval(actor, memory)

    change_fields(
        actor, memory, Operation.TRUST, {"trust": trust}, (), reason="it restates no withdrawn text",
        dry_run=False, follow_up=follow_up,
    )  # fmt: skip
