"""Which writes a group refuses, and which wait for a curator there."""

from typing import NoReturn

from access.actor import Actor
from access.errors import NotPermitted
from access.models import CandidatePolicy, Group


def policy_doubt(actor: Actor, group: Group, confidence: float) -> str:
    """Why the group's policy holds this write back for a curator; empty if it does not."""
    match group.policy:
        case CandidatePolicy.ALL:
            return f"every write into '{group.slug}' waits for a curator"
        case CandidatePolicy.AGENTS if not actor.is_person:
            return f"writes of agents into '{group.slug}' wait for a curator"
        case CandidatePolicy.BELOW if confidence < group.policy_confidence:
            least = f"{group.policy_confidence:.2f}"
            return f"confidence {confidence:.2f} is below {least}, the least for direct writes into '{group.slug}'"
    return ""


def refuse_write(slug: str) -> NoReturn:
    """Raise NotPermitted for a write into a group."""
    raise NotPermitted(
        f"You may not write in the group '{slug}'.",
        hint="Ask an admin of the group for the role contributor, and for a token with the scope 'write'.",
        field="group",
    )
