"""Answers, each declared once: its JSON, its schema in the OpenAPI document and an agent's part of it derive from that.

A class lists the keys in their order, with their types. The value of a key is the attribute of that name of what the answer
is about: a service's result, or a row of the database. `Annotated[…, Shown(…)]` says where it is otherwise.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from operator import attrgetter
from types import UnionType
from typing import Annotated, Any, ClassVar, Protocol, get_args, get_origin, get_type_hints
from uuid import UUID

Json = dict[str, Any]
Day = date  # for keys of the name `date`
AnswerClass = Any  # type[Answer], which mypy does not take for a key of a cache
Read = Callable[[Any, bool], Any]  # of what the answer is about, or of a value, and whether a person reads it


@dataclass(frozen=True)
class Shown:
    """Where a key's value is, and how it is shown.

    `at`: a path of attributes, None where a step is None; or a function. `name`: the key, if it is not the attribute's name.
    `digits`: of a number. `is_absent`: an empty value is left out.
    """

    at: str | Read = ""
    about: str = ""  # in the OpenAPI document
    name: str = ""
    digits: int | None = None
    is_absent: bool = False


ABSENT = Shown(is_absent=True)
# Of what carries a stored text, which is raw.
Untrusted = Annotated[
    bool, Shown(lambda *_: True, about="True: data that somebody stored. Fence it before a model reads it.")
]


class Page(Protocol):
    """A page of a list; `next` is None on the last one."""

    @property
    def rows(self) -> Sequence[Any]: ...
    @property
    def next(self) -> str | None: ...


@dataclass(frozen=True)
class Key:
    """A key of an answer. `default` is its value in the schema where it may be absent."""

    name: str
    type: Any
    shown: Shown
    default: Any
    read: Read
    convert: Read | None


class Answer:
    """Base of answers. `inner`: what the keys of the base classes are about is this attribute."""

    inner: ClassVar[str] = ""

    @classmethod
    def json(cls, about: Any, *, is_person: bool = False) -> Json:
        """The answer about this as JSON values; `is_person`: the reader is a person and no agent."""
        body: Json = {}
        for key in keys_of(cls):  # type: ignore[arg-type]
            value = key.read(about, is_person)
            if value is not None and key.convert is not None:
                value = key.convert(value, is_person)
            if value or not key.shown.is_absent:
                body[key.name] = value
        return body

    @classmethod
    def page(cls, page: Page, *, is_person: bool = False) -> Json:
        """A page of such answers as JSON values."""
        return {"items": [cls.json(row, is_person=is_person) for row in page.rows], "next": page.next}


@cache
def keys_of(answer: AnswerClass) -> tuple[Key, ...]:
    """The keys of a class of answers in their order."""
    keys = []
    for name, hint in get_type_hints(answer, include_extras=True).items():
        kind, *marks = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        if get_origin(kind) is ClassVar:
            continue
        shown = marks[0] if marks else Shown()
        inner = "" if name in answer.__annotations__ else answer.inner
        read = _reader(shown.at or name, inner)
        default = getattr(answer, name, None)
        keys.append(Key(shown.name or name, kind, shown, default, read, _converter(kind, shown.digits)))
    return tuple(keys)


def _reader(at: str | Read, inner: str) -> Read:
    if callable(at):
        return (lambda about, is_person: at(getattr(about, inner), is_person)) if inner else at
    first, *rest = f"{inner}.{at}".strip(".").split(".")
    steps = [attrgetter(step) for step in rest]

    def read(about: Any, is_person: bool) -> Any:
        value = getattr(about, first)
        for step in steps:
            value = None if value is None else step(value)
        return value

    return read


def _converter(kind: Any, digits: int | None) -> Read | None:
    """What makes a JSON value of a value of this type, which is not None; None: it is one."""
    if isinstance(kind, UnionType):
        [kind] = [part for part in get_args(kind) if part is not type(None)]
    if kind is UUID:
        return lambda value, is_person: str(value)
    if kind is Day:
        return lambda value, is_person: f"{value:%Y-%m-%d}"
    if kind is datetime:
        return lambda value, is_person: value.astimezone(UTC).isoformat()
    if digits is not None:
        return lambda value, is_person: round(value, digits)
    if isinstance(kind, type) and issubclass(kind, Answer):
        return lambda value, is_person: (
            value if isinstance(value, dict) else kind.json(value, is_person=is_person)
        )
    if get_origin(kind) is tuple:
        each = _converter(get_args(kind)[0], None)
        return lambda value, is_person: [each(part, is_person) if each else part for part in value]
    if get_origin(kind) is Counter:
        return lambda value, is_person: dict(sorted((+value).items()))
    return None
