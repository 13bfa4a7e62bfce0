"""Rows from an export's records: what they refer to here, every value checked against its column, inserted.

Texts that must not come back are left out.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Final, TypeVar
from uuid import UUID

from django.contrib.auth.models import User
from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.db import DatabaseError, IntegrityError, models, transaction
from django.db.models import Model, Q

from access.models import ApiToken, Group
from memories.language.cleaning import content_hash
from memories.language.dates.named_days import keep_days
from memories.language.dress import fold_hash
from memories.language.dress.quotes import REDACTION
from memories.language.word_forms import forms_of
from memories.lifecycle.entering import bars_memory, group_of, said_by
from memories.models import Link, Memory, Thread, Tombstone
from memories.models.text_lookup import NAME as TEXT_INDEX
from memories.models.text_lookup import fold_start, fold_starts_with_any
from memories.store.threads import context_of, filter_tokens
from memories.store.withdrawn.marks import Withdrawn, find_all_withdrawn, find_repeated
from memories.types import VISIBLE_TRUSTS, State, Trust, Type
from sources.captures.keep import is_address_of
from sources.format import GROUP, MEMORY, RecordKind, record_of
from storage.bulk import ManyInsert

_MEMORY_REFERENCES = frozenset({"source", "target", "subject", "object", "memory", "root", "superseded_by"})

_BY: Final = {"group": "group__slug", "memory": "memory__id"}  # how a natural column is looked for
_LATER: Final = frozenset({"superseded_by", "summary"})  # references that may name a later line
OTHER_GROUP = "its {column} names a memory of another group"


class _MissingTarget(ValueError):
    """A line refers to a row that is neither in the file nor in the store."""


class Targets:
    """The rows that lines refer to: groups and threads by their names in the file, memories by id.

    Tokens and users that do not exist here resolve to None: they belong to the machine they were made on.
    """

    def __init__(self) -> None:
        self.groups: dict[str, Group] = {}
        self.threads: dict[tuple[str, str], Thread] = {}
        self._users = {user.get_username(): user for user in User.objects.all()}
        self._tokens = {str(token.id): token for token in ApiToken.objects.all()}
        self._memories: dict[str, Memory] = {}
        self.brought: set[str] = set()  # ids of memories that the file has as they are here

    def fetch_memories(self, records: Sequence[dict[str, Any]], also: Sequence[str] = ()) -> None:
        """Fetch the memories that the records refer to, and those with the ids in `also`, in one query."""
        named = [record[name] for record in records for name in _MEMORY_REFERENCES & record.keys()]
        ids = {UUID(id_) for id_ in [*named, *also] if is_id(id_)}
        # Most memories refer to none, and an empty query takes longer than no query.
        rows = Memory.objects.filter(id__in=ids) if ids else []
        self._memories = {str(row.id): row for row in rows}

    def find(self, column: str, name: Any, record: dict[str, Any]) -> Model | None:
        """The row that a record's column refers to; None for an empty one, or an unknown token or user."""
        if not name:
            return None
        if not isinstance(name, str):
            raise _MissingTarget(f"'{column}' is {name!r}")
        match column:
            case "group":
                return _found(self.groups.get(name), f"group '{name}'")
            case "thread":
                return _found(self.threads.get((record["group"], name)), f"thread '{name}'")
            case "author":
                return self._users.get(name)
            case "token":
                return self._tokens.get(name)
        return _found(self._memories.get(name), f"memory {name}, its {column},")

    def check_group(self, row: Model, record: dict[str, Any]) -> None:
        """Refuse a chain that leads into another group, and a link to a memory of another group that the file does not have.

        Raises:
            ValueError: such a reference; the message names its column.
        """
        if isinstance(row, Memory):
            for name in ("root", "superseded_by"):
                other = self._memories.get(str(record[name]))
                if other is not None and other.group_id != row.group_id:
                    raise ValueError(OTHER_GROUP.format(column=name))
        elif isinstance(row, Link) and row.source.group_id != row.target.group_id:
            for name in ("source", "target"):
                if record[name] not in self.brought:
                    raise ValueError(OTHER_GROUP.format(column=name))

    def memory(self, id_: str) -> Memory | None:
        """A memory that fetch_memories() found."""
        return self._memories.get(id_)


def _found(row: Model | None, what: str) -> Model:
    if row is None:
        raise _MissingTarget(f"its {what} is neither in the file nor in the store")
    return row


