"""Instruction files in imports and watched folders: proposals, never memories and never written by themselves."""

from pathlib import Path

import pytest

from access.models import Group
from access.tokens import operator
from memories.models import Memory, Proposal
from memories.review.decide import ReviewDecision, decide
from sources.importing import choose_importer
from sources.importing.formats.notes.instructions import instruction_text
from sources.importing.importer import LineRules
from sources.importing.reports import LinesReport
from sources.importing.undo import undo_import
from tests.sources.watching.notes import Notes

pytestmark = pytest.mark.django_db


def imported(path: Path, *, dry_run: bool = False) -> LinesReport:
    importer = choose_importer(path)
    source = importer.source_of(path)
    report = importer.run(operator(), path, LineRules(source, group="ledger"), dry_run=dry_run)
    assert isinstance(report, LinesReport)
    return report


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_repository_with_instructions_gives_proposals_and_memories(tmp_path: Path, ledger: Group) -> None:
    root = tmp_path / "repository"
    write(root / "CLAUDE.md", "@AGENTS.md\n")
    write(root / "AGENTS.md", "# Rules\nWrite tests first.\n")
    write(root / ".claude" / "rules" / "api.md", "---\npaths:\n  - api/**\n---\nName errors.\n")
    write(root / "node_modules" / "x" / "AGENTS.md", "Not ours.\n")
    write(root / "README.md", "# Ports\nThe ledger listens on 8081.\n")
    trial = imported(root, dry_run=True)
    assert (trial.created, trial.proposed, Proposal.objects.count()) == (1, 2, 0)
    first = imported(root)
    assert (first.created, first.proposed, len(first.faults)) == (1, 2, 0)
    assert first.skipped == {"instruction files that only lead to others": 1}
    assert "2 instruction files proposed" in first.as_text()
    rule, proposal = Proposal.objects.order_by("key")
    assert rule.arguments["text"] == "For the files api/**:\n\nName errors."
    assert proposal.arguments["text"] == "# Rules\nWrite tests first."
    assert (proposal.group.slug, proposal.subject) == (
        "ledger",
        "instructions:markdown:repository#repository/AGENTS.md",
    )
    assert Group.objects.get(slug="ledger").instructions == ""
    assert "Write tests" not in " ".join(Memory.objects.values_list("content", flat=True))
    second = imported(root)
    assert (second.proposed, second.unchanged, second.run) == (0, 3, "")


def test_undoing_the_import_withdraws_the_proposal_and_it_can_be_imported_again(
    tmp_path: Path, ledger: Group
) -> None:
    path = write(tmp_path / "CLAUDE.md", "Write tests first.\n")
    run = imported(path).run
    undone = undo_import(operator(), run)
    assert (undone.kept, Proposal.objects.filter(status="waiting").count()) == ((), 0)
    assert imported(path).proposed == 1


def test_a_decided_proposal_stays_when_its_import_is_undone(tmp_path: Path, ledger: Group) -> None:
    run = imported(write(tmp_path / "CLAUDE.md", "Write tests first.\n")).run
    decide(operator(), ReviewDecision("approve", proposal=Proposal.objects.get().id))
    [kept] = undo_import(operator(), run).kept
    assert (kept.id, "decided" in kept.why) == (str(Proposal.objects.get().id), True)


def test_rules_name_their_files() -> None:
    text = "---\ndescription: x\nglobs: api/**\nalwaysApply: false\n---\nName errors.\n"
    assert instruction_text(text) == "For the files api/**:\n\nName errors."


def test_a_watched_instruction_file_is_a_proposal_and_its_changes_too(tmp_path: Path, ledger: Group) -> None:
    notes = Notes.watched(tmp_path / "notes", ledger)
    notes.write("CLAUDE.md", "Write tests first.\n")
    notes.write("ports.md", "# Ports\n\nThe ledger listens on 8081.\n")
    assert notes.look() == {"created": 1, "proposed": 1}
    assert notes.look() == {}
    assert notes.live() == ["ports › Ports: The ledger listens on 8081."]
    decide(operator(), ReviewDecision("approve", proposal=Proposal.objects.get().id))
    notes.write("CLAUDE.md", "Write tests last.\n")
    assert notes.look() == {"proposed": 1}
    assert Group.objects.get(slug="ledger").instructions == "Write tests first."
    newest = Proposal.objects.get(status="waiting")
    decide(operator(), ReviewDecision("approve", proposal=newest.id))
    assert Group.objects.get(slug="ledger").instructions == "Write tests last."
