"""Schemas of a memory's fields in requests, from the registry."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, StrictBool, StrictInt, ValidationInfo, create_model
from pydantic.json_schema import WithJsonSchema

from access.errors import InvalidInput
from memories.draft import EDITED, Draft
from memories.draft.kinds import Flag, Metadata, Moment, Number, OneOf, Tags
from memories.draft.registry import BY_NAME, RecordField
from memories.language.cleaning import EXAMPLE, parse_moment


def parse_timestamp(value: Any, info: ValidationInfo) -> datetime:
    """A timestamp field of a request. Raises InvalidInput for anything but an ISO 8601 text."""
    if not isinstance(value, str):
        raise InvalidInput(
            f"'{info.field_name}' is not text.", hint=f"Write it as {EXAMPLE}.", field=str(info.field_name)
        )
    return parse_moment(value, field=str(info.field_name))


Timestamp = Annotated[
    datetime,
    BeforeValidator(parse_timestamp),
    WithJsonSchema({"type": "string", "format": "date-time", "examples": [EXAMPLE]}),
]
_SET_BY_CHECKS = frozenset({"removed_characters", "findings"})  # of a draft
Confidence = Annotated[float, Field(strict=True, ge=0, le=1)]


def word_schema(choices: list[str]) -> Any:
    """The JSON schema of a word from a list; the services refuse other words."""
    return WithJsonSchema({"type": "string", "enum": choices})


def accepted(field: RecordField) -> Any:
    """The type of a field in a request."""
    match field.kind:
        case OneOf() as one_of:
            known: Any = Annotated[str, word_schema(one_of.words)]
        case Number(low, high, is_whole=True):
            known = Annotated[StrictInt, Field(ge=low, le=high)]
        case Number(low, high):
            known = Annotated[float, Field(strict=True, ge=low, le=high)]
        case Moment():
            known = Timestamp
        case Tags():
            known = list[str]
        case Metadata():
            known = dict[str, Any]
        case Flag():
            known = StrictBool
        case _:
            known = str
    return known | None if field.is_optional else known


def stored_fields(base: type[BaseModel]) -> Any:
    """A model with the fields of a draft, in its order; a subclass declares those that the registry does not know."""
    defaults = {name: value for name, value in vars(Draft("")).items() if name not in _SET_BY_CHECKS}
    definitions: dict[str, Any] = {
        name: (accepted(BY_NAME[name]) if name in BY_NAME else Any, default)
        for name, default in defaults.items()
    }
    return create_model("StoredFields", __base__=base, **definitions)


def edited_fields(base: type[BaseModel]) -> Any:
    """A model with the fields of an edit, all of them optional."""
    cleared = Field(None, description="null clears it.")
    definitions: dict[str, Any] = {
        field.name: (accepted(field) | None, cleared if field.is_optional else None) for field in EDITED
    }
    return create_model("EditedFields", __base__=base, **definitions)
