"""One card of the review deck: what is to be decided, beside what is near it, with the evidence and who said it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from django.db.models import Q

from access.actor import CURATE, Actor
from access.audit.operations import Operation
from access.errors import NotFound, NotPermitted
from access.models import AuditEntry
from access.visibility import Narrowing
from memories.entities.statements import visible_keys
from memories.language.word_diff import SAME, DiffPart, diff_words
from memories.models import Link, LinkKind, LinkStatus, Memory, Piece
from memories.models.link import ON_APPROVAL
from memories.queries.versions import find_memory, head_of, heads_of
from memories.queries.visibility import listed_by
from memories.review.links import visible_links
from memories.review.queue import COUNTS, CardKind
from memories.search.base import search_index
from memories.store.neighbours import ComparedText, compared
from memories.store.pieces import as_vector, indexed_model
from memories.types import State, Trust

ALIKE: Final = 0.5  # of two texts' letters
BESIDE: Final = 4  # near memories on a card; more would have to be scrolled through
EVIDENCE: Final = 8
NEAR_AT_ALL: Final = 0.5  # cosine; below, two texts have little more than their language in common


@dataclass(frozen=True)
class ComparedMemory:
    """A memory that stands beside the one to be decided: how both are tied, why, and what differs.

    `parts` lead from its text to the text to be decided. `link` is the open link that a decision settles.
    """

    memory: Memory
    parts: tuple[DiffPart, ...]
    tie: str = ""
    cosine: float | None = None
    why: str = ""
    link: UUID | None = None
    spans: dict[str, str] = field(default_factory=dict)
    replaced_on_approval: bool = False

    @property
    def is_alike(self) -> bool:
        """True where what differs is worth showing word by word: between two other wordings it is noise."""
        kept = sum(len(part.text) for part in self.parts if part.kind == SAME)
        whole = sum(len(part.text) * (2 if part.kind == SAME else 1) for part in self.parts)
        return 2 * kept >= ALIKE * whole

    @property
    def counts(self) -> bool:
        """True where it can take another's place, or be merged with."""
        return self.memory.state == State.LIVE and self.memory.trust in COUNTS


@dataclass(frozen=True)
class Authorship:
    """Who wrote it, when and through what, as the log tells; empty words where the log does not say."""

    actor: str = ""
    via: str = ""
    client: str = ""
    token: str = ""


@dataclass(frozen=True)
class Choice:
    """A decision that the card offers: its key, and what undoing it would do; empty where it cannot be undone."""

    verb: str
    key: str
    label: str
    undo: str
    takes_other: bool = False
    is_dangerous: bool = False


@dataclass(frozen=True)
class Card:
    """All that a person needs for one decision; `may_decide` says whether the actor may take it."""

    kind: CardKind
    id: UUID
    memory: Memory
    origin: Authorship
    beside: tuple[ComparedMemory, ...]
    choices: tuple[Choice, ...]
    evidence: tuple[Memory, ...] = ()
    link: Link | None = None
    reason: str = ""

    @property
    def swapped(self) -> bool:
        """True where the other memory stays rather than this one, unless the person says otherwise."""
        return self.kind == CardKind.DISPUTED

    @property
    def tried(self) -> str:
        """The decision whose effect on recall is shown first: of what recall returns already, that it goes."""
        return "reject" if self.kind == CardKind.DISPUTED else self.choices[0].verb


def memory_card(actor: Actor, id_: str | UUID) -> Card:
    """Give the card of a memory that waits, whichever of its versions is named.

    Raises:
        NotFound, NotPermitted: it is not among what the actor may see, or may decide about.
    """
    memory = head_of(find_memory(actor, id_))
    if not actor.may(CURATE, memory.group_id):
        raise NotPermitted(f"You may not decide about memories of the group '{memory.group.slug}'.")
    ties = _ties(actor, memory)
    beside = _beside(memory, [tie for tie in ties if tie.kind in (LinkKind.CONFLICT, LinkKind.DUPLICATE)])
    if len(beside) < BESIDE:
        beside += _near(actor, memory, without={one.memory.root_key for one in beside})
    evidence = _evidence(memory, ties)
    kind = _kind(memory, is_promoted=bool(evidence))
    return Card(
        kind=kind,
        id=memory.id,
        memory=memory,
        origin=_origin(memory),
        beside=tuple(beside[:BESIDE]),
        choices=choices_of(kind, beside),
        evidence=tuple(evidence),
        reason=_doubt(memory) if kind == CardKind.DISPUTED else "",
    )


def link_card(actor: Actor, id_: UUID) -> Card:
    """Give the card of an open link; the newer memory is the one to be decided.

    Raises:
        NotFound, NotPermitted: there is no such link that the actor may see, or decide about.
    """
    link = visible_links(actor).filter(id=id_).first()
    if link is None:
        raise NotFound("There is no link of that id that you may see.")
    heads = heads_of([link.source, link.target])
    newer, older = (
        sorted(heads.values(), key=lambda row: -row.key) if len(heads) == 2 else (link.source, link.target)
    )
    if not any(actor.may(CURATE, end.group_id) for end in (newer, older)):
        raise NotPermitted("You may not decide about this link.", hint="It takes a curator of either group.")
    beside = [_tied(newer, link, older)]
    kind = CardKind(link.kind)
    choices = choices_of(kind, beside)
    return Card(kind, link.id, newer, _origin(newer), tuple(beside), choices, link=link)


