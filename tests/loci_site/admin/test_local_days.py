"""Days of filters, moments of the explore pages and times of lists are those of the account's time zone."""

import json
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.contrib.auth.models import User
from django.db import connection
from django.template import Context, Template
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from access.admin.day_range import in_time_words
from access.groups import create_group
from access.models import AuditEntry, Preference
from access.tokens import operator
from memories.models import Memory, Thread
from tests.loci_site.admin.conftest import Remember
from tests.loci_site.admin.exploring import get, text

pytestmark = pytest.mark.django_db
SECOND = timedelta(seconds=1)
SHANGHAI, LOS_ANGELES = "Asia/Shanghai", "America/Los_Angeles"


@pytest.fixture
def shanghai(alice: User) -> None:
    Preference.objects.create(user=alice, time_zone=SHANGHAI)


def utc(*numbers: int) -> datetime:
    return datetime(*numbers, tzinfo=UTC)  # type: ignore[arg-type, misc]


@pytest.mark.parametrize(
    ("zone", "day", "first", "after"),
    [
        (SHANGHAI, "2026-05-02", utc(2026, 5, 1, 16), utc(2026, 5, 2, 16)),
        (LOS_ANGELES, "2026-03-08", utc(2026, 3, 8, 8), utc(2026, 3, 9, 7)),  # 23 hours: clocks go forward
        (LOS_ANGELES, "2026-11-01", utc(2026, 11, 1, 7), utc(2026, 11, 2, 8)),  # 25 hours: clocks go back
        ("Africa/Cairo", "2026-04-24", utc(2026, 4, 23, 22), utc(2026, 4, 24, 21)),  # there is no 00:00
    ],
)
def test_a_day_of_a_list_begins_at_local_midnight(
    owner: Client, alice: User, zone: str, day: str, first: datetime, after: datetime
) -> None:
    Preference.objects.create(user=alice, time_zone=zone)
    AuditEntry.objects.all().delete()
    moments = [first - SECOND, first, after - SECOND, after]
    for number, at in enumerate(moments, start=900):
        AuditEntry.objects.create(
            seq=number, at=at, operation="store", actor="x", via="rest", digest="d", hash="h"
        )

    def listed(**asked: str) -> list[datetime]:
        return sorted(
            row.at for row in owner.get("/admin/access/auditentry/", asked).context["cl"].result_list
        )

    assert listed(at_from=day, at_to=day) == [first, after - SECOND]
    assert len(listed(at_from=day)) == 3
    assert len(listed(at_to=day)) == 3


@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-30", "9999-12-31"])
@pytest.mark.parametrize("zone", [SHANGHAI, LOS_ANGELES])
def test_days_at_the_ends_of_the_calendar_are_no_error(
    owner: Client, alice: User, zone: str, day: str
) -> None:
    Preference.objects.create(user=alice, time_zone=zone)
    for end in ("at_from", "at_to"):
        assert owner.get("/admin/access/auditentry/", {end: day}).status_code == 200


def test_the_range_reads_the_index_of_the_column(owner: Client, shanghai: None) -> None:
    with CaptureQueriesContext(connection) as captured:
        owner.get("/admin/access/auditentry/", {"at_from": "2026-05-02", "at_to": "2026-05-02"})
    ranges = [query["sql"] for query in captured.captured_queries if '"at" >=' in query["sql"]]
    assert ranges
    # Bounds are computed before: no function stands around the column.
    assert all("2026-05-01 16:00:00" in sql and "2026-05-02 16:00:00" in sql for sql in ranges)


@pytest.mark.model
def test_moments_of_the_timeline_are_local(owner: Client, shanghai: None, remember: Remember) -> None:
    changed = utc(2026, 5, 1, 4, 30)  # 12:30 in Shanghai
    old = remember("The deploy port is 8081.", valid_from=utc(2026, 3, 1))
    new = remember("The deploy port is 8443.", valid_from=changed, supersedes=old.id)

    def then(as_of: str) -> list[str]:
        found: list[str] = json.loads(get(owner, "timeline/then/", group="ledger", as_of=as_of).content)[
            "ids"
        ]
        return found

    assert then("2026-05-01T12:29") == [str(old.id)]
    assert then("2026-05-01T12:30") == [str(new.id)]
    assert then("2026-05-01T12:30Z") == then("2026-05-01T12:30") == then("2026-05-01T12:30+08:00")
    assert then("2026-05-01T04:29Z") == [str(old.id)]
    shown = text(owner, "groups/ledger/map/", view="time", as_of="2026-05-01T04:29Z")
    assert 'data-zone="Asia/Shanghai"' in shown
    assert 'name="as_of" value="2026-05-01T12:29"' in shown
    assert 'data-at="2026-05-01T12:29:00+08:00"' in shown
    # A day alone is that day in every zone, a moment is local.
    assert "true from 2026-03-01 until 2026-05-01 12:30 CST" in shown


@pytest.mark.model
def test_a_link_to_a_question_means_the_same_in_every_zone(
    owner: Client, shanghai: None, remember: Remember
) -> None:
    old = remember("The deploy port is 8081.", valid_from=utc(2026, 3, 1))
    remember("The deploy port is 8443.", valid_from=utc(2026, 5, 1, 4, 30), supersedes=old.id)
    asked = {"q": "deploy port", "group": "ledger", "as_of": "2026-05-01T12:29"}
    answer = owner.get("/admin/ask/", asked)
    assert [place.item.memory.id for place in answer.context["places"]] == [old.id]
    assert 'name="as_of" value="2026-05-01T12:29:00+08:00"' in answer.content.decode()
    Preference.objects.update(time_zone=LOS_ANGELES)
    again = owner.get("/admin/ask/", asked | {"as_of": "2026-05-01T12:29:00+08:00"})
    assert [place.item.memory.id for place in again.context["places"]] == [old.id]
    assert 'name="as_of" value="2026-04-30T21:29:00-07:00"' in again.content.decode()


