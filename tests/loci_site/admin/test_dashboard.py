"""The dashboard: counts within the viewer's rights, charts that link to lists, no waiting in a large store."""

import json
import re
from datetime import UTC, date, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from access.models import Group
from loci_site.admin.dashboard import counts as dashboard_census
from loci_site.admin.dashboard.charts import (
    Column,
    Series,
    draw_chart,
    last_days,
    last_weeks,
    stack_slices,
    sum_by_week,
)
from loci_site.admin.dashboard.counts import current_census, take_census, visible_census
from maintenance.models import Run
from memories.lifecycle import verbs
from memories.models import Link, Memory, Piece, RecallLog
from tests.loci_site.admin.conftest import Remember
from tests.memories.builders import doubt
from tests.people import person

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)  # a Wednesday


@pytest.fixture(autouse=True)
def no_counts_of_other_tests() -> None:
    cache.clear()


def figures(client: Client, address: str = "/admin/") -> dict[str, int]:
    return {figure.label: figure.value for figure in client.get(address).context["figures"]}


def needs(client: Client) -> dict[str, int]:
    return {need.label: need.value for need in client.get("/admin/").context["needs"]}


def recalled(group: Group | None, *, at: datetime, abstained: bool = False, actor: str = "alice") -> None:
    RecallLog.objects.create(
        at=at,
        group=group,
        actor=actor,
        via="rest",
        mode="hybrid",
        query="q",
        duration_ms=1,
        abstained=abstained,
    )


def test_each_sees_the_counts_of_ones_own_groups_and_of_what_is_global(
    owner: Client, member: Client, stranger: Client, remember: Remember
) -> None:
    remember("ours")
    remember("theirs", group="garden")
    remember("for all", group="garden", scope="global")
    assert figures(owner)["Live memories"] == 3
    assert figures(member)["Live memories"] == 2
    assert figures(stranger)["Live memories"] == 1
    assert figures(owner, "/admin/?group=garden")["Live memories"] == 2
    # A group that is not one's own does not narrow, and is not named.
    answer = member.get("/admin/?group=garden")
    assert {f.label: f.value for f in answer.context["figures"]}["Live memories"] == 2
    assert "garden" not in answer.content.decode()
    assert [row["slug"] for row in answer.context["group_rows"]] == ["ledger"]


def test_counts_are_by_type_trust_state_and_group(owner: Client, alice: User, remember: Remember) -> None:
    remember("a fact")
    old = remember("an old fact")
    verbs.forget(person(alice), old.id)
    remember("a way", type="procedural", group="garden")
    context = owner.get("/admin/").context
    assert [(s.label, s.value, s.percent) for s in context["types"]] == [
        ("semantic", 1, 50.0),
        ("procedural", 1, 50.0),
    ]
    assert [(s.label, s.value) for s in context["trusts"]] == [("active", 2)]
    assert [(s.label, s.value) for s in context["states"]] == [("live", 2), ("forgotten", 1)]
    assert [(row["slug"], row["live"], row["waiting"]) for row in context["group_rows"]] == [
        ("garden", 1, 0),
        ("ledger", 1, 0),
    ]


def test_every_link_of_the_dashboard_leads_to_a_page_that_answers(
    owner: Client, remember: Remember, ledger: Group
) -> None:
    memory, other = remember("a fact"), remember("another one")
    Memory.objects.filter(pk=memory.pk).update(trust="candidate")
    Link.objects.create(kind="conflict", source=memory, target=other)
    Run.objects.create(kind="cycle", status="failed", actor="x", group=ledger)
    recalled(ledger, at=timezone.now(), abstained=True)
    body = owner.get("/admin/").content.decode()
    links = {link.replace("&amp;", "&") for link in re.findall(r'href="(/admin/[^"]*|\?[^"]*)"', body)}
    assert len(links) > 30
    for link in sorted(links):
        if "logout" not in link:
            assert owner.get(link if link.startswith("/") else f"/admin/{link}").status_code == 200, link


def test_what_needs_somebody_is_named_with_its_list(
    owner: Client, member: Client, remember: Remember, ledger: Group
) -> None:
    waiting, doubted = remember("one"), remember("two")
    Memory.objects.filter(pk=waiting.pk).update(trust="candidate")
    doubt(doubted)
    bad = remember("three", group="garden")
    Memory.objects.filter(pk=bad.pk).update(trust="quarantined")
    one, two = remember("four"), remember("five", group="garden")
    Link.objects.create(kind="conflict", source=one, target=doubted)
    Link.objects.create(kind="duplicate", source=one, target=two)
    Piece.objects.filter(memory=waiting).update(embedding=None)
    for status, group in (("failed", ledger), ("stopped", ledger), ("failed", None), ("done", ledger)):
        Run.objects.create(kind="cycle", status=status, actor="x", group=group)
    Run.objects.create(
        kind="cycle", status="failed", actor="x", started_at=timezone.now() - timedelta(days=20)
    )
    own = {"waiting for approval": 1, "disputed": 1, "open conflicts": 1, "pieces without a vector yet": 1}
    mine = needs(member)
    assert mine == own | {"failed runs": 1, "runs stopped at their cap": 1}
    alls = needs(owner)
    assert alls["quarantined"] == alls["possible duplicates"] == 1
    assert (alls["failed runs"], alls["runs stopped at their cap"]) == (2, 1)


