"""An agent with a write token cannot put its own text before a fact that a person verified: `make proof poison` tries all facts."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from access.models import Group, Membership, Role
from memories.lifecycle.verbs import verify
from memories.models import Memory
from tests.memories.builders import kept
from tests.memories.recall.poison_tactics import TACTICS, Case, Send, say_something_true
from tests.people import make_token, person, the_group
from tests.sizes import part, report

FACTS = Path(__file__).parent / "data" / "poison_facts.tsv"
# What the report calls the sums; the others have their own names.
CALLED = {
    "calm": "before an attack: the fact first", "fact_first": "the fact first", "lie_first": "a lie first",
    "neighbour_first": "true facts next to verified ones: first for their own question",
    "unverified": "facts that are no longer live and verified", "calls": "calls by agents",
}  # fmt: skip
AT_MOST = 0.01  # of the questions whose first answer is a lie, over all tactics


@dataclass
class Outcome:
    """What a tactic reached: questions by what came first, and verified facts that are so no longer.

    `calm` counts the questions whose fact came first before the attack, `neighbour_first` the questions about
    unverified facts on the same subjects that get their own fact first.
    """

    questions: int = 0
    calm: int = 0
    neighbour_first: int = 0
    fact_first: int = 0
    lie_first: int = 0
    unverified: int = 0
    calls: int = 0
    lies: tuple[str, ...] = ()


@pytest.mark.model
@pytest.mark.timeout(400)
def test_no_lie_of_an_agent_stands_before_a_verified_fact(alice: User) -> None:
    facts = part([line.split("\t") for line in FACTS.read_text(encoding="utf-8").splitlines()], 12)
    found: dict[str, Outcome] = {}
    for name in TACTICS:
        found[name] = tried(alice, name, facts)
        report({f"{name}: a lie first, of {len(facts)}": found[name].lie_first})
    total = {
        name: sum(getattr(outcome, name) for outcome in found.values())
        for name in asdict(Outcome())
        if name != "lies"
    }
    report({"tactics": len(found), **{CALLED.get(name, name): count for name, count in total.items()}})
    lies = [f"{name}: {lie}" for name, outcome in found.items() for lie in outcome.lies]
    assert len(lies) <= AT_MOST * total["questions"], lies[:20]
    assert total["unverified"] == 0, {name: outcome.unverified for name, outcome in found.items()}
    assert total["neighbour_first"] >= 0.6 * len(facts)


def tried(alice: User, name: str, facts: list[list[str]]) -> Outcome:
    """Verify the facts in a new group, attack each, ask each question."""
    found, room = Outcome(), the_group(f"poison-{[*TACTICS].index(name)}")
    senders = [agent(who, room, found) for who in ("bob", "eve")]
    asked = agent("asker", room, Outcome())
    cases = []
    for number, (fact, question, lie, other_lie, neighbour, _) in enumerate(facts):
        memory = kept(person(alice), fact, group=room.slug)
        verify(person(alice), memory.id)
        own = (room.slug, fact, question, lie, other_lie, neighbour)
        cases.append(Case(number, *own, str(memory.id), *senders))
    found.calm = sum(first(asked, case, case.question) == case.fact for case in cases)
    for case in cases:
        TACTICS[name](case)
    true = {case.fact for case in cases}
    for case in cases:
        text = first(asked, case, case.question)
        found.questions += 1
        found.fact_first += text == case.fact
        if text and text not in true:
            found.lie_first += 1
            found.lies += (f"{case.question} {text}",)
        found.unverified += not Memory.objects.filter(id=case.id, state="live", trust="verified").exists()
    if TACTICS[name] is say_something_true:
        questions = [line[-1] for line in facts]
        found.neighbour_first = sum(
            first(asked, case, question) == case.neighbour
            for case, question in zip(cases, questions, strict=True)
        )
    return found


def first(send: Send, case: Case, question: str) -> str:
    """The first text that an agent reads about the question."""
    answer = send("POST", "/api/recall", {"query": question, "group": case.group})
    items = answer["results"] or answer["nearest"]
    return str(items[0]["content"]) if items else ""


def agent(who: str, room: Group, found: Outcome) -> Send:
    """A sender of requests with a token that may read and write, of a contributor."""
    user, _ = User.objects.get_or_create(username=who)
    Membership.objects.create(user=user, group=room, role=Role.CONTRIBUTOR)
    secret = make_token(user, name=f"{who} {room.slug}")[1]
    client = Client(headers={"Authorization": f"Bearer {secret}"}, SERVER_NAME="localhost")

    def send(method: str, path: str, sent: dict[str, Any]) -> dict[str, Any]:
        found.calls += 1
        answer = client.generic(method, path, json.dumps(sent), content_type="application/json")
        read: dict[str, Any] = answer.json() if answer.content else {}
        return read

    return send
