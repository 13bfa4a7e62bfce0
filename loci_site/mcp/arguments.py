"""Checks of the arguments that an agent sends: names, types, dates."""

import difflib
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from access.errors import InvalidInput
from access.tokens.stored_answers import KeyedWrite
from memories.language import timestamps as moments

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


def check_names(tool: str, sent: Collection[str], known: Collection[str]) -> None:
    """Raise InvalidInput for an unknown argument; the hint names the nearest known one."""
    for name in sent:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f"Did you mean '{close[0]}'? " if close else ""
            raise InvalidInput(
                f"{tool} has no argument '{name[:60]}'.", hint=f"{hint}Its arguments are {', '.join(known)}."
            )


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


def parse_moment(text: str, *, field: str) -> datetime | None:
    """The point in time that a text names, parsed as in every interface; None for empty text.

    Raises:
        InvalidInput: the text is not a date.
    """
    return moments.parse_moment(text, field=field) if text.strip() else None
