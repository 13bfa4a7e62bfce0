"""The one checkpoint of a session: what was asked, the last answer, and the state of the repository."""

import re
from dataclasses import replace
from typing import Final

from django.utils import timezone

from access.actor import Actor
from access.errors import Conflict, SensitiveText
from guard import Door
from loci_site.hooks.events import HookCall, HookEvent
from loci_site.hooks.models import HookInjection, HookSession
from loci_site.hooks.prompt_text import clean_prompt
from loci_site.hooks.sessions import as_stored, change_state, find_session, open_session, repository_of
from memories.models.short_id import short_id
from memories.sessions.checkpoints import save_checkpoint

HOOK_THREAD: Final = "sessions of "  # and the client's name: the thread of its checkpoints
MAX_GOAL_CHARS, MAX_REQUEST_CHARS, MAX_ANSWER_CHARS, MAX_SUMMARY_CHARS = 500, 300, 1000, 2000
_MAX_REQUESTS: Final = 3
_WITHOUT_END: Final = frozenset({"codex"})  # clients that report no end: each answer may be the last
_SHORT_ID: Final = re.compile(r"\b[0-9a-f]{8}\b", re.I)
TEXTS: Final = ("goal", "requests", "answer", "summary")  # the parts that quote what was said


def note_prompt(row: HookSession, prompt: str) -> None:
    """Add a prompt to what the session's checkpoint will say."""
    prompt = as_stored(row, prompt, Door.PROMPT)
    requests = [*row.state.get("requests", ()), prompt[:MAX_REQUEST_CHARS]][-_MAX_REQUESTS:]
    change_state(row, goal=row.state.get("goal") or prompt[:MAX_GOAL_CHARS], requests=requests)


def note_answer(actor: Actor, call: HookCall) -> None:
    """Keep the end of the last answer for the session's checkpoint."""
    row = find_session(actor, call)
    answer = clean_prompt(call.answer)
    if row is not None and not row.is_off and answer:
        change_state(row, answer=as_stored(row, answer)[-MAX_ANSWER_CHARS:])
        named = {word.lower() for word in _SHORT_ID.findall(answer)}
        rows = (
            HookInjection.objects.filter(session=row, used_at=None) if named else HookInjection.objects.none()
        )
        used = [each.key for each in rows if short_id(each.memory_id) in named]
        HookInjection.objects.filter(key__in=used).update(used_at=timezone.now())
        if call.client in _WITHOUT_END and row.group is not None and row.state.get("goal"):
            _save_session(actor, row)


def end_or_compact(actor: Actor, call: HookCall) -> None:
    """Save the session's checkpoint; after a compaction the session has forgotten what was injected."""
    row = open_session(actor, call)
    if call.event is not HookEvent.END:
        HookInjection.objects.filter(session=row).update(is_forgotten=True)
    if row.is_off or row.group is None:
        return
    place = {
        "repository": repository_of(call.place.origin),
        "branch": call.place.branch,
        "commit": call.place.head[:12],
        "files": list(call.files),
    }
    summary = as_stored(row, clean_prompt(call.summary))[:MAX_SUMMARY_CHARS]
    said = {**as_stored(row, place), "summary": summary}
    change_state(row, **{name: value for name, value in said.items() if value})
    if row.state.get("goal"):
        _save_session(actor, row)


def _save_session(actor: Actor, row: HookSession) -> None:
    """Save the session's state as its only checkpoint, without the quoted text if that may not be stored.

    It may quote a withdrawn text, or be from before the group's rules were made stricter.
    """
    quiet = {name: value for name, value in row.state.items() if name not in TEXTS}
    for state in filter(None, (row.state, quiet)):
        try:
            saved = save_checkpoint(
                replace(actor, client=row.client, is_prompt=True),  # what agents said was masked when it came
                group=row.group.slug if row.group else None,
                thread=f"{HOOK_THREAD}{row.client}",
                state=state,
                replaces=row.checkpoint,
            )
            row.checkpoint = saved.checkpoint
        except (Conflict, SensitiveText):
            continue
        row.save(update_fields=["checkpoint"])
        return
