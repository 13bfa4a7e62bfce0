"""`loci group`: groups, their settings and their members."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import prefetch_related_objects

from access.errors import InvalidInput
from access.groups import GroupChange, create_group, find_group, update_group
from access.groups.members import read_role, remove_member, set_member, set_private
from access.management.command import (
    DRY_RUN,
    REASON,
    YES,
    YES_NO,
    CommandAnswer,
    CommandVerb,
    LociCommand,
    flag,
    many,
    option,
)
from access.models import CandidatePolicy, CaptureRule, CleanupRule, Group, Membership, Role, ScopeRule
from access.sign_in.users import find_person
from access.tokens import operator
from memories.language.cleaning import format_count
from memories.lifecycle.regroup.left_behind import LeftBehind, purge_left_behind
from memories.lifecycle.regroup.move import PartFilter, PartMove, move_memories, move_memories_back
from memories.lifecycle.regroup.narrow import ScopeChange, narrow_group

EXAMPLES: Final = """\
examples:
  loci group create ledger --title "The ledger service" --member ann=admin
  loci group list --archived                               with archived groups
  loci group show ledger
  loci group update ledger --title "Ledger and invoices"   agents keep using the name
  loci group update ledger --instructions @rules.md        what every agent gets at the start; - reads standard input
  loci group update ledger --policy below --policy-confidence 0.6
  loci group members ledger                                list the members
  loci group members ledger --set ann=curator --remove bob --dry-run
  loci group update ledger --private yes --dry-run
  loci group narrow ledger --dry-run                       its global memories become its own; --undo takes it back
  loci group move-memories ledger --to garden --tag roses --dry-run
  loci group purge-left-behind ledger --dry-run            what moved memories left in its log, recalls, checkpoints
  loci group update ledger --archived yes                  hidden and closed to new memories; nothing is deleted

