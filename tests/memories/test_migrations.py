"""Migrations run both ways, and the indexes survive everything that Django does to their tables."""

import hashlib
import re
from importlib import import_module
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, models

from access.models import Group
from memories.language.dress import fold_hash
from memories.models import Memory
from memories.search.base import search_index
from memories.search.schema import apply_index_schema, created_names
from tests.memories.builders import add_piece, row, unit_vector

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.sqlite(reason="its catalogue, virtual tables and remade tables"),
]


def migrate(*target: str) -> None:
    call_command("migrate", *target, verbosity=0, interactive=False)


def counted(sql: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return int(cursor.fetchone()[0])


def assert_found(word: str) -> None:
    """A new row is found by its word and by its vector."""
    group, _ = Group.objects.get_or_create(slug="ledger")
    before = counted("SELECT count(*) FROM memories_vec")
    add_piece(row(group, f"a {word}"), unit_vector(1))
    assert counted(f"SELECT count(*) FROM memories_fts WHERE memories_fts MATCH '{word}'") == 1
    assert counted("SELECT count(*) FROM memories_vec") == before + 1
    assert search_index().find_errors() == []


def test_forwards_backwards_forwards_keeps_the_groups_and_the_indexes_work() -> None:
    Group.objects.create(slug="ledger")
    names = set(created_names("sqlite"))
    try:
        # What points at the memories goes with them; the groups, which belong to access, stay.
        migrate("memories", "zero")
        there = set(connection.introspection.table_names())
        assert not {"memories_memory", "memories_fts", "memories_vec"} & there
        assert Group.objects.filter(slug="ledger").exists()
    finally:
        migrate()
    assert search_index().missing_objects() == []
    assert names <= _names()
    assert Memory.objects.count() == 0
    assert_found("heron")


def test_foreign_keys_that_most_memories_lack_have_partial_indexes_alone() -> None:
    whole = re.compile(r"memories_memory_(thread|root|superseded_by|author|token)_id_[0-9a-f]{8}")
    assert not [name for name in _names() if whole.fullmatch(name)]


def test_sources_are_indexed_before_groups() -> None:
    """SQLite takes the index created first where it holds two plans for equal: this one reads a row instead of a group."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'memories_memory' ORDER BY rowid"
        )
        names = [name for (name,) in cursor.fetchall()]
    [of_groups] = [name for name in names if name.startswith("memories_memory_group_id")]
    assert names.index("memory_source_once") < names.index(of_groups)


def test_a_text_is_live_once_in_its_group_scope_and_type() -> None:
    group = Group.objects.create(slug="ledger")
    row(group, "The port is 8081.")
    with pytest.raises(IntegrityError, match="memory_texts"):
        row(group, "The port is 8081.")
    row(group, "The PORT is 8081.")  # another text, spelt alike
    row(group, "The port is 8081.", scope="global")
    for _ in range(2):  # of these there may be several
        row(group, "The port is 8081.", state="superseded")
        row(group, "The port is 8081.", type="episodic")
    assert Memory.objects.count() == 7


def test_an_upgrade_recomputes_the_hashes_by_which_texts_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    group = Group.objects.create(slug="ledger")
    rows = [row(group, f"- **Port {n}** is open!") for n in range(7)]
    older = hashlib.sha256(b"as 0.2 computed it").hexdigest()
    monkeypatch.setattr(import_module("memories.migrations.0021_text_hashes"), "BATCH_ROWS", 3)
    try:
        migrate("memories", "0001")
        Memory.objects.update(fold_hash=older)
    finally:
        migrate()
    kept = dict(Memory.objects.values_list("key", "fold_hash"))
    assert kept == {each.key: fold_hash(f"Port {n} is open.") for n, each in enumerate(rows)}
    assert search_index().find_errors() == []


def _alter_field(editor: Any) -> None:
    old = Memory._meta.get_field("source")
    new = models.CharField(max_length=201, blank=True, default="")
    new.set_attributes_from_name("source")
    new.model = Memory
    editor.alter_field(Memory, old, new)


def _add_and_remove_constraint(editor: Any) -> None:
    constraint = models.CheckConstraint(name="memory_probe", condition=models.Q(version__gte=1))
    editor.add_constraint(Memory, constraint)
    editor.remove_constraint(Memory, constraint)


def _add_and_remove_field(editor: Any) -> None:
    field = models.IntegerField(default=0)
    field.set_attributes_from_name("probe")
    field.model = Memory
    editor.add_field(Memory, field)
    editor.remove_field(Memory, field)


@pytest.mark.parametrize("change", [_alter_field, _add_and_remove_constraint, _add_and_remove_field])
def test_a_remade_table_has_its_triggers_and_views(change: Any) -> None:
    assert_found("heron")
    connection.disable_constraint_checking()
    try:
        with connection.schema_editor() as editor:
            change(editor)
    finally:
        connection.enable_constraint_checking()
    # What a search finds with stays at once; indexes that only make it quick come again after the migration.
    assert all(
        name.startswith(("memory_moment", "memory_withdrawn")) for name in search_index().missing_objects()
    )
    apply_index_schema(connection)
    assert search_index().missing_objects() == []
    assert_found("lighthouse")
    assert counted("SELECT count(*) FROM memories_fts WHERE memories_fts MATCH 'heron'") == 1


@pytest.mark.parametrize(
    ("kind", "name"),
    [("TRIGGER", "memories_fts_insert"), ("VIEW", "memories_vec_row"), ("INDEX", "memories_vec_rooms")],
)
def test_a_dropped_object_is_named_and_migrate_puts_it_back(kind: str, name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"DROP {kind} {name}")
    assert search_index().missing_objects() == [name]
    assert search_index().find_errors() == [f"{name} is missing"]
    migrate()
    assert search_index().missing_objects() == []
    assert_found("heron")


def test_flush_empties_the_tables_and_the_indexes() -> None:
    assert_found("heron")
    call_command("flush", verbosity=0, interactive=False)
    assert Memory.objects.count() == 0
    assert counted("SELECT count(*) FROM memories_vec") == 0
    assert search_index().find_errors() == []
    assert_found("lighthouse")


def _names() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM sqlite_master")
        return {name for (name,) in cursor.fetchall()}
