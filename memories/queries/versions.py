"""Chains of versions: any version leads to the head, the current row."""

import re
from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final
from uuid import UUID

from django.db import connection
from django.db.models import CharField, F, Q, Value

from access.actor import Actor
from access.errors import Conflict, InvalidInput, NotFound
from access.models import Group
from access.visibility import Visibility
from memories.models import Memory
from memories.models.short_id import SHORT_ID_CHARS, id_ends_with
from memories.queries.snapshot import RELATED_ROWS
from memories.queries.visibility import is_visible, listed_by
from memories.types import Type
from storage.bulk import batches
from storage.compiled_queries import CompiledQuery

# Every verb and page begins with this query: compiling it took five times as long as running it.
_BY_ID: Final = CompiledQuery(
    lambda id_: (
        Memory.objects.select_related(*RELATED_ROWS)
        .filter(id=Value(id_, output_field=CharField()))
        .order_by()
    )
)
_SUCCESSORS: Final = (Path(__file__).parent / "sql" / "successors.sql").read_text(encoding="utf-8")
_URI: Final = "loci://memories/"
_SHORT_ID: Final = re.compile(rf"[0-9a-f]{{{SHORT_ID_CHARS},31}}")
_MORE_CHARS: Final = 4  # of each id that an ambiguous short one names
# A row with its successor or the root of its chain in another group, as 0.3.0 allowed.
IN_TWO_GROUPS: Final = Q(superseded_by__isnull=False) & ~Q(superseded_by__group=F("group")) | Q(
    root__isnull=False
) & ~Q(root__group=F("group"))


def parse_id(raw: str | UUID, *, field: str = "id") -> UUID:
    """A full id, or InvalidInput if the text is not one."""
    try:
        return raw if isinstance(raw, UUID) else UUID(raw.strip().removeprefix(_URI))
    except (ValueError, AttributeError):
        raise InvalidInput(
            f"'{str(raw)[:60]}' is not a memory id.",
            hint="Ids look like 0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f; the last 8 characters are enough for a memory's.",
            field=field,
        ) from None


def parse_short_id(raw: str | UUID) -> str:
    """The last digits of a memory's id, at least eight, if the text is such; otherwise ""."""
    if isinstance(raw, UUID):
        return ""
    digits = str(raw).strip().removeprefix(_URI).replace("-", "").lower()
    return digits if _SHORT_ID.fullmatch(digits) else ""


def find_memory(
    actor: Actor, id_: str | UUID, *, visibility: Visibility | None = None, field: str = "id"
) -> Memory:
    """The row with exactly this id, or with an id that ends so, if the actor may see it.

    Raises:
        NotFound: no such row, or the actor has no access to it.
        InvalidInput: the text is not an id, or several ids that the actor may see end so.
    """
    visible = visibility or listed_by(actor, None)
    if digits := parse_short_id(id_):
        memory = find_by_short_ids([digits], visible, field=field)[digits]
    else:
        wanted = Memory._meta.get_field("id").get_db_prep_value(parse_id(id_, field=field), connection)
        memory = _BY_ID.first(str(wanted))
    if memory is None or not is_visible(memory, visible):
        raise _not_found(field=field)
    return memory


def _not_found(*, field: str) -> NotFound:
    return NotFound("Memory not found, or you don't have access.", hint="Recall returns ids.", field=field)


def find_by_short_ids(
    wanted: Sequence[str], visibility: Visibility, *, field: str = "id"
) -> dict[str, Memory | None]:
    """The visible row whose id ends with each of these digits, None without one; one query. Raises InvalidInput for several."""
    if not wanted:
        return {}
    ending = Q(*map(id_ends_with, wanted), _connector=Q.OR)
    rows = [*Memory.objects.select_related(*RELATED_ROWS).filter(ending).order_by("key")]
    found = dict[str, Memory | None]()
    for digits in wanted:
        same = [row for row in rows if row.id.hex.endswith(digits) and is_visible(row, visibility)]
        if len(same) > 1:
            named = ", ".join(row.id.hex[-len(digits) - _MORE_CHARS :] for row in same[:5])
            raise InvalidInput(
                f"'{digits}' is the end of {len(same)} ids.",
                hint=f"Pass more of the id's last characters: {named}.",
                field=field,
            )
        found[digits] = same[0] if same else None
    return found


def find_named(actor: Actor, text: str | UUID, *, field: str = "id") -> Memory | None:
    """The memory whose full or short id the text is; None if it is neither, or the end of no visible id.

    For places that take an id or other words, of which eight digits may be one.

    Raises:
        NotFound: the actor may see no memory with this full id.
        InvalidInput: several visible ids end so.
    """
    if digits := parse_short_id(text):
        return find_by_short_ids([digits], listed_by(actor, None), field=field)[digits]
    try:
        id_ = parse_id(text)
    except InvalidInput:
        return None
    return find_memory(actor, id_, field=field)


