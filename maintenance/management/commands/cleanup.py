"""`manage.py cleanup`: put memories of low confidence to sleep that were not recalled recently, or preview it."""

from typing import Final

from access.management.command import flag
from maintenance.management.cycle_command import CycleCommand

EXAMPLES: Final = """\
examples:
  loci cleanup --dry-run            what would go to sleep; changes nothing
  loci cleanup --group ledger
  loci cleanup --delete --dry-run   what would be forgotten, and destroyed after maintenance.retention_days

What sleeps is in no list, is found when nothing else answers, and wakes when it is recalled. With --delete, or in a group
with the rule `cleanup = delete`, it is forgotten instead. Pinned and verified memories, those of importance 8 or more and
the evidence of others are never touched. `loci runs undo ID` undoes a whole cleanup.
"""


class Command(CycleCommand):
    """Renders the cleanup step of maintenance.cycle."""

    kind = "cleanup"
    uses_model = False
    options = (
        *CycleCommand.options,
        flag("--delete", "forget instead of putting to sleep, and what sleeps too", dest="deletes"),
    )
    help = "Put memories of low confidence to sleep that have not been recalled for a long time."
    examples = EXAMPLES
