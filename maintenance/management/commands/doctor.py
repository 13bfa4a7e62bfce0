"""`loci doctor`: check the store, and repair derived data."""

import sys
from typing import Any, Final

from django.core.management.base import CommandError
from tqdm import tqdm

from access.management.command import CommandAnswer, LociCommand, flag
from access.tokens import operator
from maintenance.doctor import CheckStatus, examine, repair

EXAMPLES: Final = """\
examples:
  loci doctor             check everything, change nothing
  loci doctor --repair    rebuild indexes, contexts and missing vectors; memories are never changed
  loci doctor --quick     skip the checks that read every row
  loci doctor --json

The exit status is 1 if something is wrong.
"""


class Command(LociCommand):
    """What maintenance.doctor finds."""

    help = "Check the store; with --repair, also rebuild what is derived from the memories."
    examples = EXAMPLES
    requires_system_checks = []  # the doctor reports them itself
    options = (
        flag("--repair", "rebuild derived data, then check"),
        flag("--quick", "skip the checks that read every row"),
    )

    def act(self, options: dict[str, Any]) -> CommandAnswer:
        if options["repair"] and options["quick"]:
            raise CommandError("--repair checks everything and cannot be combined with --quick.")
        with tqdm(file=sys.stderr, disable=None, leave=False, bar_format="{desc} {elapsed}") as bar:
            if options["repair"]:
                diagnosis = repair(operator(), report=bar.set_description)
            else:
                diagnosis = examine(operator(), quick=options["quick"], report=bar.set_description)
        body = {"is_well": diagnosis.is_well, **vars(diagnosis)}
        lines = [f"repaired: {repair_text}" for repair_text in diagnosis.repairs]
        width = max(len(finding.check) for finding in diagnosis.findings)
        for f in diagnosis.findings:
            advice = f" → {f.advice}" if f.advice else ""
            lines.append(f"{f.verdict.upper():<7} {f.check:<{width}}  {f.detail}{advice}")
        faults = ", ".join(f.check for f in diagnosis.findings if f.verdict is CheckStatus.WRONG)
        lines.append(f"Something is wrong: {faults}." if faults else "All is well.")
        return CommandAnswer(body, "\n".join(lines), status=0 if diagnosis.is_well else 1)
