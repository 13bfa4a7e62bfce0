"""`loci person`: the people who may log in."""

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from django.contrib.auth.models import User
from django.core.management.base import CommandParser
from django.db import transaction
from django.utils import timezone

from access.errors import Conflict, InvalidInput
from access.groups import find_group
from access.groups.members import set_member
from access.management.acting import ActingCommand
from access.models import ApiToken, Group, Role
from access.sign_in.invitations import invitation_link, name_and_email
from access.sign_in.leaving import deactivate as end_account
from access.sign_in.passwords import generated_password, piped_password, typed_password
from access.sign_in.users import PersonChange, add_person, change_person, find_person, set_password
from access.tokens import operator

EXAMPLES: Final = """\
examples:
  loci person add ann --member ledger=curator --staff      asks for a password; may enter the admin
  loci person add bob --member ledger=contributor --generate
  loci person add cleo@example.org --link                  a one-time link, where they choose a password
  loci person list
  loci person change ann --superuser yes
  loci person password ann --password-stdin < file
  loci person deactivate bob --dry-run                     which sessions and tokens would end
  loci person deactivate bob --hand-over-to ann             ann administers bob's groups
  loci person activate bob
"""
SHOWN_ONCE: Final = "The password is shown only once."
YES_NO = {"yes": True, "no": False}
Act = Callable[[dict[str, Any]], str]


class Command(ActingCommand):
    """Parses, calls functions of access.sign_in.users, renders. Passwords never appear on the command line or in the log."""

    help = "Add people who may log in, list, change and deactivate them, set their passwords."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        actions = parser.add_subparsers(
            dest="action", required=True, metavar="add | list | change | deactivate | activate | password"
        )
        add = actions.add_parser("add", help="add a person")
        add.add_argument("--email", help="e-mail address")
        add.add_argument("--staff", action="store_true", help="may enter the admin")
        add.add_argument("--superuser", action="store_true", help="has every right in every group")
        add.add_argument(
            "--member", action="append", default=[], metavar="GROUP=ROLE", help=f"group and role ({', '.join(Role.values)}); repeat for more"
        )  # fmt: skip
        listing = actions.add_parser("list", help="list all people with their groups")
        change = actions.add_parser("change", help="change the named values")
        change.add_argument("--email", help="e-mail address")
        change.add_argument("--staff", choices=YES_NO, help="may enter the admin")
        change.add_argument("--superuser", choices=YES_NO, help="has every right in every group")
        off = actions.add_parser(
            "deactivate", help="deactivate a person: sessions end and tokens are revoked at once"
        )
        off.add_argument(
            "--dry-run", action="store_true", help="show what would end without changing anything"
        )
        off.add_argument("--hand-over-to", metavar="NAME", help="who administers their groups")
        on = actions.add_parser("activate", help="reactivate a person")
        password = actions.add_parser("password", help="set a new password")
        for action in (add, password):
            add_password_options(action, is_required=action is password)
        for action in (add, change, off, on, password):
            action.add_argument("name", help="login name")
        for action in (add, listing, change, off, on, password):
            action.formatter_class = argparse.RawDescriptionHelpFormatter
            action.epilog = EXAMPLES
            action.add_argument("--json", action="store_true", help="print JSON")

    def act(self, options: dict[str, Any]) -> str:
        act: dict[str, Act] = {
            "add": add,
            "list": list_people,
            "change": change,
            "deactivate": deactivate,
            "activate": activate,
            "password": change_password,
        }
        return act[options["action"]](options)


def add_password_options(action: argparse.ArgumentParser, *, is_required: bool) -> None:
    """Add the options that say where the password comes from."""
    source = action.add_mutually_exclusive_group()
    source.add_argument("--password-stdin", action="store_true", help="read the password from standard input")
    source.add_argument("--generate", action="store_true", help="generate a password and print it once")
    if not is_required:
        source.add_argument(
            "--link", action="store_true", help="print a one-time link where they choose a password"
        )
        source.add_argument("--no-password", action="store_true", help="no login until a password is set")


def read_password(options: dict[str, Any]) -> str | None:
    """The password from the source that the options name; None for --no-password and --link."""
    if options.get("no_password") or options.get("link"):
        return None
    if options["generate"]:
        return generated_password()
    return piped_password() if options["password_stdin"] else typed_password()


def add(options: dict[str, Any]) -> str:
    """Add a person with the first memberships, all or nothing."""
    roles = [_parse_membership(pair) for pair in options["member"]]
    values = PersonChange(
        email=options["email"],
        is_staff=options["staff"] or options["superuser"],
        is_superuser=options["superuser"],
    )
    password = read_password(options)
    name, address = name_and_email(options["name"]) if options["link"] else (options["name"], "")
    with transaction.atomic():
        values = replace(values, email=values.email or address or None)
        user = add_person(operator(), name, values, password=password)
        for group, role in roles:
            set_member(operator(), group, user=user, role=role)
    if options["link"]:
        return show_link(user, as_json=options["json"])
    shown = password if options["generate"] else None
    if options["json"]:
        return json.dumps(person_row(user) | ({"password": shown} if shown else {}), ensure_ascii=False)
    return f"Added {person_line(user)}" + (f"\n\n  {shown}\n\n{SHOWN_ONCE}" if shown else "")


