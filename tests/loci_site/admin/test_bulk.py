"""Actions on many memories: previewed, carried out, taken back; filters of one click; the trash; the count of the Review."""

import re
from html import unescape

import pytest
from django.test import Client

from memories.models import Memory
from memories.types import Trust
from tests.guard.samples import secret_samples
from tests.loci_site.admin.conftest import Remember, page

LIST = "/admin/memories/memory/"


def act(client: Client, action: str, *rows: Memory, **fields: str) -> str:
    """The page after an action on the rows; `confirm="1"` carries it out."""
    sent = {"action": f"{action}_selected", "_selected_action": [row.pk for row in rows], **fields}
    return unescape(client.post(LIST, sent, follow=True).content.decode())


@pytest.fixture
def three(remember: Remember) -> list[Memory]:
    return [remember(text) for text in ("First fact.", "Second, quite another.", "A third thing entirely.")]


def test_the_list_offers_its_actions(owner: Client, three: list[Memory]) -> None:
    body = owner.get(LIST).content.decode()
    assert 'name="index"' in body
    assert 'value="forget_selected"' in body


def test_an_action_shows_what_it_would_do_and_does_nothing(owner: Client, three: list[Memory]) -> None:
    owner.post(page(three[2], "forget"), {"reason": ""})
    shown = act(owner, "forget", *three)
    assert "2 would be forgotten" in shown
    assert "1 would be refused, such as “A third thing entirely.”" in shown
    assert Memory.objects.filter(state="live").count() == 2


def test_an_action_counts_what_it_changed_and_names_what_it_did_not(
    owner: Client, three: list[Memory]
) -> None:
    owner.post(page(three[2], "forget"), {"reason": ""})
    shown = act(owner, "forget", *three, confirm="1")
    assert "2 of 3 memories forgotten." in shown
    assert "A third thing entirely." in shown
    assert set(Memory.objects.values_list("state", flat=True)) == {"forgotten"}


def test_the_last_action_is_taken_back(owner: Client, three: list[Memory]) -> None:
    shown = act(owner, "forget", *three, confirm="1")
    assert "Your last action: 3 forgotten." in shown
    again = owner.post(f"{LIST}undo-last/", follow=True).content.decode()
    assert "Taken back: 3 of 3." in again
    assert "Your last action" not in again
    assert Memory.objects.filter(state="live").count() == 3


@pytest.mark.parametrize(
    ("verb", "sent", "state"),
    [("retract", {"reason": "wrong"}, "retracted"), ("merge", {"other": "1", "reason": ""}, "merged")],
)
def test_a_memory_s_page_takes_back_what_was_done_there(
    owner: Client, three: list[Memory], verb: str, sent: dict[str, str], state: str
) -> None:
    memory, into, _ = three
    page = f"{LIST}{memory.id}/"
    sent = sent | ({"other": str(into.id)} if "other" in sent else {})
    shown = owner.post(f"{page}{verb}/", {**sent, "confirm": "1"}, follow=True).content.decode()
    assert f"Your last action: {state}." in shown
    assert Memory.objects.get(id=memory.id).state == state
    assert "Your last action" not in owner.get(f"{LIST}{into.id}/change/").content.decode()
    back = owner.post(f"{LIST}undo-last/", follow=True)
    assert back.redirect_chain[-1][0] == f"{page}change/"
    assert Memory.objects.get(id=memory.id).state == "live"


def test_an_edit_is_taken_back_on_the_new_version_s_page(owner: Client, three: list[Memory]) -> None:
    first = three[0]
    form = owner.get(f"{LIST}{first.id}/edit/").context["form"]
    sent = {name: form[name].value() or "" for name in form.fields} | {"content": "Quite another text."}
    shown = owner.post(f"{LIST}{first.id}/edit/", sent, follow=True).content.decode()
    assert "Your last action: edited." in shown
    owner.post(f"{LIST}undo-last/")
    assert Memory.objects.get(id=first.id).state == "live"


def test_nobody_takes_back_anothers_action(owner: Client, member: Client, three: list[Memory]) -> None:
    act(owner, "forget", *three, confirm="1")
    session = member.session
    session["last-action"] = owner.session["last-action"]
    session.save()
    member.post(f"{LIST}undo-last/")
    assert Memory.objects.filter(state="forgotten").count() == 3


