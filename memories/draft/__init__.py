"""A draft: a memory, or an edit of one, before it is written; `registry` lists the fields that they hold.

A new field of a memory is an entry of the registry and an attribute of Draft (and of EditDraft, if it can be edited).
"""

from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import Enum
from functools import cached_property, partial
from operator import attrgetter
from typing import Any, Final
from uuid import UUID

from django.conf import settings

from access.errors import InvalidInput
from access.groups.guarding import TextFinding
from guard.html import is_web_source, text_of_html
from memories.draft.kinds import (
    MAX_REASON_CHARS,
    NUL_IN_JSON,
    check_choice,
    check_metadata,
    check_range,
    check_tags,
    clean_reason,
)
from memories.draft.registry import BY_NAME, MAX_POSITION, OnEdit
from memories.language.cleaning import clean_line, clean_text, content_hash
from memories.language.dress import fold_hash
from memories.types import Type

__all__ = [
    "CONFIRMED_TODAY",
    "DECAY_FLOOR",
    "DEFAULT_CONFIDENCE",
    "DEFAULT_IMPORTANCE",
    "EDITED",
    "MAX_POSITION",
    "MAX_REASON_CHARS",
    "NUL_IN_JSON",
    "REINFORCEMENT",
    "STORED",
    "UNCHANGED",
    "Draft",
    "EditDraft",
    "Unset",
    "check_choice",
    "check_draft",
    "check_metadata",
    "check_range",
    "check_tags",
    "clean_reason",
    "edited_names",
]

DEFAULT_CONFIDENCE = 0.7
DECAY_FLOOR = 0.02  # the lowest confidence that decay reaches
REINFORCEMENT = 0.1  # added to the confidence by a restatement, once per author and day
CONFIRMED_TODAY = "you confirmed this today already: confidence unchanged"
DEFAULT_IMPORTANCE = 5
NO_FIELDS: Final = frozenset({"version", "allow"})  # of an edit: they say how, not what
_HASHES = ("hash", "fold_hash")


class Unset(Enum):
    """Marks a field that the caller does not name; None is a value."""

    UNCHANGED = "unchanged"


UNCHANGED: Final = Unset.UNCHANGED


@dataclass(frozen=True)
class Draft:
    """A text to remember, with its fields.

    `group` None means the default; `scope` "" the default of the group (memories.draft.default_scope). `thread` names the
    conversation, `position` the place in it (None: after the last). `supersedes` is the id of the memory to replace.
    `confidence` is 0–1, `importance` 1–10. `source` and `source_ref` name the origin; each pair is stored once. `allow` has
    kinds of guessed secrets that the sender vouches for. `outside`: it comes from outside the team, as what has a web
    address as its source always does. `findings` and `removed_characters` say what the checks did.
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
    supersedes: str | UUID | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    outside: bool = False
    anchor_commit: str = ""
    removed_characters: int = 0
    allow: tuple[str, ...] = ()
    findings: tuple[TextFinding, ...] = ()

    @cached_property
    def hash(self) -> str:
        """Hash of the content; the memory's, once the draft is checked."""
        return content_hash(self.content)

    @cached_property
    def fold_hash(self) -> str:
        """Hash of the content without its dress; the memory's, once the draft is checked."""
        return fold_hash(self.content)

    def in_scope(self, scope: str) -> "Draft":
        """The draft in another scope; computed hashes are taken over."""
        draft = replace(self, scope=scope)
        vars(draft).update({name: value for name, value in vars(self).items() if name in _HASHES})
        return draft


@dataclass(frozen=True)
class EditDraft:
    """The requested changes. `version`, if given, must be the memory's own: otherwise somebody else was first."""

    content: str | Unset = UNCHANGED
    type: str | Unset = UNCHANGED
    valid_from: datetime | Unset | None = UNCHANGED
    tags: tuple[str, ...] | Unset = UNCHANGED
    importance: int | Unset = UNCHANGED
    expires_at: datetime | Unset | None = UNCHANGED
    metadata: dict[str, Any] | Unset = UNCHANGED
    anchor_commit: str | Unset = UNCHANGED
    version: int | None = None
    allow: tuple[str, ...] = ()

    def wanted(self) -> dict[str, Any]:
        """The fields that the caller names, with their values."""
        named = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in NO_FIELDS}
        return {name: value for name, value in named.items() if value is not UNCHANGED}


# The fields that a draft sets, and those that an edit may change, in the order of the two classes. `position` and `version`
# are in the registry too, but say where a draft goes and what an edit was made for.
STORED: Final = tuple(
    BY_NAME[f.name] for f in fields(Draft) if f.name in BY_NAME and BY_NAME[f.name].is_stored
)
EDITED: Final = tuple(
    BY_NAME[f.name]
    for f in fields(EditDraft)
    if f.name in BY_NAME and BY_NAME[f.name].on_edit is not OnEdit.REFUSED
)


def edited_names(before: Draft, after: Draft) -> set[str]:
    """The names of the fields that an edit changes."""
    return {each.name for each in EDITED if getattr(before, each.name) != getattr(after, each.name)}


# The fields that check_draft() cleans, or may change. Their defaults are clean.
_CLEANED = tuple(each for each in STORED if each.name != "content")
_CLEANERS = tuple(partial(each.kind.clean, field=each.name) for each in _CLEANED)
_OUTSIDE = [each.name for each in _CLEANED].index("outside")
_DEFAULTS = tuple(getattr(Draft(""), each.name) for each in _CLEANED)
_NAMES = ("content", "removed_characters", "thread", *(each.name for each in _CLEANED))
_VALUES = attrgetter(*_NAMES)


def check_draft(draft: Draft) -> Draft:
    """The cleaned draft. Raises InvalidInput or TooLarge with the field and what is allowed."""
    limits = settings.LOCI.storage
    is_web = is_web_source(draft.source)
    content = text_of_html(draft.content) if is_web else draft.content
    clean = clean_text(content, field="content", max_chars=limits.max_content_chars)
    given = _VALUES(draft)
    checked = [
        value if value is default else clean_value(value)
        for value, default, clean_value in zip(given[3:], _DEFAULTS, _CLEANERS, strict=True)
    ]
    if draft.position is not None:
        BY_NAME["position"].kind.clean(draft.position, field="position")
    if draft.valid_from and draft.valid_to and draft.valid_to < draft.valid_from:
        raise InvalidInput("valid_to is before valid_from.", field="valid_to")
    thread = clean_line(draft.thread, field="thread", max_chars=200)
    if is_web:
        checked[_OUTSIDE] = True
    values = (clean.text, clean.removed, thread, *checked)
    # Most imported texts are clean; copying the draft would take as long as checking it.
    if values == given:
        return draft
    return replace(draft, **dict(zip(_NAMES, values, strict=True)))
