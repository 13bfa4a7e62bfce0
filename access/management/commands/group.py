"""`loci group`: the groups, what they are, and who belongs to them."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Count

from access.connecting import render_error
from access.errors import InvalidInput, LociError, NotFound
from access.groups import GroupChange, create_group, find_group, update_group
from access.members import remove_member, set_member
from access.models import CandidatePolicy, Group, Role
from access.privacy import set_private
from access.tokens import operator

if TYPE_CHECKING:
    from django.contrib.auth.models import User

EXAMPLES: Final = """\
examples:
  loci group create ledger --title "The ledger service"
  loci group list
  loci group show ledger
  loci group update ledger --instructions "Amounts are in cents."
  loci group update ledger --instructions @rules.md        from a file
  loci group update ledger --policy agents                 what agents write waits for a curator
  loci group update ledger --private yes
  loci group members ledger                                who belongs to it
  loci group members ledger --set ann=curator --remove bob
"""
YES_NO = {"yes": True, "no": False}


class Command(BaseCommand):
    """Parses, calls functions of access, renders."""

    help = "Make, list, show and change groups and their members."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        actions = parser.add_subparsers(
            dest="action", required=True, metavar="create | list | show | update | members"
        )
        create = actions.add_parser("create", help="make a group")
        create.add_argument("--title", default="", help="what people read")
        create.add_argument("--private", choices=YES_NO, default="no", help="nothing in it is global")
        listing = actions.add_parser("list", help="all groups")
        show = actions.add_parser("show", help="one group with its members")
        update = actions.add_parser("update", help="change what is named")
        _add_changes(update)
        members = actions.add_parser("members", help="list the members, set roles, take members out")
        members.add_argument(
            "--set", action="append", default=[], metavar="USER=ROLE", help=f"of {', '.join(Role.values)}"
        )
        members.add_argument(
            "--remove", action="append", default=[], metavar="USER", help="take this user out"
        )
        for action in (create, show, update, members):
            action.add_argument("slug", help="the group's name")
        for action in (create, listing, show, update, members):
            action.formatter_class = argparse.RawDescriptionHelpFormatter
            action.epilog = EXAMPLES
            action.add_argument("--json", action="store_true", help="answer as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        act: dict[str, Callable[[dict[str, Any]], str]] = {
            "create": _create,
            "list": _list,
            "show": _show,
            "update": _update,
            "members": _members,
        }
        try:
            self.stdout.write(act[options["action"]](options))
        except LociError as error:
            if options["json"]:
                self.stdout.write(render_error(error))
            raise CommandError(str(error)) from error


def _add_changes(update: argparse.ArgumentParser) -> None:
    update.add_argument("--title", help="what people read")
    update.add_argument("--instructions", metavar="TEXT|@FILE", help="what every agent is told at the start")
    update.add_argument("--policy", choices=CandidatePolicy.values, help="which writes wait for a curator")
    update.add_argument("--policy-confidence", type=float, metavar="0-1", help="for the policy 'below'")
    update.add_argument("--private", choices=YES_NO, help="nothing in it is global")
    update.add_argument(
        "--archived", choices=YES_NO, help="hidden from lists, takes nothing new; its memories stay"
    )


def _create(options: dict[str, Any]) -> str:
    group = create_group(
        operator(), options["slug"], title=options["title"], private=YES_NO[options["private"]]
    )
    return _as_json(group) if options["json"] else f"Made the group '{group.slug}'."


def _list(options: dict[str, Any]) -> str:
    groups = Group.objects.annotate(member_count=Count("memberships", distinct=True))
    if options["json"]:
        return json.dumps([_row(group) for group in groups], ensure_ascii=False)
    lines = [
        f"{group.slug:<24} {group.member_count} members{_marks(group)}  {group.title}".rstrip()
        for group in groups
    ]
    return "\n".join(lines) or "There are no groups. Make one: loci group create NAME"


def _show(options: dict[str, Any]) -> str:
    group = find_group(operator(), options["slug"])
    if options["json"]:
        return _as_json(group)
    about = [f"{group.slug}{_marks(group)}  {group.title}".rstrip(), f"policy: {group.get_policy_display()}"]
    if group.instructions:
        about += ["instructions:", *(f"  {line}" for line in group.instructions.splitlines())]
    return "\n".join([*about, *_member_lines(group)])


def _update(options: dict[str, Any]) -> str:
    actor, slug = operator(), options["slug"]
    before = find_group(actor, slug)
    if options["private"] is not None:
        set_private(actor, slug, private=YES_NO[options["private"]])
    change = GroupChange(
        title=options["title"],
        instructions=_text(options["instructions"]),
        policy=options["policy"],
        policy_confidence=options["policy_confidence"],
        archived=YES_NO.get(options["archived"] or ""),
    )
    after = update_group(actor, slug, change)
    if options["json"]:
        return _as_json(after)
    is_same = after.updated_at == before.updated_at
    return f"'{slug}' is so already: nothing was changed." if is_same else f"Changed the group '{slug}'."


def _members(options: dict[str, Any]) -> str:
    group = find_group(operator(), options["slug"])
    roles = [_user_and_role(pair) for pair in options["set"]]
    leaving = [_user(name) for name in options["remove"]]
    for user, role in roles:
        set_member(operator(), group, user=user, role=role)
    for user in leaving:
        remove_member(operator(), group, user=user)
    return _as_json(group) if options["json"] else "\n".join(_member_lines(group))


def _user_and_role(pair: str) -> tuple["User", str]:
    name, separator, role = pair.rpartition("=")
    if not separator or role not in Role.values:
        raise InvalidInput(
            f"'{pair}' is no USER=ROLE.",
            hint=f"Roles are {', '.join(Role.values)}: --set ann=curator",
            field="set",
        )
    return _user(name), role


def _user(name: str) -> "User":
    user = get_user_model().objects.filter(username=name).first()
    if user is None:
        raise NotFound(
            f"There is no user '{name}'.", hint="Add users in the admin, under People.", field="user"
        )
    return user


def _text(value: str | None) -> str | None:
    """Give the text, or that of the file named after an @."""
    if value is None or not value.startswith("@"):
        return value
    try:
        return Path(value[1:]).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as wrong:
        raise InvalidInput(f"{value[1:]} cannot be read: {wrong}", field="instructions") from wrong


def _member_lines(group: Group) -> list[str]:
    members = group.memberships.select_related("user")
    return [f"{member.role:<12} {member.user}" for member in members] or [
        "no members; superusers see it all the same"
    ]


def _marks(group: Group) -> str:
    marks = [name for name in ("private", "archived") if getattr(group, name)]
    return f" ({', '.join(marks)})" if marks else ""


def _row(group: Group) -> dict[str, Any]:
    return {
        "slug": group.slug,
        "title": group.title,
        "instructions": group.instructions,
        "policy": group.policy,
        "policy_confidence": group.policy_confidence,
        "private": group.private,
        "archived": group.archived,
        "members": [
            {"user": member.user.get_username(), "role": member.role}
            for member in group.memberships.select_related("user")
        ],
    }


def _as_json(group: Group) -> str:
    return json.dumps(_row(group), ensure_ascii=False)
