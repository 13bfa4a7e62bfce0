"""Every field of the registry is stored, kept by each change, returned, exported, imported and replayed.

A new field is tested by this file; it has a place in NOT_FOR_AGENTS or OWN_OF_EACH if one of these is true of it.
"""

import json
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import load_command_class
from django.db import models
from django.utils import timezone

from access.models import Group
from access.tokens import operator
from loci_site.api.schemas.answers import schema_of
from loci_site.api.schemas.requests import EditIn, MemoryIn
from maintenance.audit_replay import memory_at
from memories.admin.forms import DraftForm, EditForm
from memories.browse.history import history_of
from memories.browse.serializers import MemoryOut
from memories.draft import EDITED, MAX_CHARS, STORED, TEXTS, Draft, EditDraft
from memories.draft.kinds import Flag, Line, Metadata, Moment, Number, OneOf, Tags, Text
from memories.draft.registry import (
    BY_NAME,
    RECORD_FIELDS,
    FieldInput,
    Missing,
    OnEdit,
    RecordField,
    offered_in,
)
from memories.lifecycle.edit import edit
from memories.lifecycle.restore import restore
from memories.lifecycle.retract import retract
from memories.management.field_options import option_of
from memories.models import Memory
from memories.queries.snapshot import RELATED_ROWS, as_json, snapshot
from memories.store import store
from memories.store.withdrawn.marks import LABELS
from sources.exporting import export
from sources.format import MEMORY
from sources.importing.rows import Targets, build_row
from tests.loci_site.mcp.people import Agent
from tests.people import agent, person

NAMES = {field.name for field in RECORD_FIELDS}
# Columns that no caller sets and that are derived, or name another row.
OTHER_COLUMNS = {
    "key", "id", "content_hash", "fold_hash", "context", "filter", "forms", "days", "group", "thread", "root",
    "superseded_by", "summary", "author", "token",
}  # fmt: skip
# Fields that every export has; a later one needs a value for older exports.
FIRST = {
    "content", "type", "scope", "position", "state", "trust", "tags", "metadata", "source", "source_ref", "confidence",
    "importance", "pinned", "access_count", "last_accessed", "decayed_at", "version", "valid_from", "valid_to",
    "valid_to_known_at", "created_at", "retired_at", "state_changed_at", "updated_at", "expires_at", "author_name",
    "client", "run",
}  # fmt: skip
# Of a draft, not of its memory: its place, the context that its metadata has, what its sender vouches for, and what the checks said.
CHECKED = {"removed_characters", "findings"}
PLACE = {"group", "thread", "position", "supersedes", "allow", "context"} | CHECKED
NOT_FOR_AGENTS = {"source_ref", "expires_at", "outside", "anchor_commit"}
# A merge leaves them as the survivor has them, and a summary or a proposed fact has its own.
OWN_OF_EACH = {
    "content", "type", "scope", "metadata", "source", "source_ref", "valid_from", "valid_to", "expires_at",
    "outside", "anchor_commit",
}  # fmt: skip
MONDAY = datetime(2031, 5, 5, 8, tzinfo=UTC)


def sample(field: RecordField, *, other: bool = False) -> Any:
    """A value of the field that is not its default; `other`, a second one."""
    match field.kind:
        case Text():
            return "The harbour closes at nine." if other else "The harbour closes at eight."
        case OneOf() as one_of:
            return "group" if field.name == "scope" else one_of.words[1 if other else 2]
        case Number(low, high) as number:
            return low if other else (high - 1 if number.is_whole else 0.25)
        case Moment():
            is_end = field.name != "valid_from"
            return MONDAY.replace(day=20 if is_end else 4) if other else MONDAY + timedelta(hours=is_end)
        case Tags():
            return ("b",) if other else ("a", "ä")
        case Metadata():
            return {"n": 2} if other else {"n": [1, None]}
        case Flag():
            return not other
        case Line(most):
            return "B" * most if other else "A b"
    raise AssertionError(f"no sample of a {type(field.kind).__name__}: add one")


