"""`manage.py compact`: run the maintenance cycle now, or preview it."""

from typing import Final

from maintenance.management.cycle_command import CycleCommand

EXAMPLES: Final = """\
examples:
  loci compact --dry-run            what would happen, with each change; changes nothing
  loci compact                      compact, decay, promote, expire, clean up, find duplicates and conflicts
  loci compact --group ledger       one group
  loci compact --max-share 1        even if it puts more than maintenance.max_share of a group to sleep
  loci runs undo ID                 undo a run

The exit status is 1 if a step failed in a group or was stopped there, as the answer says.
"""


class Command(CycleCommand):
    """Renders maintenance.cycle."""

    help = (
        "Run the maintenance cycle: compact, decay, promote, expire, clean up, find duplicates and conflicts."
    )
    examples = EXAMPLES