Groups cannot be deleted. Archive the group, and purge the memories that must be destroyed."""
NOTHING: Final = "Nothing was changed, and nothing would change."
INSTANCE = "instance"  # the word for no rule of the group's own
_CHANGEABLE = (
    "title", "instructions", "policy", "policy_confidence", "private", "archived", "default_scope", "captures", "cleanup", "guard",
    "max_memories", "max_bytes",
)  # fmt: skip
_MAX_STAYING_SHOWN: Final = 20
SLUG: Final = option("slug", help="the group's name")


def _move_part_of_group(options: dict[str, Any]) -> CommandAnswer:
    """Move memories to another group, or take that back."""
    if bool(options["to"]) == bool(options["undo"]):
        raise InvalidInput(
            "Name the group that gets the memories with --to, or a run to take back with --undo.", field="to"
        )
    actor, slug, dry_run = operator(), options["slug"], options["dry_run"]
    if options["undo"]:
        done = move_memories_back(actor, slug, run=options["undo"], dry_run=dry_run)
    else:
        wanted = PartFilter(tuple(options["type"]), tuple(options["tag"]), tuple(options["source"]))
        to, reason = options["to"], options["reason"]
        done = move_memories(actor, slug, to=to, wanted=wanted, reason=reason, dry_run=dry_run)
    return CommandAnswer(PartMove.json(done), "\n".join(_move_lines(done)))


def _move_lines(done: PartMove) -> list[str]:
    where = f"in '{done.target}'{' again' if done.is_undo else ''}"
    lines = [_became(done.moved, where, dry_run=done.dry_run), *(f"  {note}" for note in done.notes)]
    lines += [f"  {each.id} stays: {each.why}" for each in done.staying[:_MAX_STAYING_SHOWN]]
    if len(done.staying) > _MAX_STAYING_SHOWN:
        lines.append(f"  and {len(done.staying) - _MAX_STAYING_SHOWN:,} more stay: --json lists them")
    if done.run is not None:
        lines.append(f"To take it back: loci group move-memories {done.source} --undo {done.run}")
    return lines


def _purge_moved(options: dict[str, Any]) -> CommandAnswer:
    """Destroy what memories that moved away left in the group."""
    if not (options["yes"] or options["dry_run"]):
        hint = "Preview it with --dry-run, then confirm with --yes."
        raise InvalidInput("A purge cannot be undone.", hint=hint, field="yes")
    how = {name: options[name] for name in ("memory", "reason", "dry_run")}
    done = purge_left_behind(operator(), options["slug"], **how)
    return CommandAnswer(asdict(done), _purge_text(done))


def _purge_text(done: LeftBehind) -> str:
    others = f"{done.elsewhere:,} more moved where you may not curate." if done.elsewhere else ""
    if not done.memories:
        none = f"No memory moved away from '{done.group}'."
        return f"{others or none} Nothing was changed."
    did = "Nothing was changed. This would be destroyed" if done.dry_run else "Destroyed"
    lines = [
        f"{did} in '{done.group}', of {done.memories:,} moved memories and versions:",
        f"  contents of {done.log_payloads:,} log rows",
        f"  {done.recalls:,} logged recalls or their questions",
        f"  quotes in {done.checkpoints:,} checkpoints and {done.others:,} other rows",
    ]
    lines += [f"  still there: {line}" for line in done.remains]
    lines.append(
        "The memories stay in their new groups; backups keep the old state until they are rotated out."
    )
    return "\n".join([*lines, *filter(None, [others])])


def create(options: dict[str, Any]) -> CommandAnswer:
    """Create a group with its first members, all or nothing."""
    roles = [_user_and_role(pair) for pair in options["set"]]
    named = {"title": options["title"], "private": YES_NO[options["private"]]}
    with transaction.atomic():
        group = create_group(operator(), options["slug"], **named)
        for user, role in roles:
            set_member(operator(), group, user=user, role=role)
    return CommandAnswer(_group_row(group), f"Created the group '{group.slug}'.")


def list_groups(options: dict[str, Any]) -> CommandAnswer:
    """All groups; archived ones with --archived."""
    groups = Group.objects.prefetch_related("memberships__user")
    shown = list(groups if options["archived"] else groups.filter(archived=False))
    archived = 0 if options["archived"] else groups.filter(archived=True).count()
    lines = []
    for group in shown:
        members = format_count(len(group.memberships.all()), "member")
        lines.append(f"{group.slug:<24} {members}{_marks(group)}  {group.title}".rstrip())
    if archived:
        lines.append(f"{archived} archived: --archived lists {'it' if archived == 1 else 'them'}")
    none = "There are no groups. Create one: loci group create NAME"
    return CommandAnswer([_group_row(group) for group in shown], "\n".join(lines) or none)


def show(options: dict[str, Any]) -> CommandAnswer:
    """One group with its settings and members."""
    group = find_group(operator(), options["slug"])
    policy = f"policy {group.policy}: {group.policy_words[:1].lower()}{group.policy_words[1:]}"
    lines = [f"{group.slug}{_marks(group)}  {group.title}".rstrip(), policy]
    if group.default_scope:
        lines.append(f"default scope {group.get_default_scope_display()}")
    if group.captures != CaptureRule.REVIEW:
        lines.append(f"captures {group.get_captures_display()}")
    if group.cleanup != CleanupRule.SLEEP:
        lines.append(f"clean-up {group.get_cleanup_display()}")
    if group.guard:
        lines.append(f"guard {group.guard}")
    if group.instructions:
        lines += ["instructions:", *(f"  {line}" for line in group.instructions.splitlines())]
    return CommandAnswer(_group_row(group), "\n".join([*lines, *_member_lines(group)]))


def update(options: dict[str, Any]) -> CommandAnswer:
    """Change the named values, all or nothing; a dry run makes the same changes and rolls them back."""
    actor, slug = operator(), options["slug"]
    values = {name: options.get(name) for name in _CHANGEABLE}
    private = values.pop("private")
    values["archived"] = YES_NO.get(values["archived"] or "")
    values["instructions"] = _read_instructions(values["instructions"])
    values["default_scope"] = "" if values["default_scope"] == INSTANCE else values["default_scope"]
    before = find_group(actor, slug)
    with transaction.atomic():
        if private is not None:
            set_private(actor, slug, private=YES_NO[private])
        after = update_group(actor, slug, GroupChange(**values))
        transaction.set_rollback(options["dry_run"])
    changed = {name: [getattr(before, name), getattr(after, name)] for name in _CHANGEABLE}
    changed = {name: values for name, values in changed.items() if values[0] != values[1]}
    if not changed:
        text = f"'{slug}' has these values already: nothing was changed."
    elif options["dry_run"]:
        text = _dry_run_text(changed)
    else:
        text = f"Changed the group '{slug}': {', '.join(name.replace('_', ' ') for name in changed)}."
    return CommandAnswer(_group_row(after) | {"changed": changed, "dry_run": options["dry_run"]}, text)


def narrow(options: dict[str, Any]) -> CommandAnswer:
    """Make the global memories the group's own, or take that back."""
    done = narrow_group(operator(), options["slug"], undo=options["undo"], dry_run=options["dry_run"])
    what = "global again" if done.is_undo else f"seen in '{done.group}' alone"
    line = _became(done.changed, what if done.dry_run else f"now {what}", dry_run=done.dry_run)
    if done.changed and not (done.dry_run or done.is_undo):
        line += f" To take it back: loci group narrow {done.group} --undo"
    stay = [f"  {each.id} stays: {each.why}" for each in done.staying]
    return CommandAnswer(ScopeChange.json(done), "\n".join([line, *stay]))


