"""A draft: a memory, or an edit of one, before it is written: its checks, the gate for its texts, and its scope.

`registry` lists the fields: a new field of a memory is an entry there and an attribute of Draft (and of EditDraft, if it can be
edited). Every text of a draft passes the gate once, in guard_draft(), before it is hashed or embedded. The scope of a memory
whose author named none is the group's rule, else the instance's: the setting access.default_scope; where that is not set, the
value that an upgrade left in the database, else `group`.
"""

import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import Enum
from functools import cached_property, partial
from operator import attrgetter
from typing import Any, Final
from uuid import UUID

from django.conf import settings

from access.actor import Actor
from access.errors import InvalidInput, TooLarge
from access.groups.guarding import OnHold, TextFinding, admit, quarantine_reason
from access.models import Group, ScopeRule
from guard import Door
from guard.hidden import without_hidden
from guard.html import text_of_html
from memories.draft.kinds import (
    MAX_REASON_CHARS,
    NUL_IN_JSON,
    check_choice,
    check_metadata,
    check_range,
    check_tags,
    clean_reason,
    clean_tags,
)
from memories.draft.registry import BY_NAME, MAX_POSITION, OnEdit
from memories.language.cleaning import clean_line, clean_text, content_hash
from memories.language.dress import fold_hash
from memories.models import Memory
from memories.types import Scope, Type

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
    "TEXTS",
    "UNCHANGED",
    "Draft",
    "EditDraft",
    "bulk_door",
    "check_choice",
    "check_draft",
    "check_metadata",
    "check_range",
    "check_tags",
    "clean_reason",
    "clean_tags",
    "default_scope",
    "describe_kept_rule",
    "edited_names",
    "guard_draft",
    "held_for_person",
    "instance_rule",
    "is_web_source",
    "rule_of",
    "stored_door",
]

DEFAULT_CONFIDENCE = 0.7
DECAY_FLOOR = 0.02  # the lowest confidence that decay reaches
REINFORCEMENT = 0.1  # added to the confidence by a restatement, once per author and day
CONFIRMED_TODAY = "you confirmed this today already: confidence unchanged"
DEFAULT_IMPORTANCE = 5
_WEB: Final = ("http://", "https://", "ftp://", "www.", "web:", "capture:")
_NO_FIELDS: Final = frozenset({"version", "allow"})  # of an edit: they say how, not what
_HASHES = ("hash", "fold_hash")
# The texts of a draft; the content is first, since what it holds is what a person must see first.
TEXTS: Final = ("content", "tags", "metadata", "source", "source_ref", "thread", "anchor_commit")
MAX_CHARS: Final = {
    "source": 200,
    "source_ref": 300,
    "thread": 200,
    "anchor_commit": 64,
}  # a mask may be longer than what it replaces
CONTEXT: Final = "context"  # the key of the metadata that a draft's context becomes
MAX_CONTEXT_CHARS: Final = 500
# The row of index_state that keeps the rule of a store that is older than the setting; migration 0005 of access writes it.
_STORED_RULE: Final = "default_scope"
_DEFAULT_RULE: Final = ScopeRule.GROUP
# What each rule means for each type.
SCOPES: Final[dict[str, dict[str, Scope]]] = {
    ScopeRule.GROUP: dict.fromkeys(Type.values, Scope.GROUP),
    ScopeRule.BY_TYPE: dict.fromkeys(Type.values, Scope.GLOBAL) | {Type.EPISODIC: Scope.GROUP},
    ScopeRule.GLOBAL: dict.fromkeys(Type.values, Scope.GLOBAL),
}


class _Unset(Enum):
    """Marks a field that the caller does not name; None is a value."""

    UNCHANGED = "unchanged"


UNCHANGED: Final = _Unset.UNCHANGED


@dataclass(frozen=True)
class Draft:
    """A text to remember, with its fields.

    `group` None means the default; `scope` "" the default of the group, see default_scope(). `thread` names the
    conversation, `position` the place in it (None: after the last). `supersedes` is the id of the memory to replace.
    `confidence` is 0–1, `importance` 1–10. `source` and `source_ref` name the origin; each pair is stored once. `allow` has
    kinds of guessed secrets that the sender vouches for. `context` says where it comes from or what it was about, and
    becomes a part of the metadata. `outside`: it comes from outside the team, as what has a web
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
    context: str = ""
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
    """The requested changes. `version`, if given, must be the memory's own: otherwise another actor was first."""

    content: str | _Unset = UNCHANGED
    type: str | _Unset = UNCHANGED
    valid_from: datetime | _Unset | None = UNCHANGED
    tags: tuple[str, ...] | _Unset = UNCHANGED
    importance: int | _Unset = UNCHANGED
    expires_at: datetime | _Unset | None = UNCHANGED
    metadata: dict[str, Any] | _Unset = UNCHANGED
    anchor_commit: str | _Unset = UNCHANGED
    version: int | None = None
    allow: tuple[str, ...] = ()

    def wanted(self) -> dict[str, Any]:
        """The fields that the caller names, with their values."""
        named = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in _NO_FIELDS}
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
    if draft.context:
        context = clean_line(draft.context, field=CONTEXT, max_chars=MAX_CONTEXT_CHARS)
        draft = replace(draft, context="", metadata={**check_metadata(draft.metadata), CONTEXT: context})
    # Cleaned before it is read: reading normalises, which takes a heap of combining marks in quadratic time.
    is_web = bool(draft.source) and is_web_source(BY_NAME["source"].kind.clean(draft.source, field="source"))
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
    if draft.type != Type.EPISODIC and draft.valid_to and draft.valid_to == draft.valid_from:
        raise InvalidInput("valid_to is valid_from: it would never count.", field="valid_to")
    thread = clean_line(draft.thread, field="thread", max_chars=200)
    if is_web:
        checked[_OUTSIDE] = True
    values = (clean.text, clean.removed, thread, *checked)
    # Most imported texts are clean; copying the draft would take as long as checking it.
    if values == given:
        return draft
    return replace(draft, **dict(zip(_NAMES, values, strict=True)))


