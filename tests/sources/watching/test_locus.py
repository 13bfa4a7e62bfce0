"""`.locus` files: one memory each."""

from pathlib import Path

import pytest

from access.models import Group
from tests.sources.watching.notes import Notes

pytestmark = pytest.mark.django_db

HEAD = """---
id: locus-20260301-ports
created: 2026-03-01T10:00:00Z   # when we met
room: "elsewhere"
tags: [ports, 'no']
version: 1.10
source_conversation: conv-7
---
"""
TITLED = HEAD + "# The ledger listens on 8081.\n\nThe ledger listens on 8081.\n"


@pytest.fixture
def notes(tmp_path: Path, ledger: Group) -> Notes:
    return Notes.watched(tmp_path / "loci", ledger)


def test_a_locus_is_one_memory_of_the_folders_group(notes: Notes) -> None:
    notes.write("ports.locus", TITLED)
    assert notes.look() == {"created": 1}
    memory = notes.memory("8081")
    assert memory.content == "The ledger listens on 8081."
    assert (memory.tags, memory.group.slug) == (["ports", "no"], "ledger"), (
        "room names a group, the folder decides"
    )
    assert (memory.thread, memory.metadata["source_conversation"]) == (None, "conv-7")


def test_changed_front_matter_changes_the_memory_in_place(notes: Notes) -> None:
    notes.write("ports.locus", TITLED)
    notes.look()
    notes.write("ports.locus", TITLED.replace("[ports, 'no']", "[net]"))
    assert notes.look() == {"changed": 1}
    assert (notes.memory("8081").tags, notes.memory("8081").version) == (["net"], 1)
