"""Each face shows each part of a recall's answer: memories, relations, conflicts, doubt, what comes next, what is behind it."""

import io
import json
from collections.abc import Callable
from contextlib import suppress
from html import unescape
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from access.models import Group
from access.tokens import actor_for_secret
from memories.models import Memory
from memories.models.short_id import short_id
from memories.types import SUMMARY_SOURCE
from tests.loci_site.api.conftest import Caller
from tests.loci_site.mcp.people import Agent, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.model]
PORT, OTHER_PORT = "The deploy port is 8081.", "The deploy port is 8082."
DATABASE = "We settled on PostgreSQL 16 for the ledger database."
NOW_LEADS, THEN_LEADS = "Dana Weiss leads the billing team.", "Omar Haddad leads the billing team."
RULE, SAME_RULE = "Invoices are sent on Fridays.", "invoices are sent on fridays"
TURNS = [
    "Ann: Good morning, how was the weekend?",
    "Ben: The greenhouse sensors need new batteries in October.",
    "Ann: Then I order a box of them.",
]
OUTAGES = [
    "The nightly export failed because the disk was full.",
    "The nightly export failed because a certificate had expired.",
    "The nightly export failed because the network was down.",
]
SURE, UNSURE = "PostgreSQL database of the ledger", "Qui a choisi PostgreSQL pour notre base ?"
ABOUT_PORT, ABOUT_OWNER, UNKNOWN = "What is the deploy port?", "Who owns the cart?", "photosynthesis"
ABOUT_RUNNER, ABOUT_LEAD, ABOUT_RULE = (
    "Who runs Nimbus?",
    "Who leads the billing team?",
    "When are invoices sent?",
)
ABOUT_SENSORS, ABOUT_OUTAGES = (
    "What do the greenhouse sensors need in October?", "How many times has the nightly export failed?",
)  # fmt: skip
DOUBT = "By words alone, low confidence"
CART, NIMBUS = "Cart —owned_by→ Anna Berg", "Nimbus —run_by→ Tariq Noor"
Ask = Callable[[str], Any]


@pytest.fixture
def stored(owner: Caller, garden: Group) -> dict[str, str]:
    """Each memory's id by its text, and that of the relation's proof by its line."""
    proof = owner.store("The shop's cart moved to Anna Berg in spring.")["id"]
    relation = {"subject": "Cart", "predicate": "owned by", "object": "Anna Berg", "group": "ledger"}
    owner.post("/relations", relation | {"evidence": [proof]}, status=201)
    alone = {"subject": "Nimbus", "predicate": "run by", "object": "Tariq Noor"}
    owner.post("/relations", relation | alone, status=201)
    ids = {CART: proof} | {
        text: owner.store(text)["id"] for text in (PORT, OTHER_PORT, DATABASE, NOW_LEADS, RULE)
    }
    ahead = {"supersedes": ids[NOW_LEADS], "valid_from": "2999-01-01"}
    ids[THEN_LEADS] = owner.store(THEN_LEADS, **ahead)["id"]
    ids[SAME_RULE] = owner.store(SAME_RULE, group="garden", scope="global")["id"]
    for text in TURNS:
        ids[text] = owner.store(text, type="episodic", thread="standup", valid_from="2026-01-05")["id"]
    for number in range(24):  # more than a page lists, so that the other turns are no results of their own
        owner.store(f"Box {number} in the greenhouse is empty.")
    for day, text in enumerate(OUTAGES, start=1):
        ids[text] = owner.store(text, type="episodic", valid_from=f"2026-02-0{day}")["id"]
    ids["summary"] = owner.store("Three failed exports.", type="episodic", valid_from="2026-02-01")["id"]
    summary = Memory.objects.get(id=ids["summary"])
    Memory.objects.filter(key=summary.key).update(source=SUMMARY_SOURCE)
    Memory.objects.filter(content__in=OUTAGES).update(summary=summary)
    return ids


@pytest.fixture
def ask(owner: Caller, alice: User, face: str) -> Ask:
    """Asks one face."""
    actor, browser = actor_for_secret(owner.secret, via="mcp"), Client()
    browser.force_login(alice)

    def page(address: str) -> Ask:
        return lambda question: unescape(
            browser.get(address, {"q": question, "group": "ledger"}).content.decode()
        )

    faces: dict[str, Ask] = {
        "REST": lambda question: owner.post("/recall", {"query": question, "group": "ledger"}),
        "MCP, as read": lambda question: Agent(actor).answer("recall_memory", query=question, group="ledger"),
        "command, JSON": lambda question: json.loads(by_command(question, "--json")),
        "MCP, text": lambda question: text_of(
            Agent(actor).call("recall_memory", query=question, group="ledger")
        ),
        "command, text": by_command,
        "page": page("/admin/ask/"),
    }
    return faces[face]


def by_command(question: str, *options: str) -> str:
    """What the command prints, without its line ends; its status is 3 where nothing is relevant."""
    out = io.StringIO()
    with suppress(SystemExit):
        call_command("recall", question, "--group", "ledger", *options, stdout=out)
    return out.getvalue() if options else " ".join(out.getvalue().split())


