"""The review deck: everything that waits for a person's decision, in one order.

A card is a waiting memory (candidate, promotion, disputed, quarantined), a memory with sensitive text or confirmed long ago, or an open link between two
trusted memories (conflict, duplicate), or a proposal: a change that waits. If one end of a link itself waits, the link appears on that
memory's card.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Final
from uuid import UUID

from django.db import connection
from django.db.models import Q
from django.utils import timezone

from access.actor import CURATE, Actor
from access.groups import find_group
from access.models import Group
from memories.entities.statements import visible_keys
from memories.lifecycle.propose import is_stale, proposal_kinds, waiting_proposals
from memories.models import Doubt, DoubtStatus, Link, LinkKind, LinkStatus, Memory, Proposal
from memories.queries.versions import head_keys
from memories.review.sensitive import find_sensitive
from memories.review.unconfirmed import find_unconfirmed
from memories.types import State, Trust

CAP: Final = 500  # per kind; counting further does not help
LISTED: Final = 100  # cards that are read at once
COUNTS: Final = frozenset({Trust.ACTIVE, Trust.VERIFIED})
_SQL_FILE: Final = Path(__file__).parents[1] / "queries" / "sql" / "waiting.sql"
WAITING_SQL: Final = _SQL_FILE.read_text(encoding="utf-8")


class CardKind(StrEnum):
    """Why a card waits, in the order of the deck: first what misleads recall now, last what does no harm."""

    CONFLICT = "conflict"
    DISPUTED = "disputed"
    PROPOSAL = "proposal"
    SENSITIVE = "sensitive"
    CANDIDATE = "candidate"
    PROMOTION = "promotion"
    DUPLICATE = "duplicate"
    UNCONFIRMED = "unconfirmed"
    QUARANTINED = "quarantined"

    @property
    def is_link(self) -> bool:
        """True if the card is a link: one decision about two memories."""
        return self in (CardKind.CONFLICT, CardKind.DUPLICATE)


@dataclass(frozen=True)
class CardCount:
    """The number of waiting cards; `is_capped` if there are more."""

    value: int
    is_capped: bool = False

    def __str__(self) -> str:
        return f"{self.value}+" if self.is_capped else str(self.value)


@dataclass(frozen=True)
class _DeckEntry:
    """One card in the deck's list; `id` is the memory's, the link's or the proposal's, `other` a link's second memory.

    Of the memories only the listed columns are loaded; the others are deferred. A proposal about no memory has the text
    `about` instead.
    """

    kind: CardKind
    id: UUID
    memory: Memory | None
    since: datetime
    group: Group
    other: Memory | None = None
    verb: str = ""  # of a proposal
    about: str = ""

    @property
    def text(self) -> str:
        """What the list shows of it."""
        return self.memory.content if self.memory is not None else self.about


@dataclass(frozen=True)
class Deck:
    """The first cards, and the number of cards of each kind."""

    cards: tuple[_DeckEntry, ...]
    counts: dict[CardKind, CardCount]
    kinds: frozenset[CardKind] = frozenset(CardKind)

    @property
    def total(self) -> CardCount:
        """The number of cards of all kinds."""
        return self._sum(frozenset(CardKind))

    @property
    def filtered(self) -> CardCount:
        """The number of cards of the requested kinds."""
        return self._sum(self.kinds)

    def _sum(self, kinds: frozenset[CardKind]) -> CardCount:
        counts = [count for kind, count in self.counts.items() if kind in kinds]
        return CardCount(sum(count.value for count in counts), any(count.is_capped for count in counts))


@dataclass(frozen=True)
class _OpenLink:
    """The keys of an open link and of the current versions of its two ends."""

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
    """The deck of the actor: of all groups that the actor may curate, or of one of them.

    Ordered by CardKind, conflicts first; within a kind the oldest first, of unconfirmed ones the most important. The
    number of queries grows neither with the store nor with the deck.

    Raises:
        GroupNotFound, NotPermitted: the actor may not enter, or may not curate, the group.
    """
    groups = [find_group(actor, group, right=CURATE).key] if group else actor.keys_where(CURATE)
    wanted = frozenset(kinds) or frozenset(CardKind)
    cards = _find_cards(actor, groups)
    chosen = [(kind, key) for kind in CardKind if kind in wanted for key in cards.keys[kind][:CAP]][:limit]
    return Deck(_read_entries(chosen, cards.links, cards.proposals), cards.counts, wanted)


def count_cards(actor: Actor, groups: list[int] | None) -> dict[CardKind, int]:
    """How many cards of each kind wait in these groups (None: in all), at most CAP; whoever may decide about them."""
    return {kind: count.value for kind, count in _find_cards(actor, groups).counts.items()}


@dataclass(frozen=True)
class _FoundCards:
    """The keys of the waiting cards by kind, at most CAP + 1 each, and the links and proposals among them."""

    keys: dict[CardKind, list[int]]
    links: list[_OpenLink]
    proposals: dict[int, Proposal]

    @property
    def counts(self) -> dict[CardKind, CardCount]:
        return {
            kind: CardCount(min(len(self.keys[kind]), CAP), len(self.keys[kind]) > CAP) for kind in CardKind
        }


def _find_cards(actor: Actor, groups: list[int] | None) -> _FoundCards:
    """What waits for a decision in these groups (None: in all)."""
    candidates = _find_waiting(Trust.CANDIDATE, groups)
    promoted = _find_promoted(candidates)
    proposals = {row.key: row for row in find_open_proposals(groups)}
    links = {kind: find_open_links(actor, kind, groups) for kind in (CardKind.CONFLICT, CardKind.DUPLICATE)}
    keys = {
        CardKind.DISPUTED: _find_disputed(groups),
        CardKind.PROPOSAL: [*proposals],
        CardKind.SENSITIVE: find_sensitive(groups, limit=CAP + 1),
        CardKind.CANDIDATE: [key for key in candidates if key not in promoted],
        CardKind.PROMOTION: [key for key in candidates if key in promoted],
        CardKind.UNCONFIRMED: find_unconfirmed(groups),
        CardKind.QUARANTINED: _find_waiting(Trust.QUARANTINED, groups),
        **{kind: [link.key for link in found] for kind, found in links.items()},
    }
    return _FoundCards(keys, [link for found in links.values() for link in found], proposals)


def may_review(actor: Actor) -> bool:
    """True if the actor can have a deck: a person who curates some group."""
    return actor.is_person and actor.may_somewhere(CURATE)


def _find_waiting(trust: str, groups: list[int] | None) -> list[int]:
    """The keys of the live memories of a trust, at most CAP + 1."""
    keys = [0] if groups is None else [0, *groups]  # no group has the key 0, and SQL has no empty list
    placeholders = ", ".join(["%s"] * len(keys))
    query = (
        WAITING_SQL.replace(":trust", "%s")
        .replace(":everywhere", "%s")
        .replace(":groups", placeholders)
        .replace(":limit", "%s")
    )
    with connection.cursor() as cursor:
        cursor.execute(query, [str(trust), int(groups is None), *keys, CAP + 1])
        return [key for (key,) in cursor.fetchall()]


def _find_disputed(groups: list[int] | None) -> list[int]:
    """The keys of the live memories that count and have an open doubt, at most CAP + 1."""
    roots = Doubt.objects.filter(status=DoubtStatus.OPEN).order_by().values("memory")
    chains = Q(key__in=roots) | Q(root__in=roots)
    rows = Memory.objects.filter(chains, state=State.LIVE, trust__in=COUNTS).order_by("key")
    found = rows.values_list("key", "group")
    # As in find_sensitive().
    seen = found[: CAP + 1] if groups is None else [row for row in found if row[1] in groups][: CAP + 1]
    return [key for key, _ in seen]


def find_open_proposals(groups: list[int] | None) -> list[Proposal]:
    """The proposals that have a card and are neither expired nor stale, oldest first; at most CAP + 1."""
    return [row for row in find_waiting_proposals(groups) if not is_stale(row)]


def find_stale_proposals(actor: Actor) -> list[UUID]:
    """The ids of proposals that wait in the actor's deck no longer, since their target has changed."""
    return [row.id for row in find_waiting_proposals(actor.keys_where(CURATE)) if is_stale(row)]


