"""Language and time zone of pages: the account's, else the browser's, else English and UTC; programs get English."""

import re
from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from access.actor import Actor, Via
from access.errors import InvalidInput
from access.models import Group, Preference
from access.sign_in.preferences import set_preference
from memories.models import Memory, RecallLog
from tests.loci_site.admin.conftest import browser_of
from tests.memories.builders import row
from tests.model import encoder
from tests.people import alice, garden, ledger

pytestmark = pytest.mark.django_db
__all__ = ["alice", "encoder", "garden", "ledger"]
GERMAN, CHINESE = {"Accept-Language": "de-AT,de;q=0.9,en;q=0.5"}, {"Accept-Language": "zh-CN,zh;q=0.9"}
AT = datetime(2026, 5, 8, 22, 30, tzinfo=UTC)
# A page, its title or heading in German and in Chinese.
PAGES = (
    ("/admin/", "Startseite", "首页"),
    ("/admin/review/", "Prüfung", "审核"),
    ("/admin/memories/memory/", "Erinnerungen", "记忆"),
    ("/admin/memories/recalllog/", "Abrufe", "召回记录"),
    ("/admin/access/apitoken/", "Tokens", "令牌"),
    ("/admin/access/auditentry/", "Audit-Log", "审计日志"),
    ("/admin/maintenance/run/", "Wartungsläufe", "维护运行"),
    ("/admin/maintenance/joblock/", "Zeitplan", "计划任务"),
    ("/admin/groups/", "Gruppen", "组"),
    ("/admin/ask/", "Fragen", "提问"),
    ("/admin/memories/memory/add/", "Neue Erinnerung", "新建记忆"),
    ("/admin/account/", "Mein Konto", "我的账户"),
)


@pytest.fixture
def browser(alice: User) -> Client:
    """Alice's browser; she is a superuser."""
    return browser_of(alice)


@pytest.mark.parametrize(("headers", "code", "at"), [(GERMAN, "de", 1), (CHINESE, "zh-hans", 2)])
def test_pages_are_in_the_language_of_the_browser(
    browser: Client, ledger: Group, headers: dict[str, str], code: str, at: int
) -> None:
    row(ledger, "The pear tree stands at the gate.")
    for page in PAGES:
        answer = browser.get(page[0], headers=headers)
        shown = answer.content.decode()
        assert answer.status_code == 200, page[0]
        assert f'<html lang="{code}"' in shown, page[0]
        assert page[at] in re.sub(r"\s+", " ", re.findall(r"<title>(.*?)</title>", shown, re.S)[0]), page[0]
        assert answer["Content-Language"] == code
        assert "Accept-Language" in answer["Vary"]
        assert f"loci/words/{code}" in shown


@pytest.mark.parametrize(
    ("path", "german"),
    [
        ("/login/", "Anmelden"),
        ("/nowhere/", "Seite nicht gefunden"),
        ("/invited/MQ/x/", "Dieser Link gilt nicht mehr"),
    ],
)
def test_visitors_see_the_language_of_their_browser(path: str, german: str) -> None:
    assert german in Client().get(path, headers=GERMAN).content.decode()


def test_the_account_counts_more_than_the_browser(browser: Client, alice: User) -> None:
    form = {"language": "de", "theme": "", "time_zone": "", "shortcuts": "on"}
    saved = browser.post("/admin/account/preferences/", form, headers=CHINESE, follow=True)
    assert "Gespeichert." in saved.content.decode()
    assert "Mein Konto" in browser.get("/admin/account/", headers=CHINESE).content.decode()
    Preference.objects.update(language="")
    assert "我的账户" in browser.get("/admin/account/", headers=CHINESE).content.decode()
    assert "My account" in browser.get("/admin/account/", headers={"Accept-Language": "sv"}).content.decode()


def test_an_unknown_language_is_refused(alice: User) -> None:
    actor = Actor(name="alice", via=Via.APP, user_id=alice.pk, is_person=True)
    with pytest.raises(InvalidInput, match="'tlh' is not a language of Loci's pages") as refusal:
        set_preference(actor, theme="", time_zone="", shortcuts=True, language="tlh")
    assert (refusal.value.field, refusal.value.hint) == ("language", "Use en, de, zh-hans or leave it empty.")


def test_programs_get_english_whoever_asks(browser: Client, alice: User) -> None:
    Preference.objects.create(user=alice, language="de", time_zone="Asia/Tokyo")
    answer = browser.get("/api/v1/memories/00000000-0000-0000-0000-000000000000", headers=GERMAN)
    assert answer.status_code in (401, 404)
    assert "Content-Language" not in answer
    assert not re.search("Erinnerung|nicht", answer.content.decode())


def test_the_language_does_not_stay_for_the_next_request(browser: Client) -> None:
    browser.get("/admin/", headers=GERMAN)
    assert 'lang="en"' in browser.get("/admin/").content.decode()


def test_the_admin_shows_times_in_the_zone_of_the_account(
    browser: Client, alice: User, ledger: Group
) -> None:
    memory = row(ledger, "The pear tree stands at the gate.", valid_from=AT)
    Memory.objects.update(created_at=AT)
    RecallLog.objects.create(
        at=AT, group=ledger, actor="alice", via="rest", query="pear", mode="hybrid", duration_ms=1
    )
    page, listed = f"/admin/memories/memory/{memory.id}/change/", "/admin/memories/recalllog/"
    assert "2026-05-08 22:30" in browser.get(page).content.decode()
    Preference.objects.create(user=alice, time_zone="Asia/Tokyo")
    shown = browser.get(page).content.decode()
    # The moment stays machine-readable, and the zone is named on hover.
    assert '<time datetime="2026-05-09T07:30:00+09:00" title="2026-05-09 07:30:00 JST">' in shown
    assert "2026-05-09 07:30" in browser.get(listed).content.decode()
    Memory.objects.update(valid_from=AT.replace(hour=0, minute=0))
    assert "<dd>2026-05-08</dd>" in browser.get(page).content.decode()  # a day of valid time is one in UTC


def test_moments_typed_in_a_form_are_of_the_zone_of_the_account(
    browser: Client, alice: User, ledger: Group
) -> None:
    Preference.objects.create(user=alice, time_zone="Asia/Tokyo")
    form = {
        "content": "The gate opens.", "group": "ledger", "type": "semantic", "valid_from": "2026-05-09T07:30",
        "importance": "5", "confidence": "0.8", "scope": "group",
    }  # fmt: skip
    answer = browser.post("/admin/memories/memory/add/", form)
    assert answer.status_code == 302, answer.content.decode()
    assert Memory.objects.get(content="The gate opens.").valid_from == AT


def test_language_and_zone_need_no_query_of_their_own(browser: Client, alice: User) -> None:
    def queries() -> list[str]:
        with CaptureQueriesContext(connection) as captured:
            browser.get("/admin/maintenance/run/")
        return [query["sql"] for query in captured.captured_queries]

    before = queries()
    Preference.objects.create(user=alice, language="de", time_zone="Asia/Tokyo")
    after = queries()
    assert len(after) == len(before)
    assert sum("access_preference" in sql for sql in after) == 1
