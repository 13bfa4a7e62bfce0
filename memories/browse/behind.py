"""The memories behind a node of the graph: what proves its relations, what is linked to it, and what names it."""

from dataclasses import dataclass

from access.actor import Actor
from access.visibility import Narrowing
from memories.browse.suggest import MatchKind, suggest
from memories.entities.neighbourhood import undismissed_links
from memories.entities.statements import statements_around, with_proofs
from memories.models import Memory
from memories.queries.versions import heads_of
from memories.types import State, Type

MAX_BEHIND = 40
MAX_MENTIONS = 12
TEXTS = frozenset({Type.SEMANTIC, Type.EPISODIC, Type.PROCEDURAL})


@dataclass(frozen=True)
class Behind:
    """A memory and what it has to do with the node: `evidence`, the kind of its link, or `mention`."""

    memory: Memory
    how: str


def memories_behind(actor: Actor, memory: Memory) -> list[Behind]:
    """At most MAX_BEHIND visible memories: evidence first, then links, then texts with all words of an entity's name."""
    found = dict[int, Behind]()

    def note(other: Memory, how: str) -> None:
        if other.root_key != memory.root_key:
            found.setdefault(other.root_key, Behind(other, how))

    for statement in with_proofs(actor, statements_around(actor, memory)):
        for proof in statement.proofs:
            note(proof, "evidence")
    links = undismissed_links(actor, memory)
    heads = heads_of([end for link in links for end in (link.source, link.target)])
    for link in links:
        for end in (link.source_id, link.target_id):
            note(heads[end], link.kind)
    if memory.type == Type.ENTITY:
        for mention in find_mentions(actor, memory):
            note(mention, "mention")
    return list(found.values())[:MAX_BEHIND]


def find_mentions(actor: Actor, entity: Memory) -> list[Memory]:
    """Live texts with all words of the entity's name, as the search box finds them."""
    # The space says that the last word is whole, not the beginning of one.
    found = suggest(actor, f"{entity.content} ", limit=MAX_MENTIONS, narrowing=Narrowing(types=TEXTS),
                    states=frozenset({State.LIVE}))  # fmt: skip
    return [each.memory for each in found if each.how == MatchKind.WORDS]
