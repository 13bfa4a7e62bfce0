"""JSON responses from the output of the services' serializers."""

import json
from typing import Any

from django.http import HttpResponse


def answer(body: Any, *, status: int = 200) -> HttpResponse:
    """A JSON response in UTF-8, never cached; a lone surrogate in an echoed value becomes a question mark."""
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    response = HttpResponse(text.encode(errors="replace"), status=status, content_type="application/json")
    response["Cache-Control"] = "no-store"
    return response
