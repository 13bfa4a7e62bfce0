"""One card of the review deck: the memory or link to decide about, its neighbours, evidence and authorship."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

from django.utils.translation import gettext, gettext_noop

from access.actor import CURATE, Actor
from access.audit.operations import Operation
from access.errors import LociError, NotPermitted
from access.models import ApiToken, AuditEntry
from access.visibility import Narrowing
from memories.browse.inspection import FeedbackCounts, feedback_on
from memories.entities.statements import links_of, with_visible_ends
from memories.language.word_diff import SAME, DiffPart, diff_words
from memories.lifecycle.propose import proposal_kinds
from memories.models import Link, LinkKind, LinkStatus, Memory, Piece, Proposal
from memories.models.link import ON_APPROVAL
from memories.queries.labels import doubts_of
from memories.queries.versions import find_current, heads_within, versions_of
from memories.queries.visibility import as_q, listed_by
from memories.review.decide import CHOICES, Choice, ReviewDecision, decide
from memories.review.links import find_link
from memories.review.proposals import OTHERS, find_proposal, is_id, target_of
from memories.review.queue import COUNTS, CardKind
from memories.review.sensitive import describe, open_findings
from memories.review.unconfirmed import describe_question
from memories.search.base import search_index
from memories.store.neighbours import ComparedText, compare_all
from memories.store.pieces import as_vector, indexed_model
from memories.types import State, Trust

ALIKE: Final = 0.5  # share of the letters that two texts have in common
BESIDE: Final = 4  # memories next to the one to decide about; more would need scrolling
MAX_EVIDENCE: Final = 8
MIN_COSINE: Final = 0.5  # below it, two texts have little more than their language in common
_MAX_LINKS: Final = 50  # of one memory that are read


@dataclass(frozen=True)
class _ComparedMemory:
    """A memory next to the one to decide about: the link between them, the reason, the differences.

    `parts` is the word difference from its text to the text to decide about. `link` is the open link that a decision
    settles, `link_kind` its kind.
    """

    memory: Memory
    parts: tuple[DiffPart, ...]
    link_kind: str = ""
    cosine: float | None = None
    why: str = ""
    link: UUID | None = None
    spans: dict[str, str] = field(default_factory=dict)
    replaced_on_approval: bool = False

    @property
    def is_alike(self) -> bool:
        """True if a word-by-word difference is worth showing: between two unlike wordings it is noise."""
        common = sum(len(part.text) for part in self.parts if part.kind == SAME)
        whole = sum(len(part.text) * (2 if part.kind == SAME else 1) for part in self.parts)
        return 2 * common >= ALIKE * whole

    @property
    def counts(self) -> bool:
        """True if it can be merged with or replace another memory: live, and active or verified."""
        return self.memory.state == State.LIVE and self.memory.trust in COUNTS


@dataclass(frozen=True)
class _Authorship:
    """Who wrote a memory and through what, from the audit log; empty if the log does not know."""

    actor: str = ""
    via: str = ""
    client: str = ""
    token: str = ""
    token_id: UUID | None = None


@dataclass(frozen=True)
class _ProposedChange:
    """A proposal as its card shows it: what it does, the new text with the differences, the effects, and why not.

    `effects` are the consequences of approving it; `refusal` says why it cannot be approved now.
    """

    proposal: Proposal
    label: str
    text: str = ""
    parts: tuple[DiffPart, ...] = ()
    effects: tuple[str, ...] = ()
    refusal: str = ""
    name: str = ""  # of what it is about, if that is not a memory


@dataclass(frozen=True)
class _Card:
    """Everything a person needs for one decision."""

    kind: CardKind
    id: UUID
    memory: Memory | None  # None: a proposal about something else, such as a group's instructions
    origin: _Authorship
    beside: tuple[_ComparedMemory, ...]
    choices: tuple[Choice, ...]
    evidence: tuple[Memory, ...] = ()
    link: Link | None = None
    reason: str = ""
    proposed: _ProposedChange | None = None
    feedback: FeedbackCounts = field(default_factory=FeedbackCounts)

    @property
    def is_swapped(self) -> bool:
        """True if by default the other memory stays rather than this one."""
        return self.kind in (CardKind.DISPUTED, CardKind.UNCONFIRMED)

    @property
    def previewed_verb(self) -> str:
        """The decision whose effect on recall is shown first; of a memory that recall returns, the one that ends that.

        Empty if nothing is recalled.
        """
        if self.memory is None:
            return ""
        ending = {CardKind.DISPUTED: "reject", CardKind.UNCONFIRMED: "retract"}
        return ending.get(self.kind, self.choices[0].verb)


def memory_card(actor: Actor, id_: str | UUID) -> _Card:
    """The card of a waiting memory, by the id of any of its versions.

    Raises:
        NotFound, NotPermitted: the actor may not see it, or may not decide about it.
    """
    memory = find_current(actor, id_)
    if not actor.may(CURATE, memory.group_id):
        raise NotPermitted(f"You may not decide about memories of the group '{memory.group.slug}'.")
    rows = links_of(memory).exclude(status=LinkStatus.DISMISSED).order_by("key")
    links = with_visible_ends(actor, rows[:_MAX_LINKS])
    beside = _compare_linked(actor, memory, links)
    if len(beside) < BESIDE:
        beside += find_neighbours(actor, memory, without={one.memory.root_key for one in beside})
    evidence = [
        link.target for link in links if link.kind == LinkKind.EVIDENCE and link.source_id == memory.root_key
    ][:MAX_EVIDENCE]
    sensitive = open_findings(memory)
    kind = _card_kind(memory, is_promoted=bool(evidence), is_sensitive=bool(sensitive))
    return _Card(
        kind=kind,
        id=memory.id,
        memory=memory,
        origin=_find_authorship(memory),
        beside=tuple(beside[:BESIDE]),
        choices=_choices_of(kind, beside),
        evidence=tuple(evidence),
        reason=describe(sensitive) if kind == CardKind.SENSITIVE else _find_reason(memory),
        feedback=_feedback_about(memory),
    )


def link_card(actor: Actor, id_: UUID) -> _Card:
    """The card of an open link; the newer memory is the one to decide about.

    Raises:
        NotFound, NotPermitted: the actor may not see the link, or may not decide about it.
    """
    link = find_link(actor, id_)
    heads = heads_within([link.source, link.target], listed_by(actor, None))
    newer, older = sorted(
        (heads.get(end.key, end) for end in (link.source, link.target)), key=lambda row: -row.key
    )
    beside = [_compare_by_link(newer, link, older)]
    kind = CardKind(link.kind)
    choices = _choices_of(kind, beside)
    return _Card(kind, link.id, newer, _find_authorship(newer), tuple(beside), choices, link=link,
                feedback=_feedback_about(newer))  # fmt: skip


def proposal_card(actor: Actor, id_: UUID) -> _Card:
    """The card of a proposal: the memory it is about, the change, and who proposed it.

    Raises:
        NotFound, NotPermitted: the actor may not see it, or may not decide about it.
    """
    proposal = find_proposal(actor, id_, right=CURATE)
    token = ApiToken.objects.filter(id=proposal.token).first() if proposal.token else None
    origin = _Authorship(
        proposal.actor, proposal.via, proposal.client, token.name if token else "", proposal.token
    )
    memory = target_of(proposal) if proposal_kinds()[proposal.verb].compare is None else None
    return _Card(
        kind=CardKind.PROPOSAL,
        id=proposal.id,
        memory=memory,
        origin=origin,
        beside=tuple(_compare_proposed(actor, proposal, memory)) if memory is not None else (),
        choices=_proposal_choices(proposal, is_recalled=memory is not None),
        reason=proposal.reason,
        proposed=_proposed_change(actor, proposal, memory),
        feedback=_feedback_about(memory) if memory is not None else FeedbackCounts(),
    )


def _feedback_about(memory: Memory) -> FeedbackCounts:
    """What was said about the memory when it was recalled, in any version."""
    return feedback_on([version.key for version in versions_of(memory)])


def _proposed_change(actor: Actor, proposal: Proposal, memory: Memory | None) -> _ProposedChange:
    """What approving the proposal would do, tried and rolled back."""
    kind, given = proposal_kinds()[proposal.verb], proposal.arguments
    if memory is not None:
        now, then = memory.content, str(given.get("successor", given.get("content", "")))
    else:
        now, then = kind.compare(proposal) if kind.compare is not None else ("", "")
    parts = diff_words(now, then) if then or memory is None else ()
    name = kind.name(proposal) if memory is None and kind.name is not None else ""
    try:
        would = decide(actor, ReviewDecision("approve", proposal=proposal.id), dry_run=True)
    except LociError as refusal:
        return _ProposedChange(proposal, kind.label, then, parts, refusal=str(refusal), name=name)
    return _ProposedChange(proposal, kind.label, then, parts, would.consequences, name=name)


def _proposal_choices(proposal: Proposal, *, is_recalled: bool) -> tuple[Choice, ...]:
    """Approve and reject; the effect of undoing them is that the proposal waits again.

    `is_recalled`: it is about a memory, so that its effect on recall can be shown.
    """
    approve, undo = CHOICES["approve"], gettext("it is as before, and the proposal waits again")
    return (
        replace(
            approve,
            undo=undo if proposal_kinds()[proposal.verb].undone_from else "",
            preview=approve.preview if is_recalled else "",
        ),
        replace(CHOICES["reject"], undo=gettext("the proposal waits again"), preview=""),
    )


def _compare_proposed(actor: Actor, proposal: Proposal, memory: Memory) -> list[_ComparedMemory]:
    """The second memory that the proposal names, if the actor may see it."""
    given = (str(proposal.arguments.get(name, "")) for name in (*OTHERS, "version"))
    named = [value for value in given if is_id(value)]
    others = list(Memory.objects.filter(as_q(listed_by(actor, None)), id__in=named).select_related("group"))
    others = [row for row in others if row.key != memory.key]
    return [_ComparedMemory(row, diff_words(row.content, memory.content)) for row in others]


_UNDO_REPLACING: Final = gettext_noop(
    "the former text is the newest version again; this one stays as history"
)
# The decisions of the kinds of cards, in the order of their buttons; of the others, those of _choices_of().
_OFFERED: Final = {
    CardKind.CONFLICT: ("supersede", "dismiss", "merge", "reject", "edit"),
    CardKind.DUPLICATE: ("merge", "dismiss", "supersede", "reject", "edit"),
    CardKind.QUARANTINED: ("approve", "reject"),
    CardKind.SENSITIVE: ("mask", "quarantine", "keep", "edit", "reject"),
}


def _choices_of(kind: CardKind, beside: Sequence[_ComparedMemory]) -> tuple[Choice, ...]:
    """The decisions that a card of this kind offers, in the order of its buttons."""
    pair = ("merge", "supersede") if any(one.counts for one in beside) else ()
    decided = ("verify", "retract") if kind == CardKind.UNCONFIRMED else ("approve", "reject")
    chosen = {verb: CHOICES[verb] for verb in _OFFERED.get(kind, (*decided, "edit", *pair))}
    if kind == CardKind.DISPUTED:
        right, wrong = chosen["approve"], chosen["reject"]
        chosen["approve"] = replace(right, label=gettext("It is right"), undo=gettext("it is disputed again"))
        chosen["reject"] = replace(wrong, label=gettext("It is wrong"))
    elif "approve" in chosen and any(one.replaced_on_approval for one in beside):
        chosen["approve"] = replace(chosen["approve"], undo=_UNDO_REPLACING)
    return tuple(chosen.values())


def _card_kind(memory: Memory, *, is_promoted: bool, is_sensitive: bool) -> CardKind:
    """The kind of a memory's card; a candidate that rests on evidence is a promotion.

    A disputed memory with sensitive text is first of all that, and what nothing else is to be decided about is asked about.
    """
    if memory.trust == Trust.CANDIDATE:
        return CardKind.PROMOTION if is_promoted else CardKind.CANDIDATE
    if memory.trust == Trust.QUARANTINED:
        return CardKind.QUARANTINED
    if is_sensitive:
        return CardKind.SENSITIVE
    return CardKind.DISPUTED if doubts_of(memory) else CardKind.UNCONFIRMED


def _compare_linked(actor: Actor, memory: Memory, links: Sequence[Link]) -> list[_ComparedMemory]:
    """The current versions, if visible, of the memories that open conflicts and possible duplicates link to this one."""
    others = {
        link.key: link.target if link.source_id == memory.root_key else link.source
        for link in links
        if link.kind in (LinkKind.CONFLICT, LinkKind.DUPLICATE) and link.status == LinkStatus.OPEN
    }
    heads = heads_within(list({row.key: row for row in others.values()}.values()), listed_by(actor, None))
    found = dict[int, _ComparedMemory]()
    for link in links:
        if link.key not in others:
            continue
        head = heads.get(others[link.key].key)
        if head is not None and head.root_key != memory.root_key:
            found.setdefault(head.key, _compare_by_link(memory, link, head))
    return list(found.values())


def _compare_by_link(memory: Memory, link: Link, other: Memory) -> _ComparedMemory:
    spans = {name: str(value) for name, value in link.evidence.items() if name != ON_APPROVAL}
    return _ComparedMemory(
        other, diff_words(other.content, memory.content), link.kind, link.score, link.reason, link.id, spans,
        replaced_on_approval=ON_APPROVAL in link.evidence,
    )  # fmt: skip


def find_neighbours(actor: Actor, memory: Memory, *, without: set[int]) -> list[_ComparedMemory]:
    """The nearest memories of the same type by the stored vector, except the chains of these roots."""
    piece = Piece.objects.filter(memory=memory, embedding__isnull=False, model=indexed_model()).first()
    if piece is None or piece.embedding is None:
        return []
    narrowing = Narrowing(types=frozenset({memory.type}))
    states = frozenset({State.LIVE, State.RETRACTED})
    visibility = listed_by(actor, memory.group, states=states, narrowing=narrowing)
    hits = search_index().nearest(as_vector(piece.embedding), visibility, limit=2 * BESIDE)
    neighbours = [hit for hit in hits if hit.score >= MIN_COSINE]
    rows = Memory.objects.select_related("group").in_bulk([hit.key for hit in neighbours])
    pairs = [(rows[hit.key], hit.score) for hit in neighbours if hit.key in rows]
    pairs = [pair for pair in pairs if pair[0].root_key not in {*without, memory.root_key}]
    text = ComparedText(memory.content, memory.type, memory.valid_from, memory.valid_to)
    why = {one.memory.key: one.why for one in compare_all(text, pairs)}
    return [
        _ComparedMemory(row, diff_words(row.content, memory.content), cosine=cosine, why=why.get(row.key, ""))
        for row, cosine in pairs
    ]


def _find_authorship(memory: Memory) -> _Authorship:
    """Who wrote this version; the first audit row about it says through what."""
    first = AuditEntry.objects.filter(origin="", memory_id=memory.id).order_by("key").first()
    token = (memory.token.name, memory.token.id) if memory.token else ("", None)
    if first is None:
        return _Authorship(memory.author_name, "", memory.client, *token)
    return _Authorship(memory.author_name or first.actor, first.via, memory.client or first.client, *token)


def _find_reason(memory: Memory) -> str:
    """Why a memory waits: who doubts it and why, or as the store that wrote it answered; empty if the log does not say."""
    if doubts := doubts_of(memory):
        return "; ".join(f"{author}: {reason}" if reason else author for author, reason in doubts)
    if memory.trust not in (Trust.CANDIDATE, Trust.QUARANTINED):
        return describe_question(memory)
    rows = AuditEntry.objects.filter(origin="", memory_id=memory.id, operation=Operation.STORE)
    first = rows.select_related("payload_row").order_by("key").first()
    return str(first.payload.get("why", "")) if first is not None else ""
