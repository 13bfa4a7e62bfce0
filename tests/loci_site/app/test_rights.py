"""Rights in the workspace: what a user may not see is not found, what they may not do is refused."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from loci_site.app.urls import urlpatterns
from memories.models import Memory, Thread
from tests.loci_site.admin.conftest import page as address
from tests.loci_site.app.conftest import Remember

ADD = "/admin/memories/memory/add/"
FORM = {
    "content": "The fence is green.",
    "type": "semantic",
    "group": "ledger",
    "importance": 5,
    "confidence": 0.7,
}
PAGES = {
    "account": "account/",
    "preferences": "account/preferences/",
    "notifications": "account/notifications/",
    "notifications-test": "account/notifications/test/",
    "password": "account/password/",
    "connect-client": "account/connect/",
    "end-others": "account/sessions/end-others/",
    "pair-browser": "account/browsers/pair/",
    "conversations": "conversations/",
    "my-data": "account/data/",
}
HELP = {"help", "help-for", "help-page"}
OF_AN_ACCOUNT = {"end-session"}
OF_A_CONVERSATION = {
    "conversation": "",
    "move-conversation": "move/",
    "tag-conversation": "tags/",
    "delete-conversation": "delete/",
    "purge-conversation": "purge/",
    "restore-conversation": "restore/",
}
OPEN = {"home", "login", "logout", "invited", "oidc", "oidc-callback"}


def place_of(name: str) -> str:
    return f"/admin/{PAGES[name]}"


def test_every_address_is_known_to_these_tests() -> None:
    assert {pattern.name for pattern in urlpatterns if pattern.name} == OPEN | set(
        PAGES
    ) | OF_AN_ACCOUNT | HELP | set(OF_A_CONVERSATION)


@pytest.mark.parametrize("place", [place_of(name) for name in PAGES])
def test_nobody_is_led_to_the_login_and_back(client: Client, db: None, place: str) -> None:
    answer = client.get(place)
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/login/?next={place}")


def test_a_login_leads_everybody_to_the_one_site(client: Client, bob: User, charlie: User) -> None:
    assert client.get("/").headers["Location"] == "/login/"
    for name in ("bob", "charlie"):
        client.post("/login/", {"username": name, "password": "a-long-password"})
        assert client.get("/").headers["Location"] == "/admin/"
        client.post("/logout/")
        assert client.get("/").headers["Location"] == "/login/"


def test_a_login_leads_nobody_to_another_site(client: Client, bob: User) -> None:
    form = {"username": "bob", "password": "a-long-password", "next": "https://evil.example/"}
    assert client.post("/login/", form).headers["Location"] == "/"


def test_guessing_passwords_is_slowed_down_and_said(client: Client, bob: User) -> None:
    said = ""
    for _ in range(30):
        said = client.post("/login/", {"username": "bob", "password": "wrong"}).content.decode()
    assert "Try again in" in said
    right = client.post("/login/", {"username": "bob", "password": "a-long-password"})
    assert right.status_code == 200
    assert "_auth_user_id" not in client.session


@pytest.mark.parametrize(("name", "of_member", "of_viewer"), [("change", 200, 200), ("edit", 200, 403), ("dispute", 200, 403)])  # fmt: skip
def test_what_may_be_done_with_a_memory(
    remember: Remember, member: Client, viewer: Client, stranger: Client, name: str, of_member: int, of_viewer: int
) -> None:  # fmt: skip
    own, foreign = remember("The port is 8081."), remember("The gate code is 4711.", group="garden")
    assert member.get(address(own, name)).status_code == of_member
    assert viewer.get(address(own, name)).status_code == of_viewer
    assert stranger.get(address(own, name)).status_code == 404
    for client in (member, viewer, stranger):
        answer = client.get(address(foreign, name))
        assert answer.status_code == 404
        assert " 4711" not in answer.content.decode()


def test_what_may_be_done_with_a_conversation(
    remember: Remember, member: Client, viewer: Client, stranger: Client
) -> None:
    own, foreign = (remember("The port is 8081.", group=slug, thread="talk") for slug in ("ledger", "garden"))
    before = list(Thread.objects.values())
    for client in (viewer, stranger):
        for memory in (own, foreign):
            assert memory.thread is not None
            at = f"/admin/conversations/{memory.thread.id}/"
            assert client.get(at).status_code == (200 if (client is viewer and memory is own) else 404)
            for name in ("move", "tags", "delete"):
                sent = {"group": "ledger", "tags": "x"}
                assert client.post(f"{at}{name}/", sent).status_code in (403, 404)
    assert list(Thread.objects.values()) == before
    assert foreign.thread is not None
    assert str(foreign.thread.id) not in member.get("/admin/conversations/").content.decode()


@pytest.mark.parametrize("who", ["viewer", "stranger"])
def test_who_may_not_write_changes_nothing_by_posting_either(
    remember: Remember, who: str, request: pytest.FixtureRequest
) -> None:
    memory, client = remember("The port is 8081."), request.getfixturevalue(who)
    before = list(Memory.objects.values())
    client.post(ADD, FORM)
    client.post(address(memory, "edit"), FORM | {"version": 1})
    client.post(address(memory, "dispute"), {"reason": "z"})
    assert list(Memory.objects.values()) == before


def test_searches_and_lists_hold_nothing_foreign(
    remember: Remember, member: Client, viewer: Client, stranger: Client
) -> None:
    remember("The blue gate code is 4711.", group="garden")
    remember("The blue port is 8081.")
    shared = "The blue house is in Lisbon."
    remember(shared, scope="global", group="garden")
    for place in ("/admin/ask/?q=blue", "/admin/ask/", "/admin/memories/memory/?mine=1"):
        for client in (member, viewer, stranger):
            assert " 4711" not in client.get(place).content.decode()
    assert "8081" in member.get("/admin/ask/?q=blue+port").content.decode()
    assert " 8081" not in stranger.get("/admin/ask/?q=blue").content.decode()
    assert shared in stranger.get("/admin/ask/?q=blue").content.decode()


def test_a_group_one_may_not_enter_is_not_found(remember: Remember, member: Client) -> None:
    answer = member.get("/admin/ask/?group=garden")
    assert answer.status_code == 404
    assert "garden" in answer.content.decode()


def test_storing_for_a_foreign_group_is_refused_at_the_field(remember: Remember, member: Client) -> None:
    assert member.post(ADD, FORM | {"group": "garden"}).status_code == 422
    assert not Memory.objects.filter(content="The fence is green.").exists()


def test_who_only_reads_is_told_how_to_get_the_right(viewer: Client) -> None:
    answer = viewer.get(ADD)
    assert answer.status_code == 403
    assert "contributor" in answer.content.decode()


@pytest.mark.parametrize("name", ["login"])
def test_each_page_allows_itself_nothing_from_elsewhere_and_nothing_inline(member: Client, name: str) -> None:
    answer = member.get(reverse(f"people:{name}"))
    policy = dict(
        part.split(" ", 1) for part in answer.headers.get("Content-Security-Policy", "").split("; ")
    )
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert answer.headers["Cache-Control"] == "no-store, private"
    body = answer.content.decode()
    assert " style=" not in body
    assert body.count("<script") == body.count("<script src=")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_ones_own_is_in_no_cache_and_runs_nothing_inline(member: Client, name: str) -> None:
    answer = member.get(reverse(f"people:{name}"))
    assert answer.headers["Cache-Control"] == "no-store, private"
    body = answer.content.decode()
    assert body.count("<script") == body.count("<script src=")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/app/account/?x=1", "/admin/account/?x=1"),
        ("/app/memories/7/", "/admin/memories/memory/7/change/"),
        ("/app/memories/7/correct/", "/admin/memories/memory/7/edit/"),
        ("/app/memories/7/flag/", "/admin/memories/memory/7/dispute/"),
        ("/app/new/", "/admin/memories/memory/add/"),
        ("/app/mine/", "/admin/memories/memory/?mine=1"),
        ("/app/mine/?p=2", "/admin/memories/memory/?mine=1&p=2"),
        ("/admin/memories/link/", "/admin/review/"),
        ("/admin/memories/link/7/change/", "/admin/review/"),
        ("/app/account/tokens/new/", "/admin/access/apitoken/add/"),
        ("/app/conversations/7/move/", "/admin/conversations/7/move/"),
        ("/help/how-to/review/", "/admin/help/how-to/review/"),
        ("/help/", "/admin/help/"),
        ("/app/?q=sail", "/admin/ask/?q=sail"),
        ("/admin/explore/recall/?q=sail&group=ledger", "/admin/ask/?q=sail&group=ledger"),
        ("/admin/explore/groups/ledger/", "/admin/groups/ledger/"),
        ("/admin/explore/settings/", "/admin/settings/instance/"),
        ("/app/what/was/never/there/", "/admin/"),
    ],
)
def test_former_addresses_lead_on_for_good(client: Client, old: str, new: str) -> None:
    answer = client.get(old)
    assert (answer.status_code, answer.headers["Location"]) == (301, new)
    assert client.post(old).status_code == 405


@pytest.mark.parametrize("method", ["put", "delete", "patch"])
def test_other_methods_are_not_taken(member: Client, method: str) -> None:
    assert getattr(member, method)("/app/").status_code == 405


def test_the_admin_asks_for_a_password_on_the_page_for_everybody(client: Client, db: None) -> None:
    assert client.get("/admin/login/").headers["Location"] == "/login/"
    wanted = client.get("/admin/memories/memory/?q=pear", follow=True)
    assert wanted.redirect_chain[-1][0] == "/login/?next=/admin/memories/memory/%3Fq%3Dpear"
    assert 'name="next" value="/admin/memories/memory/?q=pear"' in wanted.content.decode()


@pytest.mark.parametrize(
    "next_", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", "\\\\evil.example"]
)
def test_the_admins_login_leads_nobody_to_another_site(client: Client, alice: User, next_: str) -> None:
    assert client.get("/admin/login/", {"next": next_}).headers["Location"] == "/login/"
    form = {"username": "alice", "password": "a-long-password", "next": next_}
    assert client.post("/admin/login/", form).headers["Location"] == "/"
    assert client.get("/admin/login/", {"next": next_}).headers["Location"] == "/admin/"


def test_a_curator_is_led_to_where_they_wanted_to_go(client: Client, alice: User) -> None:
    place = "/admin/memories/memory/?q=pear"
    form = {"username": "alice", "password": "a-long-password", "next": place}
    assert client.post("/login/", form).headers["Location"] == place
    assert client.get("/admin/login/", {"next": place}).headers["Location"] == place