def is_id(text: Any) -> bool:
    """True if a record's value is an id."""
    try:
        return isinstance(text, str) and bool(UUID(text))
    except ValueError:
        return False


def names_of(kind: RecordKind, record: Mapping[str, Any]) -> list[str]:
    """The names by which a record finds its stored row: its id, then its natural key."""
    names = [f"id {record.get('id')}"] if "id" in kind.fields else []
    if kind.natural:
        names.append("/".join(str(record.get(column)) for column in kind.natural))
    return names


def stored_rows(kind: RecordKind, records: Sequence[Mapping[str, Any]]) -> dict[str, Model]:
    """Stored rows of the records, by each of their names."""
    columns = ["id", *kind.natural] if "id" in kind.fields else [*kind.natural]
    wanted = Q(id__in=_values_of(records, "id")) if "id" in columns else Q()
    if kind.natural:
        wanted |= Q(**{f"{_BY.get(name, name)}__in": _values_of(records, name) for name in kind.natural})
    rows = kind.model._default_manager.filter(wanted).select_related(*kind.references)
    return {name: row for row in rows for name in names_of(kind, record_of(kind, row, columns))}


def _values_of(records: Sequence[Mapping[str, Any]], column: str) -> set[str]:
    texts = {value for record in records if isinstance(value := record.get(column), str)}
    # No stored text has a NUL, and PostgreSQL refuses even to look for one.
    return {text for text in texts if (is_id(text) if column in ("id", "memory") else "\x00" not in text)}


M = TypeVar("M", bound=Model)


def build_row(kind: RecordKind, record: dict[str, Any], targets: Targets) -> Model:
    """The unsaved row of a record, without its references to rows that may come later.

    Raises:
        ValueError: a value does not fit its column, or a reference has no target; the message names it.
    """
    for name in (*kind.fields, *kind.references):
        if name not in record:
            raise ValueError(f"it has no '{name}'")
    values = {name: parse_value(kind.model, name, record[name]) for name in kind.fields}
    references: dict[str, Model] = {}
    for name in kind.references:
        if name not in _LATER:
            target = targets.find(name, record[name], record)
            if target is not None:
                references[name] = target
            elif not kind.model._meta.get_field(name).null:
                raise ValueError(f"'{name}' is missing")
    if kind is not MEMORY:
        row = kind.model(**values, **references)
        if isinstance(row, Thread) and row.url and not is_address_of(row.platform, row.url):
            raise ValueError("its 'url' is not an address of the site that is its 'platform'")
        return row
    memory = Memory(**values, **references)
    if not memory.group.may_hold(memory.scope):
        raise ValueError("its 'scope' is global, and its group is private")
    # The neighbours' words are added to the context after all lines are in.
    if not memory.content.strip():
        raise ValueError("its content is empty")
    memory.content_hash, memory.fold_hash = content_hash(memory.content), fold_hash(memory.content)
    memory.filter = filter_tokens(memory)
    memory.forms = forms_of(memory.content)
    memory.days = keep_days(memory.content, memory.moment)
    memory.context = context_of(memory, [])
    return memory


def find_barred(kind: RecordKind, rows: Sequence[Model]) -> dict[int, str]:
    """Positions of the unsaved rows that may not be imported, each with the reason.

    No text of a row may repeat a withdrawn one; a tombstone's reason that does is blanked, since its mark still holds. For the
    text of a memory, see _find_barred_memories().
    """
    asked = () if kind is GROUP else rows  # nothing was withdrawn yet in a new group
    found = find_repeated([(group_of(row).key, said_by(row)) for row in asked])
    barred = _find_barred_memories([row for row in rows if isinstance(row, Memory)])
    for at, repeated in enumerate(found):
        row = rows[at]
        if repeated is None:
            continue
        path, match = repeated
        if isinstance(row, Tombstone):
            row.reason = REDACTION
        elif not isinstance(row, Memory) or bars_memory(match, row):
            barred.setdefault(at, f"its '{path}' repeats a text that was {_withdrawn_where(match)}")
    return barred


def _withdrawn_where(match: Withdrawn) -> str:
    where = "here" if match.is_own else "in another group, for all groups"
    return f"{match.tombstone.kind} {where}; a curator can lift that"


