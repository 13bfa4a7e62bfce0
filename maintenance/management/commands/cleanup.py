"""`manage.py cleanup`: forget memories of low confidence that were not recalled recently, or preview it."""

from typing import Final

from maintenance.management.cycle_command import CycleCommand

EXAMPLES: Final = """\
examples:
  loci cleanup --dry-run            what would be forgotten; changes nothing
  loci cleanup --group ledger

Forgotten memories can be restored for maintenance.retention_days; pinned and verified memories are never touched.
`loci runs undo ID` undoes a whole cleanup.
"""


class Command(CycleCommand):
    """Renders the cleanup step of maintenance.cycle."""

    kind = "cleanup"
    uses_model = False
    help = "Forget memories of low confidence that have not been recalled for a long time."
    examples = EXAMPLES
