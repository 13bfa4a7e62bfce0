"""The data of one memory's page, and what recall does with the memory now."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from itertools import pairwise
from typing import Any

from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy, ngettext

from access.actor import CURATE, WRITE, Actor
from access.admin.columns import in_words, shorten
from access.admin.page import LociAdmin
from access.audit.operations import Operation
from access.models import Group
from memories.admin.story import draw_story
from memories.browse.history import HistoryEntry, further_facts, history_of
from memories.browse.inspection import Inspection, inspect_memory, treatment_now
from memories.browse.recalls import questions_that_found
from memories.browse.suggest import memories_behind
from memories.draft import CONTEXT, DEFAULT_IMPORTANCE
from memories.entities.statements import Neighbourhood
from memories.language.word_diff import DiffPart, diff_words
from memories.lifecycle.verbs import VERBS
from memories.models import REVIEWED_KINDS, Link, LinkStatus, Memory, Piece
from memories.models.link import ON_APPROVAL
from memories.queries.labels import doubts_of, standing
from memories.queries.visibility import as_q, has_begun, is_outlasting, recallable_by
from memories.sessions.conversations import CONVERSATION, find_by_address
from memories.store.withdrawn.left_out import LEFT_OUT_REASON, find_left_out
from memories.types import RELATION_SOURCE, RecallTreatment, Scope, State, Trust, Type

_TITLE_CHARS = 60
_FLAG = "dispute"
# The verb that stands next to Correct and Flag: the first that fits.
_LEADING = ("restore", "restore-version", "approve", "verify", "forget")
_VERDICTS = {
    "return": gettext_lazy("recall returns it because {because}"),
    "label": gettext_lazy("recall labels it because {because}"),
    "hide": gettext_lazy("recall hides it because {because}"),
}


# The numbers behind a rank as people read them, in the order of the page; ranks are whole.
_NUMBER_WORDS = {
    "final": gettext_lazy("score"),
    "keyword": gettext_lazy("match of words"),
    "vector": gettext_lazy("match of meaning"),
    "keyword_rank": gettext_lazy("place by words"),
    "vector_rank": gettext_lazy("place by meaning"),
    "meaning": gettext_lazy("for its meaning"),
    "words": gettext_lazy("for its words"),
    "thread": gettext_lazy("for its conversation"),
    "neighbours": gettext_lazy("for what was stored next to it"),
    "date": gettext_lazy("for the date"),
    "speaker": gettext_lazy("for who said it"),
    "length": gettext_lazy("for its length"),
    "confidence": gettext_lazy("for its confidence"),
    "verified": gettext_lazy("for its trust"),
    "elsewhere": gettext_lazy("for coming from another group"),
    "identifier": gettext_lazy("for a name or number of the question"),
    "number": gettext_lazy("for a number of the question"),
    "tags": gettext_lazy("for its tags"),
    "importance": gettext_lazy("for its importance"),
    "recency": gettext_lazy("for being recent"),
    "relation": gettext_lazy("for a relation to what was asked"),
    "newest": gettext_lazy("for being the newest"),
}


@dataclass(frozen=True)
class _LinkedMemory:
    """A link as seen from one of its ends: the other memory, and the words that led to the link."""

    link: Link
    other: Memory
    spans: dict[str, str]
    is_reviewed: bool
    may_decide: bool


@dataclass(frozen=True)
class _Version:
    """A version with the word difference from the one before; the first has no parts."""

    memory: Memory
    parts: tuple[DiffPart, ...]


def page_context(admin: LociAdmin, actor: Actor, memory: Memory, *, query: str | None) -> dict[str, Any]:
    """Everything the page shows; `query` explains why a question finds the memory or not, "" asks for a question."""
    # The question is asked in the memory's own group.
    may_ask = actor.may_enter(memory.group_id)
    found = inspect_memory(actor, memory.id, query=(query or "") if may_ask else "")
    may_write = actor.may(WRITE, memory.group_id)
    history = history_of([version.id for version in found.versions])
    questions = questions_that_found(actor, [version.key for version in found.versions])
    links = [_linked_memory(actor, link, memory.root_key) for link in found.links]
    linked = {link.other.root_key for link in links}
    behind = memories_behind(actor, memory) if memory.type == Type.ENTITY else []
    return {
        # The beginning of the text tells browser tabs apart.
        "title": gettext("Memory")
        if memory.trust == Trust.QUARANTINED
        else shorten(" ".join(memory.content.split()), _TITLE_CHARS),
        "memory": memory,
        "found": found,
        "group": _group_link(memory.group) if may_ask else memory.group.slug,
        "origin": _origin_clauses(actor, memory, history),
        "head": found.head if found.head != memory else None,
        "compacted": memory.compacted.count(),
        "head_said": _head_note(memory, found.head) if found.head is not None else None,
        **_split_buttons(actor, memory),
        "may_write": may_write,
        "is_editable": may_write and memory.state == State.LIVE,
        "versions": _compare_versions(found.versions) if len(found.versions) > 1 else [],
        "history": history,
        "story": draw_story(found, history, questions),
        # The sources of a summary are drawn on the summary's page.
        "has_graph": bool(found.links or found.relations)
        and (found.head or memory).root_key == memory.root_key,
        "graph_url": admin.url("graph", memory.id),
        "statements": [
            (each.subject, each.relation.predicate.replace("_", " "), each.object) for each in found.relations
        ],
        "links": links,
        "behind": [each for each in behind if each.memory.root_key not in linked],
        "facts": _facts(actor, memory),
        "details": _details(memory, found),
        "pieces": Piece.objects.filter(memory=memory).order_by("ordinal").annotate(is_owed=Q(embedding=None)).defer("embedding")
        if found.pieces > 1
        else (),
        "questions": questions,
        "may_ask": may_ask,
        "asks": may_ask and query is not None,
        "query": query or "",
        "why": found.why,
        "numbers": number_words(found.why.numbers) if found.why else [],
        "steps": [(step.name, _as_json_line(step.detail)) for step in found.why.steps] if found.why else [],
    }  # fmt: skip


def _group_link(group: Group) -> SafeString:
    url = reverse("admin:explore_group", args=[group.slug])
    return format_html('<a class="loci-link" href="{}">{}</a>', url, group.title or group.slug)


def _origin_clauses(actor: Actor, memory: Memory, history: Sequence[HistoryEntry]) -> list[str]:
    """What is said of a memory after who stored it: who confirms or doubts it, and what recall does with it."""
    clauses = list[str]()
    if memory.scope == Scope.GLOBAL:
        clauses.append(gettext("visible in every group"))
    if memory.outside:
        clauses.append(gettext("it comes from outside the team"))
    if memory.trust == Trust.VERIFIED:
        by = next((row.actor for row in history if row.operation == Operation.VERIFY), "")
        clauses.append(gettext("verified by {who}").format(who=by) if by else in_words(memory.trust))
    for who, reason in doubts_of(memory):
        said = gettext("{who} doubts it: “{reason}”") if reason else gettext("{who} doubts it")
        clauses.append(said.format(who=who, reason=reason))
    verdict = recall_verdict(actor, memory)
    return [*clauses, str(_VERDICTS[verdict.action]).format(because=verdict.because)]


def _split_buttons(actor: Actor, memory: Memory) -> dict[str, Any]:
    """The verbs that fit the memory and that the actor has the right to use: to flag it, the one that fits best, and the rest."""
    allowed = [verb for verb in VERBS.values() if actor.may(verb.people_right or verb.right, memory.group_id)]
    fitting = sorted((v for v in allowed if v.button.fits(memory)), key=lambda verb: verb.button.order)
    if any(who == actor.name for who, _ in doubts_of(memory)):
        fitting = [verb for verb in fitting if verb.name != _FLAG]  # it says so already
    by_name = {verb.name: verb for verb in fitting}
    first = [by_name.get(_FLAG), next((by_name[name] for name in _LEADING if name in by_name), None)]
    return {
        "first_buttons": [verb for verb in first if verb is not None],
        "buttons": [verb for verb in fitting if verb not in first],
    }


def number_words(numbers: Mapping[str, float]) -> list[tuple[str, str]]:
    """The numbers behind a rank with their names in words, the score first; boosts keep their names."""
    order = [*_NUMBER_WORDS, *(name for name in numbers if name not in _NUMBER_WORDS)]
    return [
        (
            str(_NUMBER_WORDS.get(name, name)),
            f"{numbers[name]:.0f}" if name.endswith("_rank") else f"{numbers[name]:.3f}",
        )
        for name in order
        if name in numbers
    ]


def node_json(memory: Memory, label: str, *, is_main: bool) -> dict[str, Any]:
    """A memory as a node of graph.js; `faded` if it is not live."""
    url = reverse("admin:memories_memory_change", args=[memory.id])
    is_faded = memory.state != State.LIVE
    shown = {"label": label, "kind": memory.type, "url": url, "faded": is_faded, "main": is_main}
    return {"id": str(memory.id), **shown}


def graph_json(found: Neighbourhood) -> dict[str, Any]:
    """A neighbourhood in the format of graph.js."""
    nodes = [
        node_json(node.memory, shorten(" ".join(node.memory.content.split()), 120), is_main=node.main)
        for node in found.nodes
    ]
    edges = [
        {
            "id": str(e.id),
            "from": str(e.source),
            "to": str(e.target),
            "label": e.label.replace("_", " "),
            "kind": e.kind,
        }
        for e in found.edges
    ]
    return {"nodes": nodes, "edges": edges}


def _head_note(memory: Memory, head: Memory) -> tuple[str, str]:
    """Why another memory is the current one, and the label of the link to it."""
    is_version = head.root_key == memory.root_key
    link = gettext("Go to version {version}") if is_version else gettext("Go to that memory")
    if memory.state == State.MERGED:
        said = gettext("This was merged into another memory.")
    elif is_outlasting(memory, timezone.now()):
        said = gettext("A newer text is dated ahead. This one counts until then.")
    elif is_version:
        said = gettext("This is not the current version.")
    else:
        said = gettext("A newer memory replaces this one.")
    return said, link.format(version=head.version)


def _compare_versions(chain: Sequence[Memory]) -> list[_Version]:
    """The versions, newest first, each with the word difference from the one before."""
    pairs = pairwise(chain)
    later = [_Version(row, diff_words(former.content, row.content)) for former, row in pairs]
    return [*reversed(later), _Version(chain[0], ())]


def _linked_memory(actor: Actor, link: Link, root: int) -> _LinkedMemory:
    """The link as seen from the memory with this root."""
    other = link.target if link.source_id == root else link.source
    spans = {name: str(value) for name, value in link.evidence.items() if name != ON_APPROVAL}
    may_decide = link.status == LinkStatus.OPEN and any(
        actor.may(CURATE, end.group_id) for end in (link.source, link.target)
    )
    return _LinkedMemory(link, other, spans, link.kind in REVIEWED_KINDS, may_decide)


_Facts = list[tuple[str, Any]]


def _facts(actor: Actor, memory: Memory) -> _Facts:
    """What people ask for, as (name, value); without what is not set."""
    address = str(memory.metadata.get(CONVERSATION) or "")  # of the conversation that it was taken from
    noted_in = find_by_address(actor, address) if address else None
    thread = memory.thread
    if noted_in is not None:
        url = reverse("people:conversation", args=[noted_in.id])
        talk: Any = format_html('<a class="loci-link" href="{}">{}</a>', url, noted_in.label)
    elif thread is not None:
        place = gettext("{thread}, position {position}")
        talk = place.format(thread=thread.label, position=memory.position)
    else:
        talk = address
    is_event = memory.type == Type.EPISODIC
    importance = gettext("{importance} of 10").format(importance=memory.importance)
    return _given([
        (gettext("Happened") if is_event else gettext("True since"), _day_or_moment(memory.valid_from)),
        (gettext("True until"), _day_or_moment(memory.valid_to)),
        (gettext("Expires"), memory.expires_at),
        (gettext("Conversation"), talk),
        (gettext("Source"), "" if memory.source == RELATION_SOURCE else f"{memory.source} {memory.source_ref}".strip()),
        (gettext("Context"), memory.metadata.get(CONTEXT)),
        (gettext("Importance"), importance if memory.importance != DEFAULT_IMPORTANCE else ""),
    ])  # fmt: skip


def _day_or_moment(at: datetime | None) -> datetime | str | None:
    """A moment of valid time; where it begins a day in UTC, that day, which is the same in every zone."""
    utc = at.astimezone(UTC) if at else None
    return f"{utc:%Y-%m-%d}" if utc and utc.time() == time.min else at


def _details(memory: Memory, found: Inspection) -> _Facts:
    """What the database knows besides, as (name, value); without what is not set."""
    owed = gettext(" ({pieces_owed} without a vector yet)").format(pieces_owed=found.pieces_owed)
    metadata = {name: value for name, value in memory.metadata.items() if name not in (CONTEXT, CONVERSATION)}
    return _given([
        (gettext("Type"), in_words(memory.type)), (gettext("State"), in_words(standing(memory))), (gettext("Trust"), in_words(memory.trust)),
        (gettext("Scope"), in_words(memory.scope)), (gettext("Confidence"), f"{memory.confidence:.2f}"), (gettext("Version"), memory.version),
        (gettext("Recalled"), ngettext("once", "{times} times", memory.access_count).format(times=memory.access_count)),
        (gettext("Stored"), memory.created_at), (gettext("Changed"), memory.updated_at),
        (gettext("Token"), memory.token), (gettext("Client"), memory.client),
        (gettext("Pieces"), f"{found.pieces}{owed if found.pieces_owed else ''}"),
        *((in_words(name), value) for name, value in further_facts(memory)),
        (gettext("Metadata"), _as_json_line(metadata) if metadata else ""), (gettext("Id"), str(memory.id)),
    ])  # fmt: skip


def _given(facts: _Facts) -> _Facts:
    """The facts that are set."""
    return [(name, value) for name, value in facts if value not in (None, "", "—")]


def _as_json_line(value: Any) -> str:
    """A value as one line of JSON, for people to read."""
    return json.dumps(value, ensure_ascii=False, default=str)


@dataclass(frozen=True)
class _RecallVerdict:
    """What recall does with a memory (`return`, `label` or `hide`) and why."""

    action: str
    because: str


def recall_verdict(actor: Actor, memory: Memory) -> _RecallVerdict:
    """Whether recall in the memory's own group now returns, labels or hides it, and why."""
    action = treatment_now(memory)
    is_plain = memory.state != State.LIVE and memory.trust == Trust.ACTIVE
    line = gettext("it is {state}") if is_plain else gettext("it is {state} and {trust}")
    reason = line.format(state=in_words(memory.state), trust=in_words(memory.trust))
    if is_outlasting(memory, timezone.now()):
        reason = gettext("a newer text is dated ahead")
    if action is RecallTreatment.HIDE:
        return _RecallVerdict(action.value, reason)
    # A global memory can also be seen from outside its group.
    group = memory.group if actor.may_enter(memory.group_id) else None
    visibility = recallable_by(actor, group)
    if not Memory.objects.filter(as_q(visibility), key=memory.key).exists():
        why = _expiry_reason(memory) or gettext("you may not recall it")
        return _RecallVerdict(RecallTreatment.HIDE.value, why)
    if find_left_out([memory], visibility):
        return _RecallVerdict(RecallTreatment.HIDE.value, gettext(LEFT_OUT_REASON))
    return _RecallVerdict(action.value, reason)


def _expiry_reason(memory: Memory) -> str:
    """Why a live memory is not recalled now: it counts later, it expired or its valid time ended; empty otherwise."""
    now = timezone.now()
    if not has_begun(memory, now):
        return gettext("it counts from {valid_from:%Y-%m-%d %H:%M} UTC").format(valid_from=memory.valid_from)
    if memory.expires_at is not None and memory.expires_at <= now:
        return gettext("it expired on {expires_at:%Y-%m-%d %H:%M} UTC").format(expires_at=memory.expires_at)
    if memory.valid_to is not None and memory.valid_to <= now and memory.type != Type.EPISODIC:
        line = gettext(
            "it was true until {valid_to:%Y-%m-%d %H:%M} UTC; a question about the past still finds it"
        )
        return line.format(valid_to=memory.valid_to)
    return ""
