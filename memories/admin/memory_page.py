"""What the page of one memory shows."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.utils.text import Truncator

from access.actor import WRITE, Actor
from access.admin.page import LociAdmin
from memories.admin.buttons import buttons_for
from memories.admin.verdict import recall_verdict
from memories.browse.history import history_of
from memories.browse.inspection import Inspection, inspect_memory
from memories.entities.neighbourhood import Neighbourhood
from memories.language.word_diff import DiffPart, diff_words
from memories.models import REVIEWED_KINDS, Link, Memory, Piece
from memories.models.link import ON_APPROVAL
from memories.types import State

DOES = {"return": "Recall returns it", "label": "Recall labels it", "hide": "Recall hides it"}


@dataclass(frozen=True)
class LinkedMemory:
    """A link as seen from one of its ends: what ties, the other memory, and the words that led to it."""

    link: Link
    other: Memory
    spans: dict[str, str]
    is_asked: bool


@dataclass(frozen=True)
class Version:
    """A version with what its text changed in the one before; no parts in the first."""

    memory: Memory
    parts: tuple[DiffPart, ...]


@dataclass(frozen=True)
class PieceText:
    """A piece of the text as the model reads it. Pieces may overlap: `text` is what the one before does not have."""

    number: int
    text: str
    tokens: int
    start: int
    end: int
    is_owed: bool


def page_context(admin: LociAdmin, actor: Actor, memory: Memory, *, query: str) -> dict[str, Any]:
    """Give everything the page shows; `query` asks why a question does or does not bring the memory."""
    # A question is asked in the memory's own group.
    may_ask = actor.may_enter(memory.group_id)
    found = inspect_memory(actor, memory.id, query=query if may_ask else "")
    verdict = recall_verdict(actor, memory)
    may_write = actor.may(WRITE, memory.group_id)
    return {
        "title": "Memory",
        "memory": memory,
        "found": found,
        "verdict": verdict,
        "recall_says": DOES[verdict.does],
        "head": found.head if found.head.key != memory.key else None,
        "head_said": _led_to(memory, found.head),
        "buttons": buttons_for(actor, memory),
        "versions": _versions(found.versions) if len(found.versions) > 1 else [],
        "pieces": _cuts(memory),
        "history": history_of([version.id for version in found.versions]),
        # What stands in a summary is drawn around the summary.
        "has_graph": bool(found.links or found.relations) and found.head.root_key == memory.root_key,
        "graph_url": admin.url("graph", memory.id),
        "ties": _ties(found),
        "statements": found.relations,
        "groups_of_facts": _facts(memory, found),
        "may_ask": may_ask,
        "query": query,
        "why": found.why,
        "steps": [(step.name, _line(step.detail)) for step in found.why.steps] if found.why else [],
        "edit_url": admin.url("edit", memory.id) if may_write and memory.state == State.LIVE else "",
        "supersede_url": f"{admin.url('add')}?supersedes={memory.id}&group={memory.group.slug}&type={memory.type}"
        if may_write and memory.state == State.LIVE
        else "",
    }


def graph_json(found: Neighbourhood, address: Callable[[Memory], str]) -> dict[str, Any]:
    """Give a neighbourhood as graph.js takes it."""
    nodes = [
        {
            "id": str(node.memory.id),
            "label": Truncator(" ".join(node.memory.content.split())).chars(120),
            "kind": node.memory.type,
            "url": address(node.memory),
            "faded": node.memory.state != State.LIVE,
            "main": node.main,
        }
        for node in found.nodes
    ]
    ties = [
        {
            "id": str(tie.id),
            "from": str(tie.source),
            "to": str(tie.target),
            "label": tie.label,
            "kind": tie.kind,
        }
        for tie in found.edges
    ]
    return {"nodes": nodes, "edges": ties}


def _led_to(memory: Memory, head: Memory) -> tuple[str, str]:
    """Say why another memory counts in this one's place, and what its link is called."""
    if memory.state == State.COMPACTED:
        return "A summary stands for this event.", "Go to the summary"
    if memory.state == State.MERGED:
        return "This was merged into another memory.", "Go to the one that counts"
    if head.root_key != memory.root_key:
        return "A newer memory replaces this one.", "Go to the one that counts"
    return "This is not the version that counts.", f"Go to version {head.version}"


def _versions(chain: Sequence[Memory]) -> list[Version]:
    """Give the versions, newest first, each with what differs from the one before."""
    before: list[Memory | None] = [None, *chain[:-1]]
    told = [
        Version(row, diff_words(former.content, row.content) if former is not None else ())
        for former, row in zip(before, chain, strict=True)
    ]
    return told[::-1]


def _cuts(memory: Memory) -> list[PieceText]:
    """Give the pieces in order; one piece is the whole text and needs no mark."""
    rows = list(Piece.objects.filter(memory=memory).order_by("ordinal").defer("embedding")
                .annotate(is_owed=Q(embedding=None)))  # fmt: skip
    cuts, done = list[PieceText](), 0
    for row in rows:
        text = memory.content[max(row.start, done) : row.end]
        cuts.append(PieceText(row.ordinal + 1, text, row.tokens, row.start, row.end, bool(row.is_owed)))
        done = max(done, row.end)
    return cuts


def _ties(found: Inspection) -> list[LinkedMemory]:
    root = found.memory.root_key
    return [_tie(link, root) for link in found.links]


def _tie(link: Link, root: int) -> LinkedMemory:
    other = link.target if link.source_id == root else link.source
    spans = {name: str(said) for name, said in link.evidence.items() if name != ON_APPROVAL}
    return LinkedMemory(link, other, spans, link.kind in REVIEWED_KINDS)


def _facts(memory: Memory, found: Inspection) -> list[tuple[str, Sequence[tuple[str, Any]]]]:
    """Give the fields in groups, as (heading, [(name, value)])."""
    owed = f" ({found.pieces_owed} wait for a vector)" if found.pieces_owed else ""
    place = f"{memory.thread} at {memory.position}" if memory.thread else "—"
    return [
        ("What it is", [
            ("Type", memory.type), ("Group", memory.group.slug), ("Scope", memory.scope),
            ("Tags", ", ".join(memory.tags) or "—"), ("Thread", place), ("Pieces", f"{found.pieces}{owed}"),
        ]),
        ("How far it counts", [
            ("State", memory.state), ("Trust", memory.trust), ("Confidence", f"{memory.confidence:.2f}"),
            ("Importance", f"{memory.importance} of 10"), ("Pinned", "yes" if memory.pinned else "no"),
            ("Recalled", f"{memory.access_count} times" if memory.access_count != 1 else "once"),
        ]),
        ("When it was true", [
            ("From", memory.valid_from or "—"), ("Until", memory.valid_to or "—"),
            ("Expires", memory.expires_at or "never"), ("Version", memory.version),
        ]),
        ("Where it comes from", [
            ("Author", memory.author_name or "—"), ("Token", memory.token or "—"), ("Client", memory.client or "—"),
            ("Source", " ".join(filter(None, [memory.source, memory.source_ref])) or "—"),
            ("Stored", memory.created_at), ("Changed", memory.updated_at), ("Id", str(memory.id)),
            *([("Metadata", _line(memory.metadata))] if memory.metadata else []),
        ]),
    ]  # fmt: skip


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