def _find_barred_memories(rows: Sequence[Memory]) -> dict[int, str]:
    """Positions of the memories whose text may not be imported, each with the reason.

    A text purged here is barred in any state; a rejected, retracted or superseded one must not become live again. What has
    only the letters and digits of a withdrawn text becomes a candidate here: a curator decides.
    """
    history = _superseded_texts(rows)
    found = {}
    withdrawn = find_all_withdrawn((row.group_id, row.scope, row.content) for row in rows)
    for at, (row, match) in enumerate(zip(rows, withdrawn, strict=True)):
        if match and match.is_refused and bars_memory(match, row):
            found[at] = f"its text was {_withdrawn_where(match)}"
        elif row.state == State.LIVE and (row.group_id, row.content_hash) in history:
            found[at] = "its text was superseded here; store it again if it is true again"
        elif match and row.state == State.LIVE and row.trust in VISIBLE_TRUSTS:
            row.trust = Trust.CANDIDATE
    return found


def _superseded_texts(rows: Sequence[Memory]) -> set[tuple[int, str]]:
    """Group and content hash of the texts that were superseded here. Events are not included: they are never superseded."""
    starts = {
        fold_start(row.fold_hash) for row in rows if row.type != Type.EPISODIC and row.state == State.LIVE
    }
    if not starts:
        return set()
    found = Memory.objects.filter(
        fold_starts_with_any(sorted(starts)), state=State.SUPERSEDED, retired_at=None
    )
    return set(found.exclude(type=Type.EPISODIC).order_by().values_list("group", "content_hash"))


def insert_rows(rows: list[Model]) -> dict[int, str]:
    """Insert rows of one table; return the positions of those that the database rejected, with the reason.

    All at once if every row fits, else one by one, so that a bad row does not keep out the others.
    """
    if not rows:
        return {}
    try:
        with transaction.atomic():
            _bulk_inserter(type(rows[0])).add(rows)
    except (DatabaseError, ValueError, OverflowError):
        return {at: why for at, row in enumerate(rows) if (why := _insert_alone(row))}
    return {}


@cache
def _bulk_inserter(model: type[Model]) -> ManyInsert[Any]:
    return ManyInsert(model)


def _insert_alone(row: Model) -> str:
    row.pk, row._state.adding = None, True
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except (DatabaseError, ValueError, OverflowError) as error:
        return f"it conflicts with a stored row: {_why_refused(row, error)}"
    return ""


def _why_refused(row: Model, error: Exception) -> str:
    """Why the database refused a row, in words for the one who imports it."""
    # The first line: on PostgreSQL the next ones hold the row's own values.
    if isinstance(error, IntegrityError) and "unique constraint" in str(error).lower().partition("\n")[0]:
        if isinstance(row, Memory) and TEXT_INDEX in str(error):
            return (
                f"the same text is live here, in the group '{row.group.slug}', with the same type and scope"
            )
        if isinstance(row, Memory) and "source_ref" in str(error):
            return f"the source '{row.source}' has brought another text as '{row.source_ref}' here"
        return f"this {row._meta.verbose_name} is stored here with another id"
    if isinstance(error, IntegrityError):
        return "its values are out of bounds or contradict each other"
    return str(error)


def parse_value(model: type[Model], name: str, raw: Any) -> Any:
    """A JSON value as its column holds it, validated by the field.

    Raises ValueError or TypeError for a value that does not fit; the message names the column.
    """
    try:
        field = model._meta.get_field(name)
    except FieldDoesNotExist:
        raise ValueError(f"there is no column '{name}'") from None
    if not isinstance(field, models.Field):
        raise TypeError(f"'{name}' is not a column")
    if raw is None and field.null:
        return None
    needs_text = isinstance(field, models.CharField | models.TextField | models.UUIDField)
    if raw is None or (needs_text and not isinstance(raw, str)):
        raise ValueError(f"'{name}' is {raw!r}")
    if isinstance(raw, str) and "\x00" in raw:
        raise ValueError(f"'{name}' contains a NUL character")
    try:
        value = field.to_python(raw)
        field.run_validators(value)
    except (ValidationError, TypeError, OverflowError) as error:
        raise ValueError(f"'{name}' is {raw!r}: {error}") from None
    is_empty = field.blank and value == ""
    if field.choices and not is_empty and value not in dict(field.flatchoices):
        raise ValueError(f"'{name}' is {raw!r}, which is not one of its values")
    if isinstance(value, datetime) and value.tzinfo is None:
        raise ValueError(f"'{name}' has no time zone")
    return value