@pytest.mark.parametrize("face", ["REST", "MCP, as read", "command, JSON"])
def test_a_face_for_programs_has_every_part_of_an_answer(ask: Ask, stored: dict[str, str]) -> None:
    port = ask(ABOUT_PORT)
    first, second = port["results"][:2]
    assert {first["id"], second["id"]} == {stored[PORT], stored[OTHER_PORT]}
    assert [each["id"] for each in first["conflicts"]] == [second["id"]]
    [relation] = ask(ABOUT_OWNER)["relations"]
    assert CART in relation["line"]
    assert relation["evidence"] == [stored[CART]]
    alone = ask(ABOUT_RUNNER)
    assert NIMBUS in alone["relations"][0]["line"]
    assert (alone["results"], alone.get("abstained", False), alone["confidence"]) == ([], False, "high")
    sure, unsure, unknown = ask(SURE), ask(UNSURE), ask(UNKNOWN)
    assert [each["id"] for each in (sure["results"][0], unsure["results"][0])] == [stored[DATABASE]] * 2
    assert (sure["confidence"], unsure["confidence"]) == ("high", "low")
    assert unsure["doubt"].startswith(DOUBT)
    assert "doubt" not in sure
    assert (unknown["abstained"], unknown["results"]) == (True, [])
    assert not any(answer.get("abstained") for answer in (port, sure, unsure))
    assert ask(ABOUT_LEAD)["results"][0]["coming"]["id"] == stored[THEN_LEADS]
    [rule] = [each for each in ask(ABOUT_RULE)["results"] if "also_in" in each]
    assert {rule["id"], rule["also_in"][0]["id"]} == {stored[RULE], stored[SAME_RULE]}
    around = [each["around"] for each in ask(ABOUT_SENSORS)["results"] if each["id"] == stored[TURNS[1]]]
    assert stored[TURNS[0]] in json.dumps(around)
    [summary] = [each for each in ask(ABOUT_OUTAGES)["results"] if "events" in each]
    assert summary["id"] == stored["summary"]
    assert len(summary["events"]) == len(OUTAGES)


@pytest.mark.parametrize(
    ("face", "nothing"),
    [
        ("MCP, text", "Nothing stored in"),
        ("command, text", "Nothing relevant in ledger."),
        ("page", "No answer found"),
    ],
)
def test_a_face_for_readers_has_every_part_of_an_answer(
    ask: Ask, stored: dict[str, str], nothing: str
) -> None:
    def short(text: str) -> str:
        return short_id(UUID(stored[text]))

    parts = {
        "results": (ABOUT_PORT, [PORT, OTHER_PORT]),
        "conflicts": (
            ABOUT_PORT,
            [f"in conflict with {short(PORT)}", f"in conflict with {short(OTHER_PORT)}"],
        ),
        "relations": (ABOUT_OWNER, [CART, "by alice", "0.70", short(CART)]),
        "relations alone": (ABOUT_RUNNER, [NIMBUS]),
        "doubt": (UNSURE, [DATABASE, DOUBT]),
        "coming": (ABOUT_LEAD, [NOW_LEADS, THEN_LEADS, "2999"]),
        "also in": (ABOUT_RULE, [short(RULE), short(SAME_RULE)]),
        "around": (ABOUT_SENSORS, TURNS),
        "events": (ABOUT_OUTAGES, [*OUTAGES, *map(short, OUTAGES)]),
    }
    answers = {question: ask(question) for question in (SURE, *(question for question, _ in parts.values()))}
    missing = [
        (part, text)
        for part, (question, texts) in parts.items()
        for text in texts
        if text not in answers[question]
    ]
    assert missing == []
    assert "ow confidence" not in answers[SURE]
    assert nothing in ask(UNKNOWN)
    assert not [question for question, answer in answers.items() if nothing in answer]


def test_a_context_given_to_any_face_is_stored_and_shown(owner: Caller, alice: User) -> None:
    actor, browser = actor_for_secret(owner.secret, via="mcp"), Client()
    browser.force_login(alice)
    owner.store(PORT, context="retro of the pelican team")
    Agent(actor).answer("store_memory", content=DATABASE, group="ledger", context="retro of the pelican team")
    call_command(
        "remember", RULE, "--group", "ledger", "--context", "retro of the pelican team", stdout=io.StringIO()
    )
    for memory in (found := Memory.objects.all()):
        shown = owner.get(f"/memories/{memory.id}")["metadata"]
        assert shown == memory.metadata == {"context": "retro of the pelican team"}
        assert (
            "retro of the pelican team"
            in browser.get(f"/admin/memories/memory/{memory.id}/change/").content.decode()
        )
        assert "pelican" in json.dumps(Agent(actor).answer("memory_inspect", id=str(memory.id)))
    assert len(found) == 3
    assert {each["content"] for each in owner.post("/recall", {"query": "pelican", "group": "ledger"})["results"]} == {
        PORT, DATABASE, RULE,
    }  # fmt: skip
