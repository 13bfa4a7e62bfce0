"""Texts in dress and pairs of different facts, written by somebody who had not seen the code, and the faces they come by."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from access.actor import Actor
from access.models import ApiToken, Group
from access.tokens import actor_for_token
from memories.draft import Draft
from memories.lifecycle.verbs import purge, reject, retract
from memories.models import Memory
from memories.store import store
from memories.store.bulk import store_many
from tests.loci_site.api.conftest import Caller
from tests.loci_site.mcp.people import Agent

DATA = Path(__file__).parent / "data"
VERBS: dict[str, Callable[..., object]] = {"reject": reject, "retract": retract, "purge": purge}


@dataclass(frozen=True)
class Voice:
    """An agent with a token, and the person who withdraws."""

    person: Actor
    token: ApiToken
    secret: str

    @property
    def agent(self) -> Actor:
        return actor_for_token(self.token, via="mcp")


def by_store(voice: Voice, group: str, text: str) -> str:
    return store(voice.agent, Draft(text, group=group, scope="group")).outcome


def by_import(voice: Voice, group: str, text: str) -> str:
    done = store_many(
        voice.agent, [Draft(text, group=group, scope="group", source="file", source_ref=text[:90])]
    )
    return "refused" if done.refused else "queued" if done.queued else "created"


def by_mcp(voice: Voice, group: str, text: str) -> str:
    agent = Agent(voice.agent, voice.secret)
    return str(agent.answer("store_memory", content=text, group=group, scope="group")["outcome"])


def by_rest(voice: Voice, group: str, text: str) -> str:
    caller = Caller(voice.secret)
    response = caller.client.post(
        "/api/memories",
        {"content": text, "group": group, "scope": "group"},
        content_type="application/json",
        HTTP_AUTHORIZATION=f"Bearer {voice.secret}",
    )
    return str(response.json().get("outcome") or response.json()["code"])


FACES: dict[str, Callable[[Voice, str, str], str]] = {
    "store": by_store, "import": by_import, "MCP": by_mcp, "REST": by_rest,
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A withdrawn text, and the text that comes after it."""

    id: str
    withdrawn: str
    text: str
    is_ambiguous: bool = False
    dress: str = (
        ""  # what alone tells a pair apart, if that is dress by definition: "case", "accents", "punctuation"
    )


def dressings() -> list[Case]:
    """Every example of a dressing that must not come back live by itself."""
    rows = json.loads((DATA / "dressings.json").read_text(encoding="utf-8"))
    return [
        Case(row["id"], original, dressed, row["ambiguous"])
        for row in rows
        if row["expect"] == "barred"
        for original, dressed in row["examples"]
    ]


def different_pairs() -> list[Case]:
    """Pairs of different facts that share most letters."""
    rows = json.loads((DATA / "different_pairs.json").read_text(encoding="utf-8"))
    return [Case(row["id"], row["a"], row["b"], dress=row.get("dress", "")) for row in rows]


def come_back(voice: Voice, case: Case, *, verb: str, face: str, number: int) -> str:
    """Store a text in a group of its own, withdraw it, say the other one there: live, queued or refused."""
    group = Group.objects.create(slug=f"case-{verb}-{face.lower()}-{number}", policy="none")
    made = store(voice.person, Draft(case.withdrawn, group=group.slug, scope="group")).memory
    assert made is not None
    VERBS[verb](voice.person, made.id)
    outcome = FACES[face](voice, group.slug, case.text)
    live = Memory.objects.filter(group=group, state="live", trust__in=["active", "verified"])
    if live.exists():
        return "live"
    return "refused" if outcome == "refused" else "queued"
