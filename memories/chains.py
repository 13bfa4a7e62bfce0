"""Chains of versions: any version's id leads to the head, the row that counts now."""

from datetime import datetime
from uuid import UUID

from access.actor import Actor
from access.errors import InvalidInput, NotFound
from access.visibility import Visibility
from memories.models import Memory
from memories.types import Type
from memories.visibility import as_q, listed_by


def parse_id(raw: str | UUID, *, field: str = "id") -> UUID:
    """Give a memory's id, or raise InvalidInput where the text is none."""
    try:
        return raw if isinstance(raw, UUID) else UUID(raw.strip().removeprefix("loci://memories/"))
    except (ValueError, AttributeError):
        raise InvalidInput(
            f"'{str(raw)[:60]}' is no memory id.",
            hint="Ids look like 0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f.",
            field=field,
        ) from None


def find_memory(
    actor: Actor, id_: str | UUID, *, visibility: Visibility | None = None, field: str = "id"
) -> Memory:
    """Give the row of exactly this id among what the actor may see.

    Raises:
        NotFound: there is none, or the actor may not know of it.
    """
    seen = visibility or listed_by(actor, None)
    rows = Memory.objects.select_related("group", "thread", "root", "superseded_by", "token")
    memory = rows.filter(as_q(seen), id=parse_id(id_, field=field)).first()
    if memory is None:
        raise NotFound(
            "There is no memory of that id that you may see.", hint="recall_memory gives ids.", field=field
        )
    return memory


def head_of(memory: Memory) -> Memory:
    """Follow `superseded_by` to the row that took this one's place last; a row with no successor is its own head."""
    seen = {memory.key}
    while memory.superseded_by_id is not None and memory.superseded_by_id not in seen:
        seen.add(memory.superseded_by_id)
        successor = (
            Memory.objects.select_related("group", "thread").filter(key=memory.superseded_by_id).first()
        )
        if successor is None:
            break
        memory = successor
    return memory


def has_lapsed(memory: Memory, at: datetime) -> bool:
    """Say whether a live memory no longer counts because its time is over; recall does not return it."""
    is_over = memory.type != Type.EPISODIC and memory.valid_to is not None and memory.valid_to <= at
    return is_over or (memory.expires_at is not None and memory.expires_at <= at)


def versions_of(memory: Memory) -> list[Memory]:
    """Give all rows of the memory's chain, oldest first."""
    root = memory.root_key
    chain = Memory.objects.filter(key=root) | Memory.objects.filter(root=root)
    return list(chain.select_related("group", "thread").order_by("key"))
