"""An export holds what its caller may see, as it stood at one moment."""

import json
import os
from io import StringIO
from pathlib import Path
from threading import Thread as Worker
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection

from access.actor import Actor
from access.audit.verify import verify_log
from access.errors import GroupNotFound, NotPermitted
from access.models import AuditEntry, Group
from access.tokens import operator
from memories.draft import Draft
from memories.models import Memory
from memories.store import store
from sources.exporting import ExportReport, export
from sources.exporting.atomic_file import replace_file
from tests.people import agent, person


def exported(actor: Actor, **options: Any) -> tuple[ExportReport, list[dict[str, Any]]]:
    """The report and the lines."""
    out = StringIO()
    report = export(actor, out, **options)
    return report, [json.loads(line) for line in out.getvalue().splitlines()]


def texts(lines: list[dict[str, Any]]) -> list[str]:
    return [line["row"]["content"] for line in lines if line["kind"] == "memory"]


@pytest.fixture
def filled(alice: User, ledger: Group, garden: Group) -> None:
    store(person(alice), Draft("The port is 8081.", group="ledger", scope="group"))
    store(person(alice), Draft("Roses need lime.", group="garden", scope="group"))
    store(person(alice), Draft("Water is wet.", group="garden"))


@pytest.mark.django_db
@pytest.mark.usefixtures("filled")
def test_the_first_line_says_what_it_is_and_the_last_what_was_written() -> None:
    report, lines = exported(operator())
    first, last = lines[0], lines[-1]
    assert (first["format"], first["version"], first["origin"]) == ("loci-export", 2, report.origin)
    heads = {chain.chain: {"seq": chain.rows, "hash": chain.head} for chain in verify_log()}
    del heads["instance"]  # the export itself is logged there afterwards
    assert first["heads"] == heads
    assert last == {"kind": "end", "counts": {"group": 2, "memory": 3, "log": 6}}
    assert report.counts == last["counts"]
    assert (report.groups, report.has_log) == (("garden", "ledger"), True)


@pytest.mark.django_db
@pytest.mark.usefixtures("filled")
def test_an_export_is_logged_and_the_store_keeps_its_id() -> None:
    first, _ = exported(operator())
    second, _ = exported(operator())
    assert first.origin == second.origin
    assert second.counts["log"] == first.counts["log"] + 2  # the first export, and the link of its row
    assert AuditEntry.objects.filter(operation="export").count() == 2


@pytest.mark.django_db
@pytest.mark.usefixtures("filled")
def test_one_group_goes_without_the_log_and_without_the_others() -> None:
    report, lines = exported(operator(), groups=["ledger"])
    assert texts(lines) == ["The port is 8081."]
    assert {line["kind"] for line in lines} == {"header", "group", "memory", "end"}
    assert not report.has_log


@pytest.mark.django_db
@pytest.mark.usefixtures("filled")
def test_a_member_exports_own_groups_alone(bob: User) -> None:
    report, lines = exported(agent(bob))
    assert (report.groups, texts(lines), report.has_log) == (("ledger",), ["The port is 8081."], False)
    with pytest.raises(GroupNotFound, match="garden"):
        exported(agent(bob), groups=["garden"])


@pytest.mark.django_db
@pytest.mark.usefixtures("filled")
def test_whoever_may_not_read_exports_nothing(bob: User) -> None:
    with pytest.raises(NotPermitted):
        exported(agent(bob, scopes=["write"]))


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("filled")
def test_what_is_written_meanwhile_waits_for_nothing_and_stays_out() -> None:
    def write() -> None:
        store(operator(), Draft("Too late.", group="ledger"))
        connection.close()

    def meanwhile(_: int) -> None:
        if not Memory.objects.filter(content="Too late.").exists() and not workers:
            workers.append(Worker(target=write))
            workers[0].start()
            workers[0].join(30)

    workers: list[Worker] = []
    _, lines = exported(operator(), on_progress=meanwhile)
    assert Memory.objects.filter(content="Too late.").exists()
    assert "Too late." not in texts(lines)
    assert len(texts(lines)) == 3


@pytest.mark.django_db
@pytest.mark.usefixtures("filled")
def test_the_command_writes_a_file_for_its_owner_alone(tmp_path: Path) -> None:
    file, out = tmp_path / "all.jsonl", StringIO()
    call_command("export", str(file), "--json", stdout=out)
    assert file.stat().st_mode & 0o777 == 0o600
    assert json.loads(out.getvalue())["counts"]["memory"] == 3
    assert len(file.read_text().splitlines()) == 1 + 2 + 3 + 6 + 1


@pytest.mark.django_db
@pytest.mark.usefixtures("filled")
def test_a_file_that_is_there_is_overwritten_only_when_asked_to(tmp_path: Path) -> None:
    file, out = tmp_path / "all.jsonl", StringIO()
    file.write_text("mine")
    with pytest.raises(CommandError, match=r"all\.jsonl already exists\. .* with --overwrite\."):
        call_command("export", str(file), "--json", stdout=out)
    assert file.read_text() == "mine"
    assert json.loads(out.getvalue())["code"] == "conflict"
    assert not AuditEntry.objects.filter(operation="export").exists()
    call_command("export", str(file), "--overwrite", stdout=StringIO())
    assert json.loads(file.read_text().splitlines()[0])["kind"] == "header"


@pytest.mark.django_db
@pytest.mark.usefixtures("filled")
def test_without_a_file_the_lines_go_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("export", "--group", "ledger")
    captured = capsys.readouterr()
    assert [json.loads(line)["kind"] for line in captured.out.splitlines()] == [
        "header",
        "group",
        "memory",
        "end",
    ]
    assert "Exported 1 group, 1 memory of 1 group." in captured.err


@pytest.mark.django_db
@pytest.mark.usefixtures("filled")
def test_an_unknown_group_writes_no_file(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="There is no group 'ledgre'"):
        call_command("export", str(tmp_path / "x.jsonl"), "--group", "ledgre")
    assert list(tmp_path.iterdir()) == []


def test_a_file_keeps_its_old_content_when_writing_fails(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text("old")

    def fail() -> None:
        with replace_file(file) as out:
            out.write("new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert (file.read_text(), [p.name for p in tmp_path.iterdir()]) == ("old", ["x"])


def test_a_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with replace_file(pipe) as file:
            file.write("one line\n")
        assert os.read(reader, 100) == b"one line\n"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
