"""`loci group`: the groups, what they are, and who belongs to them."""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from django.contrib.auth.models import User
from django.core.management.base import CommandParser
from django.db import transaction
from django.db.models import prefetch_related_objects

from access.errors import InvalidInput
from access.groups import GroupChange, create_group, find_group, update_group
from access.groups.members import remove_member, set_member
from access.groups.privacy import set_private
from access.management.acting import ActingCommand
from access.models import CandidatePolicy, Group, Membership, Role
from access.sign_in.users import find_person
from access.tokens import operator

EXAMPLES: Final = """\
examples:
  loci group create ledger --title "The ledger service" --member ann=admin
  loci group list --archived                               with those that are closed
  loci group show ledger
  loci group rename ledger "Ledger and invoices"           the title; agents go on using the name
  loci group describe ledger "Amounts are in cents."       what every agent is told at the start
  loci group describe ledger @rules.md                     from a file; - reads standard input
  loci group policy ledger                                 which writes wait for a curator
  loci group policy ledger below --confidence 0.6
  loci group members ledger                                who belongs to it
  loci group members ledger --set ann=curator --remove bob --dry-run
  loci group update ledger --private yes --dry-run
  loci group archive ledger --dry-run                      closed and hidden; everything stays
  loci group reopen ledger
"""
NO_DELETE: Final = "No command deletes a group: archive it, and purge the memories that must go."
YES_NO = {"yes": True, "no": False}
Act = Callable[[dict[str, Any]], str]


class Command(ActingCommand):
    """Parses, calls functions of access, renders."""

    help = "Make, list, show and change groups and their members."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = f"{EXAMPLES}\n{NO_DELETE}"
        actions = parser.add_subparsers(dest="action", required=True, metavar=" | ".join(ACTIONS))
        for name, (_, said, add) in ACTIONS.items():
            action = actions.add_parser(
                name, help=said, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
            )
            if name != "list":
                action.add_argument("slug", help="the group's name")
            add(action)
            action.add_argument("--json", action="store_true", help="answer as JSON")

    def act(self, options: dict[str, Any]) -> str:
        return ACTIONS[options["action"]][0](options)


def _nothing(action: argparse.ArgumentParser) -> None:
    """Take no more."""


def _add_trial(action: argparse.ArgumentParser) -> None:
    action.add_argument("--dry-run", action="store_true", help="change nothing, say what would change")


def _add_new(action: argparse.ArgumentParser) -> None:
    action.add_argument("--title", default="", help="what people read")
    action.add_argument("--private", choices=YES_NO, default="no", help="nothing in it is global")
    action.add_argument(
        "--member", action="append", default=[], dest="set", metavar="USER=ROLE", help="a first member; again for more"
    )  # fmt: skip


def _add_listing(action: argparse.ArgumentParser) -> None:
    action.add_argument("--archived", action="store_true", help="list those that are closed, too")


def _add_title(action: argparse.ArgumentParser) -> None:
    action.add_argument("title", help="what people read; the name that agents use stays")
    _add_trial(action)


def _add_instructions(action: argparse.ArgumentParser) -> None:
    action.add_argument("instructions", metavar="TEXT|@FILE|-", help="what every agent is told at the start")
    _add_trial(action)


def _add_policy(action: argparse.ArgumentParser) -> None:
    action.add_argument(
        "policy", nargs="?", choices=CandidatePolicy.values, help="which writes wait; without it: show"
    )
    action.add_argument(
        "--confidence", type=float, dest="policy_confidence", metavar="0-1", help="for the policy 'below'"
    )
    _add_trial(action)


def _add_changes(update: argparse.ArgumentParser) -> None:
    update.add_argument("--title", help="what people read")
    update.add_argument(
        "--instructions", metavar="TEXT|@FILE|-", help="what every agent is told at the start"
    )
    update.add_argument("--policy", choices=CandidatePolicy.values, help="which writes wait for a curator")
    update.add_argument("--policy-confidence", type=float, metavar="0-1", help="for the policy 'below'")
    update.add_argument("--private", choices=YES_NO, help="nothing in it is global")
    update.add_argument(
        "--archived", choices=YES_NO, help="hidden from lists, takes nothing new; its memories stay"
    )
    _add_trial(update)


def _add_members(members: argparse.ArgumentParser) -> None:
    members.add_argument(
        "--set", "--add", action="append", default=[], metavar="USER=ROLE",
        help=f"make a member, or change the role; of {', '.join(Role.values)}",
    )  # fmt: skip
    members.add_argument("--remove", action="append", default=[], metavar="USER", help="take this user out")
    _add_trial(members)


def _create(options: dict[str, Any]) -> str:
    roles = [_user_and_role(pair) for pair in options["set"]]
    with transaction.atomic():
        group = create_group(
            operator(), options["slug"], title=options["title"], private=YES_NO[options["private"]]
        )
        for user, role in roles:
            set_member(operator(), group, user=user, role=role)
    return _as_json(group) if options["json"] else f"Made the group '{group.slug}'."


def _list(options: dict[str, Any]) -> str:
    groups = Group.objects.prefetch_related("memberships__user")
    shown = list(groups if options["archived"] else groups.filter(archived=False))
    if options["json"]:
        return json.dumps([_row(group) for group in shown], ensure_ascii=False)
    closed = 0 if options["archived"] else groups.filter(archived=True).count()
    lines = [
        f"{group.slug:<24} {_members_said(group)}{_marks(group)}  {group.title}".rstrip() for group in shown
    ]
    lines += [f"{closed} archived: --archived lists {'it' if closed == 1 else 'them'}"] if closed else []
    return "\n".join(lines) or "There are no groups. Make one: loci group create NAME"


