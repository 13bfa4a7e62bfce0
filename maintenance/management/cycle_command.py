"""Base of `compact` and `cleanup`: one run or its preview, with a progress bar."""

import os
from typing import Any, ClassVar, Final

from django.utils import timezone

from access.errors import InvalidInput
from access.groups import find_group
from access.management.command import DRY_RUN, GROUP, CommandAnswer, Options, option
from access.tokens import operator
from maintenance.cycle import RunPlan
from maintenance.cycle.job import run_alone
from maintenance.management.progress import StepBar
from maintenance.management.run_output import CHANGES, changes_text, steps_text
from maintenance.models import Run, RunStatus
from maintenance.runs.preview import MAX_CHANGES, RunOut, RunPreview, preview_cycle
from memories.language.cleaning import parse_moment
from memories.management.output import FaceCommand, in_lines

_AHEAD: Final = "LOCI_CLOCK_AHEAD"  # in the environment of proofs, which throw their stores away


class CycleCommand(FaceCommand):
    """Parses, runs or previews, renders. `kind` is the kind of run."""

    kind = "cycle"
    uses_model = True
    options: ClassVar[Options] = (
        GROUP.but(help="only this group (default: all)"),
        DRY_RUN.but(help="show exactly what would happen; change nothing"),
        option("--max-share", type=float, metavar="0–1", help="share of a group's memories that may be put away in a week"),
        option("--now", metavar="TIME", read=parse_moment, help="use this moment as the current time; one that is ahead only with --dry-run"),
        CHANGES,
    )  # fmt: skip

    def act(self, options: dict[str, Any]) -> CommandAnswer:
        actor = operator()
        with StepBar(self.kind, unit="group") as bar:
            share = options["max_share"]
            if share is not None and not 0 <= share <= 1:
                raise InvalidInput(
                    f"{share:g} is not a share.", hint="Use a number from 0 to 1.", field="max_share"
                )
            now = options["now"]
            is_trial = options["dry_run"] or _AHEAD in os.environ
            if now is not None and now > timezone.now() and not is_trial:
                raise InvalidInput(
                    f"{now:%Y-%m-%d %H:%M} is ahead: a run would date what it writes ahead too.",
                    hint="Add --dry-run to see what a run would do then.",
                    field="now",
                )
            plan = RunPlan(
                kind=self.kind,
                group=find_group(actor, options["group"]) if options["group"] else None,
                now=now,
                max_share=share,
                deletes=options.get("deletes", False),
                report=bar.show,
            )
            if options["dry_run"]:
                limit = max(MAX_CHANGES, options["changes"])
                return _preview_answer(preview_cycle(actor, plan, limit=limit), options)
            run = run_alone(actor, plan)
        text = in_lines(steps_text(run.steps), _outcome_text(run))
        failed = run.status in (RunStatus.STOPPED, RunStatus.FAILED)
        return CommandAnswer({**RunOut.json(run), "steps": run.steps}, text, status=int(failed))


def _preview_answer(preview: RunPreview, options: dict[str, Any]) -> CommandAnswer:
    text = in_lines(
        steps_text(preview.steps),
        changes_text(preview.changes[: preview.texts + options["changes"]], total=preview.total),
        "" if preview.total else "It would change nothing.",
        preview.run["error"],
        "Dry run: nothing was changed.",
    )
    return CommandAnswer(preview, text)


def _outcome_text(run: Run) -> str:
    if run.status == RunStatus.STOPPED:
        return f"Stopped: {run.error}\nUndo what it did: loci runs undo {run.id}"
    if not run.counts:
        return "Nothing to do."
    return f"Done. To undo: loci runs undo {run.id}"
