"""Tactics against verified facts, through REST, each in a group of its own; in a process of its own in a home."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from access.actor import Via
from access.groups import create_group
from access.models import Group, Membership, Role
from access.tokens import actor_for_user, create_token, operator
from bench.proof.hostile.poison.tactics import TACTICS, Case, Send, say_something_true
from memories.draft import Draft
from memories.embedding import get_encoder
from memories.lifecycle.verbs import verify
from memories.models import Memory
from memories.store import store
from storage.ids import new_id

MODEL_WAIT_S = 60


@dataclass
class Outcome:
    """What a tactic reached: questions by what came first, and verified facts that are so no longer.

    `calm` counts the questions whose fact came first before the attack, `neighbour_first` the questions of other facts about the
    same things, which nobody verified, that their own fact answers first.
    """

    questions: int = 0
    calm: int = 0
    neighbour_first: int = 0
    fact_first: int = 0
    lie_first: int = 0
    unverified: int = 0
    calls: int = 0
    lies: tuple[str, ...] = ()


def attack(names: list[str], facts: list[list[str]]) -> dict[str, Any]:
    """The Outcome of each of these tactics, by its name."""
    get_encoder(timeout_s=MODEL_WAIT_S)
    return {name: asdict(tried(name, facts)) for name in names}


def tried(name: str, facts: list[list[str]]) -> Outcome:
    """Verify the facts in a new group, attack each, ask each question."""
    found, group = Outcome(), f"poison-{new_id().hex[-8:]}"
    room = create_group(operator(), group)
    senders = [_agent(person, room, found) for person in ("bob", "eve")]
    ann = actor_for_user(User.objects.get(username="prover"), via=Via.ADMIN)
    cases = []
    for number, (fact, question, lie, other_lie, neighbour, _) in enumerate(facts):
        memory = store(ann, Draft(fact, group=group)).memory
        verify(ann, memory.id)
        cases.append(Case(number, group, fact, question, lie, other_lie, neighbour, str(memory.id), *senders))
    asked = _agent("asker", room, Outcome())
    found.calm = sum(_first(asked, case, case.question) == case.fact for case in cases)
    for case in cases:
        TACTICS[name](case)
    true = {case.fact for case in cases}
    for case in cases:
        first = _first(asked, case, case.question)
        found.questions += 1
        found.fact_first += first == case.fact
        if first and first not in true:
            found.lie_first += 1
            found.lies += (f"{case.question} {first}",)
        found.unverified += not Memory.objects.filter(id=case.id, state="live", trust="verified").exists()
    if TACTICS[name] is say_something_true:
        found.neighbour_first = sum(
            _first(asked, case, line[-1]) == case.neighbour for case, line in zip(cases, facts, strict=True)
        )
    return found


def _first(send: Send, case: Case, question: str) -> str:
    """The first text that an agent reads about the question."""
    answer = send("POST", "/api/recall", {"query": question, "group": case.group})
    items = answer["results"] or answer["nearest"]
    return str(items[0]["content"]) if items else ""


def _agent(person: str, group: Group, found: Outcome) -> Send:
    """A sender of requests with a token that may read and write, of a contributor."""
    user, _ = User.objects.get_or_create(username=person)
    Membership.objects.create(user=user, group=group, role=Role.CONTRIBUTOR)
    secret = create_token(
        operator(), user=user, name=f"{person} {group.slug}", scopes=("read", "write")
    ).secret
    client = Client(headers={"Authorization": f"Bearer {secret}"}, SERVER_NAME="localhost")

    def send(method: str, path: str, sent: dict[str, Any]) -> dict[str, Any]:
        found.calls += 1
        answer = client.generic(method, path, json.dumps(sent), content_type="application/json")
        read: dict[str, Any] = answer.json() if answer.content else {}
        return read

    return send