def test_an_old_backup_is_said_to_whom_it_concerns(
    owner: Client, member: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    class Old:
        def stat(self) -> object:
            return type("Stat", (), {"st_mtime": (timezone.now() - timedelta(days=15, hours=1)).timestamp()})

    monkeypatch.setattr("loci_site.admin.dashboard.todo.backup_paths", lambda: [Old()])
    assert needs(owner)["days since the last backup"] == 15
    assert "days since the last backup" not in needs(member)
    monkeypatch.setattr("loci_site.admin.dashboard.todo.backup_paths", list)
    assert "days since the last backup" not in needs(owner)


def test_recalls_are_counted_by_day_and_by_whether_they_found_something(
    owner: Client, member: Client, ledger: Group, garden: Group
) -> None:
    now = timezone.now()
    recalled(ledger, at=now)
    recalled(ledger, at=now, abstained=True)
    recalled(garden, at=now - timedelta(days=3))
    recalled(None, at=now)
    recalled(ledger, at=now - timedelta(days=31))
    chart = owner.get("/admin/").context["charts"][1]
    assert [part.value for part in chart.bars[-1].parts] == [2, 1]
    assert [part.value for part in chart.bars[-4].parts] == [1, 0]
    assert "4; 25% of them found nothing" in chart.summary
    assert f"at_from={now:%Y-%m-%d}" in chart.bars[-1].link
    mine = member.get("/admin/").context["charts"][1]
    assert [part.value for part in mine.bars[-1].parts] == [1, 1]
    assert sum(sum(bar.values) for bar in mine.bars) == 2


def test_what_maintenance_did_is_summed_by_week(
    owner: Client, member: Client, ledger: Group, garden: Group
) -> None:
    now = timezone.now()
    Run.objects.create(
        kind="cycle",
        status="done",
        actor="x",
        group=ledger,
        counts={"expired": 2, "forgotten": 1, "decayed": 9},
    )
    Run.objects.create(
        kind="cycle", status="done", actor="x", group=garden, counts={"promoted": 4, "conflicts_found": 5}
    )
    Run.objects.create(
        kind="cycle", status="done", actor="x", group=ledger, counts={"expired": 7}, dry_run=True
    )
    Run.objects.create(
        kind="cycle",
        status="done",
        actor="x",
        group=ledger,
        counts={"compacted": 3},
        started_at=now - timedelta(weeks=1),
    )
    chart = owner.get("/admin/").context["cycle"]
    assert [bar.values for bar in chart.bars[-2:]] == [(3, 0, 0), (3, 4, 5)]
    assert [bar.values for bar in member.get("/admin/").context["cycle"].bars[-2:]] == [(3, 0, 0), (3, 0, 0)]
    assert [bar.values for bar in owner.get("/admin/?group=garden").context["cycle"].bars[-1:]] == [(0, 4, 5)]


def test_charts_are_told_and_have_a_table(owner: Client, remember: Remember) -> None:
    remember("a fact")
    body = owner.get("/admin/").content.decode()
    chart = body.split('<svg class="loci-chart"', 1)[1].split("</section>", 1)[0]
    assert "<title id=" in chart
    assert "<desc id=" in chart
    assert "this week: 1." in chart
    assert "<table>" in chart
    assert "<caption" in chart
    assert "<script>" not in body.split('class="loci-page"', 1)[1]


def test_health_says_what_health_says(owner: Client) -> None:
    told = {name: ok for name, ok, _ in owner.get("/admin/").context["health"]}
    checks = json.loads(owner.get("/health").content)["checks"]
    assert told == {name: checks[name]["ok"] for name in told}
    assert {"database", "indexes", "model", "worker", "schedule", "disk"} == set(told)


def test_no_row_more_is_asked_for_when_there_are_more(owner: Client, remember: Remember, alice: User) -> None:
    def queries() -> int:
        owner.get("/admin/")
        with CaptureQueriesContext(connection) as seen:
            owner.get("/admin/")
        return len(seen)

    remember("a fact")
    few = queries()
    for number in range(30):
        remember(f"event {number}", type="episodic", group="ledger" if number % 2 else "garden")
    assert queries() == few


# A large store


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Treat every store as large, and collect the background counts instead of running them."""
    begun: list[object] = []
    monkeypatch.setattr(dashboard_census, "SMALL_STORE", -1)
    monkeypatch.setattr(dashboard_census.COUNTER, "start", begun.append)
    monkeypatch.setattr(dashboard_census.COUNTER, "wait", lambda seconds: None)
    return begun


def test_a_large_store_is_counted_beside_the_page(
    owner: Client, remember: Remember, large: list[object]
) -> None:
    remember("a fact")
    with CaptureQueriesContext(connection) as seen:
        answer = owner.get("/admin/")
    assert "Counting the memories" in answer.content.decode()
    assert "a fact" in answer.content.decode()  # the last writes need no counting
    assert not [q["sql"] for q in seen if 'COUNT("memories_memory"' in q["sql"]]
    [work] = large
    work()  # type: ignore[operator]
    assert figures(owner)["Live memories"] == 1
    assert len(large) == 1


def test_kept_counts_are_shown_until_they_are_old(
    owner: Client, remember: Remember, large: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    remember("a fact")
    cache.set(dashboard_census.CACHE_KEY, take_census(), timeout=None)
    remember("another fact")
    assert figures(owner)["Live memories"] == 1
    assert large == []
    later = timezone.now() + timedelta(seconds=31)
    monkeypatch.setattr("django.utils.timezone.now", lambda: later)
    assert figures(owner)["Live memories"] == 1
    [work] = large
    work()  # type: ignore[operator]
    assert figures(owner)["Live memories"] == 2


def test_counts_that_took_long_are_kept_longer() -> None:
    census = take_census()
    vars(census)["took_s"] = 10.0
    vars(census)["taken_at"] = timezone.now() - timedelta(seconds=150)
    assert not census.is_old
    vars(census)["taken_at"] = timezone.now() - timedelta(seconds=201)
    assert census.is_old


@pytest.mark.django_db(transaction=True)
def test_the_thread_counts_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dashboard_census, "SMALL_STORE", -1)
    current_census()
    dashboard_census.COUNTER.wait(20)
    kept = cache.get(dashboard_census.CACHE_KEY)
    assert kept is not None
    assert kept.cells == ()


def test_the_census_agrees_with_the_rows(
    alice: User, bob: User, ledger: Group, garden: Group, remember: Remember
) -> None:
    remember("a", group="garden", scope="global")
    remember("b", group="garden")
    remember("c")
    for user, chosen, expected in ((alice, None, 3), (bob, None, 2), (alice, garden, 2), (bob, ledger, 1)):
        seen = visible_census(take_census(), person(user), group=chosen.key if chosen else None)
        assert seen.sum(state="live") == expected
        assert sum(seen.stored().values()) == expected


# Charts


def test_bars_stand_on_each_other_and_fit_the_scale() -> None:
    columns = [Column("1 May", "/a"), Column("2 May", "/b")]
    chart = draw_chart(
        "x",
        "X",
        [Series("good", "tone", [3, 0]), Series("bad", "amber", [1, 0])],
        columns,
        summary="s",
        link="/l",
    )
    [first, second] = chart.bars
    assert first.description == "1 May: 3 good, 1 bad"
    lower, upper = first.parts
    assert lower.y + lower.height == pytest.approx(chart.floor)
    assert upper.y + upper.height == pytest.approx(lower.y)
    assert upper.y == pytest.approx(8)  # four of four: up to the top
    assert lower.height == pytest.approx(3 * upper.height, abs=0.2)
    assert [part.height for part in second.parts] == [0, 0]
    assert [mark.text for mark in chart.scale] == ["0", "2", "4"]
    assert not chart.is_empty


@pytest.mark.parametrize(
    ("most", "top"),
    [(0, "4"), (5, "6"), (11, "20"), (99, "100"), (12_345, "20k"), (3_000_000, "4M"), (100, "100")],
)
def test_the_scale_ends_at_a_round_number(most: int, top: str) -> None:
    chart = draw_chart("x", "X", [Series("n", "tone", [most])], [Column("d", "/")], summary="", link="/")
    assert chart.scale[-1].text == top
    assert chart.is_empty == (most == 0)


def test_weeks_begin_on_monday() -> None:
    today = NOW.date()
    assert last_weeks(today, 2) == [date(2026, 11, 9), date(2026, 11, 16)]
    assert last_days(today, 2) == [date(2026, 11, 17), date(2026, 11, 18)]
    by_day = {date(2026, 11, 8): 1, date(2026, 11, 9): 2, date(2026, 11, 15): 3, date(2026, 11, 16): 4}
    assert sum_by_week(by_day, last_weeks(today, 2)) == [5, 4]


def test_slices_follow_each_other() -> None:
    assert [(s.name, s.start, s.width) for s in stack_slices({"a": 1, "b": 2}, whole=4)] == [
        ("a", 0, 25),
        ("b", 25, 50),
    ]
    assert stack_slices({}, whole=0) == ()
