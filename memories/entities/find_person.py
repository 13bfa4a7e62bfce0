"""Everything stored that names a person, for a purge: texts in every state, names of entities, relations, checkpoints."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db.models import Q, TextField
from django.db.models.functions import Cast

from access.actor import READ, Actor
from access.errors import Conflict, InvalidInput
from memories.language.cleaning import clean_line, fold
from memories.models import Checkpoint, Memory
from memories.queries.versions import find_named, heads_of
from memories.queries.visibility import as_q, listed_by
from memories.store.places import find_mentions
from memories.types import State
from relations.models import EntityAlias, Relation
from storage.canonical_json import canonical_json


def find_by_id_or_name(actor: Actor, wanted: str | UUID) -> Memory:
    """The memory with a full or short id, else the live entity of that name.

    Raises:
        InvalidInput, TooLarge: it is not an id, and the actor may see no entity of that name.
        NotFound: the actor may see no memory of that id.
        Conflict: entities of several groups have the name.
    """
    if (memory := find_named(actor, wanted)) is not None:
        return memory
    name = clean_line(str(wanted), field="id", max_chars=MAX_NAME_CHARS)
    found = _find_entities(actor, name) if name else []
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


def _find_entities(actor: Actor, name: str) -> list[Memory]:
    """The live entities of a name that the actor may see, oldest first."""
    aliases = EntityAlias.objects.filter(fold=fold(name)[:MAX_NAME_CHARS]).select_related("memory")
    heads = {head.key for head in heads_of([alias.memory for alias in aliases]).values()}
    visible = as_q(listed_by(actor, None, states=frozenset({State.LIVE})))
    rows = Memory.objects.select_related("group", "thread", "token", "root")
    return list(rows.filter(visible, key__in=heads).order_by("key"))


MAX_NAME_CHARS: Final = 200


@dataclass(frozen=True)
class _PersonMention:
    """A version of a memory that names the person, and where."""

    memory: Memory
    where: tuple[str, ...]


@dataclass(frozen=True)
class _PersonMentions:
    """All mentions, oldest first, checkpoints that name the person, and other places as text."""

    memories: tuple[_PersonMention, ...]
    checkpoints: tuple[Checkpoint, ...]
    others: tuple[str, ...] = ()


def find_person(actor: Actor, name: str) -> _PersonMentions:
    """What the actor may see that names a person, in every state; every word of the name must stand in order.

    A memory that a relation connects with an entity of that name counts too. Only the given spelling is looked for, and its
    fold: other names of the same person are aliases of the entity, or have to be asked for as well.

    Raises:
        InvalidInput: the name is empty or too long.
    """
    name = clean_line(name, field="name", max_chars=MAX_NAME_CHARS)
    if not name:
        raise InvalidInput("The name is empty.", hint="Name a person.", field="name")
    words = r"\W+".join(map(re.escape, fold(name).split()))
    pattern = re.compile(rf"(?<!\w){words}(?!\w)")
    visible = Memory.objects.filter(as_q(listed_by(actor, None))).select_related("group", "thread")
    aliases = EntityAlias.objects.filter(fold=fold(name), memory__in=visible.order_by().values("key"))
    entities = set(aliases.values_list("memory", flat=True))
    relations = Relation.objects.filter(Q(subject__in=entities) | Q(object__in=entities))
    related = {end for pair in relations.values_list("subject", "object") for end in pair}
    mentions = list[_PersonMention]()
    for memory in visible.order_by("key").iterator(500):
        where = [*places(memory, pattern)]
        if memory.root_key in entities:
            where.append("name of the entity")
        elif memory.root_key in related:
            where.append("relation")
        if where:
            mentions.append(_PersonMention(memory, tuple(where)))
    rows = Checkpoint.objects.select_related("group").annotate(text=Cast("state", TextField()))
    checkpoints = tuple(
        row
        for row in rows.order_by("key").iterator(500)
        if actor.may(READ, row.group_id) and pattern.search(fold(row.text))
    )
    return _PersonMentions(tuple(mentions), checkpoints, find_mentions(actor, pattern))


def places(memory: Memory, pattern: re.Pattern[str]) -> Iterator[str]:
    """The parts of a memory that name the person."""
    parts = {
        "content": memory.content,
        "tags": " ".join(memory.tags),
        "metadata": canonical_json(memory.metadata) if memory.metadata else "",
        "source": f"{memory.source} {memory.source_ref}",
        "thread": memory.thread.name if memory.thread else "",
        "author": memory.author_name,
    }
    return (part for part, text in parts.items() if text and pattern.search(fold(text)))
