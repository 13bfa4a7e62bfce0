"""The review deck: what waits for a person's decision, in one order, whatever kind it is.

A card is a memory that waits (candidate, promotion, disputed, quarantined) or an open link between two that count
(conflict, duplicate). A link of which one end waits itself stands on that one's card.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Final
from uuid import UUID

from django.db import connection
from django.db.models import Q

from access.actor import CURATE, Actor
from access.groups import find_group
from access.models import Group
from memories.entities.statements import visible_keys
from memories.models import Link, LinkKind, LinkStatus, Memory
from memories.queries.versions import head_keys
from memories.types import State, Trust

CAP: Final = 500  # of each kind; nobody is helped by counting further
LISTED: Final = 100  # cards that are read at once
COUNTS: Final = frozenset({Trust.ACTIVE, Trust.VERIFIED, Trust.DISPUTED})
_WAITING: Final = (Path(__file__).parents[1] / "queries" / "sql" / "waiting.sql").read_text(encoding="utf-8")


class CardKind(StrEnum):
    """Why something waits, in the order of the deck: first what misleads recall now, last what does no harm."""

    CONFLICT = "conflict"
    DISPUTED = "disputed"
    CANDIDATE = "candidate"
    PROMOTION = "promotion"
    DUPLICATE = "duplicate"
    QUARANTINED = "quarantined"

    @property
    def is_link(self) -> bool:
        """True where two memories wait for one decision."""
        return self in (CardKind.CONFLICT, CardKind.DUPLICATE)


@dataclass(frozen=True)
class CardCount:
    """How many wait; `is_capped` where there are more."""

    value: int
    is_capped: bool = False

    def __str__(self) -> str:
        return f"{self.value}+" if self.is_capped else str(self.value)


@dataclass(frozen=True)
class DeckEntry:
    """One card of the deck as its list shows it; `id` is the memory's or the link's, `other` a link's second memory.

    Of the memories only what a list shows is read; anything else is asked for when it is looked at.
    """

    kind: CardKind
    id: UUID
    memory: Memory
    since: datetime
    other: Memory | None = None


@dataclass(frozen=True)
class Deck:
    """What waits: the first cards, and how many there are of each kind."""

    cards: tuple[DeckEntry, ...]
    counts: dict[CardKind, CardCount]
    kinds: frozenset[CardKind] = frozenset(CardKind)

    @property
    def total(self) -> CardCount:
        """How many wait in all kinds together."""
        return self._sum(frozenset(CardKind))

    @property
    def narrowed(self) -> CardCount:
        """How many wait in the kinds that were asked for."""
        return self._sum(self.kinds)

    def _sum(self, kinds: frozenset[CardKind]) -> CardCount:
        counts = [count for kind, count in self.counts.items() if kind in kinds]
        return CardCount(sum(count.value for count in counts), any(count.is_capped for count in counts))


@dataclass(frozen=True)
class _OpenLink:
    """An open link by keys: of its row, and of the versions of its two ends that count now."""

    key: int
    source: int
    target: int


def review_deck(
    actor: Actor,
    *,
    kinds: Collection[CardKind] = (),
    group: str | None = None,
    limit: int = LISTED,
) -> Deck:
    """Give what waits for the actor: of the groups that the actor may curate, or of one of them.

    Conflicts first, then by CardKind; within a kind what waits longest. The number of queries does not grow with the
    store or with what waits.

    Raises:
        GroupNotFound, NotPermitted: the group is none that the actor may curate.
    """
    rooms = _rooms(actor, group)
    wanted = frozenset(kinds) or frozenset(CardKind)
    keys: dict[CardKind, list[int]] = {}
    ties: dict[CardKind, list[_OpenLink]] = {}
    for trust in (Trust.DISPUTED, Trust.CANDIDATE, Trust.QUARANTINED):
        keys[CardKind(trust)] = _waiting(trust, rooms)
    found = keys[CardKind.CANDIDATE]
    promoted = _promoted(found)
    keys[CardKind.PROMOTION] = [key for key in found if key in promoted]
    keys[CardKind.CANDIDATE] = [key for key in found if key not in promoted]
    for kind in (CardKind.CONFLICT, CardKind.DUPLICATE):
        ties[kind] = _open_ties(actor, kind, rooms)
        keys[kind] = [tie.key for tie in ties[kind]]
    counts = {kind: CardCount(min(len(keys[kind]), CAP), len(keys[kind]) > CAP) for kind in CardKind}
    chosen = [(kind, key) for kind in CardKind if kind in wanted for key in keys[kind][:CAP]][:limit]
    return Deck(_read(chosen, [tie for some in ties.values() for tie in some]), counts, wanted)


def may_review(actor: Actor) -> bool:
    """Say whether anything could ever wait for the actor: a person who curates some group."""
    return actor.is_person and (actor.all_groups or any(actor.may(CURATE, key) for key in actor.roles))


def curated_keys(actor: Actor) -> list[int] | None:
    """Give the keys of the groups that the actor may curate; None for all."""
    if actor.all_groups and actor.may(CURATE):
        return None
    return [key for key in actor.roles if actor.may(CURATE, key)]


def _rooms(actor: Actor, group: str | None) -> list[int] | None:
    return [find_group(actor, group, right=CURATE).key] if group else curated_keys(actor)


def _waiting(trust: str, rooms: list[int] | None) -> list[int]:
    """Give the keys of the live memories of a trust, one more than CAP where there are more."""
    groups = [0] if rooms is None else [0, *rooms]  # no group has the key 0, and an empty list is no SQL
    holders = ", ".join(["%s"] * len(groups))
    query = (
        _WAITING.replace(":trust", "%s")
        .replace(":everywhere", "%s")
        .replace(":groups", holders)
        .replace(":limit", "%s")
    )
    with connection.cursor() as cursor:
        cursor.execute(query, [str(trust), int(rooms is None), *groups, CAP + 1])
        return [key for (key,) in cursor.fetchall()]


def _promoted(keys: Sequence[int]) -> set[int]:
    """Give those of the candidates that rest on evidence: maintenance proposed them."""
    rests = Link.objects.filter(kind=LinkKind.EVIDENCE).exclude(status=LinkStatus.DISMISSED)
    by_root = {
        root or key: key for key, root in Memory.objects.filter(key__in=keys).values_list("key", "root")
    }
    roots = set(rests.filter(source__in=list(by_root)).values_list("source", flat=True))
    return {key for root, key in by_root.items() if root in roots}


def _open_ties(actor: Actor, kind: CardKind, rooms: list[int] | None) -> list[_OpenLink]:
    """Give the open links of a kind between two memories that count and that the actor may see, the oldest first."""
    links = Link.objects.filter(_may_count("source"), _may_count("target"), status=LinkStatus.OPEN, kind=kind)
    if rooms is not None:
        links = links.filter(Q(source__group__in=rooms) | Q(target__group__in=rooms))
    rows = list(
        links.order_by("key").values_list(
            "key", "source", "target", "source__superseded_by", "target__superseded_by"
        )[: 2 * CAP]
    )
    moved = head_keys(
        {end for _, s, t, s_by, t_by in rows for end, by in ((s, s_by), (t, t_by)) if by is not None}
    )
    ties = [_OpenLink(key, moved.get(s, s), moved.get(t, t)) for key, s, t, *_ in rows]
    counting = _counting(actor, {end for tie in ties for end in (tie.source, tie.target)})
    both = (tie for tie in ties if tie.source != tie.target and {tie.source, tie.target} <= counting)
    return list(both)[: CAP + 1]


def _may_count(end: str) -> Q:
    """Leave out in SQL what was turned down or withdrawn: such links stay open, and may be many."""
    stands = Q(**{f"{end}__state": State.LIVE, f"{end}__trust__in": COUNTS})
    return stands | Q(**{f"{end}__superseded_by__isnull": False})


def _counting(actor: Actor, keys: set[int]) -> set[int]:
    """Give those that count, and that the actor may see."""
    live = Memory.objects.filter(key__in=keys, state=State.LIVE, trust__in=COUNTS)
    found = set(live.values_list("key", flat=True))
    return found if actor.all_groups else visible_keys(actor, found)


def _read(chosen: Sequence[tuple[CardKind, int]], ties: Iterable[_OpenLink]) -> tuple[DeckEntry, ...]:
    """Read the rows of the cards: one query each for memories, their groups and links."""
    ends = {tie.key: tie for tie in ties}
    link_keys = [key for kind, key in chosen if kind.is_link]
    wanted = {key for kind, key in chosen if not kind.is_link}
    wanted |= {end for key in link_keys for end in (ends[key].source, ends[key].target)}
    rows = Memory.objects.only("id", "content", "created_at", "group").in_bulk(wanted)
    rooms = Group.objects.in_bulk({row.group_id for row in rows.values()})
    for row in rows.values():
        row.group = rooms[row.group_id]  # one object for all: a join would make one for each row
    links = Link.objects.in_bulk(link_keys)
    return tuple(
        _of_link(kind, links[key], rows[ends[key].source], rows[ends[key].target])
        if kind.is_link
        else DeckEntry(kind, rows[key].id, rows[key], rows[key].created_at)
        for kind, key in chosen
    )


def _of_link(kind: CardKind, link: Link, source: Memory, target: Memory) -> DeckEntry:
    """Give a link's card; the newer memory stands first."""
    newer, older = (source, target) if source.key > target.key else (target, source)
    return DeckEntry(kind, link.id, newer, link.created_at, older)
