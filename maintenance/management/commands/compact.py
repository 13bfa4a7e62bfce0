"""`manage.py compact`: run the maintenance cycle now, or see what it would do."""

from typing import Final

from maintenance.management.cycle_command import CycleCommand

EXAMPLES: Final = """\
examples:
  loci compact --dry-run            what would happen, with each change; nothing is touched
  loci compact                      decay, compact, promote, expire, clean up, find duplicates and conflicts
  loci compact --group ledger       one group
  loci compact --max-share 1        also where it retires more than maintenance.max_share of a group
  loci runs undo ID                 take a run back

The status is 1 where the run stopped because it would have retired too much.
"""


class Command(CycleCommand):
    """Renders maintenance.cycle."""

    help = (
        "Run the maintenance cycle: decay, compact, promote, expire, clean up, find duplicates and conflicts."
    )
    examples = EXAMPLES
