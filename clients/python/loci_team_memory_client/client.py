"""The two clients: they differ in how they send and wait, and share the rest."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Generic, Protocol, Self, TypeVar

import httpx

from loci_team_memory_client.calls import AsyncMethods, Methods
from loci_team_memory_client.sending import Answer, Call, attempts

A = TypeVar("A", bound=Answer)
H = TypeVar("H", httpx.Client, httpx.AsyncClient)
_DEFAULT_URL = "http://127.0.0.1:8000"


class _Page(Protocol):
    items: list[Any]
    next: str | None


class _Settings(Generic[H]):
    """Where Loci is, and how often a call is repeated when it does not answer.

    `url` and `token` default to LOCI_URL and LOCI_TOKEN; `http` are further arguments for httpx, such as `verify`.
    """

    _kind: Callable[..., H]

    def __init__(
        self, url: str = "", token: str = "", *, retries: int = 3, timeout_s: float = 30, **http: Any
    ) -> None:
        self.url = (url or os.environ.get("LOCI_URL", "") or _DEFAULT_URL).rstrip("/")
        self._retries = retries
        token = token or os.environ.get("LOCI_TOKEN", "")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http: H = self._kind(base_url=self.url, headers=headers, timeout=timeout_s, **http)

    def __repr__(self) -> str:  # without the token
        return f"{type(self).__name__}({self.url!r})"


class Loci(_Settings[httpx.Client], Methods):
    """A Loci server. Each call of REST is a method; threads may share one client."""

    _kind = httpx.Client

    def send(self, call: Call[A]) -> A:
        """The answer to a call. Raises LociError."""
        steps = attempts(call, retries=self._retries)
        step = next(steps)
        while True:
            try:
                if isinstance(step, float):
                    time.sleep(step)
                    step = next(steps)
                else:
                    step = steps.send(self._http.request(**step))
            except httpx.TransportError as error:
                step = steps.throw(error)
            except StopIteration as end:
                answer: A = end.value
                return answer

    def every(self, make: Callable[..., Call[Any]], **filters: Any) -> Iterator[Any]:
        """All items of a list, page by page: `loci.every(calls.list_all_memories, tag=["ledger"])`."""
        cursor: str | None = ""
        while cursor is not None:
            page: _Page = self.send(make(**filters, cursor=cursor))
            yield from page.items
            cursor = page.next

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncLoci(_Settings[httpx.AsyncClient], AsyncMethods):
    """A Loci server, for asyncio."""

    _kind = httpx.AsyncClient

    async def send(self, call: Call[A]) -> A:
        """The answer to a call. Raises LociError."""
        steps = attempts(call, retries=self._retries)
        step = next(steps)
        while True:
            try:
                if isinstance(step, float):
                    await asyncio.sleep(step)
                    step = next(steps)
                else:
                    step = steps.send(await self._http.request(**step))
            except httpx.TransportError as error:
                step = steps.throw(error)
            except StopIteration as end:
                answer: A = end.value
                return answer

    async def every(self, make: Callable[..., Call[Any]], **filters: Any) -> AsyncIterator[Any]:
        """All items of a list, page by page."""
        cursor: str | None = ""
        while cursor is not None:
            page: _Page = await self.send(make(**filters, cursor=cursor))
            for item in page.items:
                yield item
            cursor = page.next

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
