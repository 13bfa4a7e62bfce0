"""`loci person`: the people who may log in."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Final
from urllib.parse import urlsplit
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction

from access.additions import additions
from access.answers import Answer, ShownAs
from access.errors import Conflict, NotFound
from access.groups import find_group
from access.groups.members import read_role, set_member
from access.management.command import (
    DRY_RUN,
    EMAIL,
    NAME,
    YES_NO,
    CommandAnswer,
    CommandVerb,
    LociCommand,
    either,
    flag,
    many,
    option,
)
from access.models import Attempts, Group, Role
from access.sign_in.invitations import deactivate as end_account
from access.sign_in.invitations import invitation_link, name_and_email
from access.sign_in.lockouts import active_locks, lift_lock
from access.sign_in.passwords import generated_password, piped_password, typed_password
from access.sign_in.users import PersonChange, add_person, change_person, find_person, set_password
from access.tokens import operator

_THIS_MACHINE: Final = ("127.0.0.1", "localhost", "::1")
EXAMPLES: Final = """\
examples:
  loci person add ann --member ledger=curator              asks for a password
  loci person add bob --member ledger=contributor --generate
  loci person add cleo@example.org --link                  a one-time link, where they choose a password
  loci person list
  loci person change ann --superuser yes
  loci person password ann --password-stdin < file
  loci person deactivate bob --dry-run                     which sessions and tokens would end
  loci person deactivate bob --hand-over-to ann             ann administers bob's groups
  loci person activate bob
  loci person export ann --to ann.zip                      what they wrote and did, readable without Loci
  loci person erase bob --dry-run                          what would go, what would stay and why
  loci person erase bob                                    asks for the name; --yes does not ask
  loci person unlock                                       the locks after too many failed attempts
  loci person unlock 0190c2a4                              lift one, by the start of its id