def _change_members(options: dict[str, Any]) -> CommandAnswer:
    """Set and remove members, all or nothing, then list the members."""
    group = find_group(operator(), options["slug"])
    roles = [_user_and_role(pair) for pair in options["set"]]
    removed = [find_person(name) for name in options["remove"]]
    before = _roles(group)
    with transaction.atomic():
        for user, role in roles:
            set_member(operator(), group, user=user, role=role)
        for user in removed:
            remove_member(operator(), group, user=user)
        after, row, lines = _roles(group), _group_row(group), _member_lines(group)
        transaction.set_rollback(options["dry_run"])
    pairs = {name: [before.get(name), after.get(name)] for name in sorted({*before, *after})}
    changed = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
    text = "\n".join(lines)
    if options["dry_run"]:
        text = _dry_run_text(changed) if changed else NOTHING
    return CommandAnswer(row | {"changed": changed, "dry_run": options["dry_run"]}, text)


def _read_instructions(value: str | None) -> str | None:
    """The text itself, the contents of the file after an "@", or standard input for "-"."""
    if value == "-":
        return sys.stdin.read().strip()
    if value is None or not value.startswith("@"):
        return value
    try:
        return Path(value[1:]).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{value[1:]} cannot be read: {error}", field="instructions") from error


def _dry_run_text(changed: dict[str, list[Any]]) -> str:
    """The changes that a dry run did not make, one per line, as "name: before → after"."""
    lines = ["Nothing was changed. The changes would be:"]
    for name, (before, after) in changed.items():
        lines.append(f"  {name.replace('_', ' ')}: {_value_text(before)} → {_value_text(after)}")
    return "\n".join(lines)


def _became(number: int, what: str, *, dry_run: bool) -> str:
    """The sentence about so many memories that are `what` now, or would be."""
    if not number:
        return NOTHING if dry_run else "Nothing was changed."
    count = f"{number:,} {'memory' if number == 1 else 'memories'}"
    if dry_run:
        return f"Nothing was changed. {count} would be {what}."
    return f"{count} {'is' if number == 1 else 'are'} {what}."


def _member_lines(group: Group) -> list[str]:
    """The members with their roles, one per line."""
    members = [f"{member.role:<12} {member.user}" for member in group.memberships.select_related("user")]
    return members or ["no members; only superusers see the group"]


