"""The review page and its endpoints over HTTP: visible cards, answers, refusals."""

import json
import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from access.models import AuditEntry, Group
from access.tokens import create_token, operator
from memories.models import Link, Memory
from tests.loci_site.admin.conftest import Remember
from tests.memories.builders import doubt, fresh, row

pytestmark = [pytest.mark.django_db, pytest.mark.model]
PAGE = "/admin/review/"


@pytest.fixture
def waits(ledger: Group) -> Memory:
    return row(ledger, "The ledger waits for a decision.", trust="candidate")


def ids(page: str) -> list[str]:
    """The cards of the deck, as kind:id."""
    return [
        ":".join(found) for found in re.findall(r'<li data-kind="(\w+)" data-id="([0-9a-f-]{36})">', page)
    ]


def decide(client: Client, **said: object) -> tuple[int, dict[str, object]]:
    answer = client.post(f"{PAGE}decide/", said)
    return answer.status_code, answer.json()


def test_each_sees_the_cards_of_the_groups_that_he_curates(
    owner: Client, member: Client, stranger: Client, garden: Group, waits: Memory
) -> None:
    hers = row(garden, "The garden waits.", trust="candidate")
    mine, other = f"candidate:{waits.id}", f"candidate:{hers.id}"
    assert ids(owner.get(PAGE).content.decode()) == [mine, other]
    page = member.get(PAGE).content.decode()
    assert ids(page) == [mine]
    assert "garden" not in page
    nothing = stranger.get(PAGE)
    assert (nothing.status_code, ids(nothing.content.decode())) == (200, [])
    assert "Nothing to review" in nothing.content.decode()


def test_kind_and_group_narrow_and_nonsense_is_passed_over(
    owner: Client, member: Client, ledger: Group, garden: Group, waits: Memory
) -> None:
    doubted = doubt(row(ledger, "doubted"))
    row(garden, "hers", trust="candidate")
    assert ids(owner.get(f"{PAGE}?kind=disputed").content.decode()) == [f"disputed:{doubted.id}"]
    assert len(ids(owner.get(f"{PAGE}?group=ledger").content.decode())) == 2
    assert len(ids(member.get(f"{PAGE}?kind=nonsense&group=garden").content.decode())) == 2


def test_a_card_is_a_part_of_the_page(owner: Client, member: Client, stranger: Client, waits: Memory) -> None:
    address = f"{PAGE}card/candidate/{waits.id}/"
    for client, status in ((owner, 200), (member, 200), (stranger, 404)):
        answer = client.get(address)
        assert answer.status_code == status
        assert ("waits for a decision" in answer.content.decode()) == (status == 200)
    assert "<html" not in owner.get(address).content.decode()
    assert owner.get(f"{PAGE}card/nonsense/{waits.id}/").status_code == 404
    assert owner.get(f"{PAGE}card/conflict/{waits.id}/").status_code == 404


def test_text_is_escaped_wherever_it_stands(owner: Client, ledger: Group) -> None:
    bad = "<script>alert(1)</script> & <b>"
    one, two = row(ledger, bad), row(ledger, f"{bad} or not")
    link = Link.objects.create(kind="conflict", source=one, target=two, reason=bad, evidence={"old": bad})
    for address in (PAGE, f"{PAGE}card/conflict/{link.id}/", f"/admin/memories/memory/{one.id}/change/"):
        page = owner.get(address).content.decode()
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert" in page


def test_a_decision_is_taken_and_taken_back(member: Client, waits: Memory) -> None:
    status, said = decide(member, verb="approve", id=waits.id, reason="seen in the runbook")
    assert status == 200
    assert fresh(waits).trust == "active"
    last = AuditEntry.objects.order_by("-key")[0]
    assert (last.actor, last.via, last.payload_row.payload["reason"]) == (
        "bob",
        "admin",
        "seen in the runbook",
    )
    back = member.post(f"{PAGE}undo/", {"entries": json.dumps([said["entries"]])})
    assert back.json() == {"said": ["its trust is “candidate” again"], "failed": [], "stale": []}
    assert fresh(waits).trust == "candidate"
    again = member.post(f"{PAGE}undo/", {"entries": json.dumps([said["entries"]])})
    assert (again.status_code, len(again.json()["failed"])) == (409, 1)


