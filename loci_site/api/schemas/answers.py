"""The schemas of answers in the OpenAPI document, from their declarations."""

from datetime import date, datetime
from functools import cache
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, create_model

from access.answers import Answer, AnswerClass, keys_of


class Document(BaseModel):
    """A JSON object with exactly these fields."""

    model_config = ConfigDict(extra="forbid")


class _Written(Document):
    """Base of the answers to writes; `undo` is null if nothing was written, or it cannot be undone."""

    undo: str | None = Field(description="POST /undo takes it for 24 hours, from the same token.")


class ErrorOut(Document):
    """What went wrong and what to do next; `field` names the wrong value, if it is a single one."""

    code: str
    message: str
    hint: str
    field: str = ""


ERROR_STATUSES: Final = (400, 401, 403, 404, 405, 409, 413, 422, 429, 500, 503)


def responses(answer: AnswerClass | type[BaseModel], *statuses: int) -> dict[Any, Any]:
    """What an operation answers, by status (default: 200). RestAPI adds its errors to the document."""
    schema = schema_of(answer) if issubclass(answer, Answer) else answer
    return dict.fromkeys(statuses or (200,), schema)


@cache
def schema_of(answer: AnswerClass, *, base: type[BaseModel] = Document) -> type[BaseModel]:
    """The model of a class of answers. A key that may be absent is not required."""
    fields: dict[str, Any] = {
        key.name: (
            _type_of(key.type, is_nullable=not key.shown.is_absent),
            Field(key.default if key.shown.is_absent else ..., description=key.shown.about or None),
        )
        for key in keys_of(answer)
    }
    name = f"{answer.__name__.removesuffix('Out')}Out"
    return create_model(name, __base__=base, __doc__=answer.__doc__, **fields)


def written(answer: AnswerClass) -> type[BaseModel]:
    """The model of the answer to a write, with its `undo`."""
    return schema_of(answer, base=_Written)


def list_of(answer: AnswerClass) -> type[BaseModel]:
    """The model of a list."""
    name = answer.__name__.removesuffix("Out")
    return create_model(f"{name}List", __base__=Document, items=(list[schema_of(answer)], ...))  # type: ignore[misc, arg-type]


def page_of(answer: AnswerClass) -> type[BaseModel]:
    """The model of a page of a list."""
    name = answer.__name__.removesuffix("Out")
    return create_model(f"{name}Page", __base__=list_of(answer), next=(str | None, ...))


def _type_of(kind: Any, *, is_nullable: bool = True) -> Any:
    """The JSON type of a key of this type."""
    if isinstance(kind, UnionType):
        kinds = [_type_of(part) for part in get_args(kind) if is_nullable or part is not type(None)]
        return Union[tuple(kinds)]  # noqa: UP007 - of a list
    if kind in (UUID, date, datetime):
        return str
    if isinstance(kind, type) and issubclass(kind, Answer):
        return schema_of(kind)  # type: ignore[arg-type]
    if get_origin(kind) is tuple and get_args(kind)[-1] is ...:
        return list[_type_of(get_args(kind)[0])]  # type: ignore[misc]
    return kind