APPROVE: Final = Choice("approve", "a", "Approve", "it waits again")
REJECT: Final = Choice("reject", "r", "Reject", "its trust from before comes back", is_dangerous=True)
EDIT: Final = Choice("edit", "e", "Edit", "the text from before is the newest version again")
MERGE: Final = Choice("merge", "m", "Merge", "the two are taken apart again", takes_other=True)
SUPERSEDE: Final = Choice("supersede", "s", "Replace", "both count again", takes_other=True)
DISMISS: Final = Choice("dismiss", "d", "Dismiss", "the link is open again")
_REPLACING: Final = "the former text counts again as the newest version; this one stays as history"


def choices_of(kind: CardKind, beside: Sequence[ComparedMemory]) -> tuple[Choice, ...]:
    """Give what can be decided on a card of this kind, in the order of its buttons."""
    if kind == CardKind.CONFLICT:
        return (SUPERSEDE, DISMISS, MERGE, REJECT, EDIT)
    if kind == CardKind.DUPLICATE:
        return (MERGE, DISMISS, SUPERSEDE, REJECT, EDIT)
    approve = APPROVE
    if kind == CardKind.DISPUTED:
        approve = Choice("approve", "a", "It is right", "it is disputed again")
    elif any(one.replaced_on_approval for one in beside):
        approve = Choice("approve", "a", "Approve", _REPLACING)
    if kind == CardKind.QUARANTINED:
        return (approve, REJECT)
    pair = (MERGE, SUPERSEDE) if any(one.counts for one in beside) else ()
    return (approve, REJECT, EDIT, *pair)


def _kind(memory: Memory, *, is_promoted: bool) -> CardKind:
    if memory.trust == Trust.CANDIDATE:
        return CardKind.PROMOTION if is_promoted else CardKind.CANDIDATE
    return CardKind.QUARANTINED if memory.trust == Trust.QUARANTINED else CardKind.DISPUTED


def _ties(actor: Actor, memory: Memory) -> list[Link]:
    """Give the memory's links that are not dismissed and whose other end the actor may see."""
    root = memory.root_key
    rows = Link.objects.filter(Q(source=root) | Q(target=root)).exclude(status=LinkStatus.DISMISSED)
    ties = list(rows.select_related("source__group", "target__group").order_by("key")[:50])
    seen = visible_keys(actor, {end for tie in ties for end in (tie.source_id, tie.target_id)})
    return [tie for tie in ties if {tie.source_id, tie.target_id} <= seen]


def _beside(memory: Memory, ties: Sequence[Link]) -> list[ComparedMemory]:
    """Give the other ends of open links, as they stand now."""
    others = {tie.key: _other(tie, memory.root_key) for tie in ties if tie.status == LinkStatus.OPEN}
    heads = heads_of(list({row.key: row for row in others.values()}.values()))
    found = dict[int, ComparedMemory]()
    for tie in ties:
        if tie.key not in others:
            continue
        head = heads[others[tie.key].key]
        if head.root_key != memory.root_key:
            found.setdefault(head.key, _tied(memory, tie, head))
    return list(found.values())


def _other(tie: Link, root: int) -> Memory:
    return tie.target if tie.source_id == root else tie.source


def _tied(memory: Memory, tie: Link, other: Memory) -> ComparedMemory:
    spans = {name: str(said) for name, said in tie.evidence.items() if name != ON_APPROVAL}
    return ComparedMemory(
        other, diff_words(other.content, memory.content), tie.kind, tie.score, tie.reason, tie.id, spans,
        replaced_on_approval=ON_APPROVAL in tie.evidence,
    )  # fmt: skip


def _near(actor: Actor, memory: Memory, *, without: set[int]) -> list[ComparedMemory]:
    """Give what the vector search finds near, by the vector that is stored."""
    piece = Piece.objects.filter(memory=memory, embedding__isnull=False, model=indexed_model()).first()
    if piece is None or piece.embedding is None:
        return []
    visibility = listed_by(
        actor,
        memory.group,
        states=frozenset({State.LIVE, State.RETRACTED}),
        narrowing=Narrowing(types=frozenset({memory.type})),
    )
    hits = search_index().nearest(as_vector(piece.embedding), visibility, limit=2 * BESIDE)
    near = [hit for hit in hits if hit.score >= NEAR_AT_ALL]
    rows = Memory.objects.select_related("group").in_bulk([hit.key for hit in near])
    pairs = [(rows[hit.key], hit.score) for hit in near if hit.key in rows]
    pairs = [pair for pair in pairs if pair[0].root_key not in {*without, memory.root_key}]
    said = ComparedText(memory.content, memory.type, memory.valid_from, memory.valid_to)
    why = {one.memory.key: one.why for one in compared(said, pairs)}
    return [
        ComparedMemory(row, diff_words(row.content, memory.content), cosine=cosine, why=why.get(row.key, ""))
        for row, cosine in pairs
    ]


def _evidence(memory: Memory, ties: Sequence[Link]) -> list[Memory]:
    """Give what a promoted fact rests on."""
    rests = [tie.target for tie in ties if tie.kind == LinkKind.EVIDENCE and tie.source_id == memory.root_key]
    return rests[:EVIDENCE]


def _origin(memory: Memory) -> Authorship:
    """Give who wrote the version; the log's first row of it says through what."""
    first = AuditEntry.objects.filter(origin="", memory_id=memory.id).order_by("key").first()
    token = memory.token.name if memory.token else ""
    if first is None:
        return Authorship(memory.author_name, client=memory.client, token=token)
    return Authorship(memory.author_name or first.actor, first.via, memory.client or first.client, token)


def _doubt(memory: Memory) -> str:
    """Give why it was disputed."""
    said = AuditEntry.objects.filter(origin="", memory_id=memory.id, operation=Operation.DISPUTE)
    last = said.select_related("payload_row").order_by("-key").first()
    return str(last.payload_row.payload.get("reason", "")) if last and hasattr(last, "payload_row") else ""