def test_who_may_not_decide_is_refused_in_words(
    member: Client, stranger: Client, bob: User, garden: Group, waits: Memory
) -> None:
    hers = row(garden, "hers", trust="candidate")
    assert decide(stranger, verb="approve", id=waits.id)[0] == 404
    status, said = decide(member, verb="approve", id=hers.id)
    assert (status, said["message"]) == (404, "Memory not found, or you don't have access.")
    bob.memberships.update(role="contributor")
    status, said = decide(member, verb="approve", id=waits.id)
    assert (status, said["message"]) == (403, "You may not curate in the group 'ledger'.")
    assert {fresh(hers).trust, fresh(waits).trust} == {"candidate"}


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"verb": "purge"}, "verb"),
        ({"verb": "approve", "id": "nonsense"}, "id"),
        ({"verb": "merge"}, "other"),
        ({"verb": "edit", "content": ""}, "content"),
    ],
)
def test_bad_input_names_its_field(owner: Client, waits: Memory, said: dict[str, str], field: str) -> None:
    status, answer = decide(owner, **({"id": str(waits.id)} | said))
    assert (status, answer["field"]) == (422, field) or (status, answer["field"]) == (400, field)


@pytest.mark.parametrize("entries", ["", "{}", "[[]]", '[["x"]]', "[1]", "[]"])
def test_rows_that_are_none_are_not_taken_back(owner: Client, entries: str) -> None:
    answer = owner.post(f"{PAGE}undo/", {"entries": entries})
    assert 400 <= answer.status_code < 500


def test_a_new_text_keeps_its_line_ends(owner: Client, waits: Memory) -> None:
    decide(owner, verb="edit", id=waits.id, content="one\r\ntwo")
    assert Memory.objects.get(state="live").content == "one\ntwo"


def test_many_are_previewed_decided_and_taken_back(member: Client, ledger: Group, garden: Group) -> None:
    mine = [row(ledger, f"waits {n}", trust="candidate") for n in range(3)]
    hers = row(garden, "hers", trust="candidate")
    said = {"verb": "reject", "chosen": [f"candidate:{one.id}" for one in (*mine, hers)]}
    would = member.post(f"{PAGE}many/", said | {"preview": "1"}).json()
    assert (would["done"], [each["id"] for each in would["failed"]]) == (3, [str(hers.id)])
    assert would["said"] == [{"line": "recall does not return it, and the same text is refused", "times": 3}]
    assert {fresh(one).trust for one in mine} == {"candidate"}
    done = member.post(f"{PAGE}many/", said).json()
    assert done["done"] == 3
    assert [fresh(one).trust for one in (*mine, hers)] == ["rejected"] * 3 + ["candidate"]
    member.post(f"{PAGE}undo/", {"entries": json.dumps(done["entries"])})
    assert {fresh(one).trust for one in mine} == {"candidate"}


def test_all_that_a_token_sent_is_refused_at_once_where_the_caller_curates(
    owner: Client, member: Client, stranger: Client, bob: User, ledger: Group, garden: Group
) -> None:
    token, other = (create_token(operator(), user=bob, name=name, scopes=["read"]).token for name in "ab")
    sent = [row(ledger, f"Sent {n}.", trust="candidate", token=token) for n in range(2)]
    sent.append(row(ledger, "Held.", trust="quarantined", token=token))
    foreign = row(garden, "Sent elsewhere.", trust="candidate", token=token)
    kept = [row(ledger, "Known.", token=token), row(ledger, "By another.", trust="candidate", token=other)]
    card = member.get(f"{PAGE}card/candidate/{sent[0].id}/").content.decode()
    assert "Refuse all 3 that “a” sent" in card
    assert "Refuse all" not in member.get(f"{PAGE}card/candidate/{kept[1].id}/").content.decode()

    said = {"verb": "reject", "token": str(token.id)}
    would = member.post(f"{PAGE}many/", said | {"preview": "1"}).json()
    assert (would["done"], fresh(sent[0]).trust) == (3, "candidate")
    assert stranger.post(f"{PAGE}many/", said).status_code == 422
    done = member.post(f"{PAGE}many/", said).json()
    assert (done["done"], done["failed"]) == (3, [])
    assert {fresh(one).trust for one in sent} == {"rejected"}
    assert [fresh(one).trust for one in (foreign, *kept)] == ["candidate", "active", "candidate"]
    member.post(f"{PAGE}undo/", {"entries": json.dumps(done["entries"])})
    assert [fresh(one).trust for one in sent] == ["candidate", "candidate", "quarantined"]
    assert owner.post(f"{PAGE}many/", said | {"preview": "1"}).json()["done"] == 4
    assert owner.post(f"{PAGE}many/", {"verb": "reject", "token": "x"}).status_code == 422