def is_web_source(source: str) -> bool:
    """True for a source that names a web page or a capture, however it is spelt: such a draft comes from outside."""
    plain = unicodedata.normalize("NFKC", without_hidden(source)[0]).strip().lower()
    return plain.startswith(_WEB)


def guard_draft(draft: Draft, group: Group | None, door: Door, *, names: Collection[str] = TEXTS) -> Draft:
    """The checked draft as the group's policy stores it, with what was found in it; its tags are in lower case from here on.

    `names` are the texts that are new; an edit leaves the others as they are. A draft from outside comes in there, whoever
    sends it.

    Raises:
        SensitiveText: the policy refuses it; the error names the field, the kind and the place.
    """
    door, allowed = Door.OUTSIDE if draft.outside else door, frozenset(draft.allow)
    found, changed = list[TextFinding](), dict[str, Any]()
    for name in TEXTS:
        value = getattr(draft, name)
        if not value or name not in names:
            continue
        admitted = admit(value, door, group, field=name, on_hold=OnHold.WAIT, allowed=allowed)
        found += admitted.findings
        kept = tuple(tag.lower() for tag in admitted.value) if name == "tags" else admitted.value
        if kept is not value and kept != value:
            changed[name] = kept[: MAX_CHARS[name]] if name in MAX_CHARS else kept
    if not found and not changed:
        return draft
    if "content" in changed:
        _refuse_grown(changed["content"])
        changed["content"] = changed["content"].strip() or "[hidden text]"
    removed = sum(each.span[1] - each.span[0] for each in found if each.kind == "hidden-text")
    return replace(
        draft,
        **changed,
        findings=tuple(found) or draft.findings,
        removed_characters=draft.removed_characters + removed,
    )


def _refuse_grown(masked: str) -> None:
    """Raise TooLarge for a text that its masks made longer than texts may be: it could not be edited."""
    limit = settings.LOCI.storage.max_content_chars
    if len(masked) > limit:
        raise TooLarge(
            f"'content' has {len(masked):,} characters once its values are masked; at most {limit:,} are allowed.",
            hint="Store the important parts as separate memories.",
            field="content",
        )


def bulk_door(actor: Actor) -> Door:
    """The door of many drafts at once, which are not typed."""
    return Door.AGENT if actor.door.is_typed else actor.door


def stored_door(memory: Memory) -> Door:
    """The door that a stored memory came in at. What hooks stored was typed to an agent, or passed the stricter door then."""
    if memory.outside:
        return Door.OUTSIDE
    if memory.source.startswith("hook:"):
        return Door.PROMPT
    is_typed = memory.token_id is None and memory.author_id is not None
    return Door.PERSON if is_typed else Door.AGENT


def held_for_person(draft: Draft) -> str:
    """Why a draft waits in quarantine, in words; empty if it does not."""
    return quarantine_reason(draft.findings) if draft.findings else ""


def instance_rule(stored: Mapping[str, str]) -> str:
    """The instance's rule; `stored` are the values of index_state by name."""
    return settings.LOCI.access.default_scope or stored.get(_STORED_RULE, "") or _DEFAULT_RULE.value


def describe_kept_rule(stored: Mapping[str, str]) -> str:
    """A sentence on the rule that an upgrade kept, and on how to leave it; empty if the setting decides."""
    if settings.LOCI.access.default_scope or _STORED_RULE not in stored:
        return ""
    return (
        f"A memory without a scope is stored {stored[_STORED_RULE]}, as before the upgrade: all but events are global."
        " To keep new ones in their group, set access.default_scope = \"group\"; 'loci group narrow GROUP' does so for old"
        " ones."
    )


def rule_of(group: Group, stored: Mapping[str, str]) -> str:
    """The rule of a group: its own, else the instance's."""
    return group.default_scope or instance_rule(stored)


def default_scope(type_: str, group: Group, *, rule: str, replaced: str | None = None) -> Scope:
    """The scope of a memory whose author named none. `replaced` is the scope of the memory that it replaces, if any.

    A private group has no global memories. A successor stays as narrow as what it replaces, and is as wide unless the
    rule goes by type.
    """
    if group.private or replaced == Scope.GROUP:
        return Scope.GROUP
    if replaced == Scope.GLOBAL and rule != ScopeRule.BY_TYPE:
        return Scope.GLOBAL
    return SCOPES[rule][type_]
