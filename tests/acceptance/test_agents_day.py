"""Forty questions of an agent's day over a store of 120 memories: the right memory comes first, or nothing comes."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from access.actor import Via
from access.groups import create_group
from access.tokens import actor_for_secret
from loci_site.hooks.events import HookCall, HookEvent, SessionPlace
from loci_site.hooks.prompt import find_for_prompt
from loci_site.hooks.sessions import working_actor
from loci_site.hooks.start import Brief
from memories.draft import Draft
from memories.embedding import get_encoder
from memories.recall import RecallRequest, recall
from memories.recall.budget import count_tokens
from memories.store import store
from tests.acceptance.agents_day import (
    GROUP,
    TODAY,
    DayQuestion,
    clock_at,
    fill,
    moment,
    read_lines,
    read_questions,
)
from tests.acceptance.house import House
from tests.people import make_token

pytestmark = [pytest.mark.django_db, pytest.mark.model]
PLACE = SessionPlace("/home/wren/orchard")

BY_TOOL = {"y01", "y10", "y12", "y27", "y29"}
BY_REST = {"y06", "y17", "y24", "y28", "y35"}
# What recall does not do yet. A question that begins to work fails here and leaves the list.
UNMET = {
    "y07": "a memory that names the person asked for does not come before one of the same week that does not",
    "y16": "the memory that replaced the one with the question's words is not looked for by them",
    "y19": "a longer text with more of the question's words comes before the shorter one that answers",
    "y21": "a text about the same person and thing comes before the one that tells the preference",
    "y33": "the owner of an unknown thing in common words is not told from known things",
    "y37": "a preference that no memory has is not told from others of the same person",
    "y39": "an unknown thing in common words is not told from known things",
}


@dataclass(frozen=True)
class Day:
    """The filled store with every face at hand, and the names of its memories by id."""

    house: House
    names: dict[str, str]
    place: SessionPlace = PLACE

    def injected(self, session: str, prompt: str) -> Brief:
        """What a new session of the person's client gets for a prompt."""
        secret = make_token(self.house.user, name="hooks", scopes=("hook",))[1]
        hooks = working_actor(actor_for_secret(secret, via=Via.HOOK))
        return find_for_prompt(
            hooks, HookCall("claude-code", HookEvent.PROMPT, session, self.place, prompt=prompt)
        )

    def answers(self, question: DayQuestion) -> list[str]:
        """The memories of the answer by name, best first; none if recall abstains."""
        with clock_at(question.now):
            if question.id in BY_TOOL:
                answer = self.house.fields("recall_memory", query=question.text, group=GROUP)
                ids = [item["id"] for item in answer["results"]]
            elif question.id in BY_REST:
                status, text = self.house.rest("post", "/recall", {"query": question.text, "group": GROUP})
                assert status == 200, text
                ids = [item["id"] for item in json.loads(text)["results"]]
            else:
                found = recall(self.house.agent, RecallRequest(question.text, group=GROUP))
                ids = [str(item.memory.id) for item in found.items]
        return [self.names.get(each, each) for each in ids]


@pytest.fixture(scope="module")
def day(django_db_setup: None, django_db_blocker: pytest.FixtureRequest) -> Iterator[Day]:
    """The store, filled once; the tests' own transactions lie inside this one, which is taken back at the end."""
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        whole = transaction.atomic()
        whole._from_testcase = True  # type: ignore[attr-defined]  # as Django's TestCase does
        whole.__enter__()
        try:
            house = House.of(User.objects.create_superuser("wren"))
            create_group(house.person, GROUP)
            ids = fill(house.agent)
            yield Day(house, {id_: name for name, id_ in ids.items()})
        finally:
            transaction.set_rollback(True)
            whole.__exit__(None, None, None)


def asked() -> list[object]:
    """The questions as parameters, those of UNMET as expected failures."""
    return [
        pytest.param(
            question,
            id=question.id,
            marks=[pytest.mark.xfail(strict=True, reason=UNMET[question.id])] if question.id in UNMET else [],
        )
        for question in read_questions()
    ]


@pytest.mark.parametrize("question", asked())
def test_the_right_memory_comes_first(day: Day, question: DayQuestion) -> None:
    assert day.answers(question)[:1] == ([question.first] if question.first else [])


@pytest.mark.parametrize("question", [q for q in read_questions() if q.relation], ids=lambda q: q.id)
def test_a_relation_that_answers_is_told_with_its_proof(day: Day, question: DayQuestion) -> None:
    with clock_at(question.now):
        lines = recall(day.house.agent, RecallRequest(question.text, group=GROUP)).relations
    line = lines[0]  # others of the same entity may follow
    assert [day.names[str(each)] for each in line.evidence] == [question.first]


@pytest.mark.parametrize(
    ("name", "least_right", "least_helped"),
    # The first list was there before the hooks; the bar was chosen with both. For lists it was not, see below.
    [("prompts.jsonl", 0.8, 12), ("more_prompts.jsonl", 0.8, 9)],
)
def test_prompts_get_what_they_need_and_seldom_more(
    day: Day, name: str, least_right: float, least_helped: int
) -> None:
    check_prompts(day, read_lines(name), least_right, least_helped)


def check_prompts(day: Day, prompts: list[dict[str, Any]], least_right: float, least_helped: int) -> None:
    """Each prompt as the first of a session: what is injected is mostly right, and seldom anything that nobody needs."""
    with clock_at(TODAY):
        found = {each["id"]: day.injected(each["id"], each["text"]) for each in prompts}
    right_of = {each["id"]: each["right"] for each in prompts}
    injected = {id_: [day.names[str(memory)] for memory in answer.memories] for id_, answer in found.items()}
    right = sum(memory in right_of[id_] for id_, memories in injected.items() for memory in memories)
    needless = [id_ for id_, memories in injected.items() if memories and not right_of[id_]]
    helped = sum(any(memory in right_of[id_] for memory in memories) for id_, memories in injected.items())
    assert right / sum(map(len, injected.values())) >= least_right, injected
    assert len(needless) <= 0.1 * sum(not each["right"] for each in prompts), needless
    assert helped >= least_helped, injected
    encoder = get_encoder(timeout_s=60)
    assert max(count_tokens(answer.text, encoder) for answer in found.values()) <= 300


def test_prompts_of_other_work_get_what_they_need() -> None:
    """Operations, frontend, data, writing and support: one half of the list was held back when the bar was chosen."""
    house = House.of(User.objects.create_superuser("finch"))
    create_group(house.person, "office")
    names = {}
    for line in read_lines("../office/corpus.jsonl"):
        draft = Draft(line["text"], type=line["type"], group="office", tags=tuple(line["tags"]))
        with clock_at(moment(line["timestamp"])):
            stored = store(house.agent, draft).memory
        assert stored is not None, line
        names[str(stored.id)] = line["id"]
    day = Day(house, names, SessionPlace("/home/wren/office"))
    prompts = read_lines("../office/prompts.jsonl")
    for is_held, least_right, least_helped in ((False, 0.8, 8), (True, 0.7, 6)):
        check_prompts(day, [each for each in prompts if each["held"] is is_held], least_right, least_helped)


def test_the_lists_are_whole() -> None:
    prompts = read_lines("prompts.jsonl")
    assert (len(prompts), len({each["text"] for each in prompts})) == (30, 30)
    questions = read_questions()
    assert (len(questions), len({question.text for question in questions})) == (40, 40)
    assert set(UNMET) < {question.id for question in questions}
