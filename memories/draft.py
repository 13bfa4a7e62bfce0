"""A draft: a memory before it is written, checked field by field."""

import json
import re
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from operator import attrgetter
from typing import Any
from uuid import UUID

from django.conf import settings

from access.errors import InvalidInput
from memories.language.cleaning import clean_line, clean_text, content_hash, fold_hash
from memories.types import Scope, Type

TYPES, SCOPES = Type.values, Scope.values
DEFAULT_CONFIDENCE = 0.7
DEFAULT_IMPORTANCE = 5
MAX_TAG_CHARS = 60
MAX_POSITION = 2**31 - 1
MAX_REASON_CHARS = 1000
# NUL in JSON: `\u0000` after an even number of backslashes; after an odd number it is a literal text.
NUL_IN_JSON = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_HASHES = ("hash", "fold_hash")
# The fields that check_draft() may change.
_CHECKED = attrgetter("content", "removed_characters", "thread", "tags", "metadata", "source", "source_ref")


@dataclass(frozen=True)
class Draft:
    """A text to remember, with its fields.

    `group` None means the default; `scope` "" the type's default (episodic: group, else global). `thread` names the
    conversation, `position` the place in it (None: after the last). `supersedes` is the id of the memory to replace.
    `confidence` is 0–1, `importance` 1–10. `source` and `source_ref` name the origin; each pair is stored once.
    """

    content: str
    type: str = Type.SEMANTIC
    group: str | None = None
    scope: str = ""
    thread: str = ""
    position: int | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    confidence: float = DEFAULT_CONFIDENCE
    importance: int = DEFAULT_IMPORTANCE
    source: str = ""
    source_ref: str = ""
    supersedes: UUID | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    removed_characters: int = 0

    @cached_property
    def hash(self) -> str:
        """Hash of the content; the memory's, once the draft is checked."""
        return content_hash(self.content)

    @cached_property
    def fold_hash(self) -> str:
        """Hash of the content's fold; the memory's, once the draft is checked."""
        return fold_hash(self.content)

    def in_scope(self, scope: str) -> "Draft":
        """The draft in another scope; computed hashes are taken over."""
        draft = replace(self, scope=scope)
        vars(draft).update({name: value for name, value in vars(self).items() if name in _HASHES})
        return draft


def check_draft(draft: Draft) -> Draft:
    """The cleaned draft. Raises InvalidInput or TooLarge with the field and what is allowed."""
    limits = settings.LOCI.storage
    clean = clean_text(draft.content, field="content", max_chars=limits.max_content_chars)
    check_choice(draft.type, TYPES, field="type")
    if draft.scope:
        check_choice(draft.scope, SCOPES, field="scope")
    check_range(draft.confidence, 0, 1, field="confidence")
    check_range(draft.importance, 1, 10, field="importance")
    if draft.position is not None:
        check_range(draft.position, 0, MAX_POSITION, field="position")
    check_times(draft)
    checked: dict[str, Any] = {
        "content": clean.text,
        "removed_characters": clean.removed,
        "thread": clean_line(draft.thread, field="thread", max_chars=200),
        "tags": check_tags(draft.tags),
        "metadata": check_metadata(draft.metadata),
        "source": clean_line(draft.source, field="source", max_chars=200),
        "source_ref": clean_line(draft.source_ref, field="source_ref", max_chars=300),
    }
    # Most imported texts are clean; copying the draft would take as long as checking it.
    if all(new == old for new, old in zip(checked.values(), _CHECKED(draft), strict=True)):
        return draft
    return replace(draft, **checked)


def check_choice(value: str, allowed: list[str], *, field: str) -> None:
    """Raise InvalidInput if `value` is not among the allowed words."""
    if value not in allowed:
        raise InvalidInput(
            f"'{str(value)[:40]}' is not a valid {field}.",
            hint=f"Use one of: {', '.join(allowed)}.",
            field=field,
        )


def check_range(value: float, low: float, high: float, *, field: str) -> None:
    """Raise InvalidInput if `value` is no number from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise InvalidInput(f"{field} is {value!r}; it must be a number from {low} to {high}.", field=field)


def check_tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    """The tags trimmed, in lower case, without repetitions, in order."""
    if not tags:
        return ()
    limit = settings.LOCI.storage.max_tags
    clean = [clean_line(tag, field="tags", max_chars=MAX_TAG_CHARS).lower() for tag in tags]
    once = tuple(dict.fromkeys(tag for tag in clean if tag))
    if len(once) > limit:
        raise InvalidInput(f"There are {len(once)} tags; at most {limit} are allowed.", field="tags")
    return once


def clean_reason(reason: str) -> str:
    """A reason on one line; it may be empty. Raises InvalidInput if it is no text or too long."""
    return clean_line(reason, field="reason", max_chars=MAX_REASON_CHARS)


def check_times(draft: Draft) -> None:
    """Raise InvalidInput if a time has no time zone, or valid_to is before valid_from."""
    for name in ("valid_from", "valid_to", "expires_at"):
        value: datetime | None = getattr(draft, name)
        if value is not None and value.tzinfo is None:
            raise InvalidInput(
                f"{name} has no time zone.", hint="Add 'Z' or an offset such as +02:00.", field=name
            )
    if draft.valid_from and draft.valid_to and draft.valid_to < draft.valid_from:
        raise InvalidInput("valid_to is before valid_from.", field="valid_to")


def check_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """The metadata. Raises InvalidInput if it is no JSON, holds a NUL character or exceeds storage.max_metadata_bytes."""
    if not metadata and isinstance(metadata, dict):
        return metadata
    limit = settings.LOCI.storage.max_metadata_bytes
    try:
        text = json.dumps(metadata, ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"metadata is not JSON: {error}.", field="metadata") from None
    if NUL_IN_JSON.search(text):
        raise InvalidInput(
            "metadata holds a NUL character.", hint="Send text, not binary data.", field="metadata"
        )
    if size > limit:
        raise InvalidInput(f"metadata has {size:,} bytes; at most {limit:,} are allowed.", field="metadata")
    return metadata
