"""The registry of a memory's fields: every column that is logged, exported and replayed, and what each part does with it.

Related rows (group, thread, author) and derived columns (hashes, search columns) are not fields in this sense.
"""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Final

from memories.draft.kinds import (
    MAX_TAGS,
    Flag,
    Id,
    Kind,
    Line,
    Metadata,
    Moment,
    Number,
    OneOf,
    Tags,
    Text,
    check_tags,
)
from memories.types import Scope, State, Trust, Type

MAX_POSITION: Final = 2**31 - 1


class OnEdit(Enum):
    """What an edit of a field does."""

    REFUSED = "cannot be edited"
    IN_PLACE = "changes the row"
    NEW_VERSION = "writes a new version"


class FieldInput(Enum):
    """Where people enter fields one by one."""

    NEW_FORM = "admin form for a new memory"
    EDIT_FORM = "admin form for an edit"
    REMEMBER = "command remember"
    EDIT_COMMAND = "command memory edit"


class Missing(Enum):
    """Marks a field that every export and log has."""

    NEVER = "never"


@dataclass(frozen=True)
class RecordField:
    """A column, and what each part of Loci does with it.

    `older` is its value in exports and logs that were written before it existed. `is_stored`: a draft sets it;
    `is_carried`: the next version of the memory keeps it. `merge` makes the survivor's value from (merged, survivor),
    `inherit` that of a summary or proposed fact from its sources' values; None: nothing is taken over.
    """

    name: str
    kind: Kind
    is_optional: bool = False  # it may be None
    older: Any = Missing.NEVER
    is_stored: bool = True
    is_carried: bool = True
    on_edit: OnEdit = OnEdit.REFUSED
    merge: Callable[[Any, Any], Any] | None = None
    inherit: Callable[[Sequence[Any]], Any] | None = None
    is_returned: bool = True  # in JSON answers
    is_in_history: bool = True  # of the memory's page
    not_in: frozenset[FieldInput] = frozenset()
    label: str = ""  # default: the name
    help: str = ""  # of its option, and of a one-line text's input

    @property
    def title(self) -> str:
        """The label of its input and of its value."""
        return self.label or self.name.replace("_", " ").capitalize()


def _bookkeeping(
    name: str, kind: Kind, *, is_optional: bool = False, is_returned: bool = False, **rest: Any
) -> RecordField:
    """A field that Loci sets itself."""
    rest = {"is_in_history": False} | rest
    return RecordField(name, kind, is_optional=is_optional, is_returned=is_returned, is_stored=False, **rest)


def latest(merged: datetime | None, survivor: datetime | None) -> datetime | None:
    """The later of two times, either of which may be missing."""
    return max((at for at in (merged, survivor) if at is not None), default=None)


def earliest(merged: datetime | None, survivor: datetime | None) -> datetime | None:
    """The earlier of two beginnings of valid time; the survivor's if either is missing, which says nothing."""
    return survivor if merged is None or survivor is None else min(merged, survivor)


def _higher_trust(merged: str, survivor: str) -> str:
    """Verified if either is and the survivor counts."""
    return Trust.VERIFIED if merged == Trust.VERIFIED and survivor == Trust.ACTIVE else survivor


def _both_tags(merged: Sequence[str], survivor: Sequence[str]) -> list[str]:
    """The tags of both, the survivor's first."""
    return [*check_tags((*survivor, *merged))]


