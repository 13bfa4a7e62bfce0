"""Folders read as evidence: what is read, what a second run changes, and what is found."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from access.actor import Actor
from access.models import AuditEntry, Group
from access.tokens import operator
from memories.models import Memory
from memories.recall import RecallRequest
from sources.artifacts.evidence import EVIDENCE, Evidence, recall_kinds
from sources.artifacts.ingest import ingest_content, ingest_path
from sources.artifacts.vectors import embed_chunks
from sources.models import Artifact, ArtifactState, Chunk, ChunkState
from tests.guard.samples import secret_samples

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.model,
]

HANDBOOK = """\
# Handbook

## Deploys

The blue pipeline deploys to the harbour cluster every Tuesday at nine.

## Holidays

Nobody works between Christmas and New Year.
"""
CODE = '''\
"""Invoices."""

import decimal

RATE = decimal.Decimal("0.19")


def add_vat(amount):
    """The amount with value added tax."""
    return amount * (1 + RATE)


class Ledger:
    """All invoices of a month."""

    def closeMonth(self):
        """Freeze the month, so that no invoice changes."""
        self.frozen = True
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small repository."""
    for path, text in {
        "docs/handbook.md": HANDBOOK,
        "src/invoices.py": CODE,
        ".gitignore": "out/\n*.gen.py\n",
        "out/made.md": "made by a build",
        "src/made.gen.py": "GENERATED = 1",
        "src/.gitignore": "!made.gen.py\nlocal.txt\n",
        "src/local.txt": "only here",
        ".env": "TOKEN=abc",
        "deploy/server.pem": "-----BEGIN",
        "poetry.lock": "[[package]]",
        ".lociignore": "notes/private.md\n",
        "notes/private.md": "my own",
        "notes/open.txt": "The lighthouse keeper is called Ingrid.",
        "picture.bin": "a\0b",
        "empty.txt": "",
        ".git/config": "[core]",
    }.items():
        place = tmp_path / "project" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    (tmp_path / "secret.txt").write_text("outside")
    (tmp_path / "project" / "link.txt").symlink_to(tmp_path / "secret.txt")
    return tmp_path / "project"


def ingest(folder: Path, *options: str) -> dict[str, Any]:
    """Run the command and read its answer."""
    out = StringIO()
    call_command("ingest", str(folder), "--group", "ledger", "--json", *options, stdout=out)
    answer: dict[str, Any] = json.loads(out.getvalue())
    return answer


def ask(question: str, actor: Actor | None = None, **limits: Any) -> Evidence:
    """The evidence for a question."""
    request = RecallRequest(question, group="ledger", **limits)
    found = recall_kinds(actor or operator(), request, [EVIDENCE]).evidence
    assert found is not None
    return found


def paths() -> set[str]:
    """The paths of the live files."""
    return set(Artifact.objects.filter(state=ArtifactState.LIVE).values_list("path", flat=True))


def test_a_folder_is_read_without_what_is_ignored_secret_or_binary(folder: Path, ledger: Group) -> None:
    answer = ingest(folder)
    assert paths() == {"docs/handbook.md", "src/invoices.py", "src/made.gen.py", "notes/open.txt"}
    assert answer["source"] == "project"
    assert answer["skipped"] == {"binary": 1, "empty": 1, "ignored": 8, "ignored folder": 2, "link": 1}
    assert "TOKEN" not in "".join(Chunk.objects.values_list("content", flat=True))


def test_chunks_have_headings_lines_and_locators_that_can_be_checked(folder: Path, ledger: Group) -> None:
    ingest(folder)
    deploys = Chunk.objects.get(heading="Handbook › Deploys")
    assert (deploys.start_line, deploys.end_line) == (1, 5)  # with the heading above, which has no text
    assert deploys.locator == f"docs/handbook.md#L1-L5@{deploys.text_hash[:12]}"
    lines = HANDBOOK.splitlines()[:5]
    assert deploys.content == "\n".join(lines)
    assert set(Chunk.objects.filter(artifact__path="src/invoices.py").values_list("heading", flat=True)) == {
        "", "def add_vat", "class Ledger", "class Ledger › def closeMonth",
    }  # fmt: skip
    assert all(chunk.tokens <= 256 for chunk in Chunk.objects.all())


def test_a_second_run_changes_nothing(folder: Path, ledger: Group) -> None:
    ingest(folder)
    rows = list(Chunk.objects.order_by("key").values("key", "locator", "state", "model"))
    logged = AuditEntry.objects.filter(operation="ingest").count()
    answer = ingest(folder)
    assert answer["files"] == {"unchanged": 4}
    assert answer["chunks"] == {}
    assert list(Chunk.objects.order_by("key").values("key", "locator", "state", "model")) == rows
    assert AuditEntry.objects.filter(operation="ingest").count() == logged == 1


