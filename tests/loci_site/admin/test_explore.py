"""The explore pages: correct contents, nothing of other groups, clear errors for bad input."""

import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from access.groups.members import set_member
from access.models import Group
from access.tokens import operator
from memories.lifecycle import verbs
from memories.models import Memory, RecallLog, Thread
from memories.recall_log import COUNTER
from tests.loci_site.admin.conftest import Remember
from tests.loci_site.admin.exploring import get, text
from tests.people import make_token, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
PAGES = ["ask/", "ask/?q=port"]
HOSTILE = "<script>alert(1)</script> \"'><img src=x onerror=alert(2)>"
MARCH, MAY, JULY = (datetime(2026, month, 1, tzinfo=UTC) for month in (3, 5, 7))


# Rights


def test_nobody_sees_them_without_a_login(client: Client, ledger: Group) -> None:
    for page in [*PAGES, "graph/around/", "timeline/then/"]:
        answer = client.get(f"/admin/{page}")
        assert answer.status_code == 302, page
        assert "login" in answer.headers["Location"]


def test_a_member_is_answered_from_what_is_theirs(member: Client, remember: Remember) -> None:
    remember("Our port is 8081.")
    theirs = remember("Their port is 4711.", group="garden")
    body = text(member, "ask/", q="port", group="ledger")
    assert "Our port" in body
    assert " 4711" not in body
    assert " 4711" not in text(member, "timeline/then/", status=404, group="garden", q="port")
    # A question is answered alike, whether the group is another's or nobody's.
    foreign, none = (text(member, "ask/", group=name, q="port") for name in ("garden", "nowhere"))
    secrets = re.compile(r'(?:value|nonce)="[^"]{16,}"')
    assert secrets.sub("", foreign).replace("garden", "") == secrets.sub("", none).replace("nowhere", "")
    assert " 4711" not in foreign
    for of in (str(theirs.id), "nonsense"):
        for page in ("graph/", "graph/around/"):
            body = get(member, page, status=404 if of != "nonsense" else 422, of=of).content.decode()
            assert " 4711" not in body


def test_why_not_says_nothing_of_a_foreign_memory(member: Client, remember: Remember) -> None:
    remember("Our port is 8081.")
    foreign = remember("Their port is 4711.", group="garden")
    body = text(member, "ask/", q="port", group="ledger", why=str(foreign.id))
    assert " 4711" not in body
    assert "Memory not found" in body


# The playground


def test_the_playground_shows_each_answer_with_its_numbers(owner: Client, remember: Remember) -> None:
    first = remember("The deploy port is 8081.")
    remember("Tomatoes want sun and warm nights.")
    context = get(owner, "ask/", q="which port do we deploy to", group="ledger").context
    place = context["places"][0]
    assert (place.rank, place.item.memory.id) == (1, first.id)
    assert place.numbers["keyword_rank"] == place.numbers["vector_rank"] == 1
    # The parts of the bar are as long as the score, and the best answer's fills it.
    assert sum(part.width for part in place.bar) == pytest.approx(100, abs=0.3)
    names = [name for name, _ in context["steps"]]
    assert names[0] == "Parsed question"
    assert "Is anything relevant?" in names


def test_the_playground_says_what_was_cut(owner: Client, remember: Remember) -> None:
    long = "The deploy port is 8081 and this is why it must be so: " + "reasons and more reasons, " * 30
    remember(long)
    cut = remember("The deploy port of the shadow is 8082, " + "as was said before, " * 30)
    context = get(owner, "ask/", q="deploy port", group="ledger", budget="160").context
    reasons = {dropped.memory.id: dropped.why for dropped in context["dropped"]}
    shown = {place.item.memory.id for place in context["places"]}
    assert len(shown) == 1
    assert list(reasons.values()) == ["the token budget of 160"]
    assert shown | set(reasons) >= {cut.id}
    one = get(owner, "ask/", q="deploy port", group="ledger", results="1").context
    assert [dropped.why for dropped in one["dropped"]] == ["beyond the first 1"]


def test_why_not_is_answered_for_each_case(owner: Client, alice: User, remember: Remember) -> None:
    first = remember("The deploy port is 8081.")
    second = remember("The deploy port of the shadow is 8082.")
    gone = remember("The deploy port was 8079.")
    verbs.forget(person(alice), gone.id)

    def why(memory: Memory, **asked: Any) -> str:
        return str(
            get(owner, "ask/", q="deploy port 8081", group="ledger", why=str(memory.id), **asked).context[
                "why"
            ][2]
        )

    assert why(first) == "It is answer 1."
    assert why(second, results="1") == "It was a candidate and was left out: beyond the first 1."
    assert "recall hides forgotten memories" in why(gone)


def test_the_playground_asks_about_the_past(owner: Client, remember: Remember) -> None:
    old = remember("The deploy port is 8081.", valid_from=MARCH)
    remember("The deploy port is 8443.", valid_from=MAY, supersedes=old.id)
    now = get(owner, "ask/", q="deploy port", group="ledger").context["places"]
    assert [place.item.memory.content for place in now] == ["The deploy port is 8443."]
    then = get(owner, "ask/", q="deploy port", group="ledger", as_of="2026-04-01T00:00").context["places"]
    assert [place.item.memory.content for place in then] == ["The deploy port is 8081."]


