"""The browser's pages for merging two memories and for replacing one with another."""

from datetime import timedelta

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from memories.models import Memory
from memories.queries.labels import label_of
from tests.loci_site.admin.conftest import Remember, page
from tests.memories.builders import fresh

pytestmark = [pytest.mark.django_db, pytest.mark.model]


@pytest.fixture
def two(remember: Remember) -> tuple[Memory, Memory]:
    return remember("The office is in Berlin."), remember("Our office stands in Kreuzberg.")


def test_a_page_asks_for_the_other_memory_and_merges(owner: Client, two: tuple[Memory, Memory]) -> None:
    one, other = two
    assert "Merge into another" in owner.get(page(one)).content.decode()
    asked = owner.get(f"{page(one, 'merge')}?other={other.id}").content.decode()
    assert str(other.id) in asked
    assert fresh(one).state == "live"
    answer = owner.post(
        page(one, "merge"), {"other": str(other.id), "content": "We sit\r\nin Kreuzberg.", "reason": "x"}
    )
    assert answer.status_code == 302
    assert (fresh(one).state, Memory.objects.get(state="live").content) == ("merged", "We sit\nin Kreuzberg.")
    owner.post(page(one, "restore"), {"reason": ""})
    assert fresh(one).state == "live"


@pytest.mark.parametrize(
    ("verb", "text"), [("merge", ""), ("merge", "We sit in Kreuzberg."), ("supersede", "")]
)
def test_the_preview_shows_which_text_remains_and_no_id(
    owner: Client, two: tuple[Memory, Memory], verb: str, text: str
) -> None:
    one, other = two
    sent = {"other": str(other.id), "content": text, "reason": "", "preview": "1"}
    body = owner.post(page(one, verb), sent).content.decode()
    goes, remains = body.split("This one goes")[1].split("This one remains")
    assert one.content in goes
    assert (text or other.content) in remains
    consequences = remains.split('role="status"')[1].split("</div>")[0]
    assert f"“{other.content}”" in consequences
    assert str(other.id) not in consequences
    assert (fresh(one).state, fresh(other).content) == ("live", other.content)


def test_a_page_puts_one_in_anothers_place(owner: Client, two: tuple[Memory, Memory]) -> None:
    one, other = two
    owner.post(page(one, "supersede"), {"other": str(other.id), "reason": ""})
    assert (fresh(one).state, fresh(one).superseded_by_id) == ("superseded", other.pk)
    assert "Restore this version" in owner.get(page(one)).content.decode()
    owner.post(page(one, "restore-version"), {"reason": "it was right"})
    assert Memory.objects.filter(content=one.content, state="live").exists()


def test_a_page_moves_a_memory_to_a_group_that_one_chooses(owner: Client, two: tuple[Memory, Memory]) -> None:
    assert "Move to another group" in owner.get(page(two[0])).content.decode()
    asked = owner.post(
        page(two[0], "move"), {"other": "garden", "reason": "", "preview": "1"}
    ).content.decode()
    assert "no longer finds it" in asked or "every group finds it as before" in asked
    assert fresh(two[0]).group == two[0].group
    owner.post(page(two[0], "move"), {"other": "garden", "reason": "theirs"})
    assert fresh(two[0]).group.slug == "garden"


@pytest.mark.parametrize("verb", ["merge", "supersede"])
def test_what_does_not_fit_is_said_at_the_field(owner: Client, two: tuple[Memory, Memory], verb: str) -> None:
    for other, said in ((str(two[0].id), "lead to the same memory"), ("nonsense", "is not a memory id")):
        answer = owner.post(page(two[0], verb), {"other": other, "reason": ""}).content.decode()
        assert said in answer
    assert fresh(two[0]).state == "live"


def test_who_may_not_is_turned_away(member: Client, stranger: Client, two: tuple[Memory, Memory]) -> None:
    assert member.get(page(two[0], "merge")).status_code == 200  # he curates the group
    assert stranger.get(page(two[0], "merge")).status_code == 404
    assert stranger.post(page(two[0], "supersede"), {"other": str(two[1].id)}).status_code == 404


def test_a_compacted_event_is_retracted_itself_and_its_summary_withdrawn(
    owner: Client, two: tuple[Memory, Memory]
) -> None:
    Memory.objects.filter(pk=two[0].pk).update(summary=two[1])
    owner.post(page(two[0], "retract"), {"reason": "wrong"})
    assert (fresh(two[0]).state, fresh(two[1]).state) == ("retracted", "retracted")


def test_a_fact_whose_successor_is_dated_ahead_is_no_former_version(
    owner: Client, remember: Remember
) -> None:
    old = remember("The office is in Berlin.", valid_from=timezone.now() - timedelta(days=9))
    new = remember("The office is in Bonn.", supersedes=old.id, valid_from=timezone.now() + timedelta(days=9))
    label = label_of(fresh(old))
    assert label.startswith("counts until ")
    body = owner.get(page(old)).content.decode()
    assert label in body
    assert str(new.id) in body  # it leads to the successor
    for past in (
        "superseded</span>",
        "not the current version",
        "replaces this one",
        "Restore this version",
    ):
        assert past not in body
    for listed in ("/admin/memories/memory/", "/admin/ask/?group=ledger", page(new)):
        body = owner.get(listed).content.decode()
        assert label in body
        assert "superseded</span>" not in body
    assert new.valid_from
    with time_machine.travel(new.valid_from, tick=False):
        assert "superseded</span>" in owner.get(page(old)).content.decode()
        assert "Restore this version" in owner.get(page(old)).content.decode()
