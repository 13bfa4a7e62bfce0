"""The pages for looking around: what they show is right, nothing of another group is in them, and bad input is said."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from access.members import set_member
from access.models import AuditEntry, Group
from access.tokens import operator
from memories import verbs
from memories.entities import RelationDraft, store_relation
from memories.models import Memory, RecallLog
from memories.recall.counting import COUNTER
from relations.models import Relation
from tests.admin.conftest import Remember, browser_of
from tests.people import make_token, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
PAGES = ["recall/", "recall/?q=port", "graph/", "timeline/", "rooms/", "rooms/ledger/"]
HOSTILE = "<script>alert(1)</script> \"'><img src=x onerror=alert(2)>"
MARCH, MAY, JULY = (datetime(2026, month, 1, tzinfo=UTC) for month in (3, 5, 7))


def get(client: Client, address: str, *, status: int = 200, **asked: str) -> Any:
    answer = client.get(f"/admin/explore/{address}", asked)
    assert answer.status_code == status, (address, answer.status_code, answer.content[:300])
    return answer


def text(client: Client, address: str, *, status: int = 200, **asked: str) -> str:
    return str(get(client, address, status=status, **asked).content.decode())


def relate(user: User, subject: str, predicate: str, object_: str, *, group: str = "ledger") -> Relation:
    return store_relation(person(user), RelationDraft(subject, predicate, object_, group=group)).relation


# Rights


def test_nobody_sees_them_without_a_login(client: Client, ledger: Group) -> None:
    for page in [*PAGES, "graph/around/", "timeline/then/"]:
        answer = client.get(f"/admin/explore/{page}")
        assert answer.status_code == 302, page
        assert "login" in answer.headers["Location"]


def test_a_member_sees_what_is_theirs_and_nothing_else(
    owner: Client, member: Client, stranger: Client, alice: User, remember: Remember
) -> None:
    ours, theirs = remember("Our port is 8081."), remember("Their port is 4711.", group="garden")
    relate(alice, "Oursystem", "uses", "Ourtool")
    relate(alice, "Theirsystem", "uses", "Theirtool", group="garden")
    Memory.objects.filter(type="entity").update(scope="group")
    for page in ("recall/?q=port&group=ledger", "graph/", "timeline/", "rooms/", "rooms/ledger/"):
        body = text(member, page)
        assert "Their" not in body, page
        assert "garden" not in body, page
        assert "4711" not in body, page
    assert "Our port" in text(member, "timeline/")
    assert "Oursystem" in text(member, "graph/")
    assert "Theirsystem" in text(owner, "graph/")
    for page in ("graph/", "timeline/", "rooms/"):
        body = text(stranger, page)
        for word in ("Our", "Their ", "Theirs", "ledger", "garden"):
            assert word not in body, (page, word)
    for address in ("rooms/garden/", "rooms/nowhere/"):
        assert "Their" not in text(member, address, status=404)
    text(stranger, "rooms/ledger/", status=404)
    for page in ("recall/", "graph/", "timeline/", "timeline/then/"):
        assert "4711" not in text(member, page, status=404, group="garden", q="port")
    for of in (str(theirs.id), "nonsense"):
        for page in ("graph/", "graph/around/"):
            body = get(member, page, status=404 if of != "nonsense" else 422, of=of).content.decode()
            assert "4711" not in body
    assert ours.content in text(member, "graph/", of=str(ours.id))


def test_why_not_says_nothing_of_a_foreign_memory(member: Client, remember: Remember) -> None:
    remember("Our port is 8081.")
    foreign = remember("Their port is 4711.", group="garden")
    body = text(member, "recall/", q="port", group="ledger", why=str(foreign.id))
    assert "4711" not in body
    assert "There is no memory" in body


# The playground


def test_the_playground_shows_each_answer_with_its_numbers(owner: Client, remember: Remember) -> None:
    first = remember("The deploy port is 8081.")
    remember("Tomatoes want sun and warm nights.")
    context = get(owner, "recall/", q="which port do we deploy to", group="ledger").context
    place = context["places"][0]
    assert (place.rank, place.item.memory.id) == (1, first.id)
    assert place.numbers["keyword_rank"] == place.numbers["vector_rank"] == 1
    # The parts of the bar are as long as the score, and the best answer's fills it.
    assert sum(part.width for part in place.bar) == pytest.approx(100, abs=0.3)
    names = [name for name, _ in context["steps"]]
    assert names[0] == "What the question was read as"
    assert "Whether there is an answer at all" in names


def test_the_playground_says_what_was_cut(owner: Client, remember: Remember) -> None:
    long = "The deploy port is 8081 and this is why it must be so: " + "reasons and more reasons, " * 30
    remember(long)
    cut = remember("The deploy port of the shadow is 8082, " + "as was said before, " * 30)
    context = get(owner, "recall/", q="deploy port", group="ledger", budget="120").context
    reasons = {dropped.memory.id: dropped.why for dropped in context["dropped"]}
    shown = {place.item.memory.id for place in context["places"]}
    assert len(shown) == 1
    assert list(reasons.values()) == ["the token budget of 120"]
    assert shown | set(reasons) >= {cut.id}
    one = get(owner, "recall/", q="deploy port", group="ledger", results="1").context
    assert [dropped.why for dropped in one["dropped"]] == ["beyond the first 1"]


def test_why_not_is_answered_for_each_case(owner: Client, alice: User, remember: Remember) -> None:
    first = remember("The deploy port is 8081.")
    second = remember("The deploy port of the shadow is 8082.")
    gone = remember("The deploy port was 8079.")
    verbs.forget(person(alice), gone.id)

    def why(memory: Memory, **asked: str) -> str:
        return str(
            get(owner, "recall/", q="deploy port 8081", group="ledger", why=str(memory.id), **asked).context[
                "why"
            ][2]
        )

    assert why(first) == "It is answer 1."
    assert why(second, results="1") == "It was a candidate, and was left out: beyond the first 1."
    assert "recall hides what is forgotten and active" in why(gone)


def test_the_playground_asks_about_the_past(owner: Client, remember: Remember) -> None:
    old = remember("The deploy port is 8081.", valid_from=MARCH)
    remember("The deploy port is 8443.", valid_from=MAY, supersedes=old.id)
    now = get(owner, "recall/", q="deploy port", group="ledger").context["places"]
    assert [place.item.memory.content for place in now] == ["The deploy port is 8443."]
    then = get(owner, "recall/", q="deploy port", group="ledger", as_of="2026-04-01T00:00").context["places"]
    assert [place.item.memory.content for place in then] == ["The deploy port is 8081."]


def test_nothing_relevant_is_said(owner: Client, remember: Remember) -> None:
    remember("Tomatoes want sun and warm nights.")
    body = text(owner, "recall/", q="quarterly revenue of the subsidiary in Peru", group="ledger")
    assert "Nothing relevant." in body
    assert "The nearest" in body


def test_a_question_in_the_playground_is_logged_as_ones_own(owner: Client, remember: Remember) -> None:
    remember("The deploy port is 8081.")
    COUNTER.flush()
    RecallLog.objects.all().delete()  # what other tests asked
    text(owner, "recall/", q="deploy port", group="ledger")
    COUNTER.flush()
    assert list(RecallLog.objects.values_list("actor", "via")) == [("alice", "admin")]


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("results", "0", "results"),
        ("results", "many", "no whole number"),
        ("budget", "1", "token_budget"),
        ("mode", "magic", "magic"),
        ("type", "poem", "poem"),
        ("as_of", "yesterday", "is no date"),
        ("known_at", "2999-01-01", "lies in the future"),
    ],
)
def test_what_the_playground_is_asked_wrongly_is_said(
    owner: Client, ledger: Group, field: str, value: str, says: str
) -> None:
    body = text(owner, "recall/", status=422, q="port", group="ledger", **{field: value})
    assert says in body
    assert 'role="alert"' in body


def test_what_was_typed_or_stored_cannot_write_html(owner: Client, alice: User, remember: Remember) -> None:
    memory = remember(f"The port {HOSTILE}")
    relate(alice, f"A {HOSTILE}"[:150], "uses", "B")
    pages = [
        text(owner, "recall/", q=f"port {HOSTILE}", group="ledger", why=str(memory.id)),
        text(owner, "graph/", predicate="uses"),
        text(owner, "graph/", status=422, of=HOSTILE),
        text(owner, "timeline/", words="port", group="ledger"),
        text(owner, "timeline/", entity=HOSTILE),
        text(owner, "rooms/ledger/"),
    ]
    for body in pages:
        assert "<script>alert" not in body
        assert "<img src=x" not in body


# The graph


def test_the_graph_has_the_relations_of_the_address(
    owner: Client, alice: User, ledger: Group, garden: Group
) -> None:
    one = relate(alice, "Ines", "maintains", "Ledger")
    two = relate(alice, "Ledger", "uses", "PostgreSQL")
    other = relate(alice, "Rose", "needs", "Sun", group="garden")

    def edges(**asked: str) -> set[str]:
        return {edge["id"] for edge in get(owner, "graph/", **asked).context["data"]["edges"]}

    assert edges() == {str(one.id), str(two.id), str(other.id)}
    assert edges(group="garden") == {str(other.id)}
    assert edges(predicate="uses") == {str(two.id)}
    assert edges(limit="1") == {str(other.id)}
    ines = str(one.subject.id)
    assert edges(of=ines) == {str(one.id)}
    assert edges(of=ines, depth="2") == {str(one.id), str(two.id)}
    data = get(owner, "graph/", of=ines).context["data"]
    assert {(node["label"], node["kind"], node["main"]) for node in data["nodes"]} == {
        ("Ines", "entity", True),
        ("Ledger", "entity", False),
    }
    assert json.loads(get(owner, "graph/around/", of=ines).content) == data


def test_the_table_says_the_same(owner: Client, alice: User, ledger: Group) -> None:
    relate(alice, "Ines", "maintains", "Ledger")
    table = text(owner, "graph/").split('id="graph-table"', 1)[1]
    assert [word in table for word in ("Ines", "maintains", "Ledger", "ledger")] == [True] * 4


@pytest.mark.parametrize(
    ("field", "value"), [("depth", "9"), ("depth", "x"), ("limit", "0"), ("limit", "301")]
)
def test_a_graph_has_limits(owner: Client, remember: Remember, field: str, value: str) -> None:
    memory = remember("something")
    answer = get(owner, "graph/around/", status=422, of=str(memory.id), **{field: value})
    assert json.loads(answer.content)["field"] == field
    assert json.loads(get(owner, "graph/around/", status=422).content)["field"] == "of"


def merge(client: Client, what: str, one: Memory, other: Memory, *, status: int = 200) -> dict[str, Any]:
    body = {"what": what, "from": str(one.id), "into": str(other.id)}
    answer = client.post("/admin/explore/graph/merge/", json.dumps(body), content_type="application/json")
    assert answer.status_code == status, answer.content
    told: dict[str, Any] = json.loads(answer.content)
    return told


def test_two_entities_are_merged_and_taken_apart(owner: Client, alice: User, ledger: Group) -> None:
    ines, agnes = (
        relate(alice, "Ines", "maintains", "Ledger").subject,
        relate(alice, "Agnes", "likes", "Tea").subject,
    )
    preview = merge(owner, "preview", agnes, ines)
    assert not preview["done"]
    assert preview["consequences"]
    assert Memory.objects.get(pk=agnes.pk).state == "live"
    done = merge(owner, "merge", agnes, ines)
    assert (done["done"], done["survivor"]["label"]) == (True, "Ines")
    assert Memory.objects.get(pk=agnes.pk).state == "merged"
    around = json.loads(get(owner, "graph/around/", of=str(ines.id)).content)
    assert {edge["label"] for edge in around["edges"]} == {"maintains", "likes"}
    merge(owner, "undo", agnes, ines)
    assert Memory.objects.get(pk=agnes.pk).state == "live"
    around = json.loads(get(owner, "graph/around/", of=str(ines.id)).content)
    assert {edge["label"] for edge in around["edges"]} == {"maintains"}


def test_who_may_merge_and_what_is_refused(
    owner: Client, member: Client, stranger: Client, alice: User, bob: User, ledger: Group
) -> None:
    one, other = (
        relate(alice, "Ines", "maintains", "Ledger").subject,
        relate(alice, "Agnes", "likes", "Tea").subject,
    )
    assert merge(stranger, "merge", one, other, status=404 if one.scope == "group" else 403)["message"]
    set_member(operator(), ledger, user=bob, role="contributor")
    assert "curate" in merge(browser_of(bob), "merge", one, other, status=403)["message"]
    assert merge(owner, "burn", one, other, status=422)["field"] == "what"
    assert merge(owner, "merge", one, one, status=409)["message"]
    for body in ("", "[1]", '{"what": 5}', "{"):
        answer = owner.post("/admin/explore/graph/merge/", body, content_type="application/json")
        assert answer.status_code == 422
    assert owner.get("/admin/explore/graph/merge/").status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(alice)
    assert (
        strict.post("/admin/explore/graph/merge/", "{}", content_type="application/json").status_code == 403
    )
    assert set(Memory.objects.filter(type="entity").values_list("state", flat=True)) == {"live"}


# The timeline


@pytest.fixture
def port(remember: Remember) -> tuple[Memory, Memory]:
    """A port that changed in May, and Loci learned of it today."""
    old = remember("The deploy port is 8081.", valid_from=MARCH)
    new = remember("The deploy port is 8443.", valid_from=MAY, supersedes=old.id)
    return old, new


def then(client: Client, **asked: str) -> set[str]:
    return set(json.loads(get(client, "timeline/then/", **asked).content)["ids"])


def test_the_sliders_say_what_recall_gives_then(owner: Client, port: tuple[Memory, Memory]) -> None:
    old, new = (str(memory.id) for memory in port)
    assert then(owner) == {new}
    assert then(owner, as_of="2026-04-01") == {old}
    assert then(owner, as_of="2026-06-01T12:00") == {new}
    assert then(owner, as_of="2026-01-01") == set()
    assert then(owner, as_of="2026-04-01", known_at="2026-04-01") == set()
    told = json.loads(get(owner, "timeline/then/", words="walrus").content)
    assert told == {"ids": [], "of": 0}


def test_bars_lie_where_their_time_is(owner: Client, port: tuple[Memory, Memory]) -> None:
    picture = get(owner, "timeline/").context["picture"]
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

    def shown(**asked: str) -> list[str]:
        return [row.content[:5] for row, *_ in get(owner, "timeline/", **asked).context.get("spans") or []]

    assert len(shown()) == 3
    assert shown(group="garden") == ["Roses"]
    assert shown(words="roses") == ["Roses"]
    assert shown(entity="deploy port") == ["The d", "The d"]
    assert shown(entity="port deploy") == []


def test_extreme_times_are_drawn(owner: Client, remember: Remember) -> None:
    remember("The universe began.", valid_from=datetime(1, 1, 1, tzinfo=UTC))
    remember(
        "It will end.",
        valid_from=datetime(2026, 1, 1, tzinfo=UTC),
        valid_to=datetime(9999, 12, 31, tzinfo=UTC),
    )
    rows = get(owner, "timeline/").context["picture"].rows
    assert all(250 <= row.start <= row.start + row.width <= 964 for row in rows)


@pytest.mark.parametrize(
    ("field", "value"), [("as_of", "soon"), ("known_at", "2999-01-01"), ("as_of", "99999-01-01")]
)
def test_moments_that_are_none_are_refused(owner: Client, remember: Remember, field: str, value: str) -> None:
    remember("something")
    text(owner, "timeline/", status=422, **{field: value})
    assert json.loads(get(owner, "timeline/then/", status=422, **{field: value}).content)["field"] == field


# Rooms


def test_a_room_shows_what_an_agent_gets_and_who_belongs_there(
    owner: Client, member: Client, alice: User, remember: Remember
) -> None:
    memory = remember("Amounts are integer cents.")
    verbs.pin(person(alice), memory.id)
    body = text(member, "rooms/ledger/")
    assert "Kept in mind" in body
    assert "&lt;memory id=" in body
    assert [word in body for word in ("alice", "bob", "curator")] == [True] * 3
    assert "<textarea" not in body  # a curator is no admin
    assert "<textarea" in text(owner, "rooms/ledger/")


def test_an_admin_changes_the_instructions(owner: Client, member: Client, ledger: Group) -> None:
    address = "/admin/explore/rooms/ledger/"
    answer = owner.post(address, {"instructions": "Write amounts in cents.\r\nAlways."}, follow=True)
    assert "Agents get these instructions from now on." in answer.content.decode()
    ledger.refresh_from_db()
    assert ledger.instructions == "Write amounts in cents.\nAlways."
    assert "Write amounts in cents." in text(member, "rooms/ledger/")
    assert AuditEntry.objects.filter(operation="group", actor="alice", subject="group:ledger").count() == 2
    assert member.post(address, {"instructions": "mine"}).status_code == 403
    said = owner.post(address, {"instructions": "x" * 20_001}, follow=True).content.decode()
    assert "longer than 20,000 characters" in said
    ledger.refresh_from_db()
    assert ledger.instructions.startswith("Write")


def test_rooms_count_what_they_hold(owner: Client, remember: Remember) -> None:
    remember("one")
    waiting = remember("two")
    Memory.objects.filter(pk=waiting.pk).update(trust="candidate")
    rooms = {group.slug: held for group, held in get(owner, "rooms/").context["rooms"]}
    assert rooms == {"ledger": {"live": 2, "waiting": 1}, "garden": {"live": 0, "waiting": 0}}
    counts = get(owner, "rooms/ledger/").context["counts"]
    assert (counts["live"], counts["waiting"], counts["conflicts"]) == (2, 1, 0)


# All of them


@pytest.mark.parametrize("page", ["graph/", "timeline/", "rooms/", "rooms/ledger/", "timeline/then/"])
def test_twenty_rows_cost_as_many_queries_as_two(
    owner: Client, alice: User, remember: Remember, page: str
) -> None:
    def queries() -> int:
        get(owner, page)
        with CaptureQueriesContext(connection) as seen:
            get(owner, page)
        return len(seen)

    def more(number: int) -> None:
        remember(
            f"Event {number} took place.", type="episodic", valid_from=timezone.now() - timedelta(days=number)
        )
        relate(alice, f"Person {number}", "knows", f"Thing {number}")

    for number in range(2):
        more(number)
    few = queries()
    for number in range(2, 20):
        more(number)
    assert queries() == few


def test_every_page_of_the_admin_has_the_search(owner: Client, remember: Remember) -> None:
    remember("something")
    for page in ("/admin/", "/admin/memories/memory/", "/admin/explore/graph/"):
        body = owner.get(page).content.decode()
        assert 'id="palette"' in body
        assert "loci/palette.js" in body
        assert 'data-suggest="/api/suggest"' in body


# Suggestions over REST


def suggested(client: Client, **asked: str) -> list[str]:
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


def test_a_token_is_bound_to_its_groups(alice: User, ledger: Group, remember: Remember) -> None:
    remember("Our deployment port is 8081.")
    remember("Their deployment port is 4711.", group="garden")
    _, secret = make_token(alice, groups=[ledger], scopes=("read",))
    client = Client(headers={"Authorization": f"Bearer {secret}"})
    assert suggested(client, q="deploym") == ["Our deployment port is 8081."]
