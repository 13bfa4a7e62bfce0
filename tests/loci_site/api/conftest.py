"""A client that talks to /api/ as one of the people of the tests."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from access.models import Group
from tests.model import encoder
from tests.people import alice, bob, charlie, garden, ledger, make_token

__all__ = ["alice", "bob", "charlie", "encoder", "garden", "ledger"]


@dataclass
class Caller:
    """Sends requests with a token (or none) and reads JSON."""

    secret: str = ""

    def __post_init__(self) -> None:
        self.client = Client(raise_request_exception=False)

    def send(self, method: str, path: str, body: Any = None, *, status: int = 200, **headers: str) -> Any:
        """Send, check the status, give the body. A text or bytes are sent as they are, anything else as JSON."""
        if self.secret:
            headers.setdefault("HTTP_AUTHORIZATION", f"Bearer {self.secret}")
        sent = (
            {}
            if method == "get"
            else {"data": "" if body is None else body, "content_type": "application/json"}
        )
        response = getattr(self.client, method.lower())(f"/api{path}", **sent, **headers)
        assert response.status_code == status, (response.status_code, response.content[:1000])
        return response.json()

    def get(self, path: str, *, status: int = 200) -> Any:
        return self.send("get", path, status=status)

    def post(self, path: str, body: Any = None, *, status: int = 200) -> Any:
        return self.send("post", path, {} if body is None else body, status=status)

    def patch(self, path: str, body: Any, *, status: int = 200) -> Any:
        return self.send("patch", path, body, status=status)

    def delete(self, path: str, *, status: int = 200) -> Any:
        return self.send("delete", path, status=status)

    def store(self, content: str, *, status: int = 201, **fields: Any) -> Any:
        return self.post(
            "/memories", {"content": content, "group": "ledger", "scope": "group", **fields}, status=status
        )


@pytest.fixture
def caller() -> Callable[..., Caller]:
    """A caller with a new token of a user."""

    def of(user: User, *, scopes: Iterable[str] = ("read", "write"), groups: Iterable[Group] = ()) -> Caller:
        return Caller(make_token(user, scopes=scopes, groups=groups)[1])

    return of


@pytest.fixture
def owner(alice: User, ledger: Group, caller: Callable[..., Caller]) -> Caller:
    """Alice's token, with every right."""
    return caller(alice, scopes=("read", "write", "curate", "admin", "create-group"))


@pytest.fixture
def member(bob: User, caller: Callable[..., Caller]) -> Caller:
    """Bob's token: he contributes to `ledger`."""
    return caller(bob)


@pytest.fixture
def stranger(charlie: User, caller: Callable[..., Caller]) -> Caller:
    """Charlie's token: he belongs to no group."""
    return caller(charlie)


@pytest.fixture
def nobody(db: None) -> Caller:
    """No token at all."""
    return Caller()
