"""The header Idempotency-Key: a write that is sent again with its key gets the first answer and writes nothing."""

import json
from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from django.http import HttpRequest, HttpResponse

from access.tokens.stored_answers import KeyedWrite
from loci_site.api.auth import actor_of, is_reading
from loci_site.api.responses import REPLAY_HEADER, answer
from loci_site.server.write_once import WrittenAnswer, write_once

KEY_HEADER: Final = "Idempotency-Key"
PARAMETER: Final = {
    "in": "header",
    "name": KEY_HEADER,
    "required": False,
    "description": "A new UUID for each write; a retry with the same key and body gets the first answer for 24 hours.",
    "schema": {"type": "string", "maxLength": 200},
}
View = Callable[..., HttpResponse]


def takes_key(view: View) -> View:
    """The view of an operation that writes, with its log rows collected, and carried out once for each key."""

    @wraps(view)
    def run(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if is_reading(request):
            return view(request, *args, **kwargs)
        responses: list[HttpResponse] = []
        write = keyed_write(request)

        def job() -> WrittenAnswer:
            response = view(request, *args, **kwargs)
            # Only a write with a key is stored, so only that one is read again.
            body = json.loads(response.content) if write is not None else None
            responses.append(response)
            return WrittenAnswer(response.status_code, body)

        done = write_once(actor_of(request), write, job, in_one_transaction=not has_own_transactions(request))
        if not done.is_replay:
            return responses[-1]
        replay = answer(done.body, status=done.status)
        replay[REPLAY_HEADER] = "true"
        return replay

    return run


def keyed_write(request: HttpRequest) -> KeyedWrite | None:
    """The key of a request, with what it stands for; None without one."""
    key = request.headers.get(KEY_HEADER)
    if key is None:
        return None
    try:
        body: Any = json.loads(request.body) if request.body else None
    except (ValueError, RecursionError):
        body = request.body.hex()
    return KeyedWrite(key, [request.method, request.get_full_path(), body], KEY_HEADER)


def has_own_transactions(request: HttpRequest) -> bool:
    """True for a purge and for maintenance, which cannot run inside one transaction."""
    is_purge = request.path.endswith("/purge") or request.GET.get("verb") == "purge"
    return is_purge or "/maintenance/" in request.path