def find_sent_by(actor: Actor, token: UUID, *, limit: int) -> list[tuple[CardKind, UUID]]:
    """The memories and proposals that a token sent and that wait for this actor, oldest first: kind and id, `limit` at most."""
    groups = actor.keys_where(CURATE)
    rows = Memory.objects.filter(
        token__id=token, state=State.LIVE, trust__in=(Trust.CANDIDATE, Trust.QUARANTINED)
    )
    if groups is not None:
        rows = rows.filter(group__in=groups)
    sent = [(CardKind.CANDIDATE, id_) for id_ in rows.order_by("key").values_list("id", flat=True)[:limit]]
    sent += [(CardKind.PROPOSAL, row.id) for row in find_open_proposals(groups) if row.token == token]
    return sent[:limit]


def find_waiting_proposals(groups: list[int] | None) -> list[Proposal]:
    """The proposals that have a card and are not expired, oldest first; at most CAP + 1."""
    comparing = [kind.verb for kind in proposal_kinds().values() if kind.compare is not None]
    rows = waiting_proposals(timezone.now()).filter(Q(memory__isnull=False) | Q(verb__in=comparing))
    if groups is not None:
        rows = rows.filter(group__in=groups)
    unread = ("memory__content", "memory__context", "memory__filter")
    return list(rows.select_related("memory", "group").defer(*unread).order_by("key")[: CAP + 1])


