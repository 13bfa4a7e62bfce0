"""JSON lines become memories; a bad line is reported and nothing of it is written."""

import json
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection

from access.audit.verify import is_log_whole
from access.errors import InvalidInput, NotFound
from access.models import AuditEntry, Group
from access.tokens import operator
from memories.draft import Draft
from memories.lifecycle.verbs import retract
from memories.models import Memory
from memories.store import bulk as batch
from memories.store import store
from sources.importing.formats.texts import TEXTS
from sources.importing.importer import LineRules, PlaceRule, source_name
from sources.importing.lines import LineFault, StrictStop, open_file
from sources.importing.reports import LinesReport
from tests.people import agent, person

pytestmark = pytest.mark.django_db

RULES = LineRules("chat")


def written(path: Path, *lines: Any) -> Path:
    """Write a file: text and bytes unchanged, everything else as JSON."""
    raw = [
        x if isinstance(x, bytes) else (x if isinstance(x, str) else json.dumps(x)).encode() for x in lines
    ]
    path.write_bytes(b"\n".join(raw) + b"\n")
    return path


def line(id_: Any, text: Any = "A text.", /, **more: Any) -> dict[str, Any]:
    return {"id": id_, "text": text, "group": "talk", **more}


def numbers(report: LinesReport) -> tuple[int, int, int, int, int, int]:
    """Lines, created, unchanged, reinforced, queued, failed."""
    return (
        report.lines, report.created, report.unchanged, report.reinforced, report.queued, len(report.faults),
    )  # fmt: skip


def test_a_line_becomes_a_memory_with_all_that_it_says(tmp_path: Path) -> None:
    file = written(
        tmp_path / "a.jsonl",
        line("D1:1", "Hello.", timestamp="2022-12-17T11:01:00", session="S1", speaker="Ann", mood="glad"),
        line(7, "Water is wet.", timestamp=None, session=None),
    )
    assert numbers(TEXTS.run(operator(), file, RULES)) == (2, 2, 0, 0, 0, 0)
    turn, fact = Memory.objects.order_by("key").select_related("thread", "group")
    assert (turn.source, turn.source_ref, turn.type, turn.scope) == ("chat", "D1:1", "episodic", "group")
    assert (turn.thread and turn.thread.name, turn.position, turn.group.slug) == ("S1", 0, "talk")
    assert turn.valid_from == datetime(2022, 12, 17, 11, 1, tzinfo=UTC)
    assert turn.metadata == {"speaker": "Ann", "mood": "glad"}
    assert (fact.source_ref, fact.type, fact.scope, fact.thread, fact.valid_from) == (
        "7",
        "semantic",
        "group",
        None,
        None,
    )


@pytest.mark.parametrize(
    ("written_as", "hour"),
    [
        ("2024-05-01T09:30:00", 9),
        ("2024-05-01T09:30:00Z", 9),
        ("2024-05-01T09:30:00+02:00", 7),
        ("2024-05-01", 0),
    ],
)
def test_times_are_taken_with_their_zone(tmp_path: Path, written_as: str, hour: int) -> None:
    TEXTS.run(operator(), written(tmp_path / "a.jsonl", line(1, timestamp=written_as)), RULES)
    moment = Memory.objects.get().valid_from
    assert moment is not None
    assert (moment.year, moment.day, moment.hour) == (2024, 1, hour)


def test_rules_decide_group_type_and_scope(tmp_path: Path) -> None:
    file = written(tmp_path / "a.jsonl", line(1, session="S1"))
    TEXTS.run(operator(), file, LineRules("x", "ledger", "procedural", "global"))
    memory = Memory.objects.get()
    assert (memory.group.slug, memory.type, memory.scope, memory.source) == (
        "ledger",
        "procedural",
        "global",
        "x",
    )


