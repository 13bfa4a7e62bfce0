"""Unsaved rows of memories from drafts, and the names of entities."""

import re
from collections.abc import Iterable
from datetime import datetime
from operator import attrgetter

from access.actor import Actor
from access.models import ApiToken, Group
from memories.draft import STORED, Draft
from memories.language.cleaning import fold
from memories.models import Memory
from memories.store.search_columns import TextColumns, filter_tokens, text_columns
from memories.types import Type
from relations.models import EntityAlias
from storage.ids import new_id

# Where an entity's name ends and its description begins: "Anna: leads the team", "Anna is …", "Anna, who …".
_NAME_END = re.compile(r":|\n| [-–—] |, | is | are | was |\. ")
MAX_ALIAS_CHARS = 80
_NAMES = tuple(field.name for field in STORED if field.name != "tags")  # a column has a list, a draft a tuple
_VALUES = attrgetter(*_NAMES)


def new_row(
    actor: Actor, draft: Draft, group: Group, *, trust: str, now: datetime, columns: TextColumns | None = None
) -> Memory:
    """The unsaved row of a draft: the first version of a chain, not in a thread yet.

    `columns` are the text's search columns, if already computed.
    """
    columns = columns or text_columns(draft)
    values = dict(zip(_NAMES, _VALUES(draft), strict=True))
    memory = Memory(
        **values,
        tags=list(draft.tags),
        group=group,
        id=new_id(),
        content_hash=columns.content_hash,
        fold_hash=columns.fold_hash,
        forms=columns.forms,
        trust=trust,
        valid_to_known_at=now if draft.valid_to else None,
        created_at=now,
        updated_at=now,
        author_id=actor.user_id,
        author_name=actor.name,
        token_id=actor.token_key,
        client=actor.client[:120],
        run=actor.run,
    )
    if actor.token_key is not None:
        # Only key and id are loaded; Django reads any other field on access.
        memory.token = ApiToken.from_db(None, ["key", "id"], [actor.token_key, actor.token_id])
    memory.filter = filter_tokens(memory)
    return memory


def set_previous_version(memory: Memory, previous: Memory) -> None:
    """Make an unsaved row the next version of a stored one.

    A fact without a start of its valid time is true from its creation on.
    """
    memory.root_id, memory.version = previous.root_key, previous.version + 1
    has_ended = memory.valid_to is not None and memory.valid_to < memory.created_at
    if memory.valid_from is None and memory.type != Type.EPISODIC and not has_ended:
        memory.valid_from = memory.created_at


def add_names(memories: Iterable[Memory]) -> None:
    """Record the names of new entities: the beginnings of their texts."""
    entities = [memory for memory in memories if memory.type == Type.ENTITY]
    if not entities:
        return
    named = [(memory, _NAME_END.split(memory.content, maxsplit=1)[0].strip()) for memory in entities]
    EntityAlias.objects.bulk_create(
        [
            EntityAlias(memory_id=memory.root_key, fold=fold(name), group_id=memory.group_id, name=name)
            for memory, name in named
            if 0 < len(name) <= MAX_ALIAS_CHARS
        ],
        ignore_conflicts=True,
    )


def add_alias(memory: Memory, name: str) -> None:
    """Record another name of an entity; a name that is empty or too long is ignored."""
    if 0 < len(name.strip()) <= MAX_ALIAS_CHARS:
        EntityAlias.objects.get_or_create(
            memory_id=memory.root_key,
            fold=fold(name),
            defaults={"group_id": memory.group_id, "name": name.strip()},
        )
