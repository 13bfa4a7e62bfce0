"""People are created, changed, deactivated and given passwords by command; the log records it without passwords."""

import io
import json
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.forms import UserCreationForm
from django.contrib.auth.models import User
from django.core.management import call_command, get_commands
from django.core.management.base import CommandError
from django.test import Client

from access.errors import Conflict, NotPermitted
from access.models import AuditEntry, Group
from access.sign_in.users import PersonChange, add_person, change_person, set_password
from access.tokens import operator
from tests.people import alice, bob, ledger, make_token, person

__all__ = ["alice", "bob", "ledger"]
pytestmark = pytest.mark.django_db
STRONG = "a-word-nobody-guesses-7"


def run(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue().strip()


def answer(*words: str) -> Any:
    return json.loads(run(*words, "--json"))


def logged() -> list[dict[str, Any]]:
    rows = AuditEntry.objects.filter(operation="person").order_by("key").select_related("payload_row")
    return [row.payload_row.payload for row in rows]


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{STRONG}\nnot this line\n"))


def test_a_person_is_made_with_groups_and_a_password_from_standard_input(ledger: Group, piped: None) -> None:
    said = run(
        "person",
        "add",
        "ann",
        "--email",
        "ann@example.org",
        "--member",
        "ledger=curator",
        "--password-stdin",
    )
    assert "ann" in said
    assert "ledger as curator" in said
    assert STRONG not in said
    ann = User.objects.get(username="ann")
    assert authenticate(username="ann", password=STRONG) == ann
    assert (ann.is_superuser, ann.memberships.get().role) == (False, "curator")
    assert logged() == [
        {
            "action": "create",
            "changes": {
                "username": ["", "ann"],
                "email": ["", "ann@example.org"],
                "is_active": ["", True],
            },
        }
    ]


def test_a_password_that_is_made_up_is_shown_once(db: None) -> None:
    made = answer("person", "add", "ann", "--generate")
    assert authenticate(username="ann", password=made["password"]) is not None
    assert len(made["password"]) == 23
    again = run("person", "password", "ann", "--generate").split("\n")[2].strip()
    assert authenticate(username="ann", password=made["password"]) is None
    assert authenticate(username="ann", password=again) is not None
    assert logged()[-1] == {"action": "password", "by_themselves": False}
    stored = str(logged()) + str(list(AuditEntry.objects.values()))
    assert made["password"] not in stored
    assert again not in stored
    assert again not in run("person", "list")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ann", "--member", "ledger=king", "--generate"], "is not GROUP=ROLE"),
        (["ann", "--member", "ledgre=viewer", "--generate"], "There is no group 'ledgre'"),
        (["alice", "--generate"], "There is already a user 'alice'"),
        (["ann b", "--generate"], "Enter a valid username"),
        (["ann", "--email", "nowhere", "--generate"], "Enter a valid email address"),
        (["ann"], "There is no terminal to ask for a password"),
    ],
)
def test_a_wrong_wish_makes_nobody(
    ledger: Group, words: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with pytest.raises(CommandError, match=said):
        run("person", "add", *words)
    assert list(User.objects.values_list("username", flat=True)) == ["alice"]
    assert logged() == []


def test_a_weak_password_is_refused_without_being_repeated(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("qwertyuiop\n"))
    with pytest.raises(CommandError, match="too common") as refused:
        run("person", "add", "ann", "--password-stdin")
    assert "qwertyuiop" not in str(refused.value)
    assert not User.objects.exists()


def test_a_person_without_a_password_cannot_log_in_until_given_one(db: None, piped: None) -> None:
    assert "no password" in run("person", "add", "ann", "--no-password")
    assert not User.objects.get().has_usable_password()
    assert "new password" in run("person", "password", "ann", "--password-stdin")
    assert authenticate(username="ann", password=STRONG) is not None


def test_everybody_is_listed_with_their_groups(bob: User) -> None:
    rows = {row["user"]: row for row in answer("person", "list")}
    assert (rows["alice"]["superuser"], rows["alice"]["groups"]) == (
        True,
        [{"group": "ledger", "role": "admin"}],
    )
    assert rows["bob"]["groups"] == [{"group": "ledger", "role": "contributor"}]
    assert "bob                  ledger as contributor; last login: never" in run("person", "list")


def test_nobody_to_list_says_how_to_make_somebody(db: None) -> None:
    assert run("person", "list") == "There are no people yet. Add one: loci person add NAME"


def test_switching_off_ends_logins_and_tokens_and_a_trial_does_not(bob: User) -> None:
    _, secret = make_token(bob)
    browser = Client()
    browser.force_login(bob)
    ask = {"HTTP_AUTHORIZATION": f"Bearer {secret}"}
    would = run("person", "deactivate", "bob", "--dry-run")
    assert (
        would
        == "Nothing was changed. 'bob' would be deactivated: sessions would end and 1 token would be revoked at once."
    )
    assert (logged(), Client().get("/api/groups", **ask).status_code) == ([], 200)
    assert answer("person", "deactivate", "bob")["ended_tokens"] == 1
    assert Client().get("/api/groups", **ask).status_code == 401
    assert browser.get("/admin/").status_code == 302
    assert "deactivated" in run("person", "list")
    with pytest.raises(CommandError, match="deactivated already"):
        run("person", "deactivate", "bob")
    assert "tokens stay revoked" in run("person", "activate", "bob")
    assert Client().get("/api/groups", **ask).status_code == 401
    assert browser.get("/admin/").status_code == 302
    with pytest.raises(CommandError, match="active already"):
        run("person", "activate", "bob")
    assert [row["changes"] for row in logged()] == [
        {"is_active": [True, False]},
        {"is_active": [False, True]},
    ]


def test_the_last_superuser_stays(alice: User) -> None:
    for words in (["deactivate", "alice"], ["change", "alice", "--superuser", "no"]):
        with pytest.raises(CommandError, match="No active superuser would be left"):
            run("person", *words)
    alice.refresh_from_db()
    assert (alice.is_active, alice.is_superuser, logged()) == (True, True, [])


def test_rights_of_a_person_are_changed_and_named(bob: User) -> None:
    assert "Now bob" in run("person", "change", "bob", "--superuser", "yes")
    assert "nothing was changed" in run("person", "change", "bob", "--superuser", "yes")
    assert answer("person", "change", "bob", "--email", "bob@example.org")["changed"] == ["email"]
    assert len(logged()) == 2
    with pytest.raises(CommandError, match="Existing users: alice, bob"):
        run("person", "change", "eve", "--superuser", "yes")


def test_nobody_but_who_administers_everything_looks_after_people(alice: User, bob: User) -> None:
    for do in (
        lambda: add_person(person(bob), "eve", PersonChange(), password=STRONG),
        lambda: change_person(person(bob), alice, PersonChange(is_active=False)),
        lambda: set_password(person(bob), alice, STRONG),
    ):
        with pytest.raises(NotPermitted):
            do()
    assert add_person(person(alice), "eve", PersonChange(), password=None).username == "eve"
    with pytest.raises(Conflict):
        add_person(operator(), "eve", PersonChange(), password=None)


def test_djangos_own_commands_are_ours_and_logged(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {get_commands()[name] for name in ("createsuperuser", "changepassword")} == {"access"}
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", STRONG)
    assert run("createsuperuser", "--username", "ann", "--email", "ann@example.org", "--noinput") == (
        "Created the superuser 'ann'."
    )
    ann = User.objects.get()
    assert (ann.is_superuser, authenticate(username="ann", password=STRONG)) == (True, ann)
    typed = iter(["another-word-8-x", "another-word-8-x", "one-of-two-words", "the-other-of-two"])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("getpass.getpass", lambda _: next(typed))
    assert run("changepassword", "ann") == "Changed the password of 'ann'; their sessions have ended."
    assert authenticate(username="ann", password="another-word-8-x") == ann
    with pytest.raises(CommandError, match="The two passwords differ"):
        run("changepassword", "ann")
    assert [row["action"] for row in logged()] == ["create", "password"]
    assert STRONG not in str(logged())
    with pytest.raises(CommandError, match="A name is needed"):
        run("createsuperuser", "--noinput")


def test_a_person_is_invited_and_hands_over_by_command(ledger: Group, bob: User) -> None:
    made = answer("person", "add", "ann@example.org", "--member", "ledger=curator", "--link")
    assert (made["user"], made["email"], made["has_password"]) == ("ann", "ann@example.org", False)
    assert Client().get(made["link"].partition("8000")[2], follow=True).status_code == 200
    ledger.memberships.update(role="viewer")
    ledger.memberships.filter(user=bob).update(role="admin")
    assert "No other person administers ledger" in run("person", "deactivate", "bob", "--dry-run")
    run("person", "deactivate", "bob", "--hand-over-to", "ann")
    assert ledger.memberships.get(user__username="ann").role == "admin"


@pytest.mark.parametrize("name", ["operator", "Operator", "rooms", "job", "Former-person-5"])
def test_no_account_gets_a_name_that_the_log_gives_to_loci_itself(name: str) -> None:
    with pytest.raises(CommandError, match="reserved for Loci"):
        run("person", "add", name, "--generate")
    form = UserCreationForm({"username": name, "password1": STRONG, "password2": STRONG})
    assert "reserved" in form.errors["username"][0]


def test_an_older_account_with_such_a_name_can_still_be_changed(alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(is_superuser=True)
    older = User.objects.create_user("operator")
    assert change_person(operator(), older, PersonChange(email="o@example.org")) == ["email"]
