"""`token` and `group`: their output, and secrets that are shown only once."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from access.errors import NotPermitted
from access.groups.members import set_private
from access.models import ApiToken, AuditEntry, Group
from access.tokens import actor_for_secret, operator
from memories.draft import Draft
from memories.recall import RecallRequest, recall
from memories.store import store
from tests.people import alice, bob, garden, ledger  # noqa: F401 - fixtures

pytestmark = pytest.mark.django_db


def run(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue().strip()


def answer(*words: str) -> Any:
    return json.loads(run(*words, "--json"))


def test_a_new_token_works_and_its_secret_is_shown_once(alice: User) -> None:  # noqa: F811
    said = run("token", "create", "laptop")
    (secret,) = {word for word in said.replace('"', " ").split() if word.startswith("loci_")}
    assert (
        f'claude mcp add --transport http loci http://127.0.0.1:8000/mcp --header "Authorization: Bearer {secret}"'
        in said
    )
    actor = actor_for_secret(secret)
    assert (actor.name, actor.scopes, actor.all_groups) == ("alice/laptop", {"read", "write"}, True)
    assert secret not in run("token", "list")
    assert secret not in run("token", "list", "--json")


def test_a_token_can_be_bound_to_groups_and_an_end(bob: User, ledger: Group) -> None:  # noqa: F811
    made = answer(
        "token",
        "create",
        "ci",
        "--user",
        "bob",
        "--scopes",
        "read",
        "--group",
        "ledger",
        "--default-group",
        "ledger",
        "--days",
        "30",
    )
    assert (made["user"], made["scopes"], made["groups"], made["default_group"]) == (
        "bob",
        ["read"],
        ["ledger"],
        "ledger",
    )
    token = ApiToken.objects.get(name="ci")
    assert token.expires_at is not None
    assert (token.expires_at - token.created_at).days in (29, 30)
    assert made["connect"]["config"]["mcpServers"]["loci"]["headers"] == {
        "Authorization": f"Bearer {made['secret']}"
    }


def test_a_token_says_that_it_sees_no_other_groups_global_memories(ledger: Group) -> None:  # noqa: F811
    made = answer("token", "create", "ci", "--group", "ledger", "--no-global")
    assert made["include_global"] is False
    assert "ledger alone, without global memories of other groups" in run("token", "list")
    assert actor_for_secret(made["secret"]).include_global is False


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--scopes", "read,fly"], "Unknown scope: fly. Use admin"),
        (["--user", "nobody"], "There is no user 'nobody'. Existing users: alice"),
        (["--group", "ledgre"], "Did you mean ledger or"),
        (["--group", "garden", "--default-group", "ledger"], "not bound to its default group 'ledger'"),
        (["--no-global"], "needs groups of its own"),
        (["--days", "-3"], "is in the past"),
    ],
)
def test_a_wrong_wish_makes_no_token(ledger: Group, garden: Group, words: list[str], said: str) -> None:  # noqa: F811
    with pytest.raises(CommandError, match=said):
        run("token", "create", "laptop", *words)
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize("option", ["--group", "--default-group"])
def test_a_token_for_a_group_that_does_not_exist_says_how_to_create_it(alice: User, option: str) -> None:  # noqa: F811
    with pytest.raises(CommandError) as error:
        run("token", "create", "laptop", option, "orchard")
    assert "The group 'orchard' does not exist." in str(error.value)
    assert "loci group create orchard" in str(error.value)
    assert not ApiToken.objects.exists()


def test_a_token_is_revoked_once_by_name_or_start_of_its_id(alice: User) -> None:  # noqa: F811
    secret = answer("token", "create", "laptop")["secret"]
    other = answer("token", "create", "desktop")
    assert run("token", "revoke", "laptop") == "Token 'laptop' is revoked."
    with pytest.raises(Exception, match="revoked or has expired"):
        actor_for_secret(secret)
    with pytest.raises(CommandError, match="There is no token 'laptop'"):
        run("token", "revoke", "laptop")
    assert answer("token", "revoke", other["id"])["state"] == "revoked"
    with pytest.raises(CommandError, match="revoked already"):
        run("token", "revoke", other["id"])


def test_a_name_that_two_tokens_have_is_asked_back(alice: User) -> None:  # noqa: F811
    first, second = answer("token", "create", "laptop"), answer("token", "create", "laptop")
    with pytest.raises(CommandError, match="matches several tokens") as asked:
        run("token", "revoke", "laptop")
    assert first["id"] in str(asked.value)
    assert second["id"] in str(asked.value)


def test_a_group_is_made_shown_and_changed(alice: User, tmp_path: Path) -> None:  # noqa: F811
    assert run("group", "create", "kitchen", "--title", "What we cook") == "Created the group 'kitchen'."
    rules = tmp_path / "rules.md"
    rules.write_text("Amounts are in grams.\n")
    words = ["group", "update", "kitchen", "--instructions", f"@{rules}", "--policy", "agents"]
    assert run(*words) == "Changed the group 'kitchen': instructions, policy."
    assert run(*words) == "'kitchen' has these values already: nothing was changed."
    assert AuditEntry.objects.filter(subject="group:kitchen").count() == 2
    shown = answer("group", "show", "kitchen")
    assert (shown["title"], shown["instructions"], shown["policy"]) == (
        "What we cook",
        "Amounts are in grams.",
        "agents",
    )
    assert "kitchen" in run("group", "list")
    with pytest.raises(CommandError, match="is not a valid group name"):
        run("group", "create", "Kitchen!")


def test_members_are_set_and_taken_out(bob: User, ledger: Group) -> None:  # noqa: F811
    shown = answer("group", "members", "ledger", "--set", "bob=curator", "--remove", "alice")
    assert shown["members"] == [{"user": "bob", "role": "curator"}]
    for words, said in (("bob=king", "is not USER=ROLE"), ("eve=viewer", "There is no user 'eve'")):
        with pytest.raises(CommandError, match=said):
            run("group", "members", "ledger", "--set", words)


def test_a_group_with_global_memories_is_not_made_private_by_accident(ledger: Group) -> None:  # noqa: F811
    store(operator(), Draft("The port is 8081", group="ledger", scope="global"))
    with pytest.raises(
        CommandError, match="'ledger' has 1 global memory, which would stay visible in every group"
    ):
        run("group", "update", "ledger", "--private", "yes")
    ledger.refresh_from_db()
    assert not ledger.private


def test_an_empty_group_becomes_private_and_open_again(garden: Group) -> None:  # noqa: F811
    before = AuditEntry.objects.count()
    assert set_private(operator(), "garden", private=True).private
    assert set_private(operator(), "garden", private=True).private
    assert not set_private(operator(), "garden", private=False).private
    assert AuditEntry.objects.count() == before + 2


@pytest.mark.parametrize("command", ["token", "group", "doctor", "up"])
def test_help_shows_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        call_command(command, "--help")
    assert f"examples:\n  loci {command}" in capsys.readouterr().out


def test_an_archived_group_is_read_and_takes_nothing_new(ledger: Group) -> None:  # noqa: F811
    store(operator(), Draft("The port is 8081", group="ledger"))
    run("group", "update", "ledger", "--archived", "yes")
    with pytest.raises(NotPermitted, match="archived"):
        store(operator(), Draft("The port is 8082", group="ledger"))
    assert (
        recall(operator(), RecallRequest("which port?", group="ledger")).items[0].text == "The port is 8081"
    )
    run("group", "update", "ledger", "--archived", "no")
    assert store(operator(), Draft("The port is 8082", group="ledger")).outcome == "created"