def full_id(actor: Actor, raw: str | UUID, *, field: str = "id") -> UUID:
    """The full id that a text names; a short one is completed among what the actor may see. Raises as find_memory()."""
    return find_memory(actor, raw, field=field).id if parse_short_id(raw) else parse_id(raw, field=field)


def head_of(memory: Memory) -> Memory:
    """The last successor along `superseded_by`; a row without a successor is its own head. For writes alone.

    Whoever sees the row need not see the head: what is shown comes from head_within(). At most three queries for a path of
    any length. In a cycle, which no verb creates, the row before it closes.
    """
    if memory.superseded_by_id is None:
        return memory
    rows = Memory.objects.select_related("group", "thread")
    successor = rows.filter(key=memory.superseded_by_id).first()
    if successor is None or successor.superseded_by_id is None:
        return successor or memory
    return rows.get(key=path_to_head(successor)[-1])


def head_within(memory: Memory, visibility: Visibility) -> Memory | None:
    """The current version of a memory, for showing it; None if it is outside the Visibility.

    Then a reader learns that the memory is superseded, and neither the id nor the text nor the group of what replaced it:
    a version may be narrower in scope, and chains of 0.3.0 may lead into another group.
    """
    return heads_within([memory], visibility).get(memory.key)


def find_current(actor: Actor, id_: str | UUID) -> Memory:
    """The current version of a memory, found by the id of any version that the actor may see.

    Raises:
        NotFound: the actor may see no memory of this id, or not its current version.
    """
    visible = listed_by(actor, None)
    memory = head_within(find_memory(actor, id_, visibility=visible), visible)
    if memory is None:
        raise NotFound(
            "This memory is superseded, and you don't have access to what replaced it.",
            hint="memory_inspect shows what you may see of it.",
            field="id",
        )
    return memory


def refuse_unseen(actor: Actor, memory: Memory) -> None:
    """Raise NotFound, as for an id that names nothing, unless the actor may see the memory or enter its group."""
    if not (actor.may_enter(memory.group_id) or is_visible(memory, listed_by(actor, None))):
        raise _not_found(field="id")


def check_one_group(old: Memory, new_group: Group, *, field: str) -> None:
    """Raise Conflict if a memory would be replaced by one of another group. The actor may write in both.

    The versions of a memory are in one group: all who may see one of them may see what became of it, and one group decides.
    """
    if old.group_id != new_group.key:
        raise Conflict(
            f"{old.id} belongs to the group '{old.group.slug}', and what is to replace it to '{new_group.slug}'.",
            hint=f"Store it in the group '{old.group.slug}', or have a curator of both groups move one of them first.",
            field=field,
        )


def path_to_head(memory: Memory) -> list[int]:
    """Keys from a row to its head, both included, in order."""
    return walk(memory.key, _read_successors([memory.key]))


def head_keys(keys: Collection[int]) -> dict[int, int]:
    """Key of the head of each row, by the row's key; one query for a batch of rows."""
    heads = dict[int, int]()
    for batch in batches(keys):
        successors = _read_successors(batch)
        heads |= {key: walk(key, successors)[-1] for key in batch}
    return heads


def _read_successors(keys: Sequence[int]) -> dict[int, int | None]:
    """The successor of each row on the paths from these keys."""
    placeholders = ", ".join(["%s"] * len(keys))
    with connection.cursor() as cursor:
        cursor.execute(_SUCCESSORS.replace(":keys", placeholders), keys)
        return dict(cursor.fetchall())


def walk(start: int, successors: dict[int, int | None]) -> list[int]:
    """The path from `start` along the successors, ending before a cycle closes."""
    path, visited = [start], {start}
    while (after := successors.get(path[-1])) is not None and after in successors and after not in visited:
        path.append(after)
        visited.add(after)
    return path


def has_lapsed(memory: Memory, at: datetime) -> bool:
    """True if a live memory has ended or expired; recall does not return it."""
    is_over = memory.type != Type.EPISODIC and memory.valid_to is not None and memory.valid_to <= at
    return is_over or (memory.expires_at is not None and memory.expires_at <= at)


def versions_of(memory: Memory) -> list[Memory]:
    """All rows of the memory's chain, oldest first."""
    root = memory.root_key
    chain = Memory.objects.filter(key=root) | Memory.objects.filter(root=root)
    return list(chain.select_related("group", "thread").order_by("key"))


def heads_within(rows: Sequence[Memory], visibility: Visibility) -> dict[int, Memory]:
    """The current version for each row's key, as head_within() finds one; without those outside the Visibility."""
    return {key: head for key, head in heads_of(rows).items() if is_visible(head, visibility)}


def heads_of(rows: Sequence[Memory]) -> dict[int, Memory]:
    """The current version for each row's key, as head_of() finds one; two queries, however long the chains."""
    moved = head_keys([row.key for row in rows if row.superseded_by_id is not None])
    found = {row.key: row for row in rows}
    shown = Memory.objects.select_related("group", "thread", "token", "root")
    found |= shown.in_bulk(set(moved.values()) - found.keys())
    return {row.key: found[moved.get(row.key, row.key)] for row in rows}
