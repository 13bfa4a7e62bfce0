"""JSON responses from the output of the services' serializers."""

import json
from typing import Any

from django.http import HttpResponse

from memories.browse.serializers import change_json
from memories.lifecycle.target import ChangeResult


def answer(body: Any, *, status: int = 200) -> HttpResponse:
    """A JSON response in UTF-8, never cached; a lone surrogate in an echoed value becomes a question mark."""
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    response = HttpResponse(text.encode(errors="replace"), status=status, content_type="application/json")
    response["Cache-Control"] = "no-store"
    return response


def answer_change(done: ChangeResult) -> HttpResponse:
    """The result of a verb: 200 if it was carried out or only tried, 202 if it waits as a proposal."""
    return answer(change_json(done), status=202 if done.proposal is not None else 200)
