"""Chains of versions: any version's id leads to the head, the row that counts now."""

from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final
from uuid import UUID

from django.db import connection
from django.db.models import CharField, Value

from access.actor import Actor
from access.errors import Conflict, InvalidInput, NotFound
from access.visibility import Visibility
from memories.models import Memory
from memories.queries.snapshot import RELATED_ROWS
from memories.queries.visibility import is_visible, listed_by
from memories.types import State, Type
from storage.compiled_queries import CompiledQuery

# Every verb and page begins with it: compiling it took five times as long as the whole answer of the database.
_FOUND: Final = CompiledQuery(
    lambda id_: (
        Memory.objects.select_related(*RELATED_ROWS)
        .filter(id=Value(id_, output_field=CharField()))
        .order_by()
    )
)
_SUCCESSORS: Final = (Path(__file__).parent / "sql" / "successors.sql").read_text(encoding="utf-8")
KEYS_AT_ONCE = 500


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
    wanted = Memory._meta.get_field("id").get_db_prep_value(parse_id(id_, field=field), connection)
    memory = _FOUND.first(str(wanted))
    if memory is None or not is_visible(memory, seen):
        raise NotFound(
            "There is no memory of that id that you may see.", hint="recall_memory gives ids.", field=field
        )
    return memory


def head_of(memory: Memory) -> Memory:
    """Follow `superseded_by` to the row that took this one's place last; a row with no successor is its own head.

    At most three queries, however long the way. In a circle, which no verb makes, the row before it closes.
    """
    if memory.superseded_by_id is None:
        return memory
    rows = Memory.objects.select_related("group", "thread")
    successor = rows.filter(key=memory.superseded_by_id).first()
    if successor is None or successor.superseded_by_id is None:
        return successor or memory
    return rows.get(key=path_to_head(successor)[-1])


def find_head_to_replace(memory: Memory, *, field: str = "id") -> Memory:
    """Give the row whose text another one is to replace: the head, unless that is a summary of other memories as well.

    Raises:
        Conflict: the memory, or what took its place, was compacted: replacing the summary would lose the others.
    """
    is_led_on = memory.superseded_by_id is not None
    if is_led_on and Memory.objects.filter(key__in=path_to_head(memory), state=State.COMPACTED).exists():
        raise Conflict(
            f"{memory.id} is compacted: a summary stands for it and for others.",
            hint="Retract it with what is right as successor, or restore it first.",
            field=field,
        )
    return head_of(memory)


def path_to_head(memory: Memory) -> list[int]:
    """Give the keys from a row to its head, both included, in order."""
    return _walk(memory.key, _successors([memory.key]))


def head_keys(keys: Collection[int]) -> dict[int, int]:
    """Give the key of the row that counts now for each row's key; a query per KEYS_AT_ONCE rows."""
    starts, heads = list(keys), dict[int, int]()
    for at in range(0, len(starts), KEYS_AT_ONCE):
        some = starts[at : at + KEYS_AT_ONCE]
        successors = _successors(some)
        heads |= {key: _walk(key, successors)[-1] for key in some}
    return heads


def _successors(keys: Sequence[int]) -> dict[int, int | None]:
    """Give what took the place of each row on the ways from these."""
    places = ", ".join(["%s"] * len(keys))
    with connection.cursor() as cursor:
        cursor.execute(_SUCCESSORS.replace(":keys", places), keys)
        return dict(cursor.fetchall())


def _walk(start: int, successors: dict[int, int | None]) -> list[int]:
    way, on_way = [start], {start}
    while (after := successors.get(way[-1])) is not None and after in successors and after not in on_way:
        way.append(after)
        on_way.add(after)
    return way


def has_lapsed(memory: Memory, at: datetime) -> bool:
    """Say whether a live memory no longer counts because its time is over; recall does not return it."""
    is_over = memory.type != Type.EPISODIC and memory.valid_to is not None and memory.valid_to <= at
    return is_over or (memory.expires_at is not None and memory.expires_at <= at)


def versions_of(memory: Memory) -> list[Memory]:
    """Give all rows of the memory's chain, oldest first."""
    root = memory.root_key
    chain = Memory.objects.filter(key=root) | Memory.objects.filter(root=root)
    return list(chain.select_related("group", "thread").order_by("key"))


def heads_of(rows: Sequence[Memory]) -> dict[int, Memory]:
    """Give the row that counts now for each row's key, as chains.head_of() does one; two queries, however long the chains."""
    moved = head_keys([row.key for row in rows if row.superseded_by_id is not None])
    found = {row.key: row for row in rows}
    shown = Memory.objects.select_related("group", "thread", "token", "root")
    found |= shown.in_bulk(set(moved.values()) - found.keys())
    return {row.key: found[moved.get(row.key, row.key)] for row in rows}
