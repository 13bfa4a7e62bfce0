"""Everything stored that names somebody, for a purge: texts in every state, names of entities, relations, checkpoints."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from django.db.models import Q, TextField
from django.db.models.functions import Cast

from access.actor import READ, Actor
from access.additions import additions
from access.errors import InvalidInput
from memories.language.cleaning import clean_line, fold
from memories.models import Checkpoint, Memory
from memories.queries.visibility import as_q, listed_by
from relations.models import EntityAlias, Relation
from storage.canonical_json import canonical_json

MAX_NAME_CHARS: Final = 200


@dataclass(frozen=True)
class PersonMention:
    """A version of a memory that names somebody, and where."""

    memory: Memory
    where: tuple[str, ...]


@dataclass(frozen=True)
class PersonMentions:
    """All mentions, oldest first, checkpoints that name the person, and other places as text."""

    memories: tuple[PersonMention, ...]
    checkpoints: tuple[Checkpoint, ...]
    others: tuple[str, ...] = ()


def find_person(actor: Actor, name: str) -> PersonMentions:
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
    related = relation_ends(entities)
    mentions = list[PersonMention]()
    for memory in visible.order_by("key").iterator(500):
        where = [*places(memory, pattern)]
        if memory.root_key in entities:
            where.append("name of the entity")
        elif memory.root_key in related:
            where.append("relation")
        if where:
            mentions.append(PersonMention(memory, tuple(where)))
    others = tuple(place for find in additions("mentions") for place in find(actor, pattern))
    return PersonMentions(tuple(mentions), tuple(find_checkpoints(actor, pattern)), others)


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


def relation_ends(entities: set[int]) -> set[int]:
    """The roots of the memories at the other end of these entities' relations."""
    rows = Relation.objects.filter(Q(subject__in=entities) | Q(object__in=entities))
    return {end for pair in rows.values_list("subject", "object") for end in pair} - entities


def find_checkpoints(actor: Actor, pattern: re.Pattern[str]) -> list[Checkpoint]:
    """The checkpoints of readable groups that name the person."""
    rows = (
        Checkpoint.objects.select_related("group").annotate(text=Cast("state", TextField())).order_by("key")
    )
    return [
        row for row in rows.iterator(500) if actor.may(READ, row.group_id) and pattern.search(fold(row.text))
    ]
