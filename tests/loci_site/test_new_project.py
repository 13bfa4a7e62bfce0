"""A group that does not exist, and one that the caller may not enter: reading answers the same, and names no other group."""

import json
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from access.models import Group
from access.tokens import operator
from memories.draft import Draft
from memories.models import RecallLog
from memories.store import store
from tests.loci_site.api.conftest import Caller
from tests.loci_site.mcp.people import make_agent, text_of
from tests.people import alice, bob, garden, ledger, make_token

__all__ = ["alice", "bob", "garden", "ledger"]
pytestmark = pytest.mark.django_db
MEMBER = (
    "Nothing is stored yet in '{0}'. You cannot make the group: an operator can (loci group create {0}), and so can a token"
    " with the scope 'create-group' by its first store. If it is there already, one of its admins can make you a member."
)
MAKER = "Nothing is stored yet in '{0}'. Your first store creates the group, unless the name belongs to a group you cannot access."
SCOPES = pytest.mark.parametrize(
    ("scopes", "words"), [(("read", "write"), MEMBER), (("read", "write", "create-group"), MAKER)]
)
SLUGS = pytest.mark.parametrize("slug", ["garden", "meadow"])


@pytest.fixture
def secret(garden: Group) -> None:
    """A memory of `garden`, which bob may not enter."""
    store(operator(), Draft("The roses need water.", group="garden", scope="group"))


def said_by(*words: str) -> str:
    """What a command prints before it ends with the status for nothing found."""
    out = StringIO()
    with pytest.raises(SystemExit):
        call_command(*words, stdout=out)
    return out.getvalue()


@SLUGS
@SCOPES
def test_an_agent_learns_who_makes_the_group(
    bob: User, secret: None, slug: str, scopes: tuple[str, ...], words: str
) -> None:
    agent, expected = make_agent(bob, *scopes), words.format(slug)
    for tool in ("recall_memory", "get_context"):
        assert text_of(agent.call(tool, query="roses", group=slug)) == expected


@SLUGS
@SCOPES
def test_a_program_learns_who_makes_the_group(
    bob: User, secret: None, slug: str, scopes: tuple[str, ...], words: str
) -> None:
    caller, expected = Caller(make_token(bob, scopes=scopes)[1]), words.format(slug)
    body = caller.post("/recall", {"query": "roses", "group": slug})
    assert (body["results"], body.get("nearest", []), body["abstained"], body["note"]) == (
        [],
        [],
        True,
        expected,
    )
    assert caller.get(f"/context?group={slug}")["text"] == expected


@SLUGS
def test_reading_by_id_finds_nothing_there(bob: User, secret: None, slug: str) -> None:
    store(operator(), Draft("Invoices go out on Mondays.", group="ledger", scope="group"))
    known = make_agent(bob, "read").answer("recall_memory", query="invoices", group="ledger")["results"][0][
        "id"
    ]
    body = make_agent(bob, "read").answer("recall_memory", ids=[known], group=slug)
    assert (body["results"], body["missing"]) == ([], [known])


def test_a_command_says_that_the_first_store_makes_the_group(ledger: Group) -> None:
    expected = MAKER.format("meadow")
    assert said_by("recall", "roses", "--group", "meadow").strip() == expected
    assert json.loads(said_by("recall", "roses", "--group", "meadow", "--json"))["note"] == expected


def test_what_is_asked_of_no_group_is_not_logged(bob: User, secret: None) -> None:
    make_agent(bob, "read").answer("recall_memory", query="roses", group="garden")
    assert not RecallLog.objects.exists()


@SLUGS
def test_a_write_names_no_other_group(bob: User, secret: None, slug: str) -> None:
    agent = make_agent(bob, "read", "write")
    for tool, arguments in (("store_memory", {"content": "x"}), ("checkpoint", {"state": "x"})):
        said = agent.error(tool, group=slug, **arguments)
        assert (
            f"There is no group '{slug}' that you may use. You cannot make the group: an operator can" in said
        )
        assert "ledger" not in said


def test_a_token_that_may_not_read_is_refused(bob: User, secret: None) -> None:
    caller = Caller(make_token(bob, scopes=["write"])[1])
    bodies = [caller.send("get", f"/context?group={slug}", status=403) for slug in ("garden", "meadow")]
    assert bodies[0] == bodies[1]


def test_an_agent_still_names_a_group(bob: User, garden: Group) -> None:
    assert "Name one of: ledger." in make_agent(bob, "read").error("get_context")
