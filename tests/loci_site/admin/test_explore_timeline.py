"""The timeline in the admin: positions of the bars, and what recall finds at a moment."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client

from memories.models import Memory
from tests.loci_site.admin.conftest import Remember
from tests.loci_site.admin.exploring import get

pytestmark = [pytest.mark.django_db, pytest.mark.model]
MARCH, MAY = (datetime(2026, month, 1, tzinfo=UTC) for month in (3, 5))


@pytest.fixture
def port(remember: Remember) -> tuple[Memory, Memory]:
    """A port that changed in May, and Loci learned of it today."""
    old = remember("The deploy port is 8081.", valid_from=MARCH)
    new = remember("The deploy port is 8443.", valid_from=MAY, supersedes=old.id)
    return old, new


def over_time(client: Client, *, group: str = "ledger", status: int = 200, **asked: Any) -> Any:
    return get(client, f"groups/{group}/map/", status=status, view="time", **asked)


def then(client: Client, **asked: Any) -> set[str]:
    return set(json.loads(get(client, "timeline/then/", group="ledger", **asked).content)["ids"])


def test_the_sliders_say_what_recall_gives_then(owner: Client, port: tuple[Memory, Memory]) -> None:
    old, new = (str(memory.id) for memory in port)
    assert then(owner) == {new}
    assert then(owner, as_of="2026-04-01") == {old}
    assert then(owner, as_of="2026-06-01T12:00") == {new}
    assert then(owner, as_of="2026-01-01") == set()
    assert then(owner, as_of="2026-04-01", known_at="2026-04-01") == set()
    told = json.loads(get(owner, "timeline/then/", group="ledger", words="walrus").content)
    assert told == {"ids": [], "of": 0}


def test_bars_lie_where_their_time_is(owner: Client, port: tuple[Memory, Memory]) -> None:
    picture = over_time(owner).context["picture"]
    old, new = picture.rows
    assert (old.memory.id, new.memory.id) == (port[0].id, port[1].id)
    assert old.start < new.start
    assert old.start + old.width == pytest.approx(new.start, abs=0.2)
    assert (old.is_open, new.is_open) == (False, True)
    assert new.start + new.width == pytest.approx(picture.width, abs=0.2)
    assert old.known_start == pytest.approx(picture.now_x, abs=1)  # stored today
    assert (old.is_shown, new.is_shown) == (False, True)


def test_the_timeline_is_narrowed(owner: Client, remember: Remember, port: tuple[Memory, Memory]) -> None:
    remember("Roses are cut in March.", group="garden")

    def shown(**asked: Any) -> list[str]:
        picture = over_time(owner, **asked).context["picture"]
        return [row.memory.content[:5] for row in picture.rows] if picture else []

    assert len(shown()) == 2
    assert shown(group="garden") == ["Roses"]
    assert shown(words="roses") == []
    assert shown(entity="deploy port") == ["The d", "The d"]
    assert shown(entity="port deploy") == []


def test_extreme_times_are_drawn(owner: Client, remember: Remember) -> None:
    remember("The universe began.", valid_from=datetime(1, 1, 1, tzinfo=UTC))
    remember(
        "It will end.",
        valid_from=datetime(2026, 1, 1, tzinfo=UTC),
        valid_to=datetime(9999, 12, 31, tzinfo=UTC),
    )
    rows = over_time(owner).context["picture"].rows
    assert all(0 <= row.start <= row.start + row.width <= 1006 for row in rows)


def test_rows_are_grouped_by_the_month_in_which_they_began(
    owner: Client, port: tuple[Memory, Memory]
) -> None:
    months = over_time(owner).context["picture"].months
    assert [(month, [row.memory.id for row in rows]) for month, rows in months] == [
        ("2026-03", [port[0].id]),
        ("2026-05", [port[1].id]),
    ]


@pytest.mark.parametrize(
    ("field", "value"), [("as_of", "soon"), ("known_at", "2999-01-01"), ("as_of", "99999-01-01")]
)
def test_moments_that_are_none_are_refused(owner: Client, remember: Remember, field: str, value: Any) -> None:
    remember("something")
    over_time(owner, status=422, **{field: value})
    asked = {"group": "ledger", field: value}
    assert json.loads(get(owner, "timeline/then/", status=422, **asked).content)["field"] == field
