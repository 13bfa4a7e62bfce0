"""What is behind a summary is behind it again after an export and an import."""

import json
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from access.models import Group
from access.tokens import operator
from maintenance.cycle import RunPlan, run_cycle
from maintenance.cycle.compaction import Compact
from memories.browse.listing import ListFilter, list_memories
from memories.lifecycle.verbs import restore
from memories.models import LinkKind, Memory
from memories.review.stats import memory_stats
from sources.exporting import export
from sources.importing.formats.exports import restore_export
from tests.maintenance.events import DEPLOYS, MONDAY, TOMATOES, drive, happen, turn_of
from tests.sources.importing.test_exports import Lines, clear

pytestmark = [pytest.mark.django_db, pytest.mark.model]
WEEK = timedelta(weeks=1)
LATER = MONDAY + timedelta(days=365 + 23)


@pytest.fixture
def lines(ledger: Group) -> Lines:
    """An export of two weeks behind their month, of a later week whose events wait for theirs, and of a young event."""
    for week, texts in enumerate((TOMATOES, DEPLOYS)):
        happen(texts, start=MONDAY + week * WEEK)
    happen([f"{text} again" for text in TOMATOES], start=LATER - 6 * WEEK)
    happen(["The greenhouse got a new door."], start=LATER - WEEK)
    drive(Compact(), turn_of(ledger, now=LATER))
    assert Memory.objects.exclude(summary=None).count() == 12
    return exported()


def exported() -> Lines:
    out = StringIO()
    export(operator(), out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


@pytest.fixture
def take(tmp_path: Path) -> Callable[[Lines], None]:
    def take(lines: Lines) -> None:
        file = tmp_path / "in.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        assert restore_export(operator(), file).faults == ()

    return take


Take = Callable[[Lines], None]


def listed(summary: str = "") -> list[str]:
    page = list_memories(operator(), ListFilter(group="ledger", summary=summary), limit=100)
    return [str(row.id) for row in page.rows]


def shown() -> dict[str, Any]:
    """The lists, in front and behind each summary, and the counts."""
    summaries = map(str, Memory.objects.filter(source="loci:compact").values_list("id", flat=True))
    return {"": listed(), "counts": memory_stats(operator(), group="ledger")} | {
        id_: listed(id_) for id_ in summaries
    }


def rows(lines: Lines) -> Lines:
    return [line for line in lines if line["kind"] not in ("header", "log", "end")]


def test_lists_counts_and_the_file_are_the_same(lines: Lines, take: Take) -> None:
    before = shown()
    clear()
    take(lines)
    assert shown() == before
    assert rows(exported()) == rows(lines)
    take(lines)
    assert shown() == before
    group = Group.objects.get(slug="ledger")
    assert drive(Compact(), turn_of(group, now=LATER))[0] == {}


def test_without_its_summary_an_event_is_listed_by_itself(lines: Lines, take: Take) -> None:
    gone = str(Memory.objects.filter(source="loci:compact").exclude(summary=None).earliest("key").id)
    behind = set(listed(gone))
    clear()
    ends = ("id", "source", "target")
    take([line for line in lines if gone not in (line.get("row", {}).get(name) for name in ends)])
    assert behind <= set(listed())
    assert Memory.objects.exclude(summary=None).count() == 12 - len(behind) - 1


@pytest.mark.parametrize(
    "change",
    [
        {"trust": "candidate"},
        {"source": "chat"},
        {"state": "retracted", "retired_at": "2026-05-01T12:00:00+00:00"},
    ],
)
def test_what_does_not_stand_here_has_nothing_behind_it(
    lines: Lines, take: Take, change: dict[str, str]
) -> None:
    clear()
    for line in lines:
        if line["kind"] == "memory" and line["row"]["source"] == "loci:compact":
            line["row"] |= change
    take(lines)
    assert not Memory.objects.exclude(summary=None).exists()


def test_a_summary_that_does_not_name_the_event_does_not_hide_it(lines: Lines, take: Take) -> None:
    clear()
    take([line for line in lines if line["kind"] != "link" or line["row"]["kind"] != LinkKind.DERIVED])
    assert not Memory.objects.exclude(summary=None).exists()


def test_an_export_without_the_column_comes_in_and_the_cycle_does_the_rest(lines: Lines, take: Take) -> None:
    events = Memory.objects.exclude(summary=None).exclude(source="loci:compact")
    before = {str(event.id): event.confidence for event in events}
    clear()
    for line in lines:
        if line["kind"] == "memory":
            del line["row"]["summary"]
    take(lines)
    assert before.keys() <= {*listed()}
    run_cycle(operator(), RunPlan(now=LATER))
    assert {str(event.id): event.confidence for event in events.all()} == before


def test_what_was_restored_from_a_summary_here_stays_in_front(lines: Lines, take: Take) -> None:
    event = Memory.objects.exclude(summary=None).exclude(source="loci:compact").earliest("key")
    restore(operator(), event.id)
    without_links = [line for line in lines if line["kind"] != "link"]  # the one that was dismissed differs
    take(without_links)
    assert str(event.id) in listed()
