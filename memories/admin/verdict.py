"""What recall does with one memory now, in a sentence."""

from dataclasses import dataclass

from django.utils import timezone
from django.utils.translation import gettext

from access.actor import Actor
from access.admin.columns import in_words
from memories.browse.inspection import treatment_now
from memories.models import Memory
from memories.queries.visibility import as_q, has_begun, recallable_by
from memories.store.withdrawn.left_out import LEFT_OUT_REASON, find_left_out
from memories.types import RecallTreatment, Type


@dataclass(frozen=True)
class RecallVerdict:
    """What recall does with a memory (`return`, `label` or `hide`) and why."""

    action: str
    because: str


def recall_verdict(actor: Actor, memory: Memory) -> RecallVerdict:
    """Whether recall in the memory's own group now returns, labels or hides it, and why."""
    action = treatment_now(memory)
    reason = gettext("it is {state} and {trust}").format(
        state=in_words(memory.state), trust=in_words(memory.trust)
    )
    if action is RecallTreatment.HIDE:
        return RecallVerdict(action.value, reason)
    # A global memory can also be seen from outside its group.
    group = memory.group if actor.may_enter(memory.group_id) else None
    visibility = recallable_by(actor, group)
    if not Memory.objects.filter(as_q(visibility), key=memory.key).exists():
        return RecallVerdict(
            RecallTreatment.HIDE.value, expiry_reason(memory) or gettext("you may not recall it")
        )
    if find_left_out([memory], visibility):
        return RecallVerdict(RecallTreatment.HIDE.value, gettext(LEFT_OUT_REASON))
    return RecallVerdict(action.value, reason)


def expiry_reason(memory: Memory) -> str:
    """Why a live memory is not recalled now: it counts later, it expired or its valid time ended; empty otherwise."""
    now = timezone.now()
    if not has_begun(memory, now):
        return gettext("it counts from {valid_from:%Y-%m-%d %H:%M} UTC").format(valid_from=memory.valid_from)
    if memory.expires_at is not None and memory.expires_at <= now:
        return gettext("it expired on {expires_at:%Y-%m-%d %H:%M} UTC").format(expires_at=memory.expires_at)
    if memory.valid_to is not None and memory.valid_to <= now and memory.type != Type.EPISODIC:
        return gettext(
            "it was true until {valid_to:%Y-%m-%d %H:%M} UTC; a question about the past still finds it"
        ).format(valid_to=memory.valid_to)
    return ""
