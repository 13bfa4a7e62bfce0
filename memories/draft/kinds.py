"""Kinds of values that a memory's fields hold, how each is cleaned and bounded, and the checks of single values.

Each face asks a field's kind which input, option or schema fits it. An error names the field and what is allowed.
"""

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from django.db.models import TextChoices
from django.utils import timezone

from access.errors import InvalidInput
from access.groups.guarding import mask_words
from memories.language.cleaning import clean_line

MAX_TAGS = 32
MAX_METADATA_BYTES = 16_384  # as JSON
_MAX_TAG_CHARS = 60
MAX_REASON_CHARS = 1000
_CLOCKS_DIFFER = timedelta(minutes=1)  # between a caller and this machine
# NUL in JSON: `\u0000` after an even number of backslashes; after an odd number it is a literal text.
NUL_IN_JSON = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


@dataclass(frozen=True)
class Kind:
    """A value that needs no check, because no caller sets it."""

    def clean(self, value: Any, *, field: str) -> Any:
        """The value as it is stored. Raises InvalidInput or TooLarge with the field and what is allowed."""
        return value

    def from_json(self, value: Any) -> Any:
        """A stored value, not None, that was written as JSON."""
        return value


class Text(Kind):
    """The content; check_draft() cleans it, since it counts the removed characters."""


class Flag(Kind):
    """True or false."""


class Id(Kind):
    """A UUID."""


@dataclass(frozen=True)
class Line(Kind):
    """A short text on one line; it may be empty."""

    max_chars: int

    def clean(self, value: Any, *, field: str) -> Any:
        return clean_line(value, field=field, max_chars=self.max_chars)


@dataclass(frozen=True)
class OneOf(Kind):
    """One of some words. `unset` says what an empty value means; "" if it may not be empty."""

    choices: type[TextChoices]
    unset: str = ""

    @cached_property
    def words(self) -> list[str]:
        """The words that are allowed."""
        return [*self.choices.values]

    def clean(self, value: Any, *, field: str) -> Any:
        if value or not self.unset:
            check_choice(value, self.words, field=field)
        return value


@dataclass(frozen=True)
class Number(Kind):
    """A number from `low` to `high`; a whole one if `step` is. Answers round it to `digits` decimals."""

    low: int
    high: int
    step: float = 1
    digits: int | None = None

    @property
    def is_whole(self) -> bool:
        """True if only whole numbers are meant."""
        return isinstance(self.step, int)

    def clean(self, value: Any, *, field: str) -> Any:
        check_range(value, self.low, self.high, field=field)
        if self.is_whole and value != int(value):
            raise InvalidInput(f"{field} is {value!r}; it must be a whole number.", field=field)
        return value


class Moment(Kind):
    """A time with its zone."""

    def clean(self, value: Any, *, field: str) -> Any:
        check_zone(value, field=field)
        return value

    def from_json(self, value: Any) -> datetime:
        return datetime.fromisoformat(value)


class Tags(Kind):
    """Words. They are put in lower case once they passed the gate, which knows some secrets by their capital letters."""

    def clean(self, value: Any, *, field: str) -> Any:
        return clean_tags(value)


class Metadata(Kind):
    """A JSON object."""

    def clean(self, value: Any, *, field: str) -> Any:
        return check_metadata(value)


def check_choice(value: str, allowed: list[str], *, field: str) -> None:
    """Raise InvalidInput if `value` is not among the allowed words."""
    if value not in allowed:
        raise InvalidInput(
            f"'{str(value)[:40]}' is not a valid {'type' if field == 'types' else field}.",
            hint=f"Use one of: {', '.join(allowed)}.",
            field=field,
        )


def check_range(value: float, low: float, high: float, *, field: str) -> None:
    """Raise InvalidInput if `value` is not a number from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise InvalidInput(f"{field} is {value!r}; it must be a number from {low} to {high}.", field=field)


def clean_tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    """The tags trimmed, in order, as they were sent; of those that differ in case alone, the first."""
    once: dict[str, str] = {}
    for tag in tags:
        clean = clean_line(tag, field="tags", max_chars=_MAX_TAG_CHARS)
        if clean:
            once.setdefault(clean.lower(), clean)
    if len(once) > MAX_TAGS:
        raise InvalidInput(f"There are {len(once)} tags; at most {MAX_TAGS} are allowed.", field="tags")
    return tuple(once.values())


def check_tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    """The tags trimmed, in lower case, without repetitions, in order: as they are stored and looked for."""
    return tuple(tag.lower() for tag in clean_tags(tags))


def clean_reason(reason: str) -> str:
    """A reason on one line, secrets masked; it may be empty. Raises InvalidInput if it is not text or too long."""
    return mask_words(clean_line(reason, field="reason", max_chars=MAX_REASON_CHARS))


def check_zone(moment: datetime, *, field: str) -> None:
    """Raise InvalidInput if a time has no time zone, or is outside the years 1 to 9999 in UTC."""
    if moment.tzinfo is None:
        raise InvalidInput(
            f"{field} has no time zone.", hint="Add 'Z' or an offset such as +02:00.", field=field
        )
    try:
        moment.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(f"{field} is outside the calendar in UTC.", field=field) from None


def check_ahead(moment: datetime | None, *, field: str) -> None:
    """Raise InvalidInput for a time in the past, by more than clocks differ; None is not a time."""
    if moment is None:
        return
    check_zone(moment, field=field)
    if moment < timezone.now() - _CLOCKS_DIFFER:
        raise InvalidInput(
            f"{field} is in the past: {moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC.",
            hint="Pass a time to come, or leave it out.",
            field=field,
        )


def check_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """The metadata. Raises InvalidInput if it is not JSON, holds a NUL character or exceeds MAX_METADATA_BYTES."""
    if not metadata and isinstance(metadata, dict):
        return metadata
    try:
        text = json.dumps(metadata, ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"metadata is not JSON: {error}.", field="metadata") from None
    if NUL_IN_JSON.search(text):
        raise InvalidInput(
            "metadata holds a NUL character.", hint="Send text, not binary data.", field="metadata"
        )
    if size > MAX_METADATA_BYTES:
        raise InvalidInput(
            f"metadata has {size:,} bytes; at most {MAX_METADATA_BYTES:,} are allowed.", field="metadata"
        )
    return metadata
