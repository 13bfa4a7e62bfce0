"""Entities by their names, in all groups of a caller."""

from uuid import UUID

from access.actor import Actor
from access.errors import Conflict, NotFound
from memories.language.cleaning import fold
from memories.models import Memory
from memories.queries.versions import find_memory, heads_of
from memories.queries.visibility import as_q, listed_by
from memories.types import State
from relations.models import EntityAlias

MAX_NAME_CHARS = 200


def find_by_id_or_name(actor: Actor, wanted: str | UUID) -> Memory:
    """The memory with an id, else the live entity of that name.

    Raises:
        NotFound: the actor may see no memory of that id or name.
        Conflict: entities of several groups have the name.
    """
    if isinstance(wanted, UUID) or is_id(wanted):
        return find_memory(actor, wanted)
    found = find_entities(actor, wanted)
    if not found:
        raise NotFound(
            f"There is no memory with the id '{wanted[:60]}', and no entity of this name.",
            hint="recall_memory returns ids; store_relation names entities.",
            field="id",
        )
    if len(found) > 1:
        ids = ", ".join(f"{entity.id} in '{entity.group.slug}'" for entity in found[:5])
        raise Conflict(
            f"{len(found)} entities are called '{wanted[:60]}'.", hint=f"Use an id: {ids}.", field="id"
        )
    return found[0]


def is_id(text: str) -> bool:
    """True if the text is written as an id."""
    try:
        UUID(text.strip().removeprefix("loci://memories/"))
    except ValueError:
        return False
    return True


def find_entities(actor: Actor, name: str) -> list[Memory]:
    """The live entities of a name that the actor may see, oldest first."""
    aliases = EntityAlias.objects.filter(fold=fold(name.strip())[:MAX_NAME_CHARS]).select_related("memory")
    heads = {head.key for head in heads_of([alias.memory for alias in aliases]).values()}
    visible = as_q(listed_by(actor, None, states=frozenset({State.LIVE})))
    rows = Memory.objects.select_related("group", "thread", "token", "root")
    return list(rows.filter(visible, key__in=heads).order_by("key"))
