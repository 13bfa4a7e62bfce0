"""Entities by their names, in all groups of a caller."""

from uuid import UUID

from access.actor import Actor
from access.errors import Conflict, InvalidInput
from memories.language.cleaning import clean_line, fold
from memories.models import Memory
from memories.queries.versions import find_named, heads_of
from memories.queries.visibility import as_q, listed_by
from memories.types import State
from relations.models import EntityAlias

MAX_NAME_CHARS = 200


def find_by_id_or_name(actor: Actor, wanted: str | UUID) -> Memory:
    """The memory with a full or short id, else the live entity of that name.

    Raises:
        InvalidInput, TooLarge: it is no id, and the actor may see no entity of that name.
        NotFound: the actor may see no memory of that id.
        Conflict: entities of several groups have the name.
    """
    if (memory := find_named(actor, wanted)) is not None:
        return memory
    name = clean_line(str(wanted), field="id", max_chars=MAX_NAME_CHARS)
    found = find_entities(actor, name) if name else []
    if not found:
        raise InvalidInput(
            f"'{name[:60]}' is not a memory id, and no entity has this name."
            if name
            else "'' is not a memory id.",
            hint="An id's last 8 characters are enough; store_relation names entities.",
            field="id",
        )
    if len(found) > 1:
        ids = ", ".join(f"{entity.id} in '{entity.group.slug}'" for entity in found[:5])
        raise Conflict(
            f"{len(found)} entities are called '{name[:60]}'.", hint=f"Use an id: {ids}.", field="id"
        )
    return found[0]


def find_entities(actor: Actor, name: str) -> list[Memory]:
    """The live entities of a name that the actor may see, oldest first."""
    aliases = EntityAlias.objects.filter(fold=fold(name)[:MAX_NAME_CHARS]).select_related("memory")
    heads = {head.key for head in heads_of([alias.memory for alias in aliases]).values()}
    visible = as_q(listed_by(actor, None, states=frozenset({State.LIVE})))
    rows = Memory.objects.select_related("group", "thread", "token", "root")
    return list(rows.filter(visible, key__in=heads).order_by("key"))
