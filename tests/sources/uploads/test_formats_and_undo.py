"""Files of other programs in the browser: preview, import, undo, and purges that reach them."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User

from access.errors import Conflict
from access.tokens import operator
from memories.draft import Draft
from memories.lifecycle.verbs import purge
from memories.models import Memory
from memories.store import store
from memories.store.places import PurgedTexts, outside_copies
from sources.importing.importer import LineRules
from sources.uploads import SentUpload, begin_import, begin_undo, receive_upload
from sources.uploads.files import file_of
from tests.people import person
from tests.sources.importing.samples import DATA, Sample, placed, zipped

pytestmark = [pytest.mark.django_db, pytest.mark.model]


def sent(path: Path) -> SentUpload:
    raw = path.read_bytes()
    return SentUpload(path.name, len(raw), iter([raw]))


def test_a_vault_is_previewed_imported_and_taken_back(bob: User, tmp_path: Path) -> None:
    vault = zipped(placed(Sample("obsidian", "obsidian"), tmp_path))
    kept = receive_upload(person(bob), sent(vault), LineRules("", group="ledger"))
    assert (kept.state, kept.recognised, kept.source, kept.line_count) == (
        "checked",
        "obsidian",
        "obsidian:obsidian",
        0,
    )
    assert kept.report == [["created", 5], ["relations", 2]]
    assert kept.left_out == [
        ["templates, trash and conflict copies", 2],
        ["links to notes that the vault does not have", 1],
    ]
    assert [one["content"][:12] for one in kept.sample] == [
        "Ledger: The ",
        "Home\nSee [[A",
        "Home › Money",
        "Ledger",
        "Home",
    ]
    done = begin_import(person(bob), kept.id)
    assert (done.state, done.sample, Memory.objects.filter(state="live").count()) == ("done", [], 5)
    undone = begin_undo(person(bob), kept.id)
    # Five memories and two relations.
    assert (undone.state, undone.report, undone.left_out) == ("undone", [["taken back", 9]], [])
    assert not Memory.objects.filter(state="live").exists()
    with pytest.raises(Conflict, match="cannot be undone, its state is 'undone'"):
        begin_undo(person(bob), kept.id)


def test_a_file_of_another_format_than_named_is_refused(bob: User) -> None:
    kept = receive_upload(
        person(bob), sent(DATA / "mem0.json"), LineRules("", group="ledger"), file_format="chatgpt"
    )
    assert kept.state == "failed"
    assert "not a data export of ChatGPT" in kept.error


def test_a_purge_reaches_previews_and_zips(bob: User, tmp_path: Path) -> None:
    vault = zipped(placed(Sample("obsidian", "obsidian"), tmp_path))
    kept = receive_upload(person(bob), sent(vault), LineRules("", group="ledger"))
    doomed = store(operator(), Draft("The ledger runs on port 8081.", group="ledger")).memory
    assert doomed is not None
    purge(operator(), doomed.id, reason="secret")
    # After the commit, which this test's own transaction never comes to.
    outside_copies()["uploads"].clear(PurgedTexts((doomed.key,), (doomed.content,), (doomed.id,)), note="")
    kept.refresh_from_db()
    assert (kept.state, kept.sample) == ("failed", [])
    assert not file_of(kept).exists()
