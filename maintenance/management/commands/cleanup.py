"""`manage.py cleanup`: forget what has next to no confidence and is not recalled, or see what that would be."""

from typing import Final

from maintenance.management.cycle_command import CycleCommand

EXAMPLES: Final = """\
examples:
  loci cleanup --dry-run            what would be forgotten; nothing is touched
  loci cleanup --group ledger

What is forgotten can be restored for maintenance.retention_days; pinned and verified memories are never touched.
`loci runs undo ID` takes a whole cleanup back.
"""


class Command(CycleCommand):
    """Renders the cleanup step of maintenance.cycle."""

    kind = "cleanup"
    uses_model = False
    help = "Forget memories of next to no confidence that nobody has recalled for long."
    examples = EXAMPLES
