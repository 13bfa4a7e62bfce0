"""`loci store retention`: destroy expired data, or show what that would be."""

from typing import Any, Final

from access.management.command import DRY_RUN, CommandAnswer, CommandVerb
from access.tokens import operator
from maintenance.management.progress import StepBar
from maintenance.retention import RetentionReport, enforce_retention
from memories.language.cleaning import format_count
from memories.management.output import in_lines, table_text


def expire(options: dict[str, Any]) -> CommandAnswer:
    """Destroy what has expired."""
    with StepBar("retention", unit="row") as bar:
        report = enforce_retention(operator(), dry_run=options["dry_run"], report=bar.show)
    body = {**vars(report), "now": report.now.isoformat(), "total": report.total}
    return CommandAnswer(body, report_text(report))


def report_text(report: RetentionReport) -> str:
    """What was destroyed, what is held and why."""
    rows = [
        [step.step, name, f"{count:,}", f"{step.seconds:.1f} s"]
        for step in report.steps
        for name, count in step.destroyed.items()
    ]
    rows += [
        [step.step, "held", f"{count:,}", why] for step in report.steps for why, count in step.held.items()
    ]
    closed = format_count(report.closed_proposals, "overdue proposal")
    if not report.total:
        end = "Nothing has expired."
    elif report.dry_run:
        end = f"{report.total:,} rows would be destroyed. Nothing was changed."
    else:
        end = f"{report.total:,} rows were destroyed."
    return in_lines(
        table_text(rows, header=("step", "what", "rows", "")) if rows else "",
        f"{closed} {'would be closed' if report.dry_run else 'closed'}." if report.closed_proposals else "",
        f"{report.waits[0].upper()}{report.waits[1:]}." if report.waits else "",
        end,
    )


RETENTION: Final = CommandVerb(
    expire, "destroy expired data: forgotten memories, recalls, changes of old runs, old log rows", (DRY_RUN,)
)