def _shared_tags(tags: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The tags of several memories, the most frequent first, up to the maximum of one memory."""
    counted: dict[str, int] = {}
    for each in tags:
        for tag in each:
            counted[tag] = counted.get(tag, 0) + 1
    ranked = sorted(counted, key=lambda tag: -counted[tag])
    return tuple(ranked[:MAX_TAGS])


def _average(values: Sequence[float]) -> float:
    """The mean, with as many digits as decay keeps."""
    return round(sum(values) / len(values), 6)


# In the order of snapshots and exports.
RECORD_FIELDS: Final = (
    RecordField(
        "content",
        Text(),
        on_edit=OnEdit.NEW_VERSION,
        is_in_history=False,
        not_in=frozenset(FieldInput),  # each asks for the text in its own words
    ),
    RecordField("type", OneOf(Type), on_edit=OnEdit.NEW_VERSION, is_in_history=False),
    RecordField(
        "scope",
        OneOf(Scope, unset="default of the group"),
        help="default: group, unless the group or access.default_scope has another rule",
    ),
    # A caller may name half of what fits, so that there is room to append.
    _bookkeeping("position", Number(0, 10**9), is_optional=True, is_returned=True),
    _bookkeeping("state", OneOf(State), is_returned=True, is_in_history=True),
    _bookkeeping("trust", OneOf(Trust), is_returned=True, is_in_history=True, merge=_higher_trust),
    RecordField("tags", Tags(), on_edit=OnEdit.IN_PLACE, merge=_both_tags, inherit=_shared_tags),
    RecordField(
        "metadata", Metadata(), on_edit=OnEdit.IN_PLACE, is_in_history=False, not_in=frozenset(FieldInput)
    ),
    RecordField(
        "source",
        Line(200),
        is_in_history=False,
        not_in=frozenset({FieldInput.NEW_FORM}),
        help="its origin, such as a file or an address",
    ),
    RecordField(
        "source_ref",
        Line(300),
        is_carried=False,
        is_in_history=False,
        not_in=frozenset({FieldInput.NEW_FORM, FieldInput.REMEMBER}),
    ),
    RecordField("confidence", Number(0, 1, step=0.05, digits=4), merge=max, inherit=_average),
    RecordField("importance", Number(1, 10), on_edit=OnEdit.IN_PLACE, merge=max, inherit=max),
    _bookkeeping("pinned", Flag(), is_returned=True, is_in_history=True, merge=operator.or_),
    _bookkeeping("access_count", Number(0, MAX_POSITION), is_returned=True, merge=operator.add),
    _bookkeeping("last_accessed", Moment(), is_optional=True, merge=latest),
    _bookkeeping("decayed_at", Moment(), is_optional=True),
    _bookkeeping("version", Number(1, MAX_POSITION), is_returned=True),
    RecordField(
        "valid_from",
        Moment(),
        is_optional=True,
        on_edit=OnEdit.NEW_VERSION,
        merge=earliest,
        label="True from",
        help="start of its valid time: 2026-11-21T09:30:00Z",
    ),
    RecordField("valid_to", Moment(), is_optional=True, label="True until", help="end of its valid time"),
    _bookkeeping("valid_to_known_at", Moment(), is_optional=True),
    _bookkeeping("created_at", Moment(), is_returned=True),
    _bookkeeping("retired_at", Moment(), is_optional=True),
    _bookkeeping("state_changed_at", Moment(), is_optional=True),
    _bookkeeping("updated_at", Moment(), is_returned=True),
    _bookkeeping("confirmed_at", Moment(), is_optional=True, older=None, merge=latest),
    RecordField(
        "expires_at",
        Moment(),
        is_optional=True,
        on_edit=OnEdit.IN_PLACE,
        not_in=frozenset({FieldInput.NEW_FORM}),
        label="Expires",
        help="when it expires",
    ),
    _bookkeeping("author_name", Line(300)),  # answers call it `author`
    _bookkeeping("client", Line(120)),
    _bookkeeping("run", Id(), is_optional=True),
    RecordField(
        "outside",
        Flag(),
        older=False,
        inherit=any,
        not_in=frozenset(FieldInput),
        is_in_history=False,  # its label says so
        label="Outside",
        help="it comes from outside the team: a file, a web page, the output of a tool",
    ),
    RecordField(
        "anchor_commit",
        Line(64),
        older="",
        on_edit=OnEdit.IN_PLACE,
        not_in=frozenset({FieldInput.NEW_FORM, FieldInput.EDIT_FORM}),
        help="the commit it depends on; recall leaves it out where the branch does not contain that commit",
    ),
)
BY_NAME: Final[Mapping[str, RecordField]] = {field.name: field for field in RECORD_FIELDS}
# Values of fields that an older export or log does not have yet.
OLDER_VALUES: Final[dict[str, Any]] = {
    field.name: field.older for field in RECORD_FIELDS if field.older is not Missing.NEVER
}
MERGED: Final = tuple((field.name, field.merge) for field in RECORD_FIELDS if field.merge is not None)
_INHERITED: Final = tuple((field.name, field.inherit) for field in RECORD_FIELDS if field.inherit is not None)


def values_from_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """Field values that were written as JSON, for example in an audit row."""
    return {
        name: None if value is None else BY_NAME[name].kind.from_json(value) for name, value in values.items()
    }


def inherited_fields(sources: Sequence[Any]) -> dict[str, Any]:
    """The fields that a summary or a proposed fact takes over from its sources (memories)."""
    return {name: inherit([getattr(source, name) for source in sources]) for name, inherit in _INHERITED}


def offered_in(place: FieldInput, fields: Iterable[RecordField]) -> list[RecordField]:
    """The fields that people enter there."""
    return [field for field in fields if place not in field.not_in]