def test_only_kinds_that_wait_and_the_chosen_one_have_a_chip(owner: Client, waits: Memory) -> None:
    def chips(query: str = "") -> list[str]:
        return re.findall(r'data-count="(\w+)"', owner.get(PAGE + query).content.decode())

    assert chips() == ["all", "candidate"]
    assert chips("?kind=conflict") == ["all", "conflict", "candidate"]


def test_a_conflict_is_said_once(owner: Client, ledger: Group) -> None:
    one, two = row(ledger, "The pump is blue."), row(ledger, "The pump is red.")
    link = Link.objects.create(
        kind="conflict",
        source=two,
        target=one,
        reason="another colour",
        evidence={"old": "blue", "new": "red"},
    )
    card = owner.get(f"{PAGE}card/conflict/{link.id}/").content.decode()
    assert card.count("loci-is-conflict") == 1
    assert "Another colour" in card
    assert "review-spans" not in card


def test_links_are_dismissed_many_at_once(owner: Client, ledger: Group) -> None:
    links = [
        Link.objects.create(kind="duplicate", source=row(ledger, f"a{n}"), target=row(ledger, f"b{n}"))
        for n in range(2)
    ]
    said = {"verb": "dismiss", "chosen": [f"duplicate:{link.id}" for link in links]}
    assert owner.post(f"{PAGE}many/", said).json()["done"] == 2
    assert set(Link.objects.values_list("status", flat=True)) == {"dismissed"}


@pytest.mark.parametrize(
    "said",
    [{"verb": "merge", "chosen": ["candidate:x"]}, {"verb": "approve"}, {"verb": "approve", "chosen": ["x"]}],
)
def test_many_takes_only_what_it_says(owner: Client, said: dict[str, object]) -> None:
    assert 400 <= owner.post(f"{PAGE}many/", said).status_code < 500


def test_recall_before_and_after_is_shown(owner: Client, stranger: Client, remember: Remember) -> None:
    memory = remember("The deploy port of the ledger is 8082.")
    Memory.objects.filter(pk=memory.pk).update(trust="candidate")
    address = f"{PAGE}effect/?verb=approve&id={memory.id}&question=which+deploy+port"
    page = owner.get(address).content.decode()
    assert ">new<" in page
    assert "Before: nothing relevant found." in page
    assert fresh(memory).trust == "candidate"
    assert "takes two memories" in owner.get(f"{PAGE}effect/?verb=merge&id={memory.id}").content.decode()
    assert stranger.get(address).status_code == 404


def test_nothing_is_done_by_get_or_without_the_token(alice: User, waits: Memory) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(alice)
    for page in ("decide", "undo", "many"):
        assert strict.get(f"{PAGE}{page}/").status_code == 405
        assert strict.post(f"{PAGE}{page}/", {"verb": "approve", "id": waits.id}).status_code == 403
    assert fresh(waits).trust == "candidate"
    nobody = Client()
    for page in ("", "decide/", f"card/candidate/{waits.id}/"):
        assert "/login/" in nobody.get(PAGE + page).headers["Location"]


def test_a_memorys_page_shows_its_pieces_history_and_surroundings(
    owner: Client, stranger: Client, remember: Remember
) -> None:
    old = remember("The pump is blue.", tags=("pump",))
    new = remember("The pump is green.", supersedes=old.id)
    near = remember("A valve is red.")
    Link.objects.create(kind="conflict", source=near, target=old, score=0.8, reason="another colour",
                        evidence={"old": "blue", "new": "red"})  # fmt: skip
    page = owner.get(f"/admin/memories/memory/{new.id}/change/").content.decode()
    assert "<del>blue</del><ins>green</ins>" in page
    assert (
        '<span class="loci-dim">state</span> live <span aria-label="becomes">→</span> <b>superseded</b>'
        in page
    )
    assert "<b>new</b> red" in page
    found = owner.get(f"/admin/memories/memory/{new.id}/graph/").json()
    assert [(node["label"], node["main"]) for node in found["nodes"]] == [
        ("The pump is green.", True), ("A valve is red.", False),
    ]  # fmt: skip
    assert [(edge["from"], edge["to"], edge["kind"]) for edge in found["edges"]] == [
        (str(near.id), str(new.id), "conflict")
    ]
    assert stranger.get(f"/admin/memories/memory/{new.id}/graph/").status_code == 404


def test_a_pair_page_says_what_would_follow(owner: Client, remember: Remember) -> None:
    one, two = remember("Buoys are painted in April."), remember("The master lives in the red house.")
    said = {"other": str(two.id), "content": "", "reason": "", "preview": "1"}
    page = owner.post(f"/admin/memories/memory/{one.id}/merge/", said).content.decode()
    assert f"Recall returns “{two.content}” in its place" in page
    assert fresh(one).state == "live"
