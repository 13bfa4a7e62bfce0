"""A person whose browser is paired, and calls as the extension makes them."""

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from access.models import Group
from access.tokens.pairing import show_code
from tests.people import alice, bob, charlie, garden, ledger, person

__all__ = ["alice", "bob", "charlie", "garden", "ledger"]
ORIGIN = "chrome-extension://abcdefghijklmnopabcdefghijklmnop"


@dataclass(frozen=True)
class Browser:
    """An extension in a browser, paired or not."""

    secret: str = ""
    origin: str = ORIGIN
    host: str = "127.0.0.1"

    def post(self, path: str, sent: Any) -> tuple[int, Any]:
        headers = {"Origin": self.origin} if self.origin else {}
        if self.secret:
            headers["Authorization"] = f"Bearer {self.secret}"
        client = Client(headers=headers, raise_request_exception=False)
        answer = client.post(
            f"/api{path}", json.dumps(sent), content_type="application/json", HTTP_HOST=self.host
        )
        is_json = answer.headers.get("Content-Type", "").startswith("application/json")
        return answer.status_code, answer.json() if is_json else None

    def ask(self, path: str, sent: Any) -> Any:
        status, body = self.post(path, sent)
        assert status < 300, body
        return body

    def keep(self, *turns: tuple[str, str, str], **fields: Any) -> Any:
        """Send turns (id, role, text) of one conversation; what became of it."""
        return self.ask("/captures", {"conversations": [conversation(*turns, **fields)]})["conversations"][0]


def conversation(*turns: tuple[str, str, str], **fields: Any) -> dict[str, Any]:
    """A conversation as the extension sends it."""
    place = {"platform": "claude.ai", "id": "c-1", "title": "Moving the mail server"}
    place["url"] = "https://claude.ai/chat/c-1"
    sent = [
        {"id": id_, "role": role, "text": text, "at": f"2026-03-01T10:{minute:02}:00Z"}
        for minute, (id_, role, text) in enumerate(turns)
    ]
    return {**place, "turns": sent, **fields}


TURNS = (
    ("m1", "user", "Which host should the mail server move to?"),
    ("m2", "assistant", "Brass has the room: move the mail server to brass before April."),
)


def pair_browser(user: User, origin: str = ORIGIN) -> Browser:
    code = show_code(person(user), user).code
    browser = Browser(origin=origin)
    return replace(browser, secret=browser.ask("/pair", {"code": code, "name": "laptop"})["token"])


@pytest.fixture
def browser(bob: User, ledger: Group) -> Browser:
    """Bob's paired browser."""
    return pair_browser(bob)
