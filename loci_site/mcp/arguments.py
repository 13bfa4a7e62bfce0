"""What an agent sends, checked and read: names of arguments, their kinds, dates."""

import difflib
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from access.errors import InvalidInput
from memories.language import timestamps as moments

# What each kind of pydantic's complaints means for the argument, by the beginning of its name.
EXPECTED = {
    "string": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "tuple": "a list",
    "list": "a list",
    "dict": "an object",
}


def check_names(tool: str, sent: Collection[str], known: Collection[str]) -> None:
    """Raise InvalidInput for an argument that the tool does not have, naming the nearest that it has."""
    for name in sent:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f"Did you mean '{near[0]}'? " if near else ""
            raise InvalidInput(
                f"{tool} has no argument '{name[:60]}'.", hint=f"{hint}It takes: {', '.join(known)}."
            )


def without_nulls(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Give the arguments that say something: many clients send null for what they leave out."""
    return {name: value for name, value in arguments.items() if value is not None}


def as_invalid_input(fault: ValidationError) -> InvalidInput:
    """Say the first complaint about the arguments in our words, without repeating what was sent."""
    error = fault.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in error["loc"] if isinstance(part, str | int))
    name, kind = str(error["loc"][0]), error["type"]
    if kind == "missing":
        return InvalidInput(f"'{name}' is missing.", hint="It must be given.", field=name)
    if kind == "string_unicode":
        return InvalidInput(
            f"'{place}' holds half of a surrogate pair, which is no character.",
            hint="Send valid Unicode.",
            field=name,
        )
    expected = next((words for start, words in EXPECTED.items() if kind.startswith(start)), None)
    return InvalidInput(f"'{place}' must be {expected or 'of another kind'}.", field=name)


def parse_moment(text: str, *, field: str) -> datetime | None:
    """Give the moment that a text names, as every face reads it; None for an empty text.

    Raises:
        InvalidInput: it is no date.
    """
    return moments.parse_moment(text, field=field) if text.strip() else None