def whole_draft() -> Draft:
    """A draft with a value of its own in every field."""
    return Draft(**{field.name: sample(field) for field in STORED}, group="ledger")


def as_stored(memory: Memory) -> dict[str, Any]:
    """The row's values of the fields that a draft sets."""
    values = {field.name: getattr(memory, field.name) for field in STORED}
    return values | {"tags": tuple(memory.tags)}


def carried(memory: Memory) -> dict[str, Any]:
    return {name: value for name, value in as_stored(memory).items() if BY_NAME[name].is_carried}


@pytest.fixture
def memory(alice: User, ledger: Group) -> Memory:
    stored = store(person(alice), whole_draft()).memory
    assert stored is not None
    return Memory.objects.select_related(*RELATED_ROWS).get(pk=stored.pk)


def test_the_registry_names_every_column() -> None:
    columns = {column.name for column in Memory._meta.concrete_fields}
    assert columns - OTHER_COLUMNS == NAMES


def test_a_later_field_says_what_older_exports_mean() -> None:
    assert {field.name for field in RECORD_FIELDS if field.older is Missing.NEVER} == FIRST


@pytest.mark.parametrize("field", RECORD_FIELDS, ids=lambda field: field.name)
def test_a_field_fits_its_column(field: RecordField) -> None:
    column: Any = Memory._meta.get_field(field.name)
    assert column.null == field.is_optional
    match field.kind:
        case Line(most):
            assert column.max_length == most
        case OneOf(choices):
            assert column.choices == choices.choices
        case Number() as number:
            whole, broken = models.IntegerField, models.FloatField
            assert isinstance(column, whole if number.is_whole else broken)
    if field.is_stored and column.has_default() and field.name not in ("tags", "metadata"):
        assert getattr(Draft(""), field.name) == column.get_default()
    if field.older is not Missing.NEVER:
        assert field.older == column.get_default()


def test_a_draft_and_an_edit_have_the_fields_of_the_registry() -> None:
    assert {f.name for f in fields(Draft)} - PLACE == {f.name for f in RECORD_FIELDS if f.is_stored}
    assert {f.name for f in fields(EditDraft)} - {"version", "allow"} == {
        f.name for f in RECORD_FIELDS if f.on_edit is not OnEdit.REFUSED
    }


def test_a_rest_body_has_every_field_of_a_draft_and_of_an_edit() -> None:
    assert set(MemoryIn.model_fields) == {f.name for f in fields(Draft)} - CHECKED
    assert set(EditIn.model_fields) == {f.name for f in fields(EditDraft)} | {"reason"}


def test_a_merge_a_summary_and_a_proposed_fact_take_over_every_other_field() -> None:
    assert {field.name for field in STORED if field.merge is None} == OWN_OF_EACH - {"valid_from"}
    assert {field.name for field in STORED if field.inherit is None} == OWN_OF_EACH - {"outside"}


def test_every_text_passes_the_gate_and_is_looked_for_in_exports_and_among_withdrawn_texts() -> None:
    texts = {field.name for field in STORED if isinstance(field.kind, Text | Line | Tags | Metadata)}
    assert set(TEXTS) == {*texts, "thread"}
    assert set(MAX_CHARS) == {field.name for field in STORED if isinstance(field.kind, Line)} | {"thread"}
    assert set(LABELS) == {*texts, "thread"} - {"content"}
    assert set(LABELS) <= set(MEMORY.texts)


@pytest.mark.model
def test_agents_can_set_every_field_but_some(alice: User, ledger: Group) -> None:
    arguments = {field.name: as_json(sample(field)) for field in STORED if field.name not in NOT_FOR_AGENTS}
    Agent(agent(alice)).answer("store_memory", group="ledger", **arguments)
    stored = as_stored(Memory.objects.get())
    assert {name for name, value in stored.items() if value != sample(BY_NAME[name])} == NOT_FOR_AGENTS