def test_what_is_older_is_left_out_and_the_map_chooses_by_the_group_of_a_line(tmp_path: Path) -> None:
    file = written(
        tmp_path / "a.jsonl",
        line(1, "Old.", timestamp="2020-01-01"),
        line(2, "New.", timestamp="2024-05-01"),
        line(3, "Undated."),
    )
    since, places = datetime(2022, 1, 1, tzinfo=UTC), (PlaceRule("ta*", "ledger"),)
    report = TEXTS.run(operator(), file, LineRules("chat", since=since, places=places))
    assert report.skipped == {"older than 2022-01-01": 1}
    stored = Memory.objects.order_by("key").values_list("content", "group__slug")
    assert list(stored) == [("New.", "ledger"), ("Undated.", "ledger")]


def test_bad_lines_are_told_by_number_and_the_others_are_stored(tmp_path: Path) -> None:
    bad: list[Any] = [
        "{not json",
        b'{"id": "a", "text": "\xff"}',
        "[1, 2]",
        line("no-text", ""),
        line(None),
        line("text-is-a-list", ["x"]),
        line("when", timestamp="yesterday"),
        line("nul", "a\u0000b"),
        '{"id": "half", "text": "\\ud83d", "group": "talk"}',
        line("group", group="No Such Name!"),
        line("long", "x" * 100_001),
        line("deep", meta="x" * 20_000),
    ]
    file = written(tmp_path / "a.jsonl", line("first"), "", *bad, line("last", "Another text."))
    report = TEXTS.run(operator(), file, RULES)
    assert numbers(report) == (14, 2, 0, 0, 0, 12)
    assert [fault.line for fault in report.faults] == [*range(3, 15)]
    says = [fault.why for fault in report.faults]
    wanted = [
        "it is not JSON", "it is not", "it is not a JSON object", "'text' is missing", "'id' is missing",
        "'text' is not a text", "'yesterday' in timestamp is not a date", "NUL", "surrogate", "not a valid group name", "100,001",
        "metadata has",
    ]  # fmt: skip
    assert [want for want, why in zip(wanted, says, strict=True) if want not in why] == []
    assert sorted(Memory.objects.values_list("source_ref", flat=True)) == ["first", "last"]


def test_progress_names_the_last_line_of_each_batch_that_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "BATCH_DRAFTS", 2)
    lines = [line(1, "One."), "no JSON", line(3, "Three."), line(4, "Four."), "", line(6, "Six.")]
    told: list[tuple[int, int]] = []
    file = written(tmp_path / "a.jsonl", *lines, line(7, "Seven."), "no JSON")
    TEXTS.run(operator(), file, RULES, on_progress=lambda n: told.append((n, Memory.objects.count())))
    assert told == [(3, 2), (6, 4), (7, 5), (8, 5)]


def test_a_strict_import_stops_at_the_first_bad_line(tmp_path: Path) -> None:
    file = written(tmp_path / "a.jsonl", line(1, "One."), line(2, "Two."), "oops", line(4, "Four."))
    with pytest.raises(StrictStop, match="Line 3: it is not JSON"):
        TEXTS.run(operator(), file, RULES, strict=True)
    assert sorted(Memory.objects.values_list("source_ref", flat=True)) == ["1", "2"]


def test_a_tombstoned_line_is_refused(tmp_path: Path, alice: User, ledger: Group) -> None:
    wrong = store(person(alice), Draft("The moon is cheese.", group="ledger", scope="group")).memory
    assert wrong is not None
    retract(person(alice), wrong.id)
    file = written(
        tmp_path / "a.jsonl", line(1, "The moon is cheese.", group="ledger"), line(2, group="ledger")
    )
    report = TEXTS.run(operator(), file, RULES)
    assert report.faults == (
        LineFault(
            1, "this text was retracted here before: no reason was given. A curator can lift the tombstone."
        ),
    )
    assert report.created == 1