def show_link(user: User, *, as_json: bool) -> str:
    """The new person with the one-time link."""
    link = invitation_link(user)
    if as_json:
        return json.dumps(person_row(user) | {"link": link}, ensure_ascii=False)
    return f"Added {person_line(user)}\n\n  {link}\n\nThe link works once, for a week. 'loci person password' sets a password instead."


def list_people(options: dict[str, Any]) -> str:
    """All people with their groups."""
    people = User.objects.order_by("username").prefetch_related("memberships__group")
    if options["json"]:
        return json.dumps([person_row(user) for user in people], ensure_ascii=False)
    return (
        "\n".join(person_line(user) for user in people)
        or "There are no people yet. Add one: loci person add NAME"
    )


def change(options: dict[str, Any]) -> str:
    """Change the named values of a person."""
    user = find_person(options["name"])
    values = PersonChange(
        email=options["email"],
        is_staff=YES_NO.get(options["staff"] or ""),
        is_superuser=YES_NO.get(options["superuser"] or ""),
    )
    changed = change_person(operator(), user, values)
    if options["json"]:
        return json.dumps(person_row(user) | {"changed": changed}, ensure_ascii=False)
    return (
        f"Now {person_line(user)}" if changed else f"'{user}' has these values already: nothing was changed."
    )


def deactivate(options: dict[str, Any]) -> str:
    """Deactivate a person, or show what that would end."""
    user = find_person(options["name"])
    if not user.is_active:
        raise Conflict(
            f"'{user}' is deactivated already.", hint="'loci person activate' reactivates.", field="user"
        )
    tokens = sum(token.is_valid() for token in ApiToken.objects.filter(user=user))
    successor = find_person(options["hand_over_to"]) if options["hand_over_to"] else None
    with transaction.atomic():
        leaving = end_account(operator(), user, successor=successor)
        transaction.set_rollback(options["dry_run"])
    if options["json"]:
        return json.dumps(
            {**person_row(user), "ended_tokens": tokens, "dry_run": options["dry_run"]}, ensure_ascii=False
        )
    if leaving.sole_admin_of and successor is None:
        groups = ", ".join(group.slug for group in leaving.sole_admin_of)
        note = f" Nobody else administers {groups}: --hand-over-to names who does from now on."
    else:
        note = ""
    revoked = f"{tokens} token{'' if tokens == 1 else 's'}"
    if options["dry_run"]:
        return f"Nothing was changed. '{user}' would be deactivated: sessions would end and {revoked} would be revoked at once.{note}"
    return f"'{user}' is deactivated: sessions have ended, and {revoked} {'was' if tokens == 1 else 'were'} revoked. Their memories stay.{note}"


def activate(options: dict[str, Any]) -> str:
    """Reactivate a person."""
    user = find_person(options["name"])
    if user.is_active:
        raise Conflict(f"'{user}' is active already.", hint="Nothing was changed.", field="user")
    change_person(operator(), user, PersonChange(is_active=True))
    if options["json"]:
        return json.dumps(person_row(user), ensure_ascii=False)
    return f"'{user}' is active: their password works again. Their tokens stay revoked; 'loci token create' makes new ones."


def change_password(options: dict[str, Any]) -> str:
    """Set a new password."""
    user = find_person(options["name"])
    password = read_password(options)
    if password is None:  # unreachable: the parser has no --no-password here
        raise InvalidInput("There is no password.", field="password")
    set_password(operator(), user, password)
    shown = password if options["generate"] else None
    if options["json"]:
        return json.dumps(person_row(user) | ({"password": shown} if shown else {}), ensure_ascii=False)
    text = f"'{user}' has a new password; their sessions have ended."
    return f"{text}\n\n  {shown}\n\n{SHOWN_ONCE}" if shown else text


def _parse_membership(pair: str) -> tuple[Group, str]:
    slug, separator, role = pair.rpartition("=")
    if not separator or role not in Role.values:
        raise InvalidInput(
            f"'{pair}' is not GROUP=ROLE.",
            hint=f"Roles are {', '.join(Role.values)}: --member ledger=curator",
            field="member",
        )
    return find_group(operator(), slug), role


def person_line(user: User) -> str:
    """The person as a line of the list."""
    marks = [
        mark
        for mark, applies in (
            ("superuser", user.is_superuser),
            ("staff", user.is_staff and not user.is_superuser),
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


def person_row(user: User) -> dict[str, Any]:
    """The person as a dict for JSON."""
    last_login = timezone.localtime(user.last_login).isoformat() if user.last_login else None
    return {
        "user": user.username,
        "email": user.email,
        "active": user.is_active,
        "staff": user.is_staff,
        "superuser": user.is_superuser,
        "has_password": user.has_usable_password(),
        "last_login": last_login,
        "groups": _memberships(user),
    }