@pytest.mark.django_db
def test_forms_and_commands_ask_for_every_field_that_they_offer(alice: User, ledger: Group) -> None:
    row = Memory(tags=[])
    remember = load_command_class("memories", "remember").create_parser("manage.py", "remember")
    verbs = load_command_class("memories", "memory").create_parser("manage.py", "memory")
    [actions] = [action for action in verbs._actions if action.dest == "verb"]
    offers: dict[FieldInput, Any] = {
        FieldInput.NEW_FORM: DraftForm(person(alice)).fields,
        FieldInput.EDIT_FORM: EditForm(row).fields,
        FieldInput.REMEMBER: {action.dest for action in remember._actions},
        FieldInput.EDIT_COMMAND: {action.dest for action in actions.choices["edit"]._actions},
    }
    for place, offered in offers.items():
        is_edit = place in (FieldInput.EDIT_FORM, FieldInput.EDIT_COMMAND)
        is_form = place in (FieldInput.NEW_FORM, FieldInput.EDIT_FORM)
        for field in offered_in(place, EDITED if is_edit else STORED):
            assert (field.name if is_form else option_of(field)) in offered, (place, field.name)


@pytest.mark.model
def test_every_field_is_stored(memory: Memory) -> None:
    assert as_stored(memory) == {field.name: sample(field) for field in STORED}


@pytest.mark.model
def test_every_field_is_returned(memory: Memory) -> None:
    answer = MemoryOut.json(memory)
    schema = schema_of(MemoryOut)
    assert set(schema.model_fields) == {*answer, "summary"}  # of a compacted event alone
    schema.model_validate(answer)
    for field in RECORD_FIELDS:
        assert (field.name in answer) == field.is_returned, field.name
        if field.is_returned:
            assert answer[field.name] == snapshot(memory)[field.name], field.name


@pytest.mark.model
def test_every_field_is_exported_and_comes_back(memory: Memory) -> None:
    out = StringIO()
    export(operator(), out)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    [record] = [line["row"] for line in lines if line["kind"] == "memory"]
    targets = Targets()
    targets.groups["ledger"] = memory.group
    back = build_row(MEMORY, record, targets)
    assert {name: getattr(back, name) for name in NAMES} == {name: getattr(memory, name) for name in NAMES}


@pytest.mark.model
def test_every_field_is_replayed(memory: Memory) -> None:
    told = memory_at(operator(), memory.id, timezone.now())
    assert {name: told.fields[name] for name in NAMES if name in told.fields} == {
        name: value for name, value in snapshot(memory).items() if name in NAMES and name in told.fields
    }


@pytest.mark.model
@pytest.mark.parametrize("field", EDITED, ids=lambda field: field.name)
def test_an_edit_changes_one_field_and_keeps_the_others(
    alice: User, memory: Memory, field: RecordField
) -> None:
    value = sample(field, other=True)
    edited = edit(person(alice), memory.id, EditDraft(**{field.name: value}))
    assert carried(edited.memory) == carried(memory) | {field.name: value}
    is_new = edited.memory.pk != memory.pk
    assert is_new == (field.on_edit is OnEdit.NEW_VERSION)
    assert field.name in edited.changes
    shown = {change.name for change in history_of([edited.memory.id])[0].changes}
    assert (field.name.replace("_", " ") in shown) == field.is_in_history


@pytest.mark.model
def test_a_retraction_with_successor_and_a_restore_keep_every_field(alice: User, memory: Memory) -> None:
    retract(person(alice), memory.id, successor="The harbour closes at ten.")
    new = Memory.objects.get(content="The harbour closes at ten.")
    assert carried(new) == carried(memory) | {"content": new.content}


@pytest.mark.model
def test_a_former_version_comes_back_with_every_field(alice: User, memory: Memory) -> None:
    new = edit(person(alice), memory.id, EditDraft(content="The harbour closes at ten.")).memory
    retract(person(alice), new.id)
    restore(person(alice), memory.id)
    back = Memory.objects.get(state="live")
    assert carried(back) == carried(memory) | {
        "valid_to": None
    }  # its end may be that of the version after it
