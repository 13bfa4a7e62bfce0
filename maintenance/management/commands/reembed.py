"""`loci reembed`: re-embed all memories with the configured model and window while Loci is in use."""

from dataclasses import asdict
from typing import Any, Final

from django.core.management.base import CommandParser

from access.tokens import operator
from maintenance.embeddings.reembed import ReembedPlan, ReembedResult, plan_reembed, reembed
from maintenance.management.progress import StepBar
from memories.management.output import FaceCommand

EXAMPLES: Final = """\
examples:
  loci reembed --dry-run                              from which model to which, and how many memories
  LOCI_EMBEDDING_WINDOW_TOKENS=128 loci reembed       with another window; set it in config.toml for good
  loci reembed --json

It can be stopped and restarted without losing work. Until all new vectors exist, recall uses the old ones.
"""


class Command(FaceCommand):
    """Renders what maintenance.embeddings.reembed does."""

    help = "Re-embed all memories with the configured model and window while Loci is in use."
    examples = EXAMPLES
    takes_group = False

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--dry-run", action="store_true", help="show what would be done, change nothing")

    def act(self, options: dict[str, Any]) -> int:
        """Show the plan, or carry it out."""
        if options["dry_run"]:
            plan = plan_reembed(operator())
            body, text = {**asdict(plan), "is_done": plan.is_done}, plan_text(plan)
        else:
            with StepBar("reembed") as bar:
                done = reembed(operator(), progress=bar.show)
            body, text = asdict(done), done_text(done)
        if options["json"]:
            self.print_json(body)
        else:
            self.stdout.write(text)
        return 0


def plan_text(plan: ReembedPlan) -> str:
    """The plan in words."""
    if plan.is_done:
        return f"Nothing to do: the index holds {plan.target} vectors of all {plan.memories} memories."
    return (
        f"{plan.lacking} of {plan.memories} memories would be embedded with {plan.target}; "
        f"the index holds {plan.indexed or 'nothing yet'}."
    )


def done_text(done: ReembedResult) -> str:
    """The result in words."""
    if not (done.memories or done.switched or done.pieces_deleted):
        return f"Nothing to do: the index holds {done.model} vectors."
    switched = f" The index was switched from {done.before}." if done.switched else ""
    return f"Embedded {done.memories} memories ({done.pieces} pieces) with {done.model}.{switched}"
