"""New users who come from three other memory servers: export there, import here, and ask ten questions."""

from pathlib import Path

import pytest

from access.tokens import operator
from memories.embedding import Encoder
from memories.recall import RecallRequest, recall
from sources.importing import choose_importer
from sources.importing.importer import LineRules
from tests.sources.importing.samples import Sample, placed

pytestmark = [pytest.mark.django_db, pytest.mark.model]

WALKS = {
    Sample("mcp-memory", "mcp_memory.jsonl"): [
        ("Who leads the payments team?", "leads the payments team"),
        ("What does Anna like to drink?", "tea over coffee"),
        ("Which port does the ledger listen on?", "8081"),
        ("What is the capital of Peru?", ""),
    ],
    Sample("mem0", "mem0.json"): [
        ("Is there a food allergy?", "peanuts"),
        ("Who lives in Hamburg?", "Hamburg"),
        ("Which database do we use?", ""),
    ],
    Sample("claude-mem", "claude_mem.sql"): [
        ("How is money stored?", "kept in cents"),
        ("What went wrong with floats?", "lost cents"),
        ("What is left to do about the rounding?", "Migrate old rows"),
    ],
}


@pytest.mark.parametrize("sample", WALKS, ids=[sample.format for sample in WALKS])
def test_what_was_known_there_is_known_here(sample: Sample, tmp_path: Path, encoder: Encoder | None) -> None:
    path = placed(sample, tmp_path)
    importer = choose_importer(path)
    importer.run(operator(), path, LineRules(importer.source_of(path), group="mine", waiting="live"))
    for question, wanted in WALKS[sample]:
        found = recall(operator(), RecallRequest(question, group="mine"))
        contents = [item.memory.content for item in found.items]
        assert any(wanted in content for content in contents) if wanted else contents == [], (
            question,
            contents,
        )
