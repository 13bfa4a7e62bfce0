"""Lists stay fast and correct with many rows."""

import csv
import io
import json
from datetime import UTC, datetime

import pytest
from django.test import Client

from access.models import AuditEntry
from loci_site.admin.explore import export_list as carrying
from tests.loci_site.admin.conftest import Remember

pytestmark = pytest.mark.django_db


def logged(client: Client, **asked: str) -> int:
    answer = client.get("/admin/access/auditentry/", asked)
    assert answer.status_code == 200
    return len(answer.context["cl"].result_list)


@pytest.mark.parametrize(
    ("asked", "count"),
    [
        ({"at_from": "2026-05-02", "at_to": "2026-05-02"}, 2),
        ({"at_from": "2026-05-02"}, 3),
        ({"at_to": "2026-05-01"}, 1),
        ({"at_from": "2026-05-04"}, 0),
        ({"at_from": "soon", "at_to": "2026-05-02"}, 0),
        ({"at_to": "9999-12-31"}, 4),
    ],
)
def test_days_of_a_list_are_whole(
    owner: Client, remember: Remember, asked: dict[str, str], count: int
) -> None:
    AuditEntry.objects.all().delete()
    times = [(1, 23, 59), (2, 0, 0), (2, 23, 59), (3, 0, 0)]
    for number, (day, hour, minute) in enumerate(times, start=900):
        at = datetime(2026, 5, day, hour, minute, tzinfo=UTC)
        AuditEntry.objects.create(
            seq=number, at=at, operation="store", actor="x", via="rest", digest="d", hash="h"
        )
    assert logged(owner, **asked) == count


def test_an_invalid_day_is_named(owner: Client) -> None:
    AuditEntry.objects.create(
        seq=900,
        at=datetime(2026, 5, 2, tzinfo=UTC),
        operation="store",
        actor="x",
        via="rest",
        digest="d",
        hash="h",
    )
    page = owner.get("/admin/access/auditentry/", {"at_from": "gestern", "at_to": "2026-13-01"})
    told = [str(message) for message in page.context["messages"]]
    assert told == [f"“{day}” is not a date. Write it like 2026-11-23." for day in ("gestern", "2026-13-01")]


def exported(client: Client, form: str, **asked: str) -> str:
    answer = client.get(f"/admin/export/{form}/", asked)
    assert answer.status_code == 200, answer.content[:300]
    assert answer.headers["Content-Disposition"].startswith("attachment; filename=")
    return answer.content.decode()


def test_the_filtered_list_goes_out_as_lines(
    owner: Client, member: Client, stranger: Client, remember: Remember
) -> None:
    remember("Ours.", tags=("a",))
    remember("A way of ours.", type="procedural")
    remember("Theirs.", group="garden")
    assert len(exported(owner, "jsonl").splitlines()) == 3
    [line] = exported(owner, "jsonl", type__exact="procedural").splitlines()
    assert json.loads(line)["content"] == "A way of ours."
    mine = [json.loads(line) for line in exported(member, "jsonl").splitlines()]
    assert {row["content"] for row in mine} == {"Ours.", "A way of ours."}
    assert exported(member, "jsonl", group="garden") == exported(stranger, "jsonl") == ""


def test_the_list_goes_out_as_csv_without_formulas(owner: Client, remember: Remember) -> None:
    remember('=HYPERLINK("http://x"), "quoted"\nand a line', tags=("a", "b"))
    [row] = csv.DictReader(io.StringIO(exported(owner, "csv"), newline=""))
    assert row["content"] == '\'=HYPERLINK("http://x"), "quoted"\nand a line'
    assert json.loads(row["tags"]) == ["a", "b"]
    assert (row["group"], row["thread"]) == ("ledger", "")
    remember("\uff1dSUM(A1) is typed in full width.")
    assert "'\uff1dSUM(A1)" in exported(owner, "csv")


def test_an_export_of_the_list_is_logged_without_the_words_searched_for(
    owner: Client, remember: Remember
) -> None:
    remember("A secret pear.")
    exported(owner, "csv", q="secret", state__exact="live")
    entry = AuditEntry.objects.select_related("payload_row").get(operation="export")
    assert entry.actor == "alice"
    said = entry.payload_row.payload
    assert (said["counts"], said["filters"], said["as"]) == ({"memory": 1}, {"state__exact": "live"}, "csv")


def test_too_much_and_unknown_forms_are_refused(
    owner: Client, remember: Remember, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember("one")
    remember("two")
    monkeypatch.setattr(carrying, "MAX_ROWS", 1)
    answer = owner.get("/admin/export/csv/")
    assert answer.status_code == 422
    assert "more than 1 memories" in answer.content.decode()
    assert len(exported(owner, "jsonl", q="one").splitlines()) == 1
    assert owner.get("/admin/export/exe/").status_code == 422
    assert owner.get("/admin/export/csv/", {"pinned__exact": "maybe"}).status_code == 422
    assert owner.get("/admin/export/csv/", {"group__members": "1"}).status_code == 422
    assert AuditEntry.objects.filter(operation="export").count() == 1


def test_the_list_offers_itself_as_a_file_with_its_filters(owner: Client, remember: Remember) -> None:
    remember("one")
    body = owner.get("/admin/memories/memory/?type__exact=semantic").content.decode()
    assert "/admin/export/csv/?type__exact=semantic" in body
