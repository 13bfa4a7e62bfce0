"""`manage.py mcp` before it serves: what it refuses, and for whom it would act."""

from io import StringIO

import pytest
from asgiref.sync import async_to_sync
from django.core.management import CommandError, call_command

from access.actor import ALL_SCOPES, READ
from access.errors import NotAuthenticated
from access.models import ApiToken
from access.tokens import operator, revoke_token
from loci_site.mcp.transports.stdio import StdioCaller, actor_finder, stdio_actor
from tests.loci_site.mcp.people import Agent

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("options", "token", "said"),
    [
        ([], "", "Use --stdio."),
        (["--stdio"], "loci_wrong", "The token is not known."),
        (["--stdio", "--group", "Not A Slug"], "", "is not a valid group name."),
        (["--stdio", "--admin", "--read-only"], "", "--admin cannot be combined with --read-only."),
        (["--stdio", "--admin"], "loci_x", "--admin cannot be combined with a token."),
    ],
)
def test_it_refuses_what_it_cannot_serve(
    options: list[str], token: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCI_TOKEN", token)
    out = StringIO()
    with pytest.raises(CommandError, match=said):
        call_command("mcp", *options, stdout=out)
    assert out.getvalue() == ""


def test_without_a_token_it_is_the_operator_but_no_person() -> None:
    actor = stdio_actor(StdioCaller())
    assert (actor.name, actor.via, actor.is_person) == ("operator", "mcp", False)
    assert (actor.scopes, actor.all_groups) == ({"read", "write", "create-group"}, True)


def test_as_admin_it_has_every_right_but_is_no_person() -> None:
    actor = stdio_actor(StdioCaller(admin=True))
    assert (actor.scopes, actor.all_groups, actor.is_person) == (ALL_SCOPES, True, False)


def test_read_only_leaves_the_right_to_read() -> None:
    assert stdio_actor(StdioCaller(read_only=True)).scopes == {READ}


def test_a_token_brings_its_rights_and_a_group_its_default(alice: Agent) -> None:
    actor = stdio_actor(StdioCaller(secret=alice.secret, group="payroll", read_only=True))
    assert (actor.name, actor.scopes, actor.default_group) == ("alice/agent", {READ}, "payroll")
    assert stdio_actor(StdioCaller(secret=alice.secret)).default_group == "ledger"


def test_an_unknown_token_is_nobody() -> None:
    with pytest.raises(NotAuthenticated):
        stdio_actor(StdioCaller(secret="loci_wrong"))


def test_a_token_that_is_revoked_ends_a_session_that_runs(alice: Agent) -> None:
    find = actor_finder(StdioCaller(secret=alice.secret))
    assert async_to_sync(find)().name == "alice/agent"
    revoke_token(operator(), ApiToken.objects.get(key=alice.actor.token_key))
    with pytest.raises(NotAuthenticated, match="revoked"):
        async_to_sync(find)()
