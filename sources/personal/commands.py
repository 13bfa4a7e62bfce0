"""`loci person export` and `loci person erase`."""

import sys
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandError
from tqdm import tqdm

from access.errors import Conflict, InvalidInput
from access.management.command import CommandAnswer
from access.sign_in.users import find_person
from access.tokens import operator
from memories.language.cleaning import format_count, format_memory_count
from memories.management.output import in_lines, printable
from sources.exporting.atomic_file import replace_bytes
from sources.format import counts_text
from sources.personal.erase import Erasure, erase_person, preview_erasure
from sources.personal.export import PersonExport, export_person, file_name

_BACKUPS: Final = (
    "Backups: purged texts go from those in LOCI_HOME/backups, names and addresses stay in them until they are rotated out. "
    "Copies elsewhere, log files and the person's own devices are not reached. After restoring an older backup, erase again."
)
_SHOWN_IDS: Final = 20


def export(options: dict[str, Any]) -> CommandAnswer:
    """Write the zip into a new file."""
    user = find_person(options["name"])
    path: Path = options["to"] or Path(file_name(user))
    if path.is_file():
        raise Conflict(f"{path} already exists.", hint="Name a new file with --to.", field="to")
    try:
        with replace_bytes(path) as out, _bar("row") as bar:
            done = export_person(operator(), user, out, on_progress=bar.update)
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}.") from error
    text = f"Exported {counts_text(done.counts)} of '{user}' to {printable(str(path))}."
    return CommandAnswer(PersonExport.json(done) | {"file": str(path)}, text)


def erase(options: dict[str, Any]) -> CommandAnswer:
    """Show what goes and what stays, ask, erase."""
    user, must_ask = find_person(options["name"]), not (options["yes"] or options["dry_run"])
    if must_ask and (options["json"] or not sys.stdin.isatty()):
        raise InvalidInput(
            f"An erasure cannot be undone, and there is no terminal for confirming that of '{user}'.",
            hint="Preview it with --dry-run, then confirm with --yes.",
            field="yes",
        )
    with _bar("memory") as bar:
        plan = preview_erasure(operator(), user, on_done=bar.update)
    body = Erasure.json(plan) | {"dry_run": options["dry_run"]}
    if options["dry_run"]:
        return CommandAnswer(body, f"{_plan_text(plan)}\nNothing was changed.")
    if must_ask:
        sys.stdout.write(f"{_plan_text(plan)}\nThis cannot be undone. ")
        if input(f"Type {plan.user} to erase them: ").strip() != plan.user:
            raise Conflict("Nothing was erased.")
    with _bar("memory") as bar:
        remains = erase_person(operator(), user, on_done=bar.update)
    body |= {"samples": [], "remains": list(remains)}
    done, stay = plan.destroyed.memories, len(plan.stays)
    text = f"'{plan.user}' is erased: {format_memory_count(done)} destroyed, {format_memory_count(stay)} under the name {plan.pseudonym}."
    return CommandAnswer(
        body, in_lines(text, *(f"Still there: {printable(place)}" for place in remains), _BACKUPS)
    )


def _bar(unit: str) -> "tqdm[Any]":
    return tqdm(unit=unit, file=sys.stderr, disable=None, leave=False)


def _plan_text(plan: Erasure) -> str:
    """The plan in words."""
    gone = plan.destroyed
    counts = (
        format_memory_count(gone.memories), format_count(gone.checkpoints, "checkpoint"), format_count(gone.recalls, "logged recall"),
        f"{gone.feedback} of feedback", format_count(gone.uploads, "upload"), format_count(gone.tokens, "token"),
        format_count(gone.log_payloads, "log payload"),
    )  # fmt: skip
    renamed = ", ".join(f"{name} {count}" for name, count in plan.renamed.items())
    groups = ", ".join(plan.without_admin)
    return in_lines(
        f"Erasing '{plan.user}' destroys {', '.join(counts)}, their conversations, sessions, settings, names and address.",
        *(f"- “{printable(sample)}”" for sample in plan.samples),
        f"{format_memory_count(len(plan.stays))} stay under the name {plan.pseudonym}, since others built on them: "
        f"{_some(plan.stays)}"
        if plan.stays
        else "",
        f"Names in rows that stay become {plan.pseudonym}: {renamed}." if renamed else "",
        f"{format_count(plan.log_rows, 'row')} of the audit log keep the login, without what they say: each hash covers it, and a changed "
        "row would break the proof that nothing was removed.",
        f"Not changed: {format_memory_count(len(plan.mentions))} whose text names them; 'loci memory find-person' lists them: "
        f"{_some(plan.mentions)}"
        if plan.mentions
        else "",
        f"No other person administers {groups}: 'loci person deactivate {plan.user} --hand-over-to NAME' first."
        if groups
        else "",
        _BACKUPS,
    )


def _some(ids: tuple[str, ...]) -> str:
    more = len(ids) - _SHOWN_IDS
    return ", ".join(ids[:_SHOWN_IDS]) + (f" and {more} more" if more > 0 else "")