def test_who_enters_one_group_alone_need_not_choose_it(member: Client, bob: User, remember: Remember) -> None:
    remember("The deploy port is 8081.")
    assert get(member, "ask/", q="deploy port").context["answer"].group == "ledger"
    set_member(operator(), Group.objects.create(slug="orchard"), user=bob, role="viewer")
    assert "Name one of: ledger, orchard." in text(member, "ask/", q="deploy port", status=422)


def test_nothing_relevant_is_said(owner: Client, remember: Remember) -> None:
    remember("Tomatoes want sun and warm nights.")
    body = text(owner, "ask/", q="quarterly revenue of the subsidiary in Peru", group="ledger")
    assert "No answer found" in body
    assert "Closest matches" in body


def test_a_question_in_the_playground_is_logged_as_ones_own(owner: Client, remember: Remember) -> None:
    remember("The deploy port is 8081.")
    COUNTER.flush()
    RecallLog.objects.all().delete()  # what other tests asked
    text(owner, "ask/", q="deploy port", group="ledger")
    COUNTER.flush()
    assert list(RecallLog.objects.values_list("actor", "via")) == [("alice", "admin")]


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
def test_what_the_playground_is_asked_wrongly_is_said(
    owner: Client, ledger: Group, field: str, value: Any, says: str
) -> None:
    body = text(owner, "ask/", status=422, q="port", group="ledger", **{field: value})
    assert says in body
    assert 'role="alert"' in body


def test_what_was_typed_or_stored_cannot_write_html(owner: Client, remember: Remember) -> None:
    memory = remember(f"The port {HOSTILE}")
    body = text(owner, "ask/", q=f"port {HOSTILE}", group="ledger", why=str(memory.id))
    assert "<script>alert" not in body
    assert "<img src=x" not in body


def test_every_page_of_the_admin_has_the_search(owner: Client, remember: Remember) -> None:
    remember("something")
    for page in ("/admin/", "/admin/memories/memory/", "/admin/groups/ledger/map/"):
        body = owner.get(page).content.decode()
        assert 'id="palette"' in body
        assert "loci/palette.js" in body
        assert 'data-suggest="/api/suggest"' in body


# Suggestions over REST


def suggested(client: Client, **asked: Any) -> list[str]:
    answer = client.get("/api/suggest", asked)
    assert answer.status_code == 200, answer.content
    assert answer.headers["Cache-Control"] == "no-store"
    return [item["text"] for item in json.loads(answer.content)["items"]]


def test_the_search_asks_rest_with_the_session(
    owner: Client, member: Client, stranger: Client, remember: Remember
) -> None:
    remember("Our deployment port is 8081.")
    remember("Their deployment port is 4711.", group="garden")
    assert len(suggested(owner, q="deploym")) == 2
    assert suggested(member, q="deploym") == ["Our deployment port is 8081."]
    assert suggested(member, q="4711") == suggested(stranger, q="deploym") == []
    assert suggested(owner, q="deploym", limit="1", group="garden") == ["Their deployment port is 4711."]
    assert member.get("/api/suggest", {"q": "port", "group": "garden"}).status_code == 404
    assert Client().get("/api/suggest", {"q": "port"}).status_code == 401
    assert owner.get("/api/suggest", {"q": "port", "limit": "99"}).status_code == 422
    assert owner.get("/api/suggest").status_code == 422


def titled(client: Client, typed: str, **asked: Any) -> list[str]:
    answer = client.get("/api/suggest", {"q": typed} | asked)
    assert answer.status_code == 200, answer.content
    return [thread["text"] for thread in json.loads(answer.content)["threads"]]


def test_the_search_offers_threads_by_title_name_and_id(
    owner: Client, member: Client, stranger: Client, remember: Remember
) -> None:
    remember("We begin at nine.", thread="standup-october")
    remember("We begin at ten.", thread="standup-garden", group="garden")
    remember("We ended.", thread="session-77")
    thread = Thread.objects.get(name="session-77")
    assert titled(owner, "stand") == ["standup-garden", "standup-october"]
    assert titled(owner, "october standup", group="ledger") == ["standup-october"]
    assert titled(member, "standup") == ["standup-october"]
    assert titled(stranger, "standup") == titled(stranger, str(thread.id)) == []
    assert titled(member, str(thread.id)) == titled(member, "session-77") == ["session-77"]
    Thread.objects.filter(key=thread.key).update(title="Release of the ledger")
    assert titled(member, "RELEASE led") == ["Release of the ledger"]
    assert (
        titled(member, "session-77")
        == titled(member, "r")
        == titled(member, "release", by_meaning="true")
        == []
    )
    Thread.objects.filter(key=thread.key).update(deleted_at=timezone.now())
    assert titled(member, "release") == []


def test_a_token_is_bound_to_its_groups(alice: User, ledger: Group, remember: Remember) -> None:
    remember("Our deployment port is 8081.")
    remember("Their deployment port is 4711.", group="garden")
    _, secret = make_token(alice, groups=[ledger], scopes=("read",))
    client = Client(headers={"Authorization": f"Bearer {secret}"})
    assert suggested(client, q="deploym") == ["Our deployment port is 8081."]
