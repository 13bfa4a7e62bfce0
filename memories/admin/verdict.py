"""What recall does with one memory today, in a sentence."""

from dataclasses import dataclass

from django.utils import timezone

from access.actor import Actor
from memories.models import Memory
from memories.queries.visibility import as_q, recallable_by
from memories.types import RecallTreatment, Type, recall_treatment


@dataclass(frozen=True)
class RecallVerdict:
    """What recall does (`return`, `label` or `hide`) and why."""

    does: str
    because: str


def recall_verdict(actor: Actor, memory: Memory) -> RecallVerdict:
    """Say whether recall returns the memory in its own group now, labels it or hides it, and because of what."""
    rule = recall_treatment(memory.state, memory.trust)
    standing = f"it is {memory.state} and {memory.trust}"
    if rule is RecallTreatment.HIDE:
        return RecallVerdict(RecallTreatment.HIDE.value, standing)
    # A global memory is seen from outside its group too.
    room = memory.group if actor.may_enter(memory.group_id) else None
    if not Memory.objects.filter(as_q(recallable_by(actor, room)), key=memory.key).exists():
        return RecallVerdict(
            RecallTreatment.HIDE.value, _ended(memory) or "it is not among what you may recall"
        )
    return RecallVerdict(rule.value, standing)


def _ended(memory: Memory) -> str:
    now = timezone.now()
    if memory.expires_at is not None and memory.expires_at <= now:
        return f"it expired on {memory.expires_at:%Y-%m-%d %H:%M} UTC"
    if memory.valid_to is not None and memory.valid_to <= now and memory.type != Type.EPISODIC:
        return f"it was true until {memory.valid_to:%Y-%m-%d %H:%M} UTC; a question about the past still finds it"
    return ""
