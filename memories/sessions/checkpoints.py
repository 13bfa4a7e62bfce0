"""Checkpoints: the state of work, saved by one agent and read by the next. Rows are only added, except for those of one session's hooks."""

import json
from dataclasses import dataclass
from typing import Any, Final

from django.db import transaction
from django.utils import timezone

from access import audit
from access.actor import READ, Actor
from access.audit import one_change
from access.audit.operations import Operation
from access.errors import InvalidInput
from access.groups import find_or_create_group, hold_groups
from access.groups.guarding import admit, mask_words
from access.models import Group
from memories.draft import NUL_IN_JSON
from memories.draft.kinds import MAX_METADATA_BYTES
from memories.language.cleaning import clean_line
from memories.models import Checkpoint, Thread
from memories.recall.budget import count_tokens, counting_encoder
from memories.sessions.context_pack import DEFAULT_BUDGET, get_context
from memories.sessions.threads import fence_saved, state_text
from memories.store.pieces import available_encoder
from memories.store.withdrawn.marks import refuse_withdrawn_texts

_SURE_SHARE: Final = 0.25  # of the default budget: a checkpoint of this size is never cut


@dataclass(frozen=True)
class _CheckpointResult:
    """A saved checkpoint, and the number of checkpoints in its thread (or group). `warning`: the pack will cut it."""

    checkpoint: Checkpoint
    group: str
    group_created: bool
    count: int
    warning: str = ""


@one_change
def save_checkpoint(
    actor: Actor,
    *,
    group: str | None,
    thread: str,
    state: dict[str, Any] | str,
    replaces: Checkpoint | None = None,
) -> _CheckpointResult:
    """Save `state` (JSON, or a text) as the newest checkpoint of the thread, or without a name, of the group.

    It takes the place of `replaces`, an earlier one of the same session.

    Raises:
        InvalidInput: the state is empty, no JSON, or larger than MAX_METADATA_BYTES.
        SensitiveText: it holds what the group's policy refuses, or what would wait for a person.
        Conflict: a string in it, or a sentence of one, is a text that was withdrawn in the group.
    """
    body = _check_state(state)
    name = clean_line(thread, field="thread", max_chars=200)
    with transaction.atomic():
        resolved = find_or_create_group(actor, group)
        body = admit(body, actor.door, resolved.group, field="state").value
        name = mask_words(name, group=resolved.group)
        hold_groups([resolved.group.key])
        refuse_withdrawn_texts(actor, resolved.group, body, field="state")
        refuse_withdrawn_texts(actor, resolved.group, name, field="thread")
        row = Thread.objects.get_or_create(group=resolved.group, name=name)[0] if name else None
        if replaces is not None:
            Checkpoint.objects.filter(pk=replaces.pk, token_id=actor.token_key).delete()
        checkpoint = Checkpoint.objects.create(
            group=resolved.group, thread=row, state=body, created_at=timezone.now(),
            author_id=actor.user_id, author_name=actor.name, token_id=actor.token_key,
        )  # fmt: skip
        audit.append(
            actor, Operation.CHECKPOINT, group=resolved.group.id, subject=f"checkpoint:{checkpoint.id}",
            payload={"thread": name} | ({"replaces": str(replaces.id)} if replaces is not None else {}),
            chars=len(checkpoint.state),
        )  # fmt: skip
        count = Checkpoint.objects.filter(group=resolved.group, thread=row).count()
        warning = _warn_if_cut(actor, checkpoint, resolved.group, name)
    return _CheckpointResult(checkpoint, resolved.group.slug, resolved.created, count, warning)


def _warn_if_cut(actor: Actor, checkpoint: Checkpoint, group: Group, thread: str) -> str:
    """Why the default pack will not show all of the checkpoint, and what to do; empty if it will."""
    whole = fence_saved(checkpoint, state_text(checkpoint))
    tokens = count_tokens(whole, counting_encoder(available_encoder()))
    if tokens <= _SURE_SHARE * DEFAULT_BUDGET:
        return ""
    if actor.may(READ, group.key):
        pack = get_context(actor, group=group.slug, thread=thread)
        if not any(section.kind == "checkpoint" and section.is_cut for section in pack.sections):
            return ""
    return (
        f"It has {tokens:,} tokens: get_context shows only a part within its default budget of {DEFAULT_BUDGET:,}. Save a "
        "shorter one, or begin the next session with a larger token_budget."
    )


def _check_state(state: dict[str, Any] | str) -> dict[str, Any]:
    """The state as JSON, a text under the key `text`. Raises InvalidInput if it is not allowed."""
    body = {"text": state} if isinstance(state, str) else state
    try:
        text = json.dumps(body, ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"state is not JSON: {error}.", field="state") from None
    is_blank = isinstance(state, str) and not state.strip()
    if not body or is_blank or body == {"text": ""} or not isinstance(body, dict):
        raise InvalidInput("state is empty.", hint="Describe what is done and what is next.", field="state")
    if NUL_IN_JSON.search(text):
        raise InvalidInput("state holds a NUL character.", field="state")
    if size > MAX_METADATA_BYTES:
        line = f"state has {size:,} bytes; at most {MAX_METADATA_BYTES:,} are allowed."
        raise InvalidInput(line, field="state")
    return body
