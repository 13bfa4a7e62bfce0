"""`loci person`: the people who may log in."""

import argparse
import json
from collections.abc import Callable
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
from access.sign_in.passwords import generated_password, piped_password, typed_password
from access.sign_in.users import PersonChange, add_person, change_person, find_person, set_password
from access.tokens import operator

EXAMPLES: Final = """\
examples:
  loci person add ann --member ledger=curator --staff      asks for a password; may enter the admin
  loci person add bob --member ledger=contributor --generate
  loci person list
  loci person change ann --superuser yes
  loci person password ann --password-stdin < file
  loci person deactivate bob --dry-run                     what would end: logins and tokens
  loci person deactivate bob
  loci person activate bob
"""
YES_NO = {"yes": True, "no": False}
Act = Callable[[dict[str, Any]], str]


class Command(ActingCommand):
    """Parses, calls functions of access.sign_in.users, renders. A password never stands on the command line or in the log."""

    help = "Make people who may log in, list and change them, switch them off, give them passwords."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        actions = parser.add_subparsers(
            dest="action", required=True, metavar="add | list | change | deactivate | activate | password"
        )
        add = actions.add_parser("add", help="make a person")
        add.add_argument("--email", help="their address")
        add.add_argument("--staff", action="store_true", help="may enter the admin")
        add.add_argument("--superuser", action="store_true", help="may do everything in every group")
        add.add_argument(
            "--member", action="append", default=[], metavar="GROUP=ROLE", help=f"of {', '.join(Role.values)}; again for more"
        )  # fmt: skip
        listing = actions.add_parser("list", help="everybody, with their groups")
        change = actions.add_parser("change", help="change what is named")
        change.add_argument("--email", help="their address")
        change.add_argument("--staff", choices=YES_NO, help="may enter the admin")
        change.add_argument("--superuser", choices=YES_NO, help="may do everything in every group")
        off = actions.add_parser("deactivate", help="switch a person off: logins and tokens end at once")
        off.add_argument("--dry-run", action="store_true", help="change nothing, say what would end")
        on = actions.add_parser("activate", help="switch a person on again")
        password = actions.add_parser("password", help="give a person another password")
        for action in (add, password):
            _add_password(action, needed=action is password)
        for action in (add, change, off, on, password):
            action.add_argument("name", help="the name to log in with")
        for action in (add, listing, change, off, on, password):
            action.formatter_class = argparse.RawDescriptionHelpFormatter
            action.epilog = EXAMPLES
            action.add_argument("--json", action="store_true", help="answer as JSON")

    def act(self, options: dict[str, Any]) -> str:
        act: dict[str, Act] = {
            "add": _add,
            "list": _list,
            "change": _change,
            "deactivate": _deactivate,
            "activate": _activate,
            "password": _password,
        }
        return act[options["action"]](options)


def _add_password(action: argparse.ArgumentParser, *, needed: bool) -> None:
    source = action.add_mutually_exclusive_group()
    source.add_argument("--password-stdin", action="store_true", help="read it from standard input")
    source.add_argument("--generate", action="store_true", help="make one up and print it once")
    if not needed:
        source.add_argument(
            "--no-password", action="store_true", help="they cannot log in until they get one"
        )


def _asked_password(options: dict[str, Any]) -> str | None:
    if options.get("no_password"):
        return None
    if options["generate"]:
        return generated_password()
    return piped_password() if options["password_stdin"] else typed_password()


def _add(options: dict[str, Any]) -> str:
    roles = [_group_and_role(pair) for pair in options["member"]]
    change = PersonChange(
        email=options["email"],
        is_staff=options["staff"] or options["superuser"],
        is_superuser=options["superuser"],
    )
    password = _asked_password(options)
    with transaction.atomic():
        user = add_person(operator(), options["name"], change, password=password)
        for group, role in roles:
            set_member(operator(), group, user=user, role=role)
    shown = password if options["generate"] else None
    if options["json"]:
        return json.dumps(_row(user) | ({"password": shown} if shown else {}), ensure_ascii=False)
    return f"Made {_line(user)}" + (f"\n\n  {shown}\n\nThe password is shown this once." if shown else "")


