"""JSON responses from the output of the services' serializers."""

import json
from typing import Any

from django.http import HttpResponse

from access.actor import Actor
from access.audit.collect import current_work
from memories.browse.serializers import DoneOut
from memories.lifecycle.target import ChangeResult
from memories.lifecycle.undo import undo_id_of

REPLAY_HEADER = "Idempotent-Replay"


def answer(body: Any, *, status: int = 200) -> HttpResponse:
    """A JSON response in UTF-8, never cached; a lone surrogate in an echoed value becomes a question mark."""
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    response = HttpResponse(text.encode(errors="replace"), status=status, content_type="application/json")
    response["Cache-Control"] = "no-store"
    return response


def answer_write(actor: Actor, body: dict[str, Any], *, status: int = 200) -> HttpResponse:
    """The result of a write, with the id that undoes it (null if nothing was written, or it cannot be undone)."""
    is_tried = bool(body.get("dry_run"))
    return answer(
        body | {"undo": None if is_tried else undo_id_of(actor, current_work()) or None}, status=status
    )


def answer_change(actor: Actor, done: ChangeResult) -> HttpResponse:
    """The result of a verb: 200 if it was carried out or only tried, 202 if it waits as a proposal."""
    return answer_write(actor, DoneOut.json(done), status=202 if done.proposal is not None else 200)