def _group_row(group: Group) -> dict[str, Any]:
    prefetch_related_objects([group], "memberships__user")
    members = [{"user": each.user.get_username(), "role": each.role} for each in group.memberships.all()]
    return {"slug": group.slug, **{name: getattr(group, name) for name in _CHANGEABLE}, "members": members}


def _user_and_role(pair: str) -> tuple[User, str]:
    name, role = read_role(pair, "USER=ROLE", field="set", example="--set ann=curator")
    return find_person(name), role


def _roles(group: Group) -> dict[str, str]:
    return dict(Membership.objects.filter(group=group).values_list("user__username", "role"))


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "nothing" if value in (None, "") else str(value)


def _marks(group: Group) -> str:
    marks = [name for name in ("private", "archived") if getattr(group, name)]
    return f" ({', '.join(marks)})" if marks else ""


TITLE = "the title that people read"
PRIVATE: Final[dict[str, Any]] = {"choices": YES_NO, "help": "allow no global memories in the group"}


class Command(LociCommand):
    """Verbs of access.groups."""

    help = "Create, list, show and change groups and their members."
    examples = EXAMPLES
    verbs = {
        "create": CommandVerb(
            create, "create a group",
            (SLUG, option("--title", default="", help=TITLE), option("--private", default="no", **PRIVATE),
             many("--member", "USER=ROLE", "a first member", dest="set")),
        ),
        "list": CommandVerb(list_groups, "list all groups", (flag("--archived", "include archived groups"),)),
        "show": CommandVerb(show, "show one group with its members", (SLUG,)),
        "update": CommandVerb(
            update, "change the named values",
            (SLUG, option("--title", help=f"{TITLE}; the name that agents use does not change"),
             option("--instructions", metavar="TEXT|@FILE|-", help="instructions that every agent gets at the start"),
             option("--policy", choices=CandidatePolicy.values, help="which writes wait for a curator"),
             option("--policy-confidence", type=float, metavar="0-1", help="for the policy 'below'"),
             option("--private", **PRIVATE),
             option("--archived", choices=YES_NO, help="hide the group and close it to new memories; its memories stay"),
             option("--default-scope", choices=[INSTANCE, *ScopeRule.values],
                    help="who sees a memory without a scope; instance: as access.default_scope says"),
             option("--captures", choices=CaptureRule.values, help="whether what hooks capture waits for a person"),
             option("--cleanup", choices=CleanupRule.values, help="what becomes of a memory that is not used for long"),
             option("--max-memories", type=int, metavar="N", help="most live memories; 0: the instance's limit"),
             option("--max-bytes", type=int, metavar="N", help="most bytes of their text; 0: the instance's limit"),
             option("--guard", metavar="RULES", help="such as personal=mask, and own words: word=Aurora"), DRY_RUN),
        ),
        "narrow": CommandVerb(
            narrow, "make the group's global memories its own, or undo that",
            (SLUG, flag("--undo", "make global again what was narrowed"), DRY_RUN),
        ),
        "move-memories": CommandVerb(
            _move_part_of_group, "move memories to another group, or undo that",
            (SLUG, option("--to", default="", metavar="GROUP", help="the group that gets them"),
             many("--type", "TYPE", "only memories of this type"), many("--tag", "TAG", "only memories with this tag"),
             many("--source", "SOURCE", "only memories from this source"), REASON,
             option("--undo", default="", metavar="RUN", help="take a move from this group back"), DRY_RUN),
        ),
        "purge-left-behind": CommandVerb(
            _purge_moved, "destroy what moved memories left in the group",
            (SLUG, option("--memory", default="", metavar="ID", help="only what this memory left; else all that moved"),
             REASON, DRY_RUN, YES),
        ),
        "members": CommandVerb(
            _change_members, "list the members, set roles, remove members",
            (SLUG, many("--set", "USER=ROLE", f"add a member or change the role: {', '.join(Role.values)}"),
             many("--remove", "USER", "remove this member"), DRY_RUN),
        ),
    }  # fmt: skip
