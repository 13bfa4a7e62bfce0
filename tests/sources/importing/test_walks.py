"""New users who come from other memory servers: export there, import here, and ask."""

from pathlib import Path
from typing import Final

import pytest

from access.tokens import operator
from memories.embedding import Encoder
from memories.recall import RecallRequest, RecallResult, recall
from sources.importing import choose_importer
from sources.importing.importer import LineRules
from tests.sources.importing.samples import Sample, placed

pytestmark = [pytest.mark.django_db, pytest.mark.model]

WALKS_DATA: Final = Path(__file__).parents[2] / "data" / "walks"
NOTHING: Final = "nothing"

# Per export: the question, words of the first memory (or of a relation), or NOTHING.
WALKS: Final = {
    "memory.jsonl": (
        ("Who leads the payments team?", "Mira_Lund: Leads the payments team"),
        ("What does Mira like to drink?", "Prefers tea over coffee"),
        ("Where does Mira work on Fridays?", "Works from Bergen on Fridays"),
        ("Which port does the ledger listen on?", "Listens on port 8081"),
        ("When is the backup of the ledger?", "Nightly backup at 02:30"),
        ("Why did we choose PostgreSQL?", "Chosen over MySQL because of partial indexes"),
        ("Who is on call for the ledger in even weeks?", "Tomas Reyes: On call"),
        ("How do I roll back a release?", "Rollbacks use the script tools/rollback.sh"),
        ("Why is heron restarted every Sunday?", "because of a memory leak"),
        ("What is the capital of Peru?", NOTHING),
    ),
    "mem0.json": (
        ("Who is allergic to peanuts?", "Is allergic to peanuts"),
        ("Where does the user live?", "Lives in Hamburg"),
        ("What are the names of the cats?", "Miso and Nori"),
        ("How should I answer?", "Prefers answers in short sentences"),
        ("What is her job?", "Works as a nurse"),
        ("When is the Norwegian exam?", "12 June 2026"),
        ("What bike does she have?", "blue Brompton"),
        ("Who repairs violins?", "Brother Ole"),
        ("Does she drink alcohol?", "Does not drink alcohol"),
        ("What is the capital of Peru?", NOTHING),
    ),
    "basic_memory": (
        ("How hot should the water be?", "94 degrees"),
        ("Which setting of the grinder for pour over?", "step 18 fits the pour over"),
        ("How much coffee per litre?", "60 grams"),
        ("When does the warranty of the grinder end?", "March 2027"),
        ("Why is the API versioned in the path?", "versioned in the path"),
        ("How long are old API versions supported?", "eighteen months"),
        ("Who is the architect?", "Jonas is the architect"),
        ("When does Jonas read mail?", "only in the morning"),
        ("Who decided on API versioning?", "API versioning —decided_by→ Jonas Weber"),
        ("What is the capital of Peru?", NOTHING),
    ),
}


def ask(question: str) -> RecallResult:
    return recall(operator(), RecallRequest(question, group="mine"))


def take(path: Path) -> None:
    importer = choose_importer(path)
    report = importer.run(operator(), path, LineRules(importer.source_of(path), group="mine", waiting="live"))
    assert report.faults == ()


@pytest.mark.parametrize("file", WALKS)
def test_ten_questions_after_a_move_are_answered_first(file: str, encoder: Encoder | None) -> None:
    take(WALKS_DATA / file)
    for question, wanted in WALKS[file]:
        result = ask(question)
        contents = [item.memory.content for item in result.items]
        first = [*contents[:1], *(line.text for line in result.relations)]
        assert any(wanted in text for text in first) if wanted != NOTHING else contents == [], (
            question,
            contents,
        )


def test_names_alone_take_no_place_in_an_answer(encoder: Encoder | None) -> None:
    take(WALKS_DATA / "memory.jsonl")
    contents = [item.memory.content for item in ask("Which port does the ledger listen on?").items]
    assert "ledger" not in contents


def test_summaries_and_lessons_of_claude_mem_are_found(tmp_path: Path, encoder: Encoder | None) -> None:
    take(placed(Sample("claude-mem", "claude_mem.sql"), tmp_path))
    for question, wanted in (
        ("How is money stored?", "kept in cents"),
        ("What went wrong with floats?", "lost cents"),
        ("What is left to do about the rounding?", "Migrate old rows"),
    ):
        assert any(wanted in item.memory.content for item in ask(question).items)