"""
_SHOWN_ONCE: Final = "The password is shown only once."


def _read_password(options: dict[str, Any]) -> str:
    """The password from the source that the options name."""
    if options["generate"]:
        return generated_password()
    return piped_password() if options["password_stdin"] else typed_password()


def add(options: dict[str, Any]) -> CommandAnswer:
    """Add a person with the first memberships, all or nothing."""
    roles = [_group_and_role(pair) for pair in options["member"]]
    values = PersonChange(
        email=options["email"],
        is_superuser=options["superuser"],
    )
    password = None if options["no_password"] or options["link"] else _read_password(options)
    name, address = name_and_email(options["name"]) if options["link"] else (options["name"], "")
    with transaction.atomic():
        values = replace(values, email=values.email or address or None)
        user = add_person(operator(), name, values, password=password)
        for group, role in roles:
            set_member(operator(), group, user=user, role=role)
    if options["link"]:
        link = invitation_link(user)
        note = "The link works once, for a week. 'loci person password' sets a password instead."
        if urlsplit(link).hostname in _THIS_MACHINE:
            note += "\nIt leads nowhere on another machine: set server.public_url (docs/how-to/run-for-a-team.md)."
        return CommandAnswer(
            PersonOut.json(user) | {"link": link}, f"Added {_person_line(user)}\n\n  {link}\n\n{note}"
        )
    return _with_password(user, f"Added {_person_line(user)}", password if options["generate"] else None)


def _with_password(user: User, text: str, shown: str | None) -> CommandAnswer:
    """The person, with a generated password that is shown once."""
    body = PersonOut.json(user) | ({"password": shown} if shown else {})
    return CommandAnswer(body, f"{text}\n\n  {shown}\n\n{_SHOWN_ONCE}" if shown else text)


def _list_people(options: dict[str, Any]) -> CommandAnswer:
    people = list(User.objects.order_by("username").prefetch_related("memberships__group"))
    lines = "\n".join(_person_line(user) for user in people)
    none = "There are no people yet. Add one: loci person add NAME"
    return CommandAnswer([PersonOut.json(user) for user in people], lines or none)


def change(options: dict[str, Any]) -> CommandAnswer:
    """Change the named values of a person."""
    user = find_person(options["name"])
    values = PersonChange(
        email=options["email"],
        is_superuser=YES_NO.get(options["superuser"] or ""),
    )
    changed = change_person(operator(), user, values)
    same = f"'{user}' has these values already: nothing was changed."
    return CommandAnswer(
        PersonOut.json(user) | {"changed": changed}, f"Now {_person_line(user)}" if changed else same
    )


def deactivate(options: dict[str, Any]) -> CommandAnswer:
    """Deactivate a person, or show what that would end."""
    user = find_person(options["name"])
    if not user.is_active:
        raise Conflict(
            f"'{user}' is deactivated already.", hint="'loci person activate' reactivates.", field="user"
        )
    successor = find_person(options["hand_over_to"]) if options["hand_over_to"] else None
    with transaction.atomic():
        leaving = end_account(operator(), user, successor=successor)
        transaction.set_rollback(options["dry_run"])
    note = ""
    if leaving.sole_admin_of and successor is None:
        groups = ", ".join(group.slug for group in leaving.sole_admin_of)
        note = f" No other person administers {groups}: name the new admin with --hand-over-to."
    tokens = leaving.tokens
    revoked = f"{tokens} token{'' if tokens == 1 else 's'}"
    if options["dry_run"]:
        text = f"Nothing was changed. '{user}' would be deactivated: sessions would end and {revoked} would be revoked at once."
    else:
        text = f"'{user}' is deactivated: sessions have ended, and {revoked} {'was' if tokens == 1 else 'were'} revoked. Their memories stay."
    body = {**PersonOut.json(user), "ended_tokens": tokens, "dry_run": options["dry_run"]}
    return CommandAnswer(body, text + note)


def activate(options: dict[str, Any]) -> CommandAnswer:
    """Reactivate a person."""
    user = find_person(options["name"])
    if user.is_active:
        raise Conflict(f"'{user}' is active already.", hint="Nothing was changed.", field="user")
    change_person(operator(), user, PersonChange(is_active=True))
    text = f"'{user}' is active: their password works again. Their tokens stay revoked; 'loci token create' makes new ones."
    return CommandAnswer(PersonOut.json(user), text)


def change_password(options: dict[str, Any]) -> CommandAnswer:
    """Set a new password."""
    user, password = find_person(options["name"]), _read_password(options)
    set_password(operator(), user, password)
    text = f"'{user}' has a new password; their sessions have ended."
    return _with_password(user, text, password if options["generate"] else None)


def unlock(options: dict[str, Any]) -> CommandAnswer:
    """List the locks after too many attempts, or lift the one whose id starts with the text (at least 4 characters)."""
    rows, text = list(active_locks(operator())), options["id"].strip().lower()
    if not text:
        return CommandAnswer(
            [LockOut.json(row) for row in rows],
            "\n".join(_lock_line(row) for row in rows) or "No one is locked out.",
        )
    found = [row for row in rows if len(text) >= 4 and str(row.id).startswith(text)]
    if not found:
        raise NotFound(
            f"There is no lock '{text}'.", hint="'loci person unlock' lists all locks.", field="id"
        )
    if len(found) > 1:
        raise Conflict(f"'{text}' matches several locks.", hint="Use more characters of the id.", field="id")
    lift_lock(operator(), found[0])
    return CommandAnswer(LockOut.json(found[0]), f"{found[0].address} can try again.")


def _lock_line(row: Attempts) -> str:
    who = row.user.get_username() if row.user else "unknown user"
    return f"{row.id}  {row.kind:<10}  {who} from {row.address}: {row.count} attempts, until {row.until:%Y-%m-%d %H:%M} UTC"


class LockOut(Answer):
    """A lock after too many attempts; `user` is null for an unknown name."""

    id: UUID
    kind: str
    user: Annotated[str | None, ShownAs("user.username")]
    address: str
    count: int
    until: datetime | None


def _group_and_role(pair: str) -> tuple[Group, str]:
    slug, role = read_role(pair, "GROUP=ROLE", field="member", example="--member ledger=curator")
    return find_group(operator(), slug), role


def _person_line(user: User) -> str:
    marks = [
        mark
        for mark, applies in (
            ("superuser", user.is_superuser),
            ("deactivated", not user.is_active),
            ("no password", not user.has_usable_password()),
        )
        if applies
    ]
    groups = ", ".join(f"{row['group']} as {row['role']}" for row in _memberships(user)) or "no group"
    last_login = f"{user.last_login:%Y-%m-%d}" if user.last_login else "never"
    return f"{user.username:<20} {', '.join([*marks, groups])}; last login: {last_login}"


def _memberships(user: User) -> list[dict[str, str]]:
    rows = user.memberships.all()
    return sorted(({"group": row.group.slug, "role": row.role} for row in rows), key=lambda row: row["group"])


class PersonOut(Answer):
    """A person who may log in."""

    user: Annotated[str, ShownAs("username")]
    email: str
    active: Annotated[bool, ShownAs("is_active")]
    superuser: Annotated[bool, ShownAs("is_superuser")]
    has_password: Annotated[bool, ShownAs(lambda user, _: user.has_usable_password())]
    last_login: datetime | None
    groups: Annotated[list[dict[str, str]], ShownAs(lambda user, _: _memberships(user))]


_SUPERUSER: Final = "has every right in every group"
PASSWORD: Final = (
    flag("--password-stdin", "read the password from standard input"),
    flag("--generate", "generate a password and print it once"),
)
LATER: Final = (
    flag("--link", "print a one-time link where they choose a password"),
    flag("--no-password", "no login until a password is set"),
)


class Command(LociCommand):
    """Verbs of access.sign_in. Passwords never appear on the command line or in the log."""

    help = "Add people who may log in, list, change, deactivate and unlock them, set their passwords, export and erase their data."
    examples = EXAMPLES
    verbs = {
        "add": CommandVerb(
            add, "add a person",
            (NAME, EMAIL, flag("--superuser", _SUPERUSER), either(*PASSWORD, *LATER),
             many("--member", "GROUP=ROLE", f"group and role ({', '.join(Role.values)})")),
        ),
        "list": CommandVerb(_list_people, "list all people with their groups"),
        "change": CommandVerb(
            change, "change the named values",
            (NAME, EMAIL, option("--superuser", choices=YES_NO, help=_SUPERUSER)),
        ),
        "deactivate": CommandVerb(
            deactivate, "deactivate a person: sessions end and tokens are revoked at once",
            (NAME, DRY_RUN, option("--hand-over-to", metavar="NAME", help="who administers their groups")),
        ),
        "activate": CommandVerb(activate, "reactivate a person", (NAME,)),
        "password": CommandVerb(change_password, "set a new password", (NAME, either(*PASSWORD))),
        "unlock": CommandVerb(
            unlock, "list the locks after too many attempts, or lift one",
            (option("id", nargs="?", default="", help="the lock's id, or its start"),),
        ),
        **dict(additions("verbs of a person")),
    }  # fmt: skip
