"""Copies the rows of every table from the store to a second database connection."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final

from django.apps import apps
from django.core.management.color import no_style
from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.models import Model
from django.db.models.sql import InsertQuery

from memories.models import IndexState

Progress = Callable[[str, int, int], None]
SOURCE, TARGET = DEFAULT_DB_ALIAS, "move_target"
# What the database writes itself: the list of index changes for other processes.
DERIVED: Final = frozenset({"index_change"})
MARK: Final = "moved_from"  # in the target's index_state until the move is complete
ROWS_AT_ONCE: Final = 200


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
    """The models of all tables that are copied."""
    found = apps.get_models(include_auto_created=True)
    return [m for m in found if m._meta.managed and not m._meta.proxy and m._meta.db_table not in DERIVED]


def steps() -> list[list[type[Model]]]:
    """The models in an order in which rows only refer to copied ones; those of a circle are one step.

    index_state comes first: the triggers that fill the search indexes read the model's name there.
    """
    left: list[type[Model]] = [IndexState, *(model for model in models() if model is not IndexState)]
    done: list[list[type[Model]]] = []
    while left:
        ready = [model for model in left if not referred(model).intersection(left)]
        step = [ready[0]] if ready else circle_of(left)
        done.append(step)
        left = [model for model in left if model not in step]
    return done


def circle_of(left: Sequence[type[Model]]) -> list[type[Model]]:
    """The smallest set of the remaining models that refers to nothing remaining outside of it."""

    def closure(model: type[Model]) -> set[type[Model]]:
        found, new = {model}, {model}
        while new := {each for one in new for each in referred(one) if each in left} - found:
            found |= new
        return found

    smallest = min((closure(model) for model in left), key=len)
    return [model for model in left if model in smallest]


def referred(model: type[Model]) -> set[type[Model]]:
    """The other models that a model's rows refer to."""
    fields = model._meta.concrete_fields
    found = {f.remote_field.model for f in fields if f.remote_field is not None}
    return {each for each in found if each is not model}


def copy_tables(mark: str, report: Progress) -> int:
    """Copy the tables that the target does not have yet, each step in one transaction; returns the rows copied."""
    if read_mark() != mark:
        empty_target(mark)
    total, done, copied = sum(count_rows(SOURCE).values()), 0, 0
    for step in steps():
        wanted = sum(rows_in(model, SOURCE) for model in step)
        if IndexState not in step and sum(rows_in(model, TARGET) for model in step) == wanted:
            done += wanted  # by an earlier attempt
            continue
        with transaction.atomic(using=TARGET):
            for model in step:
                for count in copy_rows(model):
                    copied, done = copied + count, done + count
                    report("copying", done, total)
    with transaction.atomic(using=TARGET):
        [*copy_rows(IndexState)]  # the triggers have written there meanwhile
    set_sequences()
    return copied


def copy_rows(model: type[Model]) -> Iterator[int]:
    """Copy a model's rows as they are; yields the number of each batch."""
    fields = [field for field in model._meta.concrete_fields if not field.generated]
    rows = model._base_manager.using(SOURCE).order_by("pk")
    if model is IndexState:
        IndexState.objects.using(TARGET).exclude(name=MARK).delete()
    every = rows.iterator(chunk_size=ROWS_AT_ONCE)
    while batch := [*islice(every, ROWS_AT_ONCE)]:
        query = InsertQuery(model)
        query.insert_values(fields, batch, raw=True)  # raw: no field sets itself anew
        query.get_compiler(using=TARGET).execute_sql()
        yield len(batch)


def empty_target(mark: str) -> None:
    """Delete what the migrations wrote into the target's tables, and note whose copy it becomes."""
    with transaction.atomic(using=TARGET), connections[TARGET].cursor() as cursor:
        for step in reversed(steps()):
            for model in step:
                cursor.execute(f"DELETE FROM {connections[TARGET].ops.quote_name(model._meta.db_table)}")  # noqa: S608 - a table's name
        set_mark(mark)


def read_mark() -> str:
    """The digest of the store that is being copied into the target; empty if none is."""
    found = IndexState.objects.using(TARGET).filter(name=MARK).values_list("value", flat=True).first()
    return found or ""


def set_mark(mark: str) -> None:
    """Note whose copy the target is becoming; empty: it is complete."""
    IndexState.objects.using(TARGET).filter(name=MARK).delete()
    if mark:
        IndexState.objects.using(TARGET).create(name=MARK, value=mark)


def set_sequences() -> None:
    """Let new rows get keys after the copied ones."""
    with transaction.atomic(using=TARGET), connections[TARGET].cursor() as cursor:
        for statement in connections[TARGET].ops.sequence_reset_sql(no_style(), models()):
            cursor.execute(statement)


def rows_in(model: type[Model], alias: str) -> int:
    """The number of a model's rows."""
    count: int = model._base_manager.using(alias).count()
    return count


def count_rows(alias: str) -> dict[str, int]:
    """The number of rows by table."""
    return {model._meta.db_table: rows_in(model, alias) for model in models()}