def test_equal_turns_all_stay(tmp_path: Path) -> None:
    turns = [line(n, "Yes.", session="S", timestamp="2024-05-01T09:30:00") for n in range(5)]
    assert numbers(TEXTS.run(operator(), written(tmp_path / "a.jsonl", *turns), RULES)) == (
        5,
        5,
        0,
        0,
        0,
        0,
    )
    assert list(Memory.objects.order_by("key").values_list("position", flat=True)) == [0, 1, 2, 3, 4]


def test_a_second_import_changes_nothing_and_logs_nothing(tmp_path: Path) -> None:
    file = written(tmp_path / "a.jsonl", line(1, "One.", session="S"), line(2, "Two."), line(3, "Two."))
    assert numbers(TEXTS.run(operator(), file, RULES)) == (3, 2, 0, 1, 0, 0)
    rows = list(Memory.objects.order_by("key").values())
    logged = AuditEntry.objects.count()
    assert numbers(TEXTS.run(operator(), file, RULES)) == (3, 0, 3, 0, 0, 0)
    assert list(Memory.objects.order_by("key").values()) == rows
    assert AuditEntry.objects.count() == logged
    assert AuditEntry.objects.filter(operation="import", subject="source:chat").count() == 1
    assert is_log_whole()


def test_a_member_imports_only_into_own_groups(
    tmp_path: Path, bob: User, ledger: Group, garden: Group
) -> None:
    file = written(tmp_path / "a.jsonl", line(1, group="ledger"), line(2, group="garden"))
    report = TEXTS.run(agent(bob), file, RULES)
    assert (report.created, [fault.line for fault in report.faults]) == (1, [2])


def test_sources_are_named_after_files_and_corpora_after_folders() -> None:
    assert source_name(Path("/data/chats.jsonl")) == "chats"
    assert source_name(Path("/data/locomo/corpus.jsonl")) == "locomo"


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="cannot be read"):
        TEXTS.run(operator(), tmp_path / "none.jsonl", RULES)


def test_the_command_tells_true_counts(tmp_path: Path) -> None:
    file = written(tmp_path / "chats.jsonl", line(1, "One."), line(2, "One."), line(3, "Three."))
    out = StringIO()
    call_command("import", str(file), stdout=out)
    counts, undo = out.getvalue().splitlines()
    assert (
        counts
        == "3 lines from chats: 2 created, 0 unchanged, 1 restated, 0 waiting for a curator, 0 not stored."
    )
    assert undo.startswith("Take it back with: loci import --undo ")


def test_the_command_ends_with_an_error_when_a_line_failed(tmp_path: Path) -> None:
    file = written(tmp_path / "chats.jsonl", line(1, "One."), "oops")
    out = StringIO()
    with pytest.raises(CommandError, match=r"1 line was not stored\.\n  line 2: it is not JSON"):
        call_command("import", str(file), "--json", stdout=out)
    answer = json.loads(out.getvalue())
    assert (answer["format"], answer["created"], answer["faults"][0]["line"]) == ("lines", 1, 2)


def test_the_command_tries_without_writing(tmp_path: Path) -> None:
    file = written(tmp_path / "chats.jsonl", line(1, "One."), line(2, "Two."))
    out = StringIO()
    call_command("import", str(file), "--dry-run", stdout=out)
    assert out.getvalue().startswith("Nothing was written. It would be: 2 lines from chats: 2 created")
    assert Memory.objects.count() == Group.objects.count() == AuditEntry.objects.count() == 0


def test_an_empty_file_brings_nothing(tmp_path: Path) -> None:
    out = StringIO()
    call_command("import", str(written(tmp_path / "empty.jsonl", "")), stdout=out)
    assert out.getvalue().startswith("0 lines from empty: 0 created")


@pytest.mark.sqlite(reason="the store is a file")
def test_the_open_store_is_no_import_file(db: None) -> None:
    """Closing it would drop the locks of this process's connections."""
    with pytest.raises(InvalidInput, match="is this store itself"):
        open_file(Path(str(connection.settings_dict["NAME"])))