def _show(options: dict[str, Any]) -> str:
    group = find_group(operator(), options["slug"])
    if options["json"]:
        return _as_json(group)
    about = [f"{group.slug}{_marks(group)}  {group.title}".rstrip(), _policy_said(group)]
    if group.instructions:
        about += ["instructions:", *(f"  {line}" for line in group.instructions.splitlines())]
    return "\n".join([*about, *_member_lines(group)])


def _policy(options: dict[str, Any]) -> str:
    if options["policy"] is None and options["policy_confidence"] is None:
        group = find_group(operator(), options["slug"])
        return _as_json(group) if options["json"] else _policy_said(group)
    return _update(options)


def _archive(options: dict[str, Any]) -> str:
    return _update(options | {"archived": "yes"})


def _reopen(options: dict[str, Any]) -> str:
    return _update(options | {"archived": "no"})


def _update(options: dict[str, Any]) -> str:
    """Change what is named, all of it or nothing; a dry run is the same, taken back."""
    actor, slug = operator(), options["slug"]
    change = GroupChange(
        title=options.get("title"),
        instructions=_text(options.get("instructions")),
        policy=options.get("policy"),
        policy_confidence=options.get("policy_confidence"),
        archived=YES_NO.get(options.get("archived") or ""),
    )
    before = find_group(actor, slug)
    with transaction.atomic():
        if options.get("private") is not None:
            set_private(actor, slug, private=YES_NO[options["private"]])
        after = update_group(actor, slug, change)
        transaction.set_rollback(options["dry_run"])
    changed = {name: [getattr(before, name), getattr(after, name)] for name in CHANGEABLE}
    changed = {name: values for name, values in changed.items() if values[0] != values[1]}
    if options["json"]:
        return json.dumps(_row(after) | _told(changed, options), ensure_ascii=False)
    if not changed:
        return f"'{slug}' is so already: nothing was changed."
    if options["dry_run"]:
        return "\n".join(["Nothing was changed. It would be:", *map(_change_line, changed.items())])
    return f"Changed the group '{slug}': {', '.join(name.replace('_', ' ') for name in changed)}."


def _members(options: dict[str, Any]) -> str:
    """Change who belongs to a group, all of it or nothing, and list who does then."""
    group = find_group(operator(), options["slug"])
    roles = [_user_and_role(pair) for pair in options["set"]]
    leaving = [find_person(name) for name in options["remove"]]
    before = _roles(group)
    with transaction.atomic():
        for user, role in roles:
            set_member(operator(), group, user=user, role=role)
        for user in leaving:
            remove_member(operator(), group, user=user)
        after, row, lines = _roles(group), _row(group), _member_lines(group)
        transaction.set_rollback(options["dry_run"])
    names = sorted({*before, *after})
    changed = {
        name: [before.get(name), after.get(name)] for name in names if before.get(name) != after.get(name)
    }
    if options["json"]:
        return json.dumps(row | _told(changed, options), ensure_ascii=False)
    if not options["dry_run"]:
        return "\n".join(lines)
    if not changed:
        return "Nothing was changed, and nothing would be."
    return "\n".join(["Nothing was changed. It would be:", *map(_change_line, changed.items())])


CHANGEABLE = ("title", "instructions", "policy", "policy_confidence", "private", "archived")
# What each action does, what the help says of it, and what it takes.
ACTIONS: dict[str, tuple[Act, str, Callable[[argparse.ArgumentParser], None]]] = {
    "create": (_create, "make a group", _add_new),
    "list": (_list, "all groups", _add_listing),
    "show": (_show, "one group with its members", _nothing),
    "rename": (_update, "give it another title", _add_title),
    "describe": (_update, "say what every agent is told at the start", _add_instructions),
    "policy": (_policy, "show or set which writes wait for a curator", _add_policy),
    "update": (_update, "change what is named", _add_changes),
    "members": (_members, "list the members, set roles, take members out", _add_members),
    "archive": (_archive, "close it: hidden from lists, takes nothing new; its memories stay", _add_trial),
    "reopen": (_reopen, "open an archived group again", _add_trial),
}


def _told(changed: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    return {"changed": changed, "dry_run": options["dry_run"]}


def _change_line(change: tuple[str, list[Any]]) -> str:
    name, (before, after) = change
    return f"  {name.replace('_', ' ')}: {_value(before)} → {_value(after)}"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "nothing" if value in (None, "") else str(value)


def _roles(group: Group) -> dict[str, str]:
    return dict(Membership.objects.filter(group=group).values_list("user__username", "role"))


def _user_and_role(pair: str) -> tuple[User, str]:
    name, separator, role = pair.rpartition("=")
    if not separator or role not in Role.values:
        raise InvalidInput(
            f"'{pair}' is no USER=ROLE.",
            hint=f"Roles are {', '.join(Role.values)}: --set ann=curator",
            field="set",
        )
    return find_person(name), role


def _text(value: str | None) -> str | None:
    """Give the text, or that of the file named after an @, or standard input for "-"."""
    if value == "-":
        return sys.stdin.read().strip()
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


def _members_said(group: Group) -> str:
    count = len(group.memberships.all())
    return f"{count} member{'' if count == 1 else 's'}"


def _policy_said(group: Group) -> str:
    return f"policy {group.policy}: {group.policy_words[:1].lower()}{group.policy_words[1:]}"


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
            {"user": member.user.get_username(), "role": member.role} for member in group.memberships.all()
        ],
    }


def _as_json(group: Group) -> str:
    prefetch_related_objects([group], "memberships__user")
    return json.dumps(_row(group), ensure_ascii=False)
