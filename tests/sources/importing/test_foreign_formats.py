"""Every foreign format: what it becomes, worked out by hand, and the rules that all of them keep."""

import hashlib
import json
import os
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from access.errors import InvalidInput
from access.tokens import operator
from memories.lifecycle.verbs import pin
from memories.models import Memory
from memories.types import State, Trust
from relations.models import Relation
from sources.importing import IMPORTERS, choose_importer
from sources.importing.importer import LineRules, settle
from sources.importing.reports import LinesReport
from tests.sources.importing.expected import EVENT, EXPECTED, RELATIONS, TROUBLE
from tests.sources.importing.samples import DATA, IDS, SAMPLES, Sample, placed, zipped

pytestmark = pytest.mark.django_db

each_sample = pytest.mark.parametrize("sample", SAMPLES, ids=IDS)


def imported(path: Path, *, dry_run: bool = False, **rules: Any) -> LinesReport:
    """Import a path as the command does, into the group 'mine' unless the rules name another."""
    importer = choose_importer(path)
    report = importer.run(
        operator(), path, LineRules(importer.source_of(path), **({"group": "mine"} | rules)), dry_run=dry_run
    )
    assert isinstance(report, LinesReport)
    return report


def stored() -> list[tuple[str, str, str, str]]:
    """The memories in order, as EXPECTED has them."""
    rows = Memory.objects.exclude(state__in=(State.FORGOTTEN, State.MERGED)).order_by("key")
    return [
        (row.type, row.content, " ".join(row.tags), f"{row.valid_from:%Y-%m-%d}" if row.valid_from else "")
        for row in rows
    ]


def related() -> list[tuple[str, str, str]]:
    rows = Relation.objects.filter(retired_at=None).select_related("subject", "object").order_by("key")
    return [(row.subject.content, row.predicate, row.object.content) for row in rows]


@each_sample
def test_a_sample_becomes_the_memories_that_it_holds_and_twice_is_no_change(
    sample: Sample, tmp_path: Path
) -> None:
    path = placed(sample, tmp_path)
    assert choose_importer(path).name == sample.format
    trial = imported(path, dry_run=True)
    assert (Memory.objects.count(), trial.run) == (0, "")
    first = imported(path)
    assert stored() == EXPECTED[sample.file]
    assert related() == RELATIONS.get(sample.file, [])
    assert (len(first.faults), first.skipped) == TROUBLE.get(sample.file, (0, {}))
    # A dry run does not see what an earlier batch would have stored: a text that the file has twice.
    repeated = 1 if sample.file == "claude_mem.sql" else 0
    assert trial.created + trial.queued == first.created + first.queued + repeated
    assert trial.related == first.related
    assert 0 < len(first.sample) <= 5
    before = list(Memory.objects.order_by("key").values()), list(Relation.objects.values())
    second = imported(path)
    assert (second.created, second.queued, second.reinforced, second.related, second.run) == (0, 0, 0, 0, "")
    assert second.unchanged == first.lines - len(first.faults) - sum(first.skipped.values())
    assert (list(Memory.objects.order_by("key").values()), list(Relation.objects.values())) == before


@each_sample
def test_an_import_is_undone_as_a_whole_and_can_be_done_again(sample: Sample, tmp_path: Path) -> None:
    path = placed(sample, tmp_path)
    run = imported(path).run
    out = StringIO()
    call_command("import", "--undo", run, "--json", stdout=out)
    assert json.loads(out.getvalue())["kept"] == []
    assert (stored(), related()) == ([], [])
    with pytest.raises(CommandError, match="undone already"):
        call_command("import", "--undo", run)
    imported(path)
    assert stored() == EXPECTED[sample.file]
    assert related() == RELATIONS.get(sample.file, [])


@each_sample
def test_a_sample_under_another_name_is_refused(sample: Sample, tmp_path: Path) -> None:
    path = placed(sample, tmp_path)
    # Notes are Markdown as well, and any text may be read as lines, which explains what it rejects.
    general = {"lines"} | (
        {"markdown"} if sample.format in ("basic-memory", "claude-code", "obsidian") else set()
    )
    for importer in IMPORTERS:
        if importer.name not in general | {sample.format}:
            with pytest.raises(InvalidInput, match=r"is not .*It looks like"):
                choose_importer(path, importer.name)
    assert choose_importer(path, sample.format).name == sample.format


@each_sample
def test_nothing_is_written_beside_a_foreign_file(sample: Sample, tmp_path: Path) -> None:
    path = placed(sample, tmp_path)

    def state() -> dict[str, str]:
        files = [file for file in tmp_path.rglob("*") if file.is_file()]
        return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}

    before = state()
    imported(path, dry_run=True)
    assert state() == before


