"""The data of one memory's page, and what recall does with the memory now."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext, gettext_lazy, ngettext

from access.actor import WRITE, Actor
from access.admin.columns import in_words, join_list, shorten
from access.admin.page import LociAdmin
from memories.browse.history import further_facts, history_of
from memories.browse.inspection import Inspection, inspect_memory, treatment_now
from memories.browse.recalls import questions_that_found
from memories.entities.statements import Neighbourhood
from memories.language.word_diff import DiffPart, diff_words
from memories.lifecycle.verbs import VERBS, Verb
from memories.models import REVIEWED_KINDS, Link, Memory, Piece
from memories.models.link import ON_APPROVAL
from memories.queries.labels import standing
from memories.queries.visibility import as_q, has_begun, is_outlasting, recallable_by
from memories.sessions.conversations import CONVERSATION, find_by_address
from memories.store.withdrawn.left_out import LEFT_OUT_REASON, find_left_out
from memories.types import RecallTreatment, State, Trust, Type

TITLE_CHARS = 60
_FIRST_BUTTONS = 3  # with Edit and Replace; the rest are in the menu
# The verb that stands next to Edit and Replace, by what fits: bring it back, approve it, say that it is wrong.
_LEADING = ("restore", "restore-version", "approve", "retract")
_VERDICTS = {
    "return": gettext_lazy("Recall returns it"),
    "label": gettext_lazy("Recall labels it"),
    "hide": gettext_lazy("Recall hides it"),
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
    needs_decision: bool


@dataclass(frozen=True)
class _Version:
    """A version with the word difference from the one before; the first has no parts."""

    memory: Memory
    parts: tuple[DiffPart, ...]


@dataclass(frozen=True)
class _PieceText:
    """A piece of the text as the model reads it. Pieces may overlap; `text` leaves out the overlap with the one before."""

    number: int
    text: str
    tokens: int
    start: int
    end: int
    is_owed: bool


def page_context(admin: LociAdmin, actor: Actor, memory: Memory, *, query: str) -> dict[str, Any]:
    """Everything the page shows; `query` explains why a question finds the memory or not."""
    # The question is asked in the memory's own group.
    may_ask = actor.may_enter(memory.group_id)
    found = inspect_memory(actor, memory.id, query=query if may_ask else "")
    # The beginning of the text tells browser tabs apart.
    title = shorten(" ".join(memory.content.split()), TITLE_CHARS)
    verdict = recall_verdict(actor, memory)
    is_editable = actor.may(WRITE, memory.group_id) and memory.state == State.LIVE
    return {
        "title": gettext("Memory") if memory.trust == Trust.QUARANTINED else title,
        "memory": memory,
        "found": found,
        "verdict": verdict,
        "recall_says": _VERDICTS[verdict.action],
        "head": found.head if found.head != memory else None,
        "compacted": memory.compacted.count(),
        "head_said": _head_note(memory, found.head) if found.head is not None else None,
        **_split_buttons(_buttons_for(actor, memory), beside=2 * is_editable),
        "versions": _compare_versions(found.versions) if len(found.versions) > 1 else [],
        "pieces": read_pieces(memory),
        "history": history_of([version.id for version in found.versions]),
        # The sources of a summary are drawn on the summary's page.
        "has_graph": bool(found.links or found.relations)
        and (found.head or memory).root_key == memory.root_key,
        "graph_url": admin.url("graph", memory.id),
        "links": [_linked_memory(link, memory.root_key) for link in found.links],
        "statements": found.relations,
        "groups_of_facts": _group_facts(actor, memory, found),
        "questions": questions_that_found(actor, [version.key for version in found.versions]),
        "feedback": found.feedback,
        "may_ask": may_ask,
        "query": query,
        "why": found.why,
        "numbers": number_words(found.why.numbers) if found.why else [],
        "steps": [(step.name, _as_json_line(step.detail)) for step in found.why.steps] if found.why else [],
        "edit_url": admin.url("edit", memory.id) if is_editable else "",
        "supersede_url": f"{admin.url('add')}?supersedes={memory.id}&group={memory.group.slug}&type={memory.type}"
        if is_editable
        else "",
    }


def _buttons_for(actor: Actor, memory: Memory) -> list[Verb]:
    """The verbs that fit the memory and that the actor has the right to use, most common first."""
    allowed = [verb for verb in VERBS.values() if actor.may(verb.people_right or verb.right, memory.group_id)]
    return sorted((v for v in allowed if v.button.fits(memory)), key=lambda verb: verb.button.order)


def _split_buttons(buttons: Sequence[Verb], *, beside: int) -> dict[str, list[Verb]]:
    """The buttons that are shown at once next to `beside` others, and those in the menu, in their order."""
    leading = [verb for name in _LEADING for verb in buttons if verb.name == name]
    first = list(leading or buttons)[: _FIRST_BUTTONS - beside]
    return {"first_buttons": first, "buttons": [verb for verb in buttons if verb not in first]}


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
        {"id": str(e.id), "from": str(e.source), "to": str(e.target), "label": e.label, "kind": e.kind}
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


def read_pieces(memory: Memory) -> list[_PieceText]:
    """The pieces in order, without overlaps."""
    rows = list(Piece.objects.filter(memory=memory).order_by("ordinal").defer("embedding")
                .annotate(is_owed=Q(embedding=None)))  # fmt: skip
    pieces, done = list[_PieceText](), 0
    for row in rows:
        text = memory.content[max(row.start, done) : row.end]
        pieces.append(_PieceText(row.ordinal + 1, text, row.tokens, row.start, row.end, bool(row.is_owed)))
        done = max(done, row.end)
    return pieces


def _linked_memory(link: Link, root: int) -> _LinkedMemory:
    """The link as seen from the memory with this root."""
    other = link.target if link.source_id == root else link.source
    spans = {name: str(value) for name, value in link.evidence.items() if name != ON_APPROVAL}
    return _LinkedMemory(link, other, spans, link.kind in REVIEWED_KINDS)


def _group_facts(
    actor: Actor, memory: Memory, found: Inspection
) -> list[tuple[str, Sequence[tuple[str, Any]]]]:
    """The fields in groups, as (heading, [(name, value)])."""
    owed = gettext(" ({pieces_owed} without a vector yet)").format(pieces_owed=found.pieces_owed)
    owed = owed if found.pieces_owed else ""
    place = gettext("{thread}, position {position}").format(thread=memory.thread, position=memory.position)
    place = place if memory.thread else "—"
    address = str(memory.metadata.get(CONVERSATION) or "")  # of the conversation that it was taken from
    noted_in = find_by_address(actor, address) if address else None
    conversation = address
    if noted_in is not None:
        url = reverse("people:conversation", args=[noted_in.id])
        conversation = format_html('<a href="{}">{}</a>', url, noted_in.label)
    return [
        (gettext("Contents"), [
            (gettext("Type"), in_words(memory.type)), (gettext("Group"), memory.group.slug), (gettext("Scope"), in_words(memory.scope)),
            (gettext("Tags"), join_list(memory.tags) or "—"), (gettext("Thread"), place), (gettext("Pieces"), f"{found.pieces}{owed}"),
            *((in_words(name), value) for name, value in further_facts(memory)),
        ]),
        (gettext("Standing"), [
            (gettext("State"), in_words(standing(memory))), (gettext("Trust"), in_words(memory.trust)), (gettext("Confidence"), f"{memory.confidence:.2f}"),
            (gettext("Importance"), gettext("{importance} of 10").format(importance=memory.importance)), (gettext("Pinned"), gettext("yes") if memory.pinned else gettext("no")),
            (gettext("Recalled"), ngettext("once", "{times} times", memory.access_count).format(times=memory.access_count)),
        ]),
        (gettext("Valid time"), [
            (gettext("From"), memory.valid_from or "—"), (gettext("Until"), memory.valid_to or "—"),
            (gettext("Expires"), memory.expires_at or gettext("never")), (gettext("Version"), memory.version),
        ]),
        (gettext("Origin"), [
            (gettext("Author"), memory.author_name or "—"), (gettext("Token"), memory.token or "—"), (gettext("Client"), memory.client or "—"),
            (gettext("Source"), " ".join(filter(None, [memory.source, memory.source_ref])) or "—"),
            *([(gettext("Conversation"), conversation)] if conversation else []),
            (gettext("Stored"), memory.created_at), (gettext("Changed"), memory.updated_at), (gettext("Id"), str(memory.id)),
            *([(gettext("Metadata"), _as_json_line(memory.metadata))] if memory.metadata else []),
        ]),
    ]  # fmt: skip


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
    reason = gettext("it is {state} and {trust}").format(
        state=in_words(memory.state), trust=in_words(memory.trust)
    )
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
