"""What a session begins with: instructions, where work stood, pinned facts, and how much more there is."""

import hashlib
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from django.db.models import Count, Q
from django.utils import timezone

from access.actor import Actor
from access.models import Group
from access.visibility import Narrowing
from loci_site.hooks.checkpoint import HOOK_THREAD
from loci_site.hooks.events import HookCall, HookEvent
from loci_site.hooks.models import HookSession
from loci_site.hooks.sessions import describe_choices, open_session, record_injections
from memories.language.cleaning import format_count
from memories.models import Checkpoint, Memory
from memories.queries.quoting import quote_attribute
from memories.queries.visibility import as_q, recallable_by, without_names
from memories.recall.budget import count_tokens, counting_encoder
from memories.sessions.context_pack import build_pack, gather_parts
from memories.sessions.sections import Part, TextPart
from memories.sessions.threads import fence_saved, state_text
from memories.store.pieces import available_encoder

TOKENS = 600  # at most, at the start of a session
_FRAME_TOKENS = 60  # the marks of the whole and its last line
_SHOWN_PARTS = ("instructions", "pinned")
_TYPE_NAMES = {"semantic": "fact", "episodic": "event", "procedural": "procedure", "entity": "entity"}


@dataclass(frozen=True)
class Brief:
    """A text for a session, between marks, and the tokens of each memory in it."""

    text: str = ""
    memories: dict[UUID, int] = field(default_factory=dict)


def start_session(actor: Actor, call: HookCall) -> str:
    """The text that a session begins with; empty if there is nothing to say. Opens the session's row."""
    row = open_session(actor, call)
    if row.is_off:
        return ""
    if row.group is None:
        # The person is asked once for each place and token.
        if not (call.place.folder or call.place.origin):
            return ""
        asked = HookSession.objects.filter(token=actor.token_key, folder=row.folder, group=None).exclude(
            pk=row.pk
        )
        return (
            ""
            if asked.exists() or call.source not in ("", "startup")
            else describe_choices(actor, call.place)
        )
    is_after_compaction = call.source == "compact"
    brief = write_brief(actor, row.group, is_checkpoint_only=is_after_compaction)
    digest = hashlib.sha256(brief.text.encode()).hexdigest()
    if not brief.text or (call.source == "resume" and digest == row.start_hash):
        return ""
    row.start_hash = digest
    row.save(update_fields=["start_hash"])
    record_injections(row, HookEvent.START, brief.memories)
    return brief.text


def write_brief(actor: Actor, group: Group, *, is_checkpoint_only: bool = False) -> Brief:
    """The brief of a group within TOKENS, between marks."""
    encoder = counting_encoder(available_encoder())
    narrowing = Narrowing()
    visibility = recallable_by(actor, group, narrowing=narrowing)
    parts: list[Part] = [*_checkpoint_part(actor, group)]
    if not is_checkpoint_only:
        gathered = gather_parts(group, "", "", narrowing, visibility, None, [])
        by_kind = {part.kind: part for part in gathered}
        parts = [*(by_kind[kind] for kind in _SHOWN_PARTS if kind in by_kind), *parts]
    visible = without_names(Memory.objects.filter(as_q(visibility), group=group, summary=None))
    counts = dict(visible.values_list("type").annotate(Count("key")).order_by("type"))
    if not parts and (is_checkpoint_only or not counts):
        return Brief()
    pack = build_pack(parts, group, TOKENS - _FRAME_TOKENS, None, ()) if parts else None
    more = ", ".join(format_count(number, _TYPE_NAMES[kind]) for kind, number in counts.items())
    last = f"Stored here: {more}. recall_memory has more." if more else ""
    text = between_marks(group, "\n\n".join(filter(None, [pack.text if pack else "", last])))
    items = [item for section in (pack.sections if pack else ()) for item in section.items]
    return Brief(text, {item.memory.id: count_tokens(item.text, encoder) for item in items})


def _checkpoint_part(actor: Actor, group: Group) -> list[TextPart]:
    """The newest checkpoint: of a hook only the person's own, since it tells what a person was about to do."""
    rows = Checkpoint.objects.filter(group=group, held="").select_related("thread", "group")
    own = Q(author_id=actor.user_id) | Q(thread=None) | ~Q(thread__name__startswith=HOOK_THREAD)
    newest = rows.filter(own).order_by("-key").first()
    if newest is None:
        return []
    return [
        TextPart(
            "checkpoint",
            f"Where work stood {_describe_age(timezone.now() - newest.created_at)}",
            state_text(newest),
            name=f"A checkpoint of {newest.created_at:%Y-%m-%d}",
            render=lambda body: fence_saved(newest, body),
        )
    ]


def _describe_age(age: timedelta) -> str:
    hours = int(age.total_seconds() // 3600)
    if hours < 1:
        return "less than an hour ago"
    return f"{format_count(hours, 'hour')} ago" if hours < 48 else f"{age.days} days ago"


def between_marks(group: Group, text: str) -> str:
    """The text between the marks by which Loci knows its own again."""
    return f"<loci group={quote_attribute('group', group.slug)}>\n{text}\n</loci>"