@pytest.mark.parametrize(
    "name", ["chatgpt", "claude_ai", "gemini", "obsidian", "basic_memory", "locus", "markdown"]
)
def test_a_zip_is_read_like_its_folder(name: str, tmp_path: Path) -> None:
    sample = next(sample for sample in SAMPLES if sample.file == name)
    path = zipped(placed(sample, tmp_path))
    assert choose_importer(path).name == sample.format
    imported(path)
    assert sorted(stored()) == sorted(EXPECTED[name])


def test_facts_from_chats_wait_for_a_person_unless_the_caller_says_otherwise(tmp_path: Path) -> None:
    path = placed(Sample("chatgpt", "chatgpt"), tmp_path)
    report = imported(path)
    assert (report.created, report.queued) == (3, 2)
    waiting = Memory.objects.filter(trust=Trust.CANDIDATE).order_by("key")
    assert [row.content for row in waiting] == ["I am a vegetarian.", "Answer in short sentences."]
    assert (
        imported(path, group="b", waiting="live").queued,
        imported(path, group="c", waiting="pending").queued,
    ) == (0, 5)


def test_turns_keep_their_speaker_thread_and_order(tmp_path: Path) -> None:
    imported(placed(Sample("chatgpt", "chatgpt"), tmp_path))
    turns = Memory.objects.filter(type=EVENT).select_related("thread").order_by("key")
    places = [(turn.thread.name if turn.thread else "", turn.position, turn.source_ref) for turn in turns]
    assert places == [("c-1", 0, "m1"), ("c-1", 1, "m5"), ("c-2", 0, "s1")]
    assert turns[0].metadata == {"speaker": "User", "title": "Trip to Rome"}
    assert turns[0].thread is not None
    assert turns[0].thread.title == "Trip to Rome"
    assert turns[1].valid_from == turns[0].valid_from, (
        "a turn without a time has the beginning of its conversation"
    )


def test_transcripts_are_read_on_demand(tmp_path: Path) -> None:
    path = placed(Sample("claude-code", "claude_code"), tmp_path)
    imported(path, with_turns=True)
    assert [content for type_, content, *_ in stored() if type_ == EVENT] == [
        "User: Which port does the ledger use?",
        "Assistant: It uses port 8081.",
    ]


def test_a_grown_export_adds_only_what_is_new_and_a_changed_text_is_its_next_version(tmp_path: Path) -> None:
    path = placed(Sample("chatgpt", "chatgpt"), tmp_path)
    imported(path)
    file = path / "conversations.json"
    chats = json.loads(file.read_text())
    message = {
        "id": "m6", "author": {"role": "user"}, "create_time": 1740000100.0, "recipient": "all",
        "content": {"content_type": "text", "parts": ["And by train?"]}, "metadata": {},
    }  # fmt: skip
    chats[0]["mapping"]["n6"] = {"id": "n6", "parent": "n5", "children": [], "message": message}
    chats[0]["current_node"] = "n6"
    file.rename(path / "conversations-000.json")
    (path / "conversations-000.json").write_text(json.dumps(chats))
    report = imported(path)
    assert (report.created, report.unchanged, report.queued) == (1, 5, 0)
    graph = tmp_path / "memory.jsonl"
    entity = {"type": "entity", "name": "Anna", "entityType": "person", "observations": ["Likes tea."]}
    graph.write_text(json.dumps(entity))
    assert imported(graph).created == 2
    graph.write_text(json.dumps(entity | {"observations": ["Likes tea.", "Likes cake."]}))
    assert (imported(graph).created, Memory.objects.filter(content="Anna: Likes cake.").count()) == (1, 1)


def test_mem0s_changed_text_replaces_the_old_one(tmp_path: Path) -> None:
    path = placed(Sample("mem0", "mem0.json"), tmp_path)
    imported(path, waiting="live")
    data = json.loads(path.read_text())
    data["results"][1] |= {"memory": "Lives in Kiel", "updated_at": "2025-09-01T00:00:00Z"}
    path.write_text(json.dumps(data))
    imported(path, waiting="live")
    lives = Memory.objects.filter(content__startswith="Lives").order_by("key")
    assert [(row.content, row.state) for row in lives] == [
        ("Lives in Hamburg", "superseded"),
        ("Lives in Kiel", "live"),
    ]