def _find_promoted(keys: Sequence[int]) -> set[int]:
    """The candidates that rest on evidence: maintenance proposed them."""
    evidence = Link.objects.filter(kind=LinkKind.EVIDENCE).exclude(status=LinkStatus.DISMISSED)
    by_root = {
        root or key: key for key, root in Memory.objects.filter(key__in=keys).values_list("key", "root")
    }
    roots = set(evidence.filter(source__in=list(by_root)).values_list("source", flat=True))
    return {key for root, key in by_root.items() if root in roots}


def find_open_links(actor: Actor, kind: CardKind, groups: list[int] | None) -> list[_OpenLink]:
    """The open links of a kind between two trusted memories that the actor may see, oldest first; at most CAP + 1."""
    both = (_is_trusted_or_replaced("source"), _is_trusted_or_replaced("target"))
    links = Link.objects.filter(*both, status=LinkStatus.OPEN, kind=kind)
    if groups is not None:
        links = links.filter(Q(source__group__in=groups) | Q(target__group__in=groups))
    columns = ("key", "source", "target", "source__superseded_by", "target__superseded_by")
    rows = list(links.order_by("key").values_list(*columns)[: 2 * CAP])
    ends = [pair for _, s, t, s_by, t_by in rows for pair in ((s, s_by), (t, t_by))]
    moved = head_keys({end for end, by in ends if by is not None})
    found = [_OpenLink(key, moved.get(s, s), moved.get(t, t)) for key, s, t, *_ in rows]
    heads = {end for link in found for end in (link.source, link.target)}
    live = Memory.objects.filter(key__in=heads, state=State.LIVE, trust__in=COUNTS)
    trusted = set(live.values_list("key", flat=True))
    trusted = trusted if actor.all_groups else visible_keys(actor, trusted)
    open_ = [link for link in found if link.source != link.target and {link.source, link.target} <= trusted]
    return open_[: CAP + 1]


def _is_trusted_or_replaced(end: str) -> Q:
    """A filter that drops links to rejected or withdrawn memories in SQL: they stay open, and there may be many."""
    is_trusted = Q(**{f"{end}__state": State.LIVE, f"{end}__trust__in": COUNTS})
    return is_trusted | Q(**{f"{end}__superseded_by__isnull": False})


def _read_entries(
    chosen: Sequence[tuple[CardKind, int]],
    open_links: Iterable[_OpenLink],
    proposals: Mapping[int, Proposal],
) -> tuple[_DeckEntry, ...]:
    """The entries of the chosen cards: one query each for memories, groups and links."""
    ends = {link.key: link for link in open_links}
    link_keys = [key for kind, key in chosen if kind.is_link]
    about = {key: proposals[key].memory_id or 0 for kind, key in chosen if kind is CardKind.PROPOSAL}
    wanted = {key for kind, key in chosen if not kind.is_link and kind is not CardKind.PROPOSAL}
    wanted |= {*about.values(), *(end for key in link_keys for end in (ends[key].source, ends[key].target))}
    rows = Memory.objects.only("id", "content", "created_at", "group").in_bulk(wanted)
    groups = Group.objects.in_bulk({row.group_id for row in rows.values()})
    for row in rows.values():
        row.group = groups[row.group_id]  # shared objects: a join would make one for each row
    links = Link.objects.in_bulk(link_keys)

    def entry(kind: CardKind, key: int) -> _DeckEntry:
        if kind.is_link:
            link, both = links[key], (rows[ends[key].source], rows[ends[key].target])
            newer, older = sorted(both, key=lambda row: -row.key)
            return _DeckEntry(kind, link.id, newer, link.created_at, newer.group, older)
        if kind is CardKind.PROPOSAL:
            proposal, memory = proposals[key], rows.get(about[key])
            verb = proposal_kinds()[proposal.verb]
            name = verb.name(proposal) if verb.name is not None else ""
            return _DeckEntry(
                kind, proposal.id, memory, proposal.created_at, proposal.group, verb=verb.label, about=name
            )
        return _DeckEntry(kind, rows[key].id, rows[key], rows[key].created_at, rows[key].group)

    return tuple(entry(kind, key) for kind, key in chosen)
