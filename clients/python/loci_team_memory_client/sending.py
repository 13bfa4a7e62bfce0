"""What both clients share: a call, how it is sent and sent again, and what an error answer becomes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import wraps
from typing import Any, Final, Generic, ParamSpec, Protocol, TypeVar, final
from urllib.parse import quote
from uuid import uuid4

import httpx
from pydantic import BaseModel, ConfigDict, ValidationError

FIRST_WAIT_S: Final = 0.25  # doubled with each further try
LONGEST_WAIT_S: Final = 30.0  # a server that asks for more is not waited for


@final
class Omit:
    """The type of OMIT."""

    def __repr__(self) -> str:
        return "OMIT"


OMIT: Final = Omit()  # an argument that is not sent; None is sent as null


class Answer(BaseModel):
    """An answer. What a newer server adds is left out."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)


T = TypeVar("T", bound=Answer)
P = ParamSpec("P")


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request that is not sent yet. `takes_key`: it may write, so each one gets an Idempotency-Key."""

    answer: type[T]
    method: str
    address: str
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    takes_key: bool = False

    def request(self, key: str) -> dict[str, Any]:
        """The arguments for httpx."""
        return {
            "method": self.method,
            "url": self.address.format(**{name: quote(value, safe="") for name, value in self.path.items()}),
            "params": _sent(self.query),
            "json": None if self.body is None else _sent(self.body),
            "headers": {"Idempotency-Key": key} if self.takes_key else {},
        }


def _sent(values: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in values.items() if value is not OMIT}
    return {name: each.isoformat() if isinstance(each, datetime) else each for name, each in given.items()}


class LociError(Exception):
    """What went wrong, in the server's words: `message`, `hint` (what to do next), `code`, and `field` of one wrong value.

    `status` is that of HTTP, 0 without an answer. `wait_s`: it may work after that time, in seconds; None if it will not.
    """

    def __init__(
        self, message: str, *, hint: str = "", code: str = "", field: str = "", status: int = 0, wait_s: float | None = None
    ) -> None:  # fmt: skip
        super().__init__(" ".join(filter(None, (message, hint))))
        self.message, self.hint, self.code, self.field = message, hint, code, field
        self.status, self.wait_s = status, wait_s


class InvalidInput(LociError):
    """A value is not allowed."""


class NotAuthenticated(LociError):
    """The token is missing, wrong or revoked."""


class NotPermitted(LociError):
    """The token may not do this."""


class NotFound(LociError):
    """It does not exist, or the token may not see it."""


class Conflict(LociError):
    """It changed meanwhile, or a text may not be stored."""


class TooLarge(LociError):
    """The request is larger than the server takes."""


class Unavailable(LociError):
    """No answer, or the server asks to wait, and every retry ended so."""


_KINDS: Final[Mapping[int, type[LociError]]] = {
    400: InvalidInput,
    401: NotAuthenticated,
    403: NotPermitted,
    404: NotFound,
    409: Conflict,
    413: TooLarge,
    422: InvalidInput,
    429: Unavailable,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}
Attempts = Generator[
    dict[str, Any] | float, Any, T
]  # a request is answered with a Response, a wait with nothing


def attempts(call: Call[T], *, retries: int) -> Attempts[T]:
    """Yield requests to send and seconds to wait until the call is answered.

    A write keeps its key, so it is written once however often it is sent. Raises LociError.
    """
    request = call.request(str(uuid4()))
    for attempt in range(retries + 1):
        try:
            response: httpx.Response = yield request
        except httpx.TransportError as error:
            fault: LociError = Unavailable(
                f"Loci does not answer: {error or type(error).__name__}.", wait_s=0
            )
        else:
            if response.is_success:
                return _read(call, response)
            fault = _fault_of(response)
        if fault.wait_s is None or fault.wait_s > LONGEST_WAIT_S or attempt == retries:
            raise fault
        yield max(fault.wait_s, FIRST_WAIT_S * 2**attempt)
    raise AssertionError("the last attempt returns or raises")


def _read(call: Call[T], response: httpx.Response) -> T:
    try:
        return call.answer.model_validate_json(response.content)
    except ValidationError as error:
        raise LociError(
            f"What answers at {response.url.copy_with(query=None)} is not a Loci of this version.",
            hint="Correct the address, or install the client of the server's version.",
            status=response.status_code,
        ) from error


def _fault_of(response: httpx.Response) -> LociError:
    status = response.status_code
    try:
        told = dict(response.json())
        words = {name: str(told.get(name, "")) for name in ("hint", "code", "field")}
        message = str(told["message"])
    except (ValueError, TypeError, KeyError):
        words, message = {}, f"{response.url.host} answers {status} {response.reason_phrase}."
    after = response.headers.get("Retry-After", "")
    kind = _KINDS.get(status, LociError)
    # A conflict passes by itself only if the server says when: the first try of the same write is under way.
    wait = float(after) if after.isdecimal() else 0.0 if kind is Unavailable else None
    return kind(message, status=status, wait_s=wait, **words)


class _Sends(Protocol):
    def send(self, call: Call[T]) -> T: ...


class _SendsAsync(Protocol):
    def send(self, call: Call[T]) -> Awaitable[T]: ...


class Method(Generic[P, T]):
    """A call as a method of the client: it is made and sent."""

    def __init__(self, make: Callable[P, Call[T]]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __get__(self, client: _Sends, owner: type | None = None) -> Callable[P, T]:
        return _sending(client.send, self._make)


class AsyncMethod(Generic[P, T]):
    """A call as a method of the asynchronous client."""

    def __init__(self, make: Callable[P, Call[T]]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __get__(self, client: _SendsAsync, owner: type | None = None) -> Callable[P, Awaitable[T]]:
        return _sending(client.send, self._make)


R = TypeVar("R")


def _sending(send: Callable[[Call[T]], R], make: Callable[P, Call[T]]) -> Callable[P, R]:
    @wraps(make)
    def method(*args: P.args, **kwargs: P.kwargs) -> R:
        return send(make(*args, **kwargs))

    return method
