"""`.locus` files: one memory each, and the file's own bytes on the way back."""

from pathlib import Path

import pytest

from access.models import Group
from access.tokens import operator
from memories.draft import EditDraft
from memories.lifecycle.edit import edit
from sources.models import WatchedFile
from sources.watching.front_matter import read_head
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
    return Notes.watched(tmp_path / "loci", ledger, mode="sync")


def test_a_locus_is_one_memory_of_the_folders_group(notes: Notes) -> None:
    notes.write("ports.locus", TITLED)
    assert notes.look() == {"created": 1}
    memory = notes.memory("8081")
    assert memory.content == "The ledger listens on 8081."
    assert (memory.tags, memory.group.slug) == (["ports", "no"], "ledger"), (
        "room names a group, the folder decides"
    )
    assert (memory.thread, memory.metadata["source_conversation"]) == (None, "conv-7")


def test_only_text_title_and_own_keys_change_in_the_file(notes: Notes) -> None:
    path = notes.write("ports.locus", TITLED)
    notes.look()
    assert path.read_text() == TITLED, "a look writes nothing"
    new = edit(operator(), notes.memory("8081").id, EditDraft("The ledger listens on 9090.")).memory
    assert notes.look() == {"written": 1}
    own = f"loci_id: {new.id}\nloci_version: 2\n---\n"
    assert path.read_text() == TITLED.replace("8081", "9090").replace("---\n#", f"{own}#")
    assert read_head(path.read_text())["version"] == 1.10
    assert notes.look() == {}


def test_changed_front_matter_changes_the_memory_in_place(notes: Notes) -> None:
    notes.write("ports.locus", TITLED)
    notes.look()
    notes.write("ports.locus", TITLED.replace("[ports, 'no']", "[net]"))
    assert notes.look() == {"changed": 1}
    assert (notes.memory("8081").tags, notes.memory("8081").version) == (["net"], 1)


def test_a_broken_head_is_told_and_the_file_never_written(notes: Notes) -> None:
    text = TITLED.replace('room: "elsewhere"', "room: Fix: this")
    path = notes.write("ports.locus", text)
    assert notes.look() == {"created": 1}
    assert "front matter" in WatchedFile.objects.get().problem
    edit(operator(), notes.memory("8081").id, EditDraft("The ledger listens on 9090."))
    assert notes.look() == {}
    assert path.read_text() == text
