"""A call of an agent: who makes it, its arguments checked (names, types, dates), and errors as text for it; never a traceback.

The caller is set once per request and available to all code that the request runs.
"""

import logging
import secrets
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from access.actor import CREATE_GROUP, Actor
from access.errors import GroupNotFound, InvalidInput, LociError, StorageFull, as_storage_error
from access.groups import UnknownGroup, find_known_group
from access.tokens.stored_answers import KeyedWrite
from loci_site.config.keys import suggest
from memories.draft import EDITED, EditDraft
from memories.draft.kinds import Line, Metadata, Moment, Number, OneOf, Tags, Text
from memories.draft.registry import BY_NAME
from memories.language import cleaning as moments
from memories.queries.quoting import escape
from memories.queries.where import WHERE
from storage.faults import is_unreachable

# How a transport finds the caller: over HTTP from the request, over stdio again for each call.
FindActor = Callable[[], Awaitable[Actor]]

_caller: ContextVar[Actor] = ContextVar("mcp_caller")
_write: ContextVar[KeyedWrite | None] = ContextVar("mcp_write", default=None)
KEY_ARGUMENT = "idempotency_key"
# The expected value by the start of the type of pydantic's error.
EXPECTED = {
    "string": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "tuple": "a list",
    "list": "a list",
    "dict": "an object",
}
FIELD_WORDS = {
    Moment: "a date as text",
    Tags: "a list of texts",
    Metadata: "an object",
    Number: "a whole number",
}


def current_actor() -> Actor:
    """The Actor of the current call; LookupError outside of one."""
    return _caller.get()


def current_write() -> KeyedWrite | None:
    """The key of the current call, with what it stands for; None without one."""
    return _write.get()


@contextmanager
def acting_as(actor: Actor, write: KeyedWrite | None = None) -> Iterator[Actor]:
    """Run the block, including tasks that it starts, for `actor`."""
    token, write_token = _caller.set(actor), _write.set(write)
    try:
        yield actor
    finally:
        _caller.reset(token)
        _write.reset(write_token)


def can(actor: Actor, rights: frozenset[str]) -> bool:
    """True if the actor has one of these rights in any group, or may create a group and have it there."""
    wanted = rights & actor.scopes
    anywhere = actor.all_groups or CREATE_GROUP in actor.scopes or "read" in wanted
    return bool(wanted) and (anywhere or any(actor.may(r, key) for r in wanted for key in actor.roles))


def check_names(tool: str, sent: Collection[str], known: Collection[str]) -> None:
    """Raise InvalidInput for an unknown argument; the hint names the nearest known one."""
    for name in sent:
        if name not in known:
            if name in WHERE and "where" in known:
                raise InvalidInput(
                    f"{tool} has no argument '{name}'; it is a filter.",
                    hint=f'Pass where={{"{name}": …}}.',
                    field=name,
                )
            hint = f"{suggest(name, known)} Its arguments are {', '.join(known)}.".lstrip()
            raise InvalidInput(f"{tool} has no argument '{name[:60]}'.", hint=hint, field=name[:60])


def drop_nulls(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments without nulls: many clients send null for an argument that they leave out."""
    return {name: value for name, value in arguments.items() if value is not None}


def split_key(tool: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], KeyedWrite | None]:
    """The arguments without the key of the write, and the key with what it stands for; None without one."""
    if KEY_ARGUMENT not in arguments:
        return arguments, None
    rest = {name: value for name, value in arguments.items() if name != KEY_ARGUMENT}
    return rest, KeyedWrite(str(arguments[KEY_ARGUMENT]), [tool, rest], KEY_ARGUMENT)


def describe_validation(wrong: ValidationError) -> InvalidInput:
    """The first validation error as InvalidInput, without the value that was sent."""
    error = wrong.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in error["loc"] if isinstance(part, str | int))
    name, kind = str(error["loc"][0]), error["type"]
    if kind == "missing":
        return InvalidInput(f"'{name}' is missing.", hint="It is required.", field=name)
    if kind == "string_unicode":
        return InvalidInput(
            f"'{place}' contains half of a surrogate pair, which is not a character.",
            hint="Send valid Unicode.",
            field=name,
        )
    expected = next((words for start, words in EXPECTED.items() if kind.startswith(start)), None)
    return InvalidInput(f"'{place}' must be {expected or 'of a different type'}.", field=name)


def check_known_group(actor: Actor, slug: str) -> None:
    """Raise GroupNotFound for a group that does not exist for the caller; the text is that of a recall there."""
    if isinstance(group := find_known_group(actor, slug or None), UnknownGroup):
        raise GroupNotFound(group.note, field="group")


def parse_moment(text: str, *, field: str) -> datetime | None:
    """The point in time that a text names, parsed as in every interface; None for empty text.

    Raises:
        InvalidInput: the text is not a date.
    """
    return moments.parse_moment(text, field=field) if text.strip() else None


def parse_changes(changes: Mapping[str, Any]) -> EditDraft:
    """The edit that an object of fields describes; null clears a field that may be empty.

    Raises:
        InvalidInput: a field is unknown or its value is of a wrong type; `field` names it.
    """
    wanted: dict[str, Any] = {}
    allowed = [field.name for field in EDITED]
    for name, value in changes.items():
        if name not in allowed:
            raise InvalidInput(
                f"An edit cannot change '{name[:40]}'.",
                hint=f"It changes {', '.join(allowed)}.",
                field="changes",
            )
        wanted[name] = _parse_field(name, value)
    return EditDraft(**wanted)


def _parse_field(name: str, value: Any) -> Any:
    """The value of a memory's field in an edit, of the right type; the service checks what it says."""
    field = BY_NAME[name]
    if value is None and field.is_optional:
        return None
    match field.kind:
        case Moment() if isinstance(value, str):
            return moments.parse_moment(value, field=name)
        case Tags() if isinstance(value, list) and all(isinstance(tag, str) for tag in value):
            return tuple(value)
        case Metadata() if isinstance(value, dict):
            return value
        case Number(is_whole=True) if isinstance(value, int):
            return value
        case Text() | Line() | OneOf() if isinstance(value, str):
            return value
    kind = FIELD_WORDS.get(type(field.kind), "text")
    raise InvalidInput(f"'{name}' must be {kind}.", field=name)


logger = logging.getLogger(__name__)


def error_text(error: LociError) -> str:
    """The error as one line of text; invalid Unicode and marks of ours in it are escaped."""
    field = f", {error.field}" if error.field else ""
    return escape(f"{error} [{error.code}{field}]").encode("utf-8", "backslashreplace").decode()


def find_domain_error(error: BaseException) -> LociError | None:
    """Loci's error in the chain of causes of an SDK exception, or the fault of the disk; None for an unexpected one."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, LociError):
            return cause
        if isinstance(cause, ValidationError):
            return describe_validation(cause)
        cause = cause.__cause__
    return as_storage_error(error)


def explain_failure(error: Exception, *, what: str) -> str:
    """The text of a failure; an unexpected one is logged under a short reference that the text names."""
    reason = find_domain_error(error)
    if isinstance(reason, StorageFull):
        logger.error("%s failed: %s", what, reason.fault, exc_info=error)
    elif is_unreachable(error):
        logger.warning("%s failed: the database does not answer", what)
    if reason is not None:
        return error_text(reason)
    reference = secrets.token_hex(4)
    logger.error("%s failed, reference %s", what, reference, exc_info=error)
    return (
        f"{what} failed inside Loci. Details are in the server's log under the reference {reference}. [error]"
    )
