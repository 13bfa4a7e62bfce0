"""Copies the rows of every table from the store to a second database connection, and compares both."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from typing import Any, Final

from django.apps import apps
from django.core.management.color import no_style
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Model
from django.db.models.sql import InsertQuery

from memories.models import IndexState
from memories.search.schema import remake_vector_tables
from storage.progress import Progress

SOURCE, TARGET = DEFAULT_DB_ALIAS, "move_target"
# What the database writes itself: the list of index changes for other processes.
DERIVED: Final = frozenset({"index_change"})
ROWS_AT_ONCE: Final = 200
_DIGEST_BITS: Final = 128


@contextmanager
def target_of(settings: Mapping[str, Any]) -> Iterator[None]:
    """Make the database with these settings reachable as TARGET during the block."""
    connections.settings[TARGET] = {**connections.settings[SOURCE], **settings}
    try:
        yield
    finally:
        connections[TARGET].close()
        del connections[TARGET]
        del connections.settings[TARGET]


def models() -> list[type[Model]]:
    """The models of all tables that are copied, each after those that its rows refer to, as far as there is no circle.

    index_state comes first: the triggers that fill the search indexes read the model's name there.
    """
    found = apps.get_models(include_auto_created=True)
    copied = [m for m in found if m._meta.managed and not m._meta.proxy and m._meta.db_table not in DERIVED]
    done, begun = list[type[Model]](), set[type[Model]]()

    def take(model: Any) -> None:  # the stubs call the other end of a relation an object
        if model in copied and model not in begun:
            begun.add(model)
            for field in model._meta.concrete_fields:
                if field.remote_field is not None:
                    take(field.remote_field.model)
            done.append(model)

    for model in (IndexState, *copied):
        take(model)
    return done


def copy_tables(report: Progress) -> None:
    """Put the store's rows in the place of what the migrations wrote, inside the caller's transaction on the target."""
    every, target = models(), connections[TARGET]
    with target.cursor() as cursor:
        for model in reversed(every):
            cursor.execute(f"DELETE FROM {target.ops.quote_name(model._meta.db_table)}")  # noqa: S608 - a table's name
    total, done = sum(count_rows().values()), 0
    for model in every:
        for count in _copy_rows(model):
            done += count
            report("copying", done, total)
        if model is IndexState:
            remake_vector_tables(target)
    IndexState.objects.using(TARGET).all().delete()  # the triggers have written there meanwhile
    for _ in _copy_rows(IndexState):
        pass
    with target.cursor() as cursor:  # new rows get keys after the copied ones
        for statement in target.ops.sequence_reset_sql(no_style(), every):
            cursor.execute(statement)


def _copy_rows(model: type[Model]) -> Iterator[int]:
    """Copy a model's rows as they are; yields the number of each batch."""
    fields = [field for field in model._meta.concrete_fields if not field.generated]
    every = model._base_manager.using(SOURCE).order_by("pk").iterator(chunk_size=ROWS_AT_ONCE)
    while batch := [*islice(every, ROWS_AT_ONCE)]:
        query = InsertQuery(model)
        query.insert_values(fields, batch, raw=True)  # raw: no field sets itself anew
        query.get_compiler(using=TARGET).execute_sql()
        yield len(batch)


def count_rows() -> dict[str, int]:
    """The number of the store's rows by table."""
    return {model._meta.db_table: model._base_manager.using(SOURCE).count() for model in models()}


def differing_tables(report: Progress) -> list[str]:
    """The tables whose rows are not the same in both databases, value by value."""
    found, every = [], models()
    for number, model in enumerate(every):
        report("comparing", number, len(every))
        if _digest_of_rows(model, SOURCE) != _digest_of_rows(model, TARGET):
            found.append(model._meta.db_table)
    return found


def _digest_of_rows(model: type[Model], alias: str) -> tuple[int, int]:
    """The number of rows and the sum of their digests, which is the same in any order."""
    names = [field.attname for field in model._meta.concrete_fields if not field.generated]
    rows = model._base_manager.using(alias).order_by().values_list(*names)
    count = total = 0
    for row in rows.iterator(chunk_size=1000):
        line = json.dumps([_plain(value) for value in row], sort_keys=True)
        digest = hashlib.blake2b(
            line.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BITS // 8
        ).digest()
        total = (total + int.from_bytes(digest)) % 2**_DIGEST_BITS
        count += 1
    return count, total


def _plain(value: Any) -> Any:
    """A value as both databases' drivers return it."""
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    if isinstance(value, datetime):
        return value.timestamp()
    return value if isinstance(value, str | int | float | bool | list | dict | None) else str(value)
