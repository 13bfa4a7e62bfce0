"""The verbs as buttons on a memory's page."""

from typing import Final

from access.actor import Actor
from memories.lifecycle.verb import Verb
from memories.lifecycle.verbs import VERBS
from memories.models import Memory

IN_ORDER: Final = sorted(VERBS.values(), key=lambda verb: verb.button.order)


def buttons_for(actor: Actor, memory: Memory) -> list[Verb]:
    """The verbs that fit the memory and that the actor has the right to use, most common first."""
    return [verb for verb in IN_ORDER if actor.may(verb.right, memory.group_id) and verb.button.fits(memory)]
