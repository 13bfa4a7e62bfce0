"""The words a memory is described with, each saying what it means, and what recall does with each pair of state and trust."""

from enum import Enum

from django.db.models import TextChoices


class Type(TextChoices):
    """What kind of thing is remembered."""

    EPISODIC = "episodic", "episodic: an event, something that happened"
    SEMANTIC = "semantic", "semantic: a fact"
    PROCEDURAL = "procedural", "procedural: a way of doing something"
    ENTITY = "entity", "entity: who or what something is"


class Scope(TextChoices):
    """Where a memory is seen."""

    GLOBAL = "global", "global: seen in every group"
    GROUP = "group", "group: seen in its own group alone"


class State(TextChoices):
    """Whether a memory counts."""

    LIVE = "live", "live: counts"
    SUPERSEDED = "superseded", "superseded: was true, a newer memory replaces it"
    RETRACTED = "retracted", "retracted: was wrong and is withdrawn"
    FORGOTTEN = "forgotten", "forgotten: hidden, can be restored"
    MERGED = "merged", "merged: its text went into another memory"
    COMPACTED = "compacted", "compacted: a summary stands for it"
    EXPIRED = "expired", "expired: its time to live ran out"


class Trust(TextChoices):
    """How far a memory counts."""

    CANDIDATE = "candidate", "candidate: waits for a person"
    ACTIVE = "active", "active: in use"
    VERIFIED = "verified", "verified: a person confirmed it"
    DISPUTED = "disputed", "disputed: somebody doubts it"
    REJECTED = "rejected", "rejected: a person turned it down"
    QUARANTINED = "quarantined", "quarantined: held back as unsafe"


class RecallTreatment(Enum):
    """What recall does with a memory."""

    RETURN = "return"
    LABEL = "label"
    HIDE = "hide"


# What a live memory's trust means for recall. A candidate waits for a person, so it is kept out until approved;
# quarantined text never comes back.
LIVE_RULE: dict[str, RecallTreatment] = {
    Trust.CANDIDATE: RecallTreatment.HIDE,
    Trust.ACTIVE: RecallTreatment.RETURN,
    Trust.VERIFIED: RecallTreatment.RETURN,
    Trust.DISPUTED: RecallTreatment.LABEL,
    Trust.REJECTED: RecallTreatment.HIDE,
    Trust.QUARANTINED: RecallTreatment.HIDE,
}
# States that a question about the past (`as_of`, `known_at`) may bring back, always labelled.
HISTORY_STATES: frozenset[str] = frozenset(
    {State.SUPERSEDED, State.RETRACTED, State.COMPACTED, State.EXPIRED}
)
# States in which a memory stopped counting though nobody said that it was wrong: when that was (`retired_at`) does not
# end what Loci believed.
NOT_WITHDRAWN: frozenset[str] = frozenset({State.COMPACTED, State.EXPIRED})


def recall_treatment(state: str, trust: str, *, history: bool = False) -> RecallTreatment:
    """Say whether recall returns, labels or hides a memory of this state and trust.

    `history` is True for a question about the past, which may see superseded, retracted, compacted and expired
    memories, labelled. Forgotten and merged ones stay hidden there too.
    """
    rule = LIVE_RULE[trust]
    if state == State.LIVE or rule is RecallTreatment.HIDE:
        return rule
    return RecallTreatment.LABEL if history and state in HISTORY_STATES else RecallTreatment.HIDE


VISIBLE_TRUSTS: tuple[str, ...] = tuple(
    t for t, rule in LIVE_RULE.items() if rule is not RecallTreatment.HIDE
)
