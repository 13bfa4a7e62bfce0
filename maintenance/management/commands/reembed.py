"""`loci reembed`: make all vectors anew with the model and window of the settings, while Loci serves."""

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

It may be stopped and started again: what was made stays. Until all vectors are there, recall answers from the old ones.
"""


class Command(FaceCommand):
    """Renders what maintenance.embeddings.reembed does."""

    help = "Make all vectors anew with the model and window of the settings, while Loci serves."
    examples = EXAMPLES
    takes_group = False

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--dry-run", action="store_true", help="say what would be done, change nothing")

    def act(self, options: dict[str, Any]) -> int:
        """Show the plan, or carry it out."""
        if options["dry_run"]:
            plan = plan_reembed(operator())
            body, said = {**asdict(plan), "is_done": plan.is_done}, plan_text(plan)
        else:
            with StepBar("reembed") as bar:
                done = reembed(operator(), progress=bar.show)
            body, said = asdict(done), done_text(done)
        if options["json"]:
            self.print_json(body)
        else:
            self.stdout.write(said)
        return 0


def plan_text(plan: ReembedPlan) -> str:
    """Say in words what would be done."""
    if plan.is_done:
        return f"Nothing to do: the index holds vectors of {plan.target} of all {plan.memories} memories."
    return (
        f"{plan.lacking} of {plan.memories} memories would be embedded with {plan.target}; "
        f"the index holds {plan.indexed or 'nothing yet'}."
    )


def done_text(done: ReembedResult) -> str:
    """Say in words what was done."""
    if not (done.memories or done.switched or done.pieces_deleted):
        return f"Nothing to do: the index holds vectors of {done.model}."
    switched = f" The index was exchanged; it held {done.before}." if done.switched else ""
    return f"Embedded {done.memories} memories ({done.pieces} pieces) with {done.model}.{switched}"
