"""`manage.py runs`: list, show and undo runs of maintenance."""

from typing import Any, Final

from access.management.command import CURSOR, DRY_RUN, CommandAnswer, CommandVerb, flag, option
from access.tokens import operator
from maintenance.cycle.undo import find_run, preview_undo, undo_run
from maintenance.management.run_output import CHANGES, changes_text, steps_text
from maintenance.models import Run
from maintenance.runs.preview import RunOut, list_runs, read_changes
from maintenance.runs.wording import format_counts
from memories.management.output import FaceCommand, in_lines, table_text
from memories.queries.pages import MAX_LIMIT

EXAMPLES: Final = """\
examples:
  loci runs list
  loci runs show 1f3a                 part of the id is enough if it is unique
  loci runs undo 1f3a --dry-run       what would be restored, and what has changed since
  loci runs undo 1f3a
  loci runs undo 1f3a --with-later    undo later runs over the same memories first
"""
HEADER: Final = ("id", "when", "kind", "status", "group", "did")


def _show_runs(options: dict[str, Any]) -> CommandAnswer:
    page = list_runs(operator(), cursor=options["cursor"], limit=MAX_LIMIT)
    none = "Maintenance has not run yet. `loci compact --dry-run` shows what it would do."
    text = in_lines(
        table_text([_run_row(run) for run in page.rows], header=HEADER),
        "" if page.rows else none,
        f"More: --cursor {page.next}" if page.next else "",
    )
    return CommandAnswer({"items": [RunOut.json(run) for run in page.rows], "next": page.next}, text)


def show(options: dict[str, Any]) -> CommandAnswer:
    """One run with its steps and changes."""
    run = find_run(operator(), options["id"])
    done = read_changes(run, limit=options["changes"])
    body = {"steps": run.steps, "changes": done.changes, "total": done.total}
    table = table_text([_run_row(run)], header=HEADER)
    text = in_lines(table, steps_text(run.steps), changes_text(done.changes, total=done.total))
    return CommandAnswer({**RunOut.json(run), **body}, text)


def undo(options: dict[str, Any]) -> CommandAnswer:
    """Restore every field that a run changed."""
    work = preview_undo if options["dry_run"] else undo_run
    done = work(operator(), options["id"], with_later=options["with_later"], force=options["force"])
    if done.dry_run:
        lines = [f"Would restore {done.restored} rows, and hide or remove {done.deleted} that the run made."]
    else:
        lines = [f"Restored {done.restored} rows, and hid or removed {done.deleted} that the run made."]
    if done.earlier:
        lines.append("Later runs undone first: " + ", ".join(str(id_) for id_ in done.earlier))
    also = "would also be restored" if done.dry_run else "also restored"
    lines += [f"{also}: {id_} (edited since the run)" for id_ in done.versions]
    lines += [f"left: {kept.id or kept.row} ({kept.why})" for kept in done.kept]
    return CommandAnswer(done, "\n".join(lines))


def _run_row(run: Run) -> list[str]:
    did = format_counts(run.counts) or "nothing"
    group = run.group.slug if run.group else "all"
    return [str(run.id), f"{run.started_at:%Y-%m-%d %H:%M}", run.kind, run.status, group, did]


ID: Final = option("id", help="the run's id, or part of it")


class Command(FaceCommand):
    """Runs of maintenance."""

    help = "List the runs of maintenance, show one with its changes, or undo one."
    examples = EXAMPLES
    verbs = {
        "list": CommandVerb(_show_runs, "list the runs, newest first", (CURSOR,)),
        "show": CommandVerb(show, "show one run with its steps and changes", (ID, CHANGES)),
        "undo": CommandVerb(
            undo, "restore every field that the run changed",
            (ID, DRY_RUN, flag("--with-later", "undo later runs over the same rows first"),
             flag("--force", "also restore rows that have changed since; see --dry-run")),
        ),
    }  # fmt: skip
