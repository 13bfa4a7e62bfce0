"""Base of `compact` and `cleanup`: one run or its preview, with a progress bar."""

import sys
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser
from tqdm import tqdm

from access.actor import Actor
from access.errors import InvalidInput
from access.groups import find_group
from access.tokens import operator
from maintenance.cycle import RunPlan, RunProgress
from maintenance.cycle.job import run_alone
from maintenance.management.run_output import print_changes, print_steps
from maintenance.models import Run, RunStatus
from maintenance.runs.listing import run_json
from maintenance.runs.preview import RunPreview, preview_cycle
from maintenance.runs.wording import step_words
from memories.language.timestamps import parse_moment
from memories.management.output import FaceCommand

SHOWN = 50  # changes in a table


class CycleCommand(FaceCommand):
    """Parses, runs or previews, renders. `kind` is the kind of run."""

    kind = "cycle"
    uses_model = True
    group_help = "only this group (default: all)"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--dry-run", action="store_true", help="show exactly what would happen; change nothing"
        )
        parser.add_argument(
            "--max-share", type=float, metavar="0–1", help="share of a group's memories that may be retired"
        )
        parser.add_argument(
            "--max-seconds", type=float, metavar="S", help="stop after this time; the next call continues"
        )
        parser.add_argument("--now", metavar="TIME", help="use this moment as the current time")
        parser.add_argument(
            "--changes", type=int, default=SHOWN, metavar="N", help=f"changes to list ({SHOWN})"
        )

    def act(self, options: dict[str, Any]) -> int:
        actor = operator()
        with tqdm(file=sys.stderr, disable=None, leave=False, unit="group") as bar:
            plan = parse_plan(actor, options, kind=self.kind, bar=bar)
            if options["dry_run"]:
                return self._show_preview(preview_cycle(actor, plan), options)
            return self._show(run_alone(actor, plan), options)

    def _show(self, run: Run, options: dict[str, Any]) -> int:
        if options["json"]:
            self.print_json({**run_json(run), "steps": run.steps})
        else:
            print_steps(self, run.steps)
            self.stdout.write(outcome_text(run))
        return 1 if run.status in (RunStatus.STOPPED, RunStatus.FAILED) else 0

    def _show_preview(self, preview: RunPreview, options: dict[str, Any]) -> int:
        if options["json"]:
            self.print_json(
                {
                    "run": preview.run,
                    "steps": preview.steps,
                    "changes": [asdict(c) for c in preview.changes],
                    "total": preview.total,
                }
            )
            return 0
        print_steps(self, preview.steps)
        print_changes(self, preview.changes[: options["changes"]], total=preview.total)
        if not preview.total:
            self.stdout.write("It would change nothing.")
        if preview.run["error"]:
            self.stdout.write(preview.run["error"])
        self.stdout.write("Dry run: nothing was changed.")
        return 0


def parse_plan(actor: Actor, options: dict[str, Any], *, kind: str, bar: "tqdm[Any]") -> RunPlan:
    """The run's plan from the command's options; its progress moves the bar."""

    def report(progress: RunProgress) -> None:
        bar.total, bar.n = progress.groups, progress.groups_done
        bar.set_postfix_str(f"{progress.group}: {step_words(progress.step)}")

    share = options["max_share"]
    if share is not None and not 0 <= share <= 1:
        raise InvalidInput(f"{share:g} is not a share.", hint="Use a number from 0 to 1.", field="max_share")
    return RunPlan(
        kind=kind,
        group=find_group(actor, options["group"]) if options["group"] else None,
        now=parse_moment(options["now"], field="now") if options["now"] else None,
        max_share=share,
        max_seconds=options["max_seconds"],
        report=report,
    )


def outcome_text(run: Run) -> str:
    """How the run ended, and the command that undoes it."""
    if run.status == RunStatus.STOPPED:
        return f"Stopped: {run.error}\nUndo what it did: loci runs undo {run.id}"
    if run.status == RunStatus.RUNNING:
        return "The time limit is reached; the next call continues from here."
    if not run.counts:
        return "Nothing to do."
    return f"Done. To undo: loci runs undo {run.id}"