def test_an_undo_keeps_what_somebody_changed_since(tmp_path: Path) -> None:
    run = imported(placed(Sample("mcp-memory-service", "mcp_memory_service.json"), tmp_path)).run
    kept = Memory.objects.get(content="Deploys run on Tuesdays.")
    pin(replace(operator(), name="somebody else"), kept.id)
    out = StringIO()
    call_command("import", "--undo", run, "--json", stdout=out)
    answer = json.loads(out.getvalue())
    assert [each["id"] for each in answer["kept"]] == [str(kept.id)]
    assert "has changed since" in answer["kept"][0]["why"]
    assert [content for _, content, *_ in stored()] == ["Deploys run on Tuesdays."]


def test_a_map_chooses_groups_by_place_and_leaves_places_out(tmp_path: Path) -> None:
    path, places = placed(Sample("claude-mem", "claude_mem.sql"), tmp_path), tmp_path / "places.txt"
    places.write_text("# projects\nled* = accounts\ngarden = -\n")
    out = StringIO()
    call_command("import", str(path), "--map", str(places), "--as", "live", "--json", stdout=out)
    answer = json.loads(out.getvalue())
    assert (answer["created"], answer["skipped"]["places that the map leaves out"]) == (2, 1)
    assert set(Memory.objects.values_list("group__slug", flat=True)) == {"accounts"}
    places.write_text("ledger\n")
    with pytest.raises(CommandError, match=r"Line 1 of places\.txt is not a rule"):
        call_command("import", str(path), "--map", str(places))


def test_what_is_older_than_a_day_is_left_out(tmp_path: Path) -> None:
    path = placed(Sample("gemini", "gemini"), tmp_path)
    out = StringIO()
    call_command("import", str(path), "--group", "mine", "--since", "2026-03-02", "--json", stdout=out)
    answer = json.loads(out.getvalue())
    assert (answer["created"], answer["skipped"]["older than 2026-03-02"]) == (2, 1)


def test_a_folder_of_two_formats_is_not_guessed(tmp_path: Path) -> None:
    path = placed(Sample("basic-memory", "basic_memory"), tmp_path)
    (path / ".obsidian").mkdir()
    (path / ".obsidian" / "app.json").write_text("{}")
    with pytest.raises(InvalidInput, match="may be basic-memory or obsidian"):
        choose_importer(path)
    assert choose_importer(path, "obsidian").name == "obsidian"


def test_a_takeout_with_html_is_refused_with_advice(tmp_path: Path) -> None:
    folder = tmp_path / "Takeout" / "My Activity" / "Gemini Apps"
    folder.mkdir(parents=True)
    (folder / "MyActivity.html").write_text("<html></html>")
    [fault] = imported(tmp_path / "Takeout").faults
    assert "Ask for JSON in Google Takeout" in fault.why


def test_a_table_that_is_not_utf_8_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"text,caf\xe9\nThe port is 8081,x\n")
    assert [fault.why for fault in imported(path).faults] == ["after line 1: it is not UTF-8"]


def test_a_pipe_in_a_folder_is_reported_and_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("A note.")
    os.mkfifo(tmp_path / "b.md")
    report = imported(tmp_path)
    assert (report.created, [fault.why for fault in report.faults]) == (1, ["b.md: b.md is not a file."])


JSON_SAMPLES = [
    sample
    for sample in SAMPLES
    if sample.file.endswith((".json", ".jsonl", "chatgpt", "claude_ai", "gemini"))
]


@pytest.mark.parametrize("sample", JSON_SAMPLES, ids=[sample.file for sample in JSON_SAMPLES])
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_cut_or_scrambled_json_is_refused_or_explained(
    sample: Sample, data: st.DataObject, tmp_path: Path
) -> None:
    source = DATA / sample.file
    source = next(iter(sorted(source.glob("*.json")))) if source.is_dir() else source
    raw = source.read_bytes()
    cut = data.draw(st.integers(0, len(raw)))
    junk = data.draw(st.sampled_from([b"", b"}", b"]", b'"', b"\xff", b"null", b"1e999", b"[[[[", b'{"a":']))
    rest = data.draw(st.sampled_from([b"", raw[cut + 7 :]]))
    path = tmp_path / source.name
    path.write_bytes(raw[:cut] + junk + rest)
    importer = next(importer for importer in IMPORTERS if importer.name == sample.format)
    importer.recognises(path)
    read = importer.run.keywords["read"]  # type: ignore[attr-defined]
    rules = LineRules("x", group="mine")
    for line in settle(read(path, rules), rules):
        assert line.draft or line.why or line.skipped or line.relation
