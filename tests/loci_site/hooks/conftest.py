"""A person whose client has hooks: a group with a few facts, a token of the scope `hook`, and calls as a client makes them."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from access.actor import Actor
from access.models import Group
from memories.draft import Draft
from memories.lifecycle.verbs import pin
from memories.models import Memory
from memories.store import store
from tests.people import alice, bob, garden, ledger, make_token, person

__all__ = ["alice", "bob", "garden", "ledger"]

DATABASE = "The ledger's production database is PostgreSQL 16 on the host brass, port 5544."
FACTS = (
    DATABASE,
    "Invoices are numbered by year and customer, and a number is never used twice.",
    "Every Thursday the warehouse in Lund sends its stock list as a spreadsheet.",
    "Anna Berg decides about holidays of the finance team.",
    "The mail server drops attachments over ten megabytes.",
)


@dataclass(frozen=True)
class HookClient:
    """A client's hooks, called as the client would."""

    secret: str
    folder: str = "/home/bob/ledger"
    session: str = "s-1"
    client: str = "claude-code"

    def call(self, event: str, **sent: Any) -> dict[str, Any]:
        status, body = self.send(event, {"session_id": self.session, "cwd": self.folder, **sent})
        assert status == 200
        return body

    def context(self, event: str, **sent: Any) -> str:
        """The text that the client would put before its model; empty for none."""
        return str(self.call(event, **sent).get("hookSpecificOutput", {}).get("additionalContext", ""))

    def send(self, event: str, sent: Any) -> tuple[int, Any]:
        client = Client(headers={"Authorization": f"Bearer {self.secret}"} if self.secret else {})
        body = sent if isinstance(sent, bytes) else json.dumps(sent)
        answer = client.post(f"/hooks/{self.client}/{event}", body, content_type="application/json")
        return answer.status_code, answer.json()


@pytest.fixture
def filled(alice: User, ledger: Group, garden: Group) -> list[Memory]:
    """The facts of the ledger, the first one pinned, and a fact of a group that bob may not enter."""
    actor = person(alice)
    rows = [keep(actor, text) for text in FACTS]
    pin(actor, rows[0].id)
    keep(actor, "The garden's gate code is kept by the PostgreSQL database keeper.", group="garden")
    return rows


def keep(actor: Actor, text: str, *, group: str = "ledger", **fields: Any) -> Memory:
    found = store(actor, Draft(text, group=group, scope="group", **fields)).memory
    assert found is not None
    return found


@pytest.fixture
def hooks(bob: User, filled: list[Memory]) -> HookClient:
    """Bob's Claude Code in the folder of the ledger."""
    return HookClient(make_token(bob, name="laptop", scopes=("hook",))[1])


@pytest.fixture
def other_session(hooks: HookClient) -> Callable[[str], HookClient]:
    """The same client in another session."""
    return lambda session: HookClient(hooks.secret, hooks.folder, session, hooks.client)