@pytest.mark.model
def test_times_of_lists_are_local_and_whole_on_hover(
    owner: Client, shanghai: None, remember: Remember
) -> None:
    remember("The gate opens.")
    Memory.objects.update(created_at=utc(2026, 5, 8, 22, 30))
    AuditEntry.objects.update(at=utc(2026, 5, 8, 22, 30))
    cell = '<time datetime="2026-05-09T06:30:00+08:00" title="2026-05-09 06:30:00 CST">'
    for page in ("memories/memory/", "access/auditentry/"):
        assert cell in owner.get(f"/admin/{page}").content.decode()
    Preference.objects.all().delete()
    assert 'title="2026-05-08 22:30:00 UTC">' in owner.get("/admin/memories/memory/").content.decode()


NOW = utc(2026, 5, 9, 14, 30)


@pytest.mark.parametrize(
    ("at", "said"),
    [
        (utc(2026, 5, 9, 14, 29, 1), "just now"),
        (utc(2026, 5, 9, 14, 30, 59), "just now"),  # of a clock that is ahead
        (utc(2026, 5, 9, 14, 29), "1 min ago"),
        (utc(2026, 5, 9, 13, 30, 1), "59 min ago"),
        (utc(2026, 5, 9, 13, 30), "1 h ago"),
        (utc(2026, 5, 9, 0, 0), "14 h ago"),
        (utc(2026, 5, 8, 23, 59), "yesterday 23:59"),
        (utc(2026, 5, 8, 0, 0), "yesterday 00:00"),
        (utc(2026, 5, 7, 23, 59), "2 days ago"),
        (utc(2026, 5, 3, 0, 0), "6 days ago"),
        (utc(2026, 5, 2, 23, 59), "May 2"),
        (utc(2025, 12, 31, 12), "2025-12-31"),
        (utc(2026, 5, 9, 18), "today 18:00"),
        (utc(2026, 5, 10, 4), "tomorrow 04:00"),
        (utc(2026, 5, 11, 4), "May 11"),
        (utc(2027, 1, 2, 4), "2027-01-02"),
    ],
)
def test_a_moment_is_said_as_people_say_it(at: datetime, said: str) -> None:
    assert in_time_words(at, NOW) == said


def test_midnight_within_the_last_hour_is_minutes_ago() -> None:
    assert in_time_words(utc(2026, 5, 8, 23, 50), utc(2026, 5, 9, 0, 10)) == "20 min ago"


def test_a_moment_has_the_exact_one_in_the_readers_zone_on_hover() -> None:
    with timezone.override(SHANGHAI), time_machine.travel(NOW, tick=False):
        shown = Template("{% load words %}{{ at|ago }}").render(Context({"at": utc(2026, 5, 8, 16, 5)}))
        assert shown == (
            '<time datetime="2026-05-09T00:05:00+08:00" title="2026-05-09 00:05:00 CST">22 h ago</time>'
        )
    assert Template("{% load words %}{{ at|ago }}").render(Context({"at": None})) == ""


@pytest.mark.parametrize(
    ("cookie", "zone"),
    [
        (SHANGHAI, "CST"),
        ("", "UTC"),
        ("Mars/Base", "UTC"),
        ("../../../etc/passwd", "UTC"),
        ("/etc/localtime", "UTC"),
        ('"><script>', "UTC"),
        ("Asia", "UTC"),  # a folder of zones
        ("x" * 3_000, "UTC"),
    ],
)
def test_without_a_preference_the_zone_is_the_browsers(owner: Client, cookie: str, zone: str) -> None:
    create_group(operator(), "atlas")
    AuditEntry.objects.update(at=utc(2026, 5, 8, 22, 30))
    owner.cookies["loci_zone"] = cookie
    page = owner.get("/admin/access/auditentry/")
    assert page.status_code == 200
    assert f' {zone}">' in page.content.decode()
    assert "<script>" not in page.content.decode()


def test_the_preference_counts_more_than_the_browser(owner: Client, shanghai: None) -> None:
    create_group(operator(), "atlas")
    AuditEntry.objects.update(at=utc(2026, 5, 8, 22, 30))
    owner.cookies["loci_zone"] = LOS_ANGELES
    assert "2026-05-09 06:30:00 CST" in owner.get("/admin/access/auditentry/").content.decode()


@pytest.mark.model
def test_days_of_the_conversations_are_local_and_whole(
    owner: Client, shanghai: None, remember: Remember
) -> None:
    moments = {"before": (1, 15, 59), "first": (1, 16, 0), "last": (2, 15, 59), "after": (2, 16, 0)}
    for thread, (day, hour, minute) in moments.items():
        remember(f"Turn {thread}.", type="episodic", thread=thread)
        Thread.objects.filter(name=thread).update(active_at=utc(2026, 5, day, hour, minute))

    def listed(**asked: str) -> int:
        return len(owner.get("/admin/conversations/", asked).context["rows"])

    assert listed() == 4
    assert listed(after="2026-05-02", before="2026-05-02") == 2
    assert listed(after="2026-05-02") == 3
    assert listed(after="2026-05-02T00:01") == 2
    assert owner.get("/admin/conversations/", {"after": "soon"}).status_code in (400, 422)
