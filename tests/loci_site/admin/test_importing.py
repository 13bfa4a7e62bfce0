"""Importing a file in the browser: preview, confirmation, result."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django import Settings

from access.models import Group
from access.tokens import operator
from memories.models import Memory
from sources import uploads
from sources.importing import NAMES
from sources.models import Upload
from sources.uploads import process_waiting
from tests.sources.importing.samples import DATA

pytestmark = [pytest.mark.django_db, pytest.mark.model]
LIST = "/admin/sources/upload/"
NEW = f"{LIST}add/"


@pytest.fixture(autouse=True)
def no_files_stay(home: Path) -> Iterator[None]:
    yield
    for path in (home / "uploads").glob("*"):
        path.unlink()


def file(*lines: Any, name: str = "notes.jsonl") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, "\n".join(json.dumps(line) for line in lines).encode())


def fields(sent: SimpleUploadedFile, **more: Any) -> dict[str, Any]:
    return {"file": sent, "group": "ledger", "type": "", "scope": "group", "source": ""} | more


def send(client: Client, *lines: Any, **more: Any) -> Any:
    """Upload a file; the page it redirects to."""
    return client.post(NEW, fields(file(*lines), **more), follow=True)


def two() -> list[dict[str, Any]]:
    return [{"id": 1, "text": "The gate opens at seven."}, {"id": 2, "text": "", "timestamp": "x"}]


def test_the_list_of_memories_leads_to_the_import_for_who_may_write(member: Client, stranger: Client) -> None:
    assert f'href="{NEW}"' in member.get("/admin/memories/memory/").content.decode()
    assert NEW not in stranger.get("/admin/memories/memory/").content.decode()
    assert stranger.get(NEW).status_code == 403
    assert stranger.post(NEW, fields(file({"id": 1}))).status_code == 403


def test_a_preview_counts_and_names_the_lines_at_fault_and_stores_nothing(member: Client) -> None:
    page = send(member, *two())
    body = page.content.decode()
    assert page.redirect_chain[0][0] == f"{LIST}{Upload.objects.get().id}/change/"
    for said in ("What would be imported", "Import 1 line<", "Lines that would be skipped", "missing"):
        assert said in body, said
    assert '<th scope="row">2</th>' in body
    assert not Memory.objects.exists()


def test_the_button_imports_and_the_page_says_what_became_of_it(member: Client) -> None:
    send(member, *two())
    address = f"{LIST}{Upload.objects.get().id}/change/"
    page = member.post(address, {"do": "import"}, follow=True)
    body = page.content.decode()
    for said in ("Imported", "Created</dt><dd>1", "Skipped</dt><dd>1", "Skipped lines"):
        assert said in body, said
    assert "?group=ledger" in body
    assert Memory.objects.get().author_name == "bob"
    listed = member.get(LIST).content.decode()
    assert "1 created" in listed
    assert "1 angelegt" in member.get(LIST, headers={"accept-language": "de"}).content.decode()
    again = member.post(address, {"do": "import"}, follow=True)
    assert "is not waiting for confirmation" in again.content.decode()
    assert member.post(address, {"do": "fly"}).status_code == 404


def test_a_file_is_discarded(member: Client) -> None:
    send(member, *two())
    address = f"{LIST}{Upload.objects.get().id}/change/"
    page = member.post(address, {"do": "discard"}, follow=True)
    assert "Discarded before import" in page.content.decode()
    assert not Memory.objects.exists()


def test_while_a_worker_is_at_it_the_page_says_how_far(
    member: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "AT_ONCE_BYTES", 0)
    body = send(member, *two()).content.decode()
    assert "data-busy" in body
    assert "Starts within a few seconds" in body
    process_waiting(operator())
    body = member.get(f"{LIST}{Upload.objects.get().id}/change/").content.decode()
    assert "data-busy" not in body
    assert "Import 1 line<" in body


def test_what_cannot_be_taken_is_said_at_its_field(member: Client, settings: Settings) -> None:
    server = replace(settings.LOCI.server, max_upload_bytes=1024)
    settings.LOCI = replace(settings.LOCI, server=server)
    large = member.post(NEW, fields(SimpleUploadedFile("a.jsonl", b"x" * 1025)))
    assert large.status_code == 422
    assert "uploads are limited to" in large.content.decode()
    assert (
        "The file is empty" in member.post(NEW, fields(SimpleUploadedFile("a.jsonl", b""))).content.decode()
    )
    nothing = member.post(NEW, {"group": "ledger", "scope": "group"})
    assert "This field is required" in nothing.content.decode()
    foreign = member.post(NEW, fields(file({"id": 1}), group="garden"))
    assert "garden is not one of the available choices" in foreign.content.decode()
    assert not Upload.objects.exists()


def test_nobody_else_sees_an_import(member: Client, owner: Client, garden: Group, bob: User) -> None:
    send(member, *two())
    made = Upload.objects.get()
    assert (made.user, "notes.jsonl" in owner.get(LIST).content.decode()) == (bob, False)
    address = f"{LIST}{made.id}/change/"
    assert [owner.get(address).status_code, owner.post(address, {"do": "import"}).status_code] == [404, 404]
    assert owner.get(f"{LIST}nothing/change/").status_code == 404
    assert member.put(address).status_code == 405


def test_the_form_names_format_and_what_waits_and_the_page_undoes(member: Client) -> None:
    foreign = SimpleUploadedFile("mem0.json", (DATA / "mem0.json").read_bytes())
    member.post(NEW, fields(foreign, format="mem0", waiting="live"))
    upload = Upload.objects.get()
    assert (upload.recognised, upload.waiting, upload.report) == ("mem0", "live", [["created", 2]])
    page = f"{LIST}{upload.id}/change/"
    preview = member.get(page).content.decode()
    for said in ("Allergic to peanuts", "Import 2 records", '<th scope="col">Record</th>'):
        assert said in preview, said
    member.post(page, {"do": "import"})
    assert Memory.objects.filter(state="live", trust="active").count() == 2
    assert "Undo this import" in member.get(page).content.decode()
    member.post(page, {"do": "undo"})
    assert "Taken back" in member.get(page).content.decode()
    assert not Memory.objects.filter(state="live").exists()


def test_each_format_has_a_tile_with_a_sample(member: Client) -> None:
    shown = member.get("/admin/sources/upload/add/").content.decode()
    tiles = re.findall(
        r"<summary><strong>([\w-]+)</strong>.*?<pre class=\"loci-code\">(.+?)</pre>", shown, re.S
    )
    assert [name for name, _ in tiles] == list(NAMES)
