"""Ask: the answer as an agent gets it, with the place and the reason of each memory, in one group or in all."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from access.groups.members import set_member
from access.models import Group
from access.tokens import operator
from memories.lifecycle import verbs
from memories.models import RecallLog
from memories.recall_log import COUNTER
from tests.loci_site.admin.conftest import Remember, browser_of
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
MARCH, MAY = (datetime(2026, month, 1, tzinfo=UTC) for month in (3, 5))


def ask(client: Client, question: str, *, status: int = 200, **options: Any) -> Any:
    answer = client.get("/admin/ask/", {"q": question, **options})
    assert answer.status_code == status, answer.content[:300]
    return answer


def test_each_answer_has_its_place_its_reason_and_its_numbers(owner: Client, remember: Remember) -> None:
    first = remember("The deploy port is 8081.")
    remember("Tomatoes want sun and warm nights.")
    answer = ask(owner, "which port do we deploy to", group="ledger")
    place = answer.context["places"][0]
    assert place.item.memory.id == first.id
    assert place.why.startswith("found by words (place 1); by meaning (place 1)")
    assert place.item.numbers["keyword_rank"] == place.item.numbers["vector_rank"] == 1
    names = [name for name, _ in answer.context["steps"]]
    assert names[0] == "Parsed question"
    assert "Is anything relevant?" in names
    body = answer.content.decode()
    assert "Loci is sure that this answers it." in body
    assert body.index("The deploy port is 8081.") < body.index("answer-numbers")  # numbers are folded


def test_what_was_cut_is_said(owner: Client, remember: Remember) -> None:
    remember("The deploy port is 8081 and this is why it must be so: " + "reasons and more reasons, " * 30)
    cut = remember("The deploy port of the shadow is 8082, " + "as was said before, " * 30)
    context = ask(owner, "deploy port", group="ledger", budget="160").context
    reasons = {dropped.memory.id: dropped.why for dropped in context["dropped"]}
    shown = {place.item.memory.id for place in context["places"]}
    assert len(shown) == 1
    assert list(reasons.values()) == ["the token budget of 160"]
    assert shown | set(reasons) >= {cut.id}
    one = ask(owner, "deploy port", group="ledger", results="1").context
    assert [dropped.why for dropped in one["dropped"]] == ["beyond the first 1"]


def test_a_question_about_the_past_is_answered_from_then(owner: Client, remember: Remember) -> None:
    old = remember("The deploy port is 8081.", valid_from=MARCH)
    remember("The deploy port is 8443.", valid_from=MAY, supersedes=old.id)
    now = ask(owner, "deploy port", group="ledger").context
    assert [place.item.memory.content for place in now["places"]] == ["The deploy port is 8443."]
    assert now["start"] < MAY  # the slider reaches what the answer had before
    then = ask(owner, "deploy port", group="ledger", as_of="2026-04-01T00:00").context
    assert [place.item.memory.content for place in then["places"]] == ["The deploy port is 8081."]
    first = remember("The wall was built.", type="episodic", valid_from=datetime(1, 1, 1, tzinfo=UTC))
    assert first in [
        place.item.memory for place in ask(owner, "built wall", group="ledger").context["places"]
    ]


def test_all_groups_are_asked_unless_one_is_chosen(
    owner: Client, member: Client, stranger: Client, bob: User, remember: Remember
) -> None:
    ours, theirs = remember("The deploy port is 8081."), remember("The deploy port is 4711.", group="garden")

    def found(client: Client, **options: str) -> set[Any]:
        context = ask(client, "deploy port", **options).context
        return {place.item.memory.id for place in context["places"]}

    assert found(owner) == {ours.id, theirs.id}
    assert found(owner, group="garden") == {theirs.id}
    assert found(member) == {ours.id}  # the one group that he enters
    set_member(operator(), Group.objects.create(slug="orchard"), user=bob, role="viewer")
    assert found(member) == {ours.id}
    assert found(member, group="orchard") == found(member, group="garden") == found(stranger) == set()
    assert "4711" not in ask(member, "deploy port").content.decode()


def test_what_a_group_has_withdrawn_is_not_an_answer_in_all_groups_either(
    owner: Client, alice: User, remember: Remember
) -> None:
    wrong = remember("The deploy port is 4711.")
    remember("The deploy port is 4711.", type="episodic")  # the same text once more
    remember("The deploy port is 8081.", group="garden")
    verbs.reject(person(alice), wrong.id)
    for options in ({}, {"group": "ledger"}):
        texts = [
            place.item.memory.content for place in ask(owner, "deploy port", **options).context["places"]
        ]
        assert "The deploy port is 4711." not in texts


def test_a_foreign_group_is_answered_like_one_that_does_not_exist(member: Client, remember: Remember) -> None:
    remember("Our port is 8081.")
    remember("Their port is 4711.", group="garden")
    foreign, none = (ask(member, "port", group=name).content.decode() for name in ("garden", "nowhere"))
    secrets = re.compile(r'(?:value|nonce)="[^"]{16,}"|data-start="[^"]*"|\d+\.\d ms')
    assert secrets.sub("", foreign).replace("garden", "") == secrets.sub("", none).replace("nowhere", "")
    assert " 4711" not in foreign


def test_without_an_answer_who_may_store_is_offered_to(
    owner: Client, member: Client, remember: Remember
) -> None:
    remember("Tomatoes want sun and warm nights.")
    question = "quarterly revenue of the subsidiary in Peru"
    body = ask(owner, question, group="ledger").content.decode()
    assert "No answer found" in body
    assert "Closest matches" in body
    assert "/admin/memories/memory/add/?group=ledger&amp;question=quarterly+revenue" in body
    vera = User.objects.create_user("vera")
    set_member(operator(), Group.objects.get(slug="ledger"), user=vera, role="viewer")
    assert "Store the answer" not in ask(browser_of(vera), question).content.decode()


def test_a_question_is_logged_as_ones_own(owner: Client, remember: Remember) -> None:
    remember("The deploy port is 8081.")
    COUNTER.flush()
    RecallLog.objects.all().delete()  # what other tests asked
    ask(owner, "deploy port", group="ledger")
    ask(owner, "deploy port")
    COUNTER.flush()
    logged = RecallLog.objects.values_list("actor", "via", "group__slug").order_by("key")
    assert list(logged) == [("alice", "admin", "ledger"), ("alice", "admin", None)]


def test_without_a_question_the_newest_are_shown_page_by_page(
    owner: Client, member: Client, remember: Remember
) -> None:
    for number in range(25):
        remember(f"note {number}", group="ledger" if number % 5 else "garden")
    first = owner.get("/admin/ask/").context
    assert [row.content for row in first["page"].rows][:3] == ["note 24", "note 23", "note 22"]
    second = owner.get(f"/admin/ask/{first['more']}").context
    assert [row.content for row in second["page"].rows][-1] == "note 0"
    assert {row.group.slug for row in member.get("/admin/ask/").context["page"].rows} == {"ledger"}
    assert owner.get("/admin/ask/?group=nowhere").status_code == 404


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("results", "0", "results"),
        ("results", "many", "not a whole number"),
        ("budget", "1", "token_budget"),
        ("mode", "magic", "magic"),
        ("type", "poem", "poem"),
        ("as_of", "yesterday", "is not a date"),
        ("known_at", "2999-01-01", "is in the future"),
    ],
)
def test_what_is_asked_wrongly_is_said(
    owner: Client, ledger: Group, field: str, value: Any, says: str
) -> None:
    body = ask(owner, "port", status=422, group="ledger", **{field: value}).content.decode()
    assert says in body
    assert 'role="alert"' in body
