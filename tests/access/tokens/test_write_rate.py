"""Each person writes so many characters a day, with all tokens, however fast; the database counts for all processes."""

import math
import threading
from collections.abc import Callable
from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from access.errors import TooManyWrites
from access.limits import throttle
from access.limits.throttle import CHANGE_CHARS, WAITING_CHARS, check_write_rate, count_writes, left_of
from access.models import Group, PersonWrites
from access.tokens import actor_for_secret, operator
from loci_site.config.sections import Access
from memories.draft import Draft
from memories.models import Memory
from memories.store import Outcome, store
from memories.store.bulk import store_many
from memories.types import Trust
from tests.loci_site.api.conftest import Caller
from tests.loci_site.mcp.people import Agent
from tests.people import make_token

A_DAY = 86_400  # characters: one a second
TEXT = "The port of machine {} is written on the sheet that hangs at its door. "


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the clock of the write rate, in seconds."""
    at = [1000.0]
    monkeypatch.setattr(throttle, "now_us", lambda: round(at[0] * 1_000_000))

    def move(seconds: float) -> None:
        at[0] += seconds

    return move


def allow(settings: Settings, chars: int) -> None:
    settings.LOCI = replace(settings.LOCI, access=replace(settings.LOCI.access, chars_per_day=chars))


@pytest.fixture(autouse=True)
def small_day(settings: Settings, now: object) -> None:
    allow(settings, A_DAY)


def cost(*texts: str) -> int:
    """What storing these texts takes."""
    return sum(CHANGE_CHARS + len(text) for text in texts)


def text_of(number: int) -> str:
    return f"The port of machine {number} is {8000 + number}."


def store_text(caller: Caller, number: int, *, status: int) -> dict[str, object]:
    answer: dict[str, object] = caller.store(text_of(number), status=status)
    return answer


def test_an_honest_agent_is_never_refused(bob: User, ledger: Group, settings: Settings) -> None:
    """By default ten thousand stores in a row take a twentieth of a day, whatever the clock says."""
    allow(settings, Access().chars_per_day)
    _, secret = make_token(bob)
    actor = actor_for_secret(secret)
    count_writes(actor, 10_000, 10_000 * len(TEXT))
    check_write_rate(actor_for_secret(secret))
    assert left_of(actor_for_secret(secret)) > 0.95 * Access().chars_per_day


def test_rest_refuses_with_the_time_to_wait_and_reads_go_on(
    bob: User, ledger: Group, settings: Settings, now: Callable[[float], None]
) -> None:
    chars = cost(text_of(0), text_of(1))
    allow(settings, chars)
    caller = Caller(make_token(bob)[1])
    store_text(caller, 0, status=201)
    store_text(caller, 1, status=201)
    error = store_text(caller, 99, status=429)
    assert (error["code"], error["message"]) == (
        "too_many_writes",
        f"A person may write {chars:,} characters a day, with all tokens together.",
    )
    waits = math.ceil(86_400 / chars)  # until one is left
    assert f"Try again in {waits} seconds. Nothing was written." in str(error["hint"])
    body = {"content": "x y", "group": "ledger"}
    answer = caller.client.post(
        "/api/memories", body, "application/json", headers={"Authorization": f"Bearer {caller.secret}"}
    )
    assert (answer.status_code, answer["Retry-After"]) == (429, str(waits))
    assert caller.post("/recall", {"query": "port", "group": "ledger"})["results"]
    assert len(caller.get("/memories?group=ledger")["items"]) == 2
    now(float(waits))
    store_text(caller, 100, status=201)
    store_text(caller, 101, status=429)
    assert Memory.objects.count() == 3


def test_all_tokens_of_a_person_share_one_count(
    alice: User, bob: User, ledger: Group, settings: Settings
) -> None:
    allow(settings, cost(text_of(0), text_of(1)))
    callers = [Caller(make_token(bob, name=f"agent {number}")[1]) for number in range(2)]
    for number, caller in enumerate(callers):
        store_text(caller, number, status=201)
    store_text(callers[0], 50, status=429)
    store_text(Caller(make_token(bob, name="one more")[1]), 51, status=429)
    store_text(Caller(make_token(alice)[1]), 52, status=201)


def test_an_agent_gets_a_tool_error(bob: User, ledger: Group, settings: Settings) -> None:
    allow(settings, 100)
    _, secret = make_token(bob)
    Agent(actor_for_secret(secret)).answer("store_memory", content=text_of(0), group="ledger")
    agent = Agent(actor_for_secret(secret))
    told = agent.error("store_memory", content="One more.", group="ledger")
    assert told.startswith("A person may write 100 characters a day, with all tokens together. Try again in ")
    assert told.endswith(" seconds. Nothing was written. [too_many_writes]")
    assert agent.answer("recall_memory", query="port", group="ledger")["results"]
    assert agent.answer("get_context", group="ledger")


def test_an_import_counts_each_row_and_is_paid_back(
    bob: User, ledger: Group, now: Callable[[float], None]
) -> None:
    _, secret = make_token(bob)
    texts = [f"The port of machine {number} is {number}. " * 20 for number in range(200)]
    drafts = [Draft(text.strip(), group="ledger") for text in texts]
    assert store_many(actor_for_secret(secret), drafts).created == 200
    owed = cost(*(draft.content for draft in drafts)) - A_DAY
    assert owed > 0
    assert left_of(actor_for_secret(secret)) == -owed
    with pytest.raises(TooManyWrites) as refusal:
        check_write_rate(actor_for_secret(secret))
    assert refusal.value.wait_s == owed + 1  # one more than is owed
    now(owed)
    with pytest.raises(TooManyWrites):
        check_write_rate(actor_for_secret(secret))
    now(1)
    check_write_rate(actor_for_secret(secret))
    now(2 * A_DAY)
    assert left_of(actor_for_secret(secret)) == A_DAY  # it refills to a day's and no further


def test_what_waits_for_a_person_counts_as_a_long_text(bob: User, ledger: Group) -> None:
    """So that no agent fills the Review, which people read."""
    Group.objects.update(policy="all")
    _, secret = make_token(bob)
    stored = store(actor_for_secret(secret), Draft(text_of(0), group="ledger"))
    assert stored.memory is not None
    assert (stored.outcome, stored.memory.trust) == (Outcome.QUEUED, Trust.CANDIDATE)
    assert left_of(actor_for_secret(secret)) == A_DAY - cost(text_of(0)) - WAITING_CHARS


def test_operators_and_people_have_no_limit(alice: User, ledger: Group, settings: Settings) -> None:
    allow(settings, 1)
    for number in range(3):
        store(operator(), Draft(text_of(number), group="ledger"))
    assert left_of(operator()) == math.inf
    check_write_rate(operator())


def test_zero_means_no_limit(bob: User, ledger: Group, settings: Settings) -> None:
    allow(settings, 0)
    caller = Caller(make_token(bob)[1])
    store_text(caller, 1, status=201)
    assert not PersonWrites.objects.exists()


def test_a_write_costs_one_statement_by_key_and_a_read_none(bob: User, ledger: Group) -> None:
    caller = Caller(make_token(bob)[1])
    store_text(caller, 1, status=201)
    with CaptureQueriesContext(connection) as found:
        store_text(caller, 2, status=201)
        caller.post("/recall", {"query": "port", "group": "ledger"})
    counted = [query["sql"] for query in found if "chars_at" in query["sql"]]
    # Each call reads the token's row in any case.
    own = [sql for sql in counted if "token_hash" not in sql.split("WHERE")[0]]
    assert [sql.split()[0] for sql in own] == ["UPDATE"]


@pytest.mark.django_db(transaction=True)
def test_two_connections_share_one_count(bob: User, ledger: Group) -> None:
    _, secret = make_token(bob)
    actor = actor_for_secret(secret)

    def write(number: int) -> None:
        try:
            store(actor, Draft(text_of(number), group="ledger"))
        finally:
            connection.close()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert left_of(actor_for_secret(secret)) == A_DAY - cost(*map(text_of, range(4)))


def test_a_rolled_back_write_is_not_counted(bob: User, ledger: Group) -> None:
    _, secret = make_token(bob)
    actor = actor_for_secret(secret)
    store_many(actor, [Draft("The port is 8081.", group="ledger")], dry_run=True)
    assert left_of(actor_for_secret(secret)) == A_DAY
    count_writes(actor, 2, 7)
    assert left_of(actor_for_secret(secret)) == A_DAY - 2 * CHANGE_CHARS - 7
