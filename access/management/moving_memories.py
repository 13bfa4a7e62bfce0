"""`loci group move-memories` and `purge-left-behind`: their options, and their answers in words and as JSON."""

from dataclasses import asdict
from typing import Any, Final

from access.errors import InvalidInput
from access.groups.moving import (
    LeftBehind,
    PartFilter,
    PartMove,
    move_memories,
    move_memories_back,
    purge_left_behind,
)
from access.management.command import CommandAnswer, CommandVerb
from access.management.options import DRY_RUN, REASON, YES, many, option
from access.tokens import operator

MAX_STAYING_SHOWN: Final = 20


def move_part_of_group(options: dict[str, Any]) -> CommandAnswer:
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
        done = move_memories(
            actor, slug, to=options["to"], wanted=wanted, reason=options["reason"], dry_run=dry_run
        )
    return CommandAnswer(PartMove.json(done), "\n".join(move_lines(done)))


def move_lines(done: PartMove) -> list[str]:
    """The result in words."""
    count = f"{done.moved:,} {'memory' if done.moved == 1 else 'memories'}"
    again = " again" if done.is_undo else ""
    if not done.moved:
        lines = ["Nothing was changed, and nothing would change." if done.dry_run else "Nothing was changed."]
    elif done.dry_run:
        lines = [f"Nothing was changed. {count} would be in '{done.target}'{again}."]
    else:
        lines = [f"{count} {'is' if done.moved == 1 else 'are'} in '{done.target}'{again}."]
    lines += [f"  {note}" for note in done.notes]
    lines += [f"  {each.id} stays: {each.why}" for each in done.staying[:MAX_STAYING_SHOWN]]
    if len(done.staying) > MAX_STAYING_SHOWN:
        lines.append(f"  and {len(done.staying) - MAX_STAYING_SHOWN:,} more stay: --json lists them")
    if done.run is not None:
        lines.append(f"To take it back: loci group move-memories {done.source} --undo {done.run}")
    return lines


def purge_moved(options: dict[str, Any]) -> CommandAnswer:
    """Destroy what memories that moved away left in the group."""
    if not (options["yes"] or options["dry_run"]):
        raise InvalidInput(
            "A purge cannot be undone.",
            hint="Preview it with --dry-run, then confirm with --yes.",
            field="yes",
        )
    done = purge_left_behind(
        operator(),
        options["slug"],
        memory=options["memory"],
        reason=options["reason"],
        dry_run=options["dry_run"],
    )
    return CommandAnswer(asdict(done), purge_text(done))


def purge_text(done: LeftBehind) -> str:
    """The result in words."""
    others = f"{done.elsewhere:,} more moved where you may not curate." if done.elsewhere else ""
    if not done.memories:
        return (
            f"{others} Nothing was changed."
            if others
            else f"No memory moved away from '{done.group}'. Nothing was changed."
        )
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


SLUG: Final = option("slug", help="the group's name")
# Of `loci group`.
MOVING_VERBS: Final = {
    "move-memories": CommandVerb(
        move_part_of_group, "move memories to another group, or undo that",
        (SLUG, option("--to", default="", metavar="GROUP", help="the group that gets them"),
         many("--type", "TYPE", "only memories of this type"), many("--tag", "TAG", "only memories with this tag"),
         many("--source", "SOURCE", "only memories from this source"), REASON,
         option("--undo", default="", metavar="RUN", help="take a move from this group back"), DRY_RUN),
    ),
    "purge-left-behind": CommandVerb(
        purge_moved, "destroy what moved memories left in the group",
        (SLUG, option("--memory", default="", metavar="ID", help="only what this memory left; else all that moved"),
         REASON, DRY_RUN, YES),
    ),
}  # fmt: skip
