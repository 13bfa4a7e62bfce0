"""The steps of histories, each carried out by the product's own functions, with the undos that answers and pages offer."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from access.audit import Work, collecting_rows
from maintenance.admin.runs import may_undo
from maintenance.cycle import RunPlan, compute_cap, run_cycle
from maintenance.cycle.undo import undo_run
from maintenance.retention import enforce_retention, has_changes
from memories.draft import EditDraft
from memories.entities.store_relation import RelationDraft, store_relation
from memories.lifecycle import verbs
from memories.lifecycle.edit import edit
from memories.lifecycle.purge.lift_tombstone import lift_tombstones
from memories.lifecycle.undo import undo_id_of, undo_write
from memories.models import Link, LinkStatus, Proposal, ProposalStatus, Tombstone
from memories.queries.versions import head_of
from memories.review.decide import ReviewDecision, decide, decide_many, take_back
from memories.sessions.checkpoints import save_checkpoint
from memories.store import store
from sources.importing.drafts import import_records
from sources.importing.importer import LineRules, SourceRecord
from sources.importing.undo import undo_import
from tests.changes.world import SOURCE, TEXTS, Nothing, Offer, Step, World


def take(world: World, step: Step) -> list[Offer]:
    """Carry a step out; the undos that it offers. Raises LociError for a refusal, Nothing without a target."""
    who, verb, *arguments = step
    with collecting_rows() as rows:
        offers: list[Offer] = STEPS[verb](world, who, *arguments) or []
    return [*offers, *offered_by_answer(world, who, verb, rows)]


def offered_by_answer(world: World, who: str, verb: str, work: Work) -> list[Offer]:
    """The undo id that the answer of a write carries, as REST, MCP and the bulk page put it in."""
    if verb in NO_UNDO_ID or not (id_ := undo_id_of(world.actor(who), work)):
        return []
    return [Offer(verb, who, 24, lambda by: undo_write(world.actor(by), id_))]


# The steps. Each takes the world, who does it, and its arguments; it gives the undos that a page offers for it.


def store_text(world: World, who: str, text: str, fields: dict[str, Any]) -> None:
    store(world.actor(who), world.draft(text, fields))


def edit_text(world: World, who: str, target: str, fields: dict[str, Any]) -> None:
    edit(world.actor(who), world.row(target).id, EditDraft(**world.values(fields)))


def verb_step(name: str) -> Callable[..., None]:
    def run(world: World, who: str, target: str) -> None:
        getattr(verbs, name)(world.actor(who), world.row(target).id)

    return run


def retract_text(world: World, who: str, target: str, successor: str = "") -> None:
    verbs.retract(world.actor(who), world.row(target).id, successor=TEXTS.get(successor, ""))


def merge_two(world: World, who: str, target: str, into: str, content: str = "") -> None:
    verbs.merge(world.actor(who), world.row(target).id, world.row(into).id, content=TEXTS.get(content, ""))


def supersede_by(world: World, who: str, target: str, by: str) -> None:
    verbs.supersede(world.actor(who), world.row(target).id, world.row(by).id)


def move_to(world: World, who: str, target: str, group: str) -> None:
    verbs.move(world.actor(who), world.row(target).id, group)


def relate(world: World, who: str, subject: str, object_: str, evidence: str = "") -> None:
    proof = (str(world.row(evidence).id),) if evidence else ()
    store_relation(
        world.actor(who), RelationDraft(subject, "sings with", object_, group="ledger", evidence=proof)
    )


def checkpoint(world: World, who: str, thread: str) -> None:
    save_checkpoint(world.actor(who), group="ledger", thread=thread, state={"next": "tune the piano"})


def lift(world: World, who: str, target: str) -> None:
    """Lift what bars the text of a memory."""
    memory = world.row(target)
    mark = Tombstone.objects.filter(memory_id=memory.id, lifted_at=None).first()
    if mark is None:
        raise Nothing
    lift_tombstones(world.actor(who), mark.id)


def review(world: World, who: str, decision: ReviewDecision) -> list[Offer]:
    """Decide in the Review; its page offers to take the decision back."""
    return review_offers(world, who, decision.verb, [decide(world.actor(who), decision).entries])


def review_offers(world: World, who: str, verb: str, entries: list[tuple[str, ...]]) -> list[Offer]:
    def carry_out(by: str) -> None:
        for names in reversed(entries):
            take_back(world.actor(by), names)

    return [Offer(f"review {verb}", who, None, carry_out)] if entries and all(entries) else []


def review_memory(
    world: World, who: str, verb: str, target: str, other: str = "", content: str = ""
) -> list[Offer]:
    """Decide about a card of a memory, or of two."""
    second = world.row(other).id if other else ""
    return review(
        world, who, ReviewDecision(verb, world.row(target).id, second, content=TEXTS.get(content, ""))
    )


def review_many(world: World, who: str, verb: str, *targets: str) -> list[Offer]:
    """Decide about several at once."""
    decisions = [ReviewDecision(verb, world.row(target).id) for target in targets]
    done = decide_many(world.actor(who), decisions).done
    return review_offers(world, who, verb, [each.entries for each in done])


def review_link(world: World, who: str, verb: str, number: int) -> list[Offer]:
    """Decide about a possible duplicate or a conflict."""
    links = list(
        Link.objects.filter(status=LinkStatus.OPEN, kind__in=["duplicate", "conflict"]).order_by("key")
    )
    if not links:
        raise Nothing
    link = links[number % len(links)]
    shown = head_of(link.source).id, head_of(link.target).id
    return review(world, who, ReviewDecision(verb, *shown, link=link.id))


def review_proposal(world: World, who: str, verb: str, number: int) -> list[Offer]:
    """Carry a proposal out or decline it."""
    waiting = list(Proposal.objects.filter(status=ProposalStatus.WAITING).order_by("key"))
    if not waiting:
        raise Nothing
    return review(world, who, ReviewDecision(verb, proposal=waiting[number % len(waiting)].id))


def import_lines(world: World, who: str, lines: dict[str, str], group: str = "ledger") -> list[Offer]:
    """Import a file whose lines have a reference each; its report names the run that takes it back."""
    records = [
        SourceRecord(world.draft(text, {"group": group, "source": SOURCE, "source_ref": ref}))
        for ref, text in lines.items()
    ]
    rules = LineRules(source=SOURCE, as_own=True)
    report = import_records(world.actor(who), Path(SOURCE), rules, read=lambda path, rules: records)
    run = report.run
    return (
        [Offer("import", who, None, lambda by: kept_none(undo_import(world.actor(by), run)))] if run else []
    )


def take_back_offer(world: World, offer: Offer, by: str = "") -> list[Offer]:
    """Carry an undo out; the undos that its answer offers. Raises LociError for a refusal, Kept if a part stayed."""
    with collecting_rows() as rows:
        offer.carry_out(by or offer.who)
    return offered_by_answer(world, offer.who, f"undo of {offer.what}", rows) if UNDO_CAN_BE_UNDONE else []


class Kept(Exception):
    """An undo that left a part as it was."""


def kept_none(done: Any) -> None:
    """Raise Kept if a part stayed."""
    if done.kept:
        raise Kept("; ".join(each.why for each in done.kept))


def cycle(world: World, who: str, share: float = 1) -> list[Offer]:
    """A run of maintenance that may retire a share of a group; the page of the runs offers to take it back."""
    run = run_cycle(world.actor(who), RunPlan(max_share=share))
    if share == 1 and (again := run_cycle(world.actor(who), RunPlan(now=run.now, max_share=1)).counts):
        raise AssertionError(f"a second run at the same time finds work: {again}")
    if not (has_changes(run) and may_undo(world.actor(who), run)):
        return []
    return [Offer("cycle", who, None, lambda by: kept_none(undo_run(world.actor(by), run.id)))]


def cap_of(share: float, live: int) -> int:
    """How many of a group's live memories a run of this share may retire."""
    return live if share == 1 else compute_cap(share, live)


def retention(world: World, who: str) -> None:
    enforce_retention(world.actor(who))


def pass_days(world: World, who: str, days: float) -> None:
    world.clock.shift(timedelta(days=days))


STEPS: Final[dict[str, Callable[..., list[Offer] | None]]] = {
    "store": store_text,
    "edit": edit_text,
    **{name: verb_step(name) for name in (
        "forget", "restore", "dispute", "verify", "approve", "reject", "quarantine", "pin", "unpin", "purge",
    )},
    "retract": retract_text,
    "merge": merge_two,
    "supersede": supersede_by,
    "move": move_to,
    "relate": relate,
    "checkpoint": checkpoint,
    "lift": lift,
    "review": review_memory,
    "review many": review_many,
    "review link": review_link,
    "review proposal": review_proposal,
    "import": import_lines,
    "cycle": cycle,
    "retention": retention,
    "days": pass_days,
}  # fmt: skip
UNDO_CAN_BE_UNDONE: Final = True
# Their answers carry no undo id: the Review, the report of an import and the page of the runs have undos of their own.
NO_UNDO_ID: Final = frozenset(
    {"review", "review many", "review link", "review proposal", "import", "cycle", "retention"}
)