def _list(options: dict[str, Any]) -> str:
    people = User.objects.order_by("username").prefetch_related("memberships__group")
    if options["json"]:
        return json.dumps([_row(user) for user in people], ensure_ascii=False)
    return "\n".join(_line(user) for user in people) or "There is nobody. Make somebody: loci person add NAME"


def _change(options: dict[str, Any]) -> str:
    user = find_person(options["name"])
    change = PersonChange(
        email=options["email"],
        is_staff=YES_NO.get(options["staff"] or ""),
        is_superuser=YES_NO.get(options["superuser"] or ""),
    )
    changed = change_person(operator(), user, change)
    if options["json"]:
        return json.dumps(_row(user) | {"changed": changed}, ensure_ascii=False)
    return f"Now {_line(user)}" if changed else f"'{user}' is so already: nothing was changed."


def _deactivate(options: dict[str, Any]) -> str:
    user = find_person(options["name"])
    if not user.is_active:
        raise Conflict(
            f"'{user}' is switched off already.", hint="'loci person activate' switches on.", field="user"
        )
    tokens = sum(token.is_valid() for token in ApiToken.objects.filter(user=user))
    with transaction.atomic():
        change_person(operator(), user, PersonChange(is_active=False))
        transaction.set_rollback(options["dry_run"])
    if options["json"]:
        return json.dumps(
            {**_row(user), "ended_tokens": tokens, "dry_run": options["dry_run"]}, ensure_ascii=False
        )
    ends = f"logins end at once, and {tokens} token{'' if tokens == 1 else 's'} with them"
    if options["dry_run"]:
        return f"Nothing was changed. '{user}' would be switched off: {ends}."
    return f"'{user}' is switched off: {ends}. What they stored stays."


def _activate(options: dict[str, Any]) -> str:
    user = find_person(options["name"])
    if user.is_active:
        raise Conflict(f"'{user}' is switched on already.", hint="Nothing was changed.", field="user")
    change_person(operator(), user, PersonChange(is_active=True))
    if options["json"]:
        return json.dumps(_row(user), ensure_ascii=False)
    return f"'{user}' is switched on: their password and tokens work again."


def _password(options: dict[str, Any]) -> str:
    user = find_person(options["name"])
    password = _asked_password(options)
    if password is None:  # the parser lets nothing else through
        raise InvalidInput("There is no password.", field="password")
    set_password(operator(), user, password)
    shown = password if options["generate"] else None
    if options["json"]:
        return json.dumps(_row(user) | ({"password": shown} if shown else {}), ensure_ascii=False)
    said = f"'{user}' has another password; their logins have ended."
    return f"{said}\n\n  {shown}\n\nIt is shown this once." if shown else said


def _group_and_role(pair: str) -> tuple[Group, str]:
    slug, separator, role = pair.rpartition("=")
    if not separator or role not in Role.values:
        raise InvalidInput(
            f"'{pair}' is no GROUP=ROLE.",
            hint=f"Roles are {', '.join(Role.values)}: --member ledger=curator",
            field="member",
        )
    return find_group(operator(), slug), role


def _line(user: User) -> str:
    marks = [
        said
        for said, is_so in (
            ("superuser", user.is_superuser),
            ("staff", user.is_staff and not user.is_superuser),
            ("switched off", not user.is_active),
            ("no password", not user.has_usable_password()),
        )
        if is_so
    ]
    groups = ", ".join(f"{row['group']} as {row['role']}" for row in _memberships(user)) or "no group"
    seen = f"{user.last_login:%Y-%m-%d}" if user.last_login else "never"
    return f"{user.username:<20} {', '.join([*marks, groups])}; last login: {seen}"


def _memberships(user: User) -> list[dict[str, str]]:
    rows = user.memberships.all()
    return sorted(({"group": row.group.slug, "role": row.role} for row in rows), key=lambda row: row["group"])


def _row(user: User) -> dict[str, Any]:
    login = timezone.localtime(user.last_login).isoformat() if user.last_login else None
    return {
        "user": user.username,
        "email": user.email,
        "active": user.is_active,
        "staff": user.is_staff,
        "superuser": user.is_superuser,
        "has_password": user.has_usable_password(),
        "last_login": login,
        "groups": _memberships(user),
    }
