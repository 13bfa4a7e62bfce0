"""Files that people send: looked through first, imported with their own rights, and gone when they are not needed."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User
from django.utils import timezone
from pytest_django import Settings

from access.errors import Conflict, GroupNotFound, InvalidInput, NotFound, NotPermitted, TooLarge
from access.groups.members import set_member
from access.models import AuditEntry, Group
from access.sign_in.lockouts import tidy_access
from access.tokens import operator
from maintenance.schedule import JOBS
from memories.draft import Draft
from memories.lifecycle.verbs import purge
from memories.models import Memory
from memories.store import store
from memories.store.places import PurgedTexts, outside_copies
from sources import uploads
from sources.exporting import export
from sources.importing.importer import LineRules
from sources.importing.lines import count_lines
from sources.models import Upload, UploadState
from sources.uploads import (
    SentUpload,
    begin_import,
    discard_upload,
    find_upload,
    is_waiting,
    own_uploads,
    process_upload,
    process_waiting,
    receive_upload,
)
from sources.uploads.files import file_of
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
RULES = LineRules("", group="ledger")


@pytest.fixture(autouse=True)
def no_files_stay(home: Path) -> Iterator[None]:
    yield
    for path in (home / "uploads").glob("*"):
        path.unlink()


def sent(*lines: Any, name: str = "notes.jsonl") -> SentUpload:
    raw = "".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in lines).encode()
    return SentUpload(name, len(raw), iter([raw[:7], raw[7:]]))


def text(id_: int, words: str, **more: Any) -> dict[str, Any]:
    return {"id": id_, "text": words, **more}


def left_to_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "AT_ONCE_BYTES", 0)


def test_a_small_file_is_looked_through_at_once_and_nothing_is_stored(bob: User) -> None:
    kept = receive_upload(
        person(bob), sent(text(1, "The gate opens at seven."), text(2, "The wall is old.")), RULES
    )
    assert (kept.state, kept.report, kept.fault_count) == ("checked", [["created", 2]], 0)
    assert (kept.name, kept.source, kept.line_count) == ("notes.jsonl", "notes", 2)
    assert not Memory.objects.exists()
    assert file_of(kept).stat().st_mode & 0o777 == 0o600


def test_a_yes_stores_with_the_persons_name_and_the_file_goes(bob: User) -> None:
    kept = receive_upload(person(bob), sent(text(1, "The gate opens at seven.")), RULES)
    done = begin_import(person(bob), kept.id)
    assert (done.state, done.report, done.finished_at is not None) == ("done", [["created", 1]], True)
    memory = Memory.objects.get()
    assert (memory.content, memory.group.slug, memory.author_name, memory.client, memory.source) == (
        "The gate opens at seven.",
        "ledger",
        "bob",
        "import",
        "notes",
    )
    assert not file_of(done).exists()
    row = AuditEntry.objects.get(operation="import")
    assert (row.actor, row.via, row.subject) == ("bob", "admin", "source:notes")


@pytest.mark.parametrize("name", ["notes.md", "Notes on ports.md", f"{'n' * 200}.md"])
def test_texts_have_the_name_that_the_file_was_sent_with(bob: User, home: Path, name: str) -> None:
    file = sent("# Ports", "", "The build cluster is called marmot.", name=name)
    kept = begin_import(person(bob), receive_upload(person(bob), file, RULES).id)
    assert kept.state == "done", kept.error
    title = name.removesuffix(".md")[:60]
    assert Memory.objects.get().content == f"{title} › Ports: The build cluster is called marmot."
    assert [*(home / "uploads").glob("*")] == []


def test_each_line_at_fault_is_told_before_and_left_out_after(bob: User, garden: Group) -> None:
    lines = [
        text(1, "The gate opens at seven."),
        "no json",
        text(3, "Theirs.", group="garden"),
        {"id": 4},
        text(5, "The wall is old."),
    ]
    kept = receive_upload(person(bob), sent(*lines), LineRules("", group=""))
    assert kept.fault_count == 5  # without a group of their own, the first and the last go nowhere
    kept = receive_upload(
        person(bob),
        sent(
            *[{**one, "group": one.get("group", "ledger")} if isinstance(one, dict) else one for one in lines]
        ),
        LineRules(""),
    )
    assert [number for number, _ in kept.faults] == [2, 3, 4]
    assert "it is not JSON" in kept.faults[0][1]
    assert "There is no group 'garden' that you may use" in kept.faults[1][1]
    assert "'text' is missing" in kept.faults[2][1]
    done = begin_import(person(bob), kept.id)
    assert (done.report, done.fault_count) == ([["created", 2]], 3)
    assert set(Memory.objects.values_list("content", flat=True)) == {
        "The gate opens at seven.",
        "The wall is old.",
    }


def test_the_same_file_again_changes_nothing(bob: User) -> None:
    for report in ([["created", 1]], [["unchanged", 1]]):
        kept = receive_upload(person(bob), sent(text(1, "The gate opens at seven.")), RULES)
        assert kept.report == report
        begin_import(person(bob), kept.id)
    assert Memory.objects.count() == 1


def test_rights_are_those_of_the_moment_of_the_import(bob: User, ledger: Group) -> None:
    kept = receive_upload(person(bob), sent(text(1, "The gate opens at seven.")), RULES)
    set_member(operator(), ledger, user=bob, role="viewer")
    done = begin_import(person(bob), kept.id)
    assert (done.state, done.report, done.fault_count) == ("done", [], 1)
    assert "may not write" in done.faults[0][1]
    assert not Memory.objects.exists()


def test_somebody_switched_off_meanwhile_imports_nothing(bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    left_to_worker(monkeypatch)
    kept = receive_upload(person(bob), sent(text(1, "The gate opens at seven.")), RULES)
    User.objects.filter(pk=bob.pk).update(is_active=False)
    process_waiting(operator())
    kept.refresh_from_db()
    assert (kept.state, kept.error) == ("failed", "The sender's account is deactivated.")
    assert not file_of(kept).exists()


def test_who_may_write_nowhere_sends_nothing(charlie: User, bob: User, garden: Group) -> None:
    with pytest.raises(NotPermitted):
        receive_upload(person(charlie), sent(text(1, "x")), LineRules(""))
    with pytest.raises(NotPermitted):
        receive_upload(agent(bob), sent(text(1, "x")), RULES)
    with pytest.raises(GroupNotFound):
        receive_upload(person(bob), sent(text(1, "x")), LineRules("", group="garden"))
    assert not Upload.objects.exists()


def test_an_upload_is_its_persons_alone(bob: User, alice: User) -> None:
    kept = receive_upload(person(bob), sent(text(1, "x")), RULES)
    for do in (find_upload, begin_import, discard_upload):
        with pytest.raises(NotFound):
            do(person(alice), kept.id)
    assert not own_uploads(person(alice)).exists()
    assert list(own_uploads(person(bob))) == [kept]


@pytest.mark.parametrize(
    ("size", "fault", "said"), [(2049, TooLarge, "limited to"), (0, InvalidInput, "empty")]
)
def test_what_is_too_large_or_empty_is_refused(
    bob: User, settings: Settings, size: int, fault: type[Exception], said: str
) -> None:
    server = replace(settings.LOCI.server, max_upload_bytes=2048)
    settings.LOCI = replace(settings.LOCI, server=server)
    with pytest.raises(fault, match=said):
        receive_upload(person(bob), SentUpload("a.jsonl", size, iter([b"x" * size])), RULES)
    assert not Upload.objects.exists()


def test_an_export_of_loci_is_for_who_administers_everything(bob: User, alice: User, tmp_path: Path) -> None:
    store(operator(), Draft("The gate opens at seven.", group="ledger"))
    with (tmp_path / "all.jsonl").open("w", encoding="utf-8") as out:
        export(operator(), out)
    raw = (tmp_path / "all.jsonl").read_bytes()
    for user, state in ((bob, "failed"), (alice, "checked")):
        kept = receive_upload(person(user), SentUpload("all.jsonl", len(raw), [raw]), LineRules(""))
        assert kept.state == state
    assert kept.report[-1][0] == "lines already in the store"
    assert "Only an admin of the whole store may import" in Upload.objects.get(state="failed").error


def test_a_larger_file_is_the_workers_work(bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    left_to_worker(monkeypatch)
    job = next(job for job in JOBS if job.name == "import")
    assert job.is_due is not None
    assert not job.is_due()
    assert job.work(operator()) is None
    kept = receive_upload(person(bob), sent(text(1, "The gate opens at seven.")), RULES)
    assert (kept.state, job.is_due()) == ("check", True)
    assert job.work(operator()) == "1 file"
    assert (find_upload(person(bob), kept.id).state, job.is_due()) == ("checked", False)
    assert begin_import(person(bob), kept.id).state == "import"
    job.work(operator())
    assert find_upload(person(bob), kept.id).state == "done"
    assert Memory.objects.get().author_name == "bob"


def test_two_workers_do_not_take_the_same_file(bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    left_to_worker(monkeypatch)
    kept = receive_upload(person(bob), sent(text(1, "x")), RULES)
    Upload.objects.filter(pk=kept.pk).update(working_at=timezone.now())
    assert not is_waiting()
    assert not process_upload(kept)
    dead = timezone.now() - timedelta(minutes=11)
    Upload.objects.filter(pk=kept.pk).update(working_at=dead)
    assert is_waiting()
    assert process_upload(kept)


def test_what_breaks_is_told_by_a_reference_alone(
    bob: User, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("no space left")

    monkeypatch.setattr(uploads, "choose_importer", broken)
    kept = receive_upload(person(bob), sent(text(1, "x")), RULES)
    assert kept.state == "failed"
    assert kept.error.startswith("An internal error occurred.")
    assert "no space left" not in kept.error
    assert "no space left" in caplog.text
    assert kept.error.split()[-1].rstrip(".") in caplog.text


def test_a_file_is_taken_back_until_it_is_imported(bob: User) -> None:
    kept = receive_upload(person(bob), sent(text(1, "x")), RULES)
    assert discard_upload(person(bob), kept.id).state == "discarded"
    assert not file_of(kept).exists()
    for do in (begin_import, discard_upload):
        with pytest.raises(Conflict):
            do(person(bob), kept.id)


def test_only_so_many_files_wait_for_one_person(bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_WAITING", 1)
    kept = receive_upload(person(bob), sent(text(1, "x")), RULES)
    with pytest.raises(Conflict, match="already have"):
        receive_upload(person(bob), sent(text(1, "x")), RULES)
    discard_upload(person(bob), kept.id)
    assert receive_upload(person(bob), sent(text(1, "x")), RULES).state == "checked"


def test_a_file_without_a_yes_goes_after_a_day_and_its_row_after_a_month(bob: User) -> None:
    with time_machine.travel("2026-05-01 12:00:00+00:00", tick=False) as clock:
        kept = receive_upload(person(bob), sent(text(1, "x")), RULES)
        clock.shift(timedelta(hours=23))
        assert tidy_access(operator()) is None
        clock.shift(timedelta(hours=2))
        assert tidy_access(operator()) == "1 rows deleted"
        kept.refresh_from_db()
        assert (kept.state, file_of(kept).exists()) == ("discarded", False)
        clock.shift(timedelta(days=31))
        tidy_access(operator())
    assert not Upload.objects.exists()


def test_a_purge_reaches_what_was_sent(alice: User, bob: User) -> None:
    doomed = store(operator(), Draft('the "code" is 4711', group="ledger")).memory
    assert doomed is not None
    holding = receive_upload(person(bob), sent(text(1, 'So the "code" is 4711 now.')), RULES)
    other = receive_upload(person(bob), sent(text(2, "The wall is old.")), RULES)
    Upload.objects.filter(pk=other.pk).update(faults=[[3, 'no: the "code" is 4711']])
    done = purge(person(alice), doomed.id, reason="a secret")
    assert done.certificate is not None
    assert done.certificate.cleared["imports"] == 2  # the preview of one file, a reason of the other
    # After the commit, which this test's own transaction never comes to.
    cleared = outside_copies()["uploads"].clear(
        PurgedTexts((doomed.key,), (doomed.content,), (doomed.id,)), note=""
    )
    assert cleared.checked == ("files uploaded for import: 1 deleted",)
    assert (find_upload(person(bob), holding.id).state, file_of(holding).exists()) == ("failed", False)
    assert (find_upload(person(bob), other.id).state, file_of(other).exists()) == ("checked", True)
    assert "4711" not in str(find_upload(person(bob), other.id).faults)
    assert begin_import(person(bob), other.id).state == UploadState.DONE


@pytest.mark.parametrize(
    ("raw", "count"),
    [(b"", 0), (b"a", 1), (b"a\n", 1), (b"a\nb", 2), (b"\n\n", 2), (b"x" * (1 << 20) + b"\ny", 2)],
)
def test_lines_are_counted(tmp_path: Path, raw: bytes, count: int) -> None:
    (tmp_path / "file").write_bytes(raw)
    assert count_lines(tmp_path / "file") == count


@pytest.mark.parametrize(
    ("name", "kept", "ending"),
    [
        ("../../etc/passwd", "passwd", ".jsonl"),
        ("C:\\talks\\May.JSONL", "May.JSONL", ".jsonl"),
        ("notes.md", "notes.md", ".md"),
        ("a\x00b\n.j/..", "file.jsonl", ".jsonl"),
        ("x.averyveryverylongend", "x.averyveryverylongend", ".jsonl"),
    ],
)
def test_a_name_leads_nowhere_else(bob: User, home: Path, name: str, kept: str, ending: str) -> None:
    made = receive_upload(person(bob), sent(text(1, "x"), name=name), RULES)
    assert made.name == kept
    assert file_of(made) == home / "uploads" / f"{made.id}{ending}"