def test_only_what_changed_is_replaced_and_what_moved_keeps_its_row(folder: Path, ledger: Group) -> None:
    ingest(folder)
    before = {chunk.heading: chunk for chunk in Chunk.objects.filter(artifact__path="docs/handbook.md")}
    changed = HANDBOOK.replace("Tuesday at nine", "Friday at ten").replace(
        "# Handbook\n", "# Handbook\n\nFor all of us.\n"
    )
    (folder / "docs/handbook.md").write_text(changed)
    assert ingest(folder)["files"] == {"changed": 1, "unchanged": 3}
    live = {
        c.heading: c for c in Chunk.objects.filter(artifact__path="docs/handbook.md", state=ChunkState.LIVE)
    }
    assert live["Handbook › Holidays"].key == before["Handbook › Holidays"].key
    assert live["Handbook › Holidays"].start_line == before["Handbook › Holidays"].start_line + 2
    assert live["Handbook › Deploys"].key != before["Handbook › Deploys"].key
    old = Chunk.objects.get(key=before["Handbook › Deploys"].key)
    assert old.state == ChunkState.RETIRED
    assert [item.locator for item in ask("when does the blue pipeline deploy?").items] == [
        live["Handbook › Deploys"].locator
    ]


def test_a_file_that_is_gone_retires_and_comes_back(folder: Path, ledger: Group) -> None:
    ingest(folder)
    (folder / "notes/open.txt").rename(folder / "kept")
    assert ingest(folder)["files"] == {"new": 1, "retired": 1, "unchanged": 3}
    assert not any(item.path == "notes/open.txt" for item in ask("Who is the lighthouse keeper?").items)
    (folder / "kept").rename(folder / "notes/open.txt")
    ingest(folder)
    assert ask("Who is the lighthouse keeper?").items[0].path == "notes/open.txt"


def test_a_part_of_a_repository_retires_nothing_outside_of_it(folder: Path, ledger: Group) -> None:
    ingest(folder)
    assert ingest(folder / "docs")["files"] == {"unchanged": 1}
    assert ingest(folder / "docs" / "handbook.md")["files"] == {"unchanged": 1}
    assert len(paths()) == 4


def test_an_empty_folder_is_rather_a_missing_disk(folder: Path, ledger: Group) -> None:
    for number in range(30):
        (folder / f"notes/{number}.md").write_text(f"Note {number}.")
    ingest(folder)
    for number in range(30):
        (folder / f"notes/{number}.md").unlink()
    with pytest.raises(CommandError, match="30 of 34 known files are gone; none of them was retired"):
        ingest(folder)
    assert len(paths()) == 34
    assert ingest(folder, "--gone")["files"]["retired"] == 30


def test_a_dry_run_writes_nothing(folder: Path, ledger: Group) -> None:
    answer = ingest(folder, "--dry-run")
    assert answer["files"] == {"new": 4}
    assert not Artifact.objects.exists()
    with pytest.raises(CommandError, match="There is no group 'nowhere'"):
        call_command("ingest", str(folder), "--group", "nowhere", "--dry-run")
    assert not AuditEntry.objects.filter(operation="ingest").exists()


def test_patterns_and_sizes_narrow_what_is_read(folder: Path, ledger: Group) -> None:
    (folder / "big.md").write_text("words and words\n" * 500)
    answer = ingest(folder, "--include", "*.md", "--exclude", "docs/", "--max-kb", "1")
    assert answer["files"] == {}
    assert answer["skipped"]["larger than 1 KiB"] == 1
    with pytest.raises(CommandError, match="--max-kb must be between 1 and 10240"):
        ingest(folder, "--max-kb", "0")


def test_words_identifiers_and_meaning_find_chunks(folder: Path, ledger: Group) -> None:
    ingest(folder)
    assert ask("closeMonth").items[0].heading == "class Ledger › def closeMonth"
    assert ask("close month").items[0].heading == "class Ledger › def closeMonth"
    best = ask("On which day do we deploy?").items
    assert best[0].heading == "Handbook › Deploys"
    assert best[0].label == "outside"
    assert not ask("Which tea does the queen of Denmark like?").items


def test_without_vectors_words_still_find(folder: Path, ledger: Group) -> None:
    assert ingest(folder, "--later")["embedded"] == 0
    assert ask("lighthouse keeper").items[0].path == "notes/open.txt"
    assert embed_chunks() == Chunk.objects.filter(state=ChunkState.LIVE).count()
    assert not Chunk.objects.filter(embedding=None).exists()


def test_files_are_no_memories(folder: Path, ledger: Group) -> None:
    ingest(folder)
    assert not Memory.objects.exists()
    answer = recall_kinds(operator(), RecallRequest("When is the blue pipeline deployed?", group="ledger"))
    assert answer.evidence is None
    assert answer.recalled.abstained


def test_names_of_files_and_folders_are_read_too(tmp_path: Path) -> None:
    token = secret_samples()["github-token"]
    folder = tmp_path / f"notes-{token}"
    folder.mkdir()
    (folder / f"{token}.md").write_text(HANDBOOK)
    for _ in range(2):  # the second run finds the file again under its masked name
        ingest_path(operator(), folder, group="ledger")
    ingest_content(operator(), [(f"{token}/setup.md", HANDBOOK.encode())], group="ledger", source=token)
    rows = Artifact.objects.order_by("key")
    assert [row.state for row in rows] == [ArtifactState.LIVE] * 2
    assert token not in str(
        list(rows.values_list("path", "source")) + list(Chunk.objects.values_list("locator", "forms"))
    )
    assert [row.path.partition(":")[0] for row in rows] == ["[github-token", "[github-token"]
