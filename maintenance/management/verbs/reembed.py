"""`loci model reembed`: embed all memories with the configured model and window while Loci is in use."""

from typing import Any, Final

from access.management.command import DRY_RUN, CommandAnswer, CommandVerb
from access.tokens import operator
from maintenance.embeddings.reembed import ReembedPlan, ReembedResult, plan_reembed, reembed
from maintenance.management.progress import StepBar


def embed_all(options: dict[str, Any]) -> CommandAnswer:
    """Show the plan, or carry it out."""
    if options["dry_run"]:
        plan = plan_reembed(operator())
        return CommandAnswer({**vars(plan), "is_done": plan.is_done}, plan_text(plan))
    with StepBar("reembed") as bar:
        done = reembed(operator(), progress=bar.show)
    return CommandAnswer(done, done_text(done))


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


REEMBED: Final = CommandVerb(
    embed_all, "embed all memories with the configured model and window while Loci is in use", (DRY_RUN,)
)
