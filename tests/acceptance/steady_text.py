"""Answers and pages without what differs between two calls, whatever is stored."""

import re

TIMES = re.compile(
    r"\b\d+(\.\d+)? (?:ms|[kMGT]B)\b|\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(\+00:00|Z)?|\b\d\d:\d\d(:\d\d)?\b"
)
NAMES = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{64}\b|\b[0-9a-f]{32}\b|\b[0-9a-f]{16}…"
    r"|(?<=id[= ])[0-9a-f]{8}\b"
)
TOKENS = re.compile(
    r'(name="csrfmiddlewaretoken" value=|nonce=|"X-CSRFToken": )"[^"]*"|csrf[^"]*"[^"]*"', re.I
)


def steady_text(text: str) -> str:
    """A text whose ids and hashes are numbered by their first place, without times and free space."""
    seen: dict[str, str] = {}
    text = TIMES.sub("TIME", TOKENS.sub("", text))
    return NAMES.sub(lambda found: seen.setdefault(found[0], f"ID{len(seen)}"), text)