@pytest.mark.parametrize(
    ("action", "before", "after"),
    [
        ("approve", {"trust": Trust.CANDIDATE}, {"trust": "active"}),
        ("reject", {"trust": Trust.CANDIDATE}, {"trust": "rejected"}),
        ("verify", {}, {"trust": "verified"}),
        ("pin", {}, {"pinned": True}),
        ("unpin", {"pinned": True}, {"pinned": False}),
        ("restore", {"state": "forgotten"}, {"state": "live"}),
        ("tag", {"tags": ["old"]}, {"tags": ["old", "ops"]}),
        ("untag", {"tags": ["old", "ops"]}, {"tags": ["old"]}),
    ],
)
def test_each_action_changes_what_it_says(
    owner: Client, remember: Remember, action: str, before: dict[str, object], after: dict[str, object]
) -> None:
    memory = remember("The quay has nine bollards.")
    Memory.objects.filter(pk=memory.pk).update(**before)
    fields = {"tags": "Ops"} if "tag" in action else {}
    assert "1 of 1 memory" in act(owner, action, memory, confirm="1", reason="looked at", **fields)
    memory.refresh_from_db()
    assert {name: getattr(memory, name) for name in after} == after


def test_a_secret_among_added_tags_is_masked(owner: Client, remember: Remember) -> None:
    memory = remember("The quay has nine bollards.")
    act(owner, "tag", memory, confirm="1", tags=secret_samples()["aws-access-key"])
    memory.refresh_from_db()
    assert [tag.partition(":")[0] for tag in memory.tags] == ["[aws-access-key"]


def test_chosen_memories_move_to_another_group_and_come_back(
    owner: Client, member: Client, three: list[Memory]
) -> None:
    assert "would be moved" not in act(owner, "move", *three), "the group is asked for first"
    shown = act(owner, "move", *three, group="garden", preview="1")
    assert "3 would be moved" in shown
    assert "keeps naming it in 3 log rows" in shown
    assert "3 of 3 memories moved." in act(owner, "move", *three, group="garden", confirm="1")
    assert set(Memory.objects.values_list("group__slug", flat=True)) == {"garden"}
    assert "Taken back: 1 of 1." in owner.post(f"{LIST}undo-last/", follow=True).content.decode()
    assert "garden" not in set(Memory.objects.values_list("group__slug", flat=True))
    act(member, "move", *three, group="garden", confirm="1")
    assert "garden" not in set(Memory.objects.values_list("group__slug", flat=True))


def test_a_missing_reason_or_tag_is_asked_for(owner: Client, three: list[Memory]) -> None:
    assert "This field is required" in act(owner, "reject", three[0], confirm="1", reason="")
    assert "This field is required" in act(owner, "tag", three[0], confirm="1", tags="")


def test_one_click_filters_and_one_removes(owner: Client, three: list[Memory]) -> None:
    Memory.objects.filter(pk=three[0].pk).update(type="procedural")

    def chips(query: str) -> dict[str, str]:
        shown = owner.get(LIST + query)
        return {chip.label: chip.url for chip in shown.context["cl"].chips if chip.is_active or not query}

    wanted = chips("")["procedural"]
    assert owner.get(LIST + wanted).context["cl"].result_count == 1
    assert chips(wanted) == {"procedural": "?"}
    assert list(chips("?group=ledger&state__exact=live")) == ["group: ledger", "state: live"]


def test_the_trash_is_in_the_settings_and_restores(owner: Client, three: list[Memory]) -> None:
    act(owner, "forget", three[0], confirm="1")
    address = re.findall(
        r'href="([^"]*state__exact=forgotten)"', owner.get("/admin/settings/").content.decode()
    )[0]
    trash = owner.get(address)
    assert [row.pk for row in trash.context["cl"].result_list] == [three[0].pk]
    assert 'value="restore_selected"' in trash.content.decode()


def test_the_sidebars_count_is_that_of_the_deck(
    owner: Client, member: Client, stranger: Client, remember: Remember, three: list[Memory]
) -> None:
    foreign = remember("Of another group.", group="garden")
    Memory.objects.filter(pk__in=[three[0].pk, foreign.pk]).update(trust="candidate")
    counted = [each.get("/admin/review/count/").json()["count"] for each in (owner, member, stranger)]
    assert counted == [2, 1, 0]
