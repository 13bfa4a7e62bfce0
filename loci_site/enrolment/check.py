"""A token's owner, rights and group."""

import json
from dataclasses import dataclass
from typing import Any

from access.actor import READ, Actor
from access.answers import Answer
from access.groups import entered_groups
from loci_site import __version__
from loci_site.hooks.events import read_place
from loci_site.hooks.sessions import group_of_place, working_actor
from memories.browse.listing import ListFilter, list_memories

_EXAMPLE_CHARS = 160


@dataclass(frozen=True)
class TokenCheck(Answer):
    """Who a token is, what it may and sees, the group of the caller's place, and that group's newest memory; empty for none."""

    version: str
    user: str
    scopes: list[str]
    groups: list[str]
    include_global: bool
    group: str
    example: str


def check_token(actor: Actor, place: Any) -> dict[str, Any]:
    """`TokenCheck` of the actor at a place, which is sent as the hooks send it (`cwd`, `loci`)."""
    scopes, reader = sorted(actor.scopes), working_actor(actor)
    # JSON may hold half of a pair of UTF-16, which no database takes.
    place = json.loads(json.dumps(place, ensure_ascii=False).encode(errors="replace"))
    group = group_of_place(reader, read_place(place)) if isinstance(place, dict) else None
    text = ""
    if group is not None and READ in actor.scopes:
        filters = ListFilter(group=group.slug, trusts=("active", "verified"))
        words = " ".join(row.content for row in list_memories(reader, filters, limit=1).rows).split()
        text = "".join(filter(str.isprintable, " ".join(words)))[:_EXAMPLE_CHARS]  # a terminal shows it
    groups = [each.slug for each in entered_groups(reader)]
    name, slug = actor.name.partition("/")[0], group.slug if group else ""
    return TokenCheck.json(TokenCheck(__version__, name, scopes, groups, actor.include_global, slug, text))
