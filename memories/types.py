"""A memory's type, scope, state and trust, each value with its meaning, and recall's treatment of state × trust."""

from enum import Enum
from typing import Final

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy


class Type(TextChoices):
    """Kind of memory."""

    EPISODIC = "episodic", gettext_lazy("episodic: an event")
    SEMANTIC = "semantic", gettext_lazy("semantic: a fact")
    PROCEDURAL = "procedural", gettext_lazy("procedural: how to do something")
    ENTITY = "entity", gettext_lazy("entity: a person or thing")


# The source of entities that exist because a relation names them
RELATION_SOURCE: Final = "relation"
SUMMARY_SOURCE: Final = "loci:compact"  # of the summary of a week or month
CONVERSATION_SOURCE: Final = "loci:conversation"  # of the summary of one conversation
SUMMARY_SOURCES: Final = (SUMMARY_SOURCE, CONVERSATION_SOURCE)


class Scope(TextChoices):
    """Groups in which a memory is visible."""

    GLOBAL = "global", gettext_lazy("global: visible in every group")
    GROUP = "group", gettext_lazy("group: visible only in its own group")


class State(TextChoices):
    """Whether a memory counts, and if not, why."""

    LIVE = "live", gettext_lazy("live: current")
    SUPERSEDED = "superseded", gettext_lazy("superseded: was true, replaced by a newer memory")
    RETRACTED = "retracted", gettext_lazy("retracted: withdrawn because it was wrong")
    FORGOTTEN = "forgotten", gettext_lazy("forgotten: hidden, can be restored")
    MERGED = "merged", gettext_lazy("merged: combined into another memory")
    EXPIRED = "expired", gettext_lazy("expired: its time to live ended")
    DORMANT = "dormant", gettext_lazy("dormant: not used for long, found when nothing else answers")


class Trust(TextChoices):
    """How far a memory is trusted. Doubt is not a value of it: see memories.models.Doubt."""

    CANDIDATE = "candidate", gettext_lazy("candidate: waits for review")
    ACTIVE = "active", gettext_lazy("active: in use")
    VERIFIED = "verified", gettext_lazy("verified: a person confirmed it")
    REJECTED = "rejected", gettext_lazy("rejected: declined in review")
    QUARANTINED = "quarantined", gettext_lazy("quarantined: held back as unsafe")


WITHDRAWN_TRUSTS: Final = frozenset({Trust.REJECTED, Trust.QUARANTINED})  # a person's decision bars the text


class RecallTreatment(Enum):
    """What recall does with a memory: return it, return it with a label, or hide it."""

    RETURN = "return"
    LABEL = "label"
    HIDE = "hide"


# Recall's treatment of live memories by trust. Candidates are hidden until a person approves them; quarantined text is
# never returned.
_LIVE_RULE: dict[str, RecallTreatment] = {
    Trust.CANDIDATE: RecallTreatment.HIDE,
    Trust.ACTIVE: RecallTreatment.RETURN,
    Trust.VERIFIED: RecallTreatment.RETURN,
    Trust.REJECTED: RecallTreatment.HIDE,
    Trust.QUARANTINED: RecallTreatment.HIDE,
}
# States that a question about the past (`as_of`, `known_at`) may return, always labelled.
HISTORY_STATES: frozenset[str] = frozenset({State.SUPERSEDED, State.RETRACTED, State.DORMANT, State.EXPIRED})
# States that end a memory without a claim that it was wrong: their `retired_at` does not end Loci's belief in it.
NOT_WITHDRAWN: frozenset[str] = frozenset({State.DORMANT, State.EXPIRED})


def recall_treatment(state: str, trust: str, *, history: bool = False) -> RecallTreatment:
    """Whether recall returns, labels or hides a memory of this state and trust.

    With `history`, a question about the past, superseded, retracted, dormant and expired memories are labelled.
    Forgotten and merged ones stay hidden there too.
    """
    rule = _LIVE_RULE[trust]
    if state == State.LIVE or rule is RecallTreatment.HIDE:
        return rule
    return RecallTreatment.LABEL if history and state in HISTORY_STATES else RecallTreatment.HIDE


VISIBLE_TRUSTS: tuple[str, ...] = tuple(
    t for t, rule in _LIVE_RULE.items() if rule is not RecallTreatment.HIDE
)
